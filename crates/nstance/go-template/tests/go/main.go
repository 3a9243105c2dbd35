// Renders templates with Go's own text/template: a JSON object per line in, one out, as `render-files text-template
// --batch` does it. The tests compare this program with the crate.
//
// With `bench FILE SECONDS` it measures the requests in the file instead, and prints the nanoseconds that parsing and
// executing take for each. With `render TEMPLATE DATA` it renders a file with JSON data and exits, as a program does that is
// compiled for this purpose.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"unicode/utf8"

	"gotemplate/nstance"
)

type request struct {
	ID             json.RawMessage `json:"id"`
	Name           string          `json:"name"`
	Template       string          `json:"template"`
	TemplateBase64 *string         `json:"template_base64"`
	Data           json.RawMessage `json:"data"`
	DataType       string          `json:"data_type"`
	MissingKey     string          `json:"missingkey"`
	Numbers        string          `json:"numbers"`
	Delims         [2]string       `json:"delims"`
}

type failure struct {
	Stage      string `json:"stage"`
	Line       int    `json:"line,omitempty"`
	Column     *int   `json:"column,omitempty"`
	Text       string `json:"text"`
	TextBase64 string `json:"text_base64,omitempty"`
}

type response struct {
	ID           json.RawMessage `json:"id,omitempty"`
	Output       *string         `json:"output,omitempty"`
	OutputBase64 *string         `json:"output_base64,omitempty"`
	Error        *failure        `json:"error,omitempty"`
}

// exact gives numbers the type that holds them: int, uint64, else float64.
func exact(value any) (any, error) {
	switch value := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return int(n), nil
		}
		if n, err := strconv.ParseUint(value.String(), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseFloat(value.String(), 64)
	case []any:
		for i, element := range value {
			var err error
			if value[i], err = exact(element); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, element := range value {
			var err error
			if value[key], err = exact(element); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func (r *request) data() (any, error) {
	text := r.Data
	if len(text) == 0 {
		text = json.RawMessage("null")
	}
	switch r.DataType {
	case "map[string]string":
		var data map[string]string
		err := json.Unmarshal(text, &data)
		return data, err
	case "nstance":
		var data nstance.Data
		err := json.Unmarshal(text, &data)
		return data, err
	}
	var data any
	if r.Numbers == "float64" {
		err := json.Unmarshal(text, &data)
		return data, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&data); err != nil {
		return nil, err
	}
	return exact(data)
}

func (r *request) parse() (*template.Template, error) {
	text := r.Template
	if r.TemplateBase64 != nil {
		decoded, err := base64.StdEncoding.DecodeString(*r.TemplateBase64)
		if err != nil {
			return nil, err
		}
		text = string(decoded)
	}
	missing := r.MissingKey
	if missing == "" {
		missing = "default"
	}
	return template.New(r.Name).Delims(r.Delims[0], r.Delims[1]).Option("missingkey=" + missing).Parse(text)
}

func fail(stage, name string, err error) *failure {
	text := err.Error()
	f := &failure{Stage: stage, Text: text}
	if !utf8.ValidString(text) {
		f.TextBase64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if rest, ok := strings.CutPrefix(text, "template: "+name+":"); ok {
		parts := strings.SplitN(rest, ":", 3)
		f.Line, _ = strconv.Atoi(parts[0])
		if column, err := strconv.Atoi(parts[1]); err == nil && stage == "exec" {
			f.Column = &column
		}
	}
	return f
}

func (r *request) render() response {
	if r.Name == "" {
		r.Name = "main"
	}
	data, err := r.data()
	if err != nil {
		return response{ID: r.ID, Error: fail("request", r.Name, err)}
	}
	parsed, err := r.parse()
	if err != nil {
		return response{ID: r.ID, Error: fail("parse", r.Name, err)}
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return response{ID: r.ID, Error: fail("exec", r.Name, err)}
	}
	text := out.String()
	if utf8.ValidString(text) {
		return response{ID: r.ID, Output: &text}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	return response{ID: r.ID, OutputBase64: &encoded}
}

func batch() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r request
			answer := response{}
			if err := json.Unmarshal(line, &r); err != nil {
				answer.Error = fail("request", "", err)
			} else {
				answer = r.render()
			}
			if err := encoder.Encode(answer); err != nil {
				return err
			}
			if in.Buffered() == 0 {
				if err := out.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return err
		}
	}
}

// cpu is the processor time of this thread: what else runs on the machine does not count, nor what Go's collector does
// meanwhile on other threads.
func cpu() float64 {
	const thread = 1
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// measure runs work as often as it fits into the time, in several rounds, and returns the nanoseconds of the best round.
func measure(seconds float64, work func()) float64 {
	const rounds = 5
	runtime.LockOSThread()
	best := 0.0
	work()
	for range rounds {
		runtime.GC()
		start := cpu()
		count := 0
		for step := 1; cpu()-start < seconds/rounds; step = min(2*step, 256) {
			for range step {
				work()
			}
			count += step
		}
		if each := (cpu() - start) * 1e9 / float64(count); best == 0 || each < best {
			best = each
		}
	}
	return best
}

func bench(path string, seconds float64) error {
	lines, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(lines) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		data, err := r.data()
		if err != nil {
			return err
		}
		parsed, err := r.parse()
		if err != nil {
			return err
		}
		parse := measure(seconds, func() { _, _ = r.parse() })
		var out bytes.Buffer
		execute := measure(seconds, func() {
			out.Reset()
			if err := parsed.Execute(&out, data); err != nil {
				panic(err)
			}
		})
		fmt.Printf("%s %.1f %.1f %d\n", r.Name, parse, execute, out.Len())
	}
	return nil
}

// render writes a file to stdout, rendered with the JSON data of another one.
func render(path, data string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var value any
	if content, err := os.ReadFile(data); err != nil {
		return err
	} else if err := json.Unmarshal(content, &value); err != nil {
		return err
	}
	parsed, err := template.New("main").Parse(string(text))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if err := parsed.Execute(out, value); err != nil {
		return err
	}
	return out.Flush()
}

func main() {
	var err error
	if len(os.Args) == 4 && os.Args[1] == "bench" {
		var seconds float64
		if seconds, err = strconv.ParseFloat(os.Args[3], 64); err == nil {
			err = bench(os.Args[2], seconds)
		}
	} else if len(os.Args) == 4 && os.Args[1] == "render" {
		err = render(os.Args[2], os.Args[3])
	} else {
		err = batch()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
