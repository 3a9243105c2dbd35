// Reads YAML as kubectl does (sigs.k8s.io/yaml): a JSON string per line in, a JSON object per line out. A test compares this
// program with the crate.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type response struct {
	// Of a merged key and one of another type that print as the same text, Go takes the one that it comes across last in an
	// unordered map: all results that were seen.
	Outputs []json.RawMessage `json:"outputs,omitempty"`
	Error   string            `json:"error,omitempty"`
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
		readings := 1
		if strings.Contains(document, "<<") {
			readings = 30
		}
		for range readings {
			text, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				response.Error = err.Error()
				break
			}
			same := func(other json.RawMessage) bool { return bytes.Equal(text, other) }
			if !slices.ContainsFunc(response.Outputs, same) {
				response.Outputs = append(response.Outputs, text)
			}
		}
		if _, err := yaml.YAMLToJSONStrict([]byte(document)); err != nil {
			response.Strict = err.Error()
		}
		if err := encoder.Encode(response); err != nil {
			panic(err)
		}
	}
}
