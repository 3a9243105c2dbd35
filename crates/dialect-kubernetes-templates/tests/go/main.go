// Reads YAML as kubectl does (sigs.k8s.io/yaml): a JSON string per line in, a JSON object per line out. A test compares this
// program with the crate.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"sigs.k8s.io/yaml"
)

type response struct {
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Why it is not read where equal keys are errors.
	Strict string `json:"strict,omitempty"`
}

func main() {
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	decoder, encoder := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(output)
	for decoder.More() {
		var document string
		if err := decoder.Decode(&document); err != nil {
			panic(err)
		}
		var response response
		if text, err := yaml.YAMLToJSON([]byte(document)); err != nil {
			response.Error = err.Error()
		} else {
			response.Output = text
		}
		if _, err := yaml.YAMLToJSONStrict([]byte(document)); err != nil {
			response.Strict = err.Error()
		}
		if err := encoder.Encode(response); err != nil {
			panic(err)
		}
	}
}
