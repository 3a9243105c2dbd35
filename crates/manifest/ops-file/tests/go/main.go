// Reads and writes YAML with yaml.v2 and applies go-patch's operations: a JSON object per line in, one out. The tests
// compare this program with the crates.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cppforlife/go-patch/patch"
	"gopkg.in/yaml.v2"
)

type request struct {
	Document string
	Ops      *string
	Find     *string
}

type response struct {
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
}

func answer(request request) (string, error) {
	var document interface{}
	if err := yaml.Unmarshal([]byte(request.Document), &document); err != nil {
		return "", err
	}
	if request.Ops != nil {
		var definitions []patch.OpDefinition
		if err := yaml.Unmarshal([]byte(*request.Ops), &definitions); err != nil {
			return "", err
		}
		ops, err := patch.NewOpsFromDefinitions(definitions)
		if err != nil {
			return "", err
		}
		for i, op := range ops {
			// The CLI puts its own words there.
			if described, ok := op.(patch.DescriptiveOp); ok {
				op = described.Op
			}
			if document, err = op.Apply(document); err != nil {
				return "", fmt.Errorf("operation [%d] failed: %s", i, err)
			}
		}
	}
	if request.Find != nil {
		pointer, err := patch.NewPointerFromString(*request.Find)
		if err != nil {
			return "", err
		}
		if document, err = (patch.FindOp{Path: pointer}).Apply(document); err != nil {
			return "", err
		}
	}
	output, err := yaml.Marshal(document)
	return string(output), err
}

func recovered(request request) (output string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return answer(request)
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	decoder, encoder := json.NewDecoder(input), json.NewEncoder(output)
	for decoder.More() {
		var request request
		if err := decoder.Decode(&request); err != nil {
			panic(err)
		}
		var response response
		if text, err := recovered(request); err != nil {
			response.Error = err.Error()
		} else {
			response.Output = text
		}
		if err := encoder.Encode(response); err != nil {
			panic(err)
		}
	}
}
