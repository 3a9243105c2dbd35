// Evaluates expressions with hashicorp/hil: a JSON object per line in, one out. The tests compare this program with the crate.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hil"
	"github.com/hashicorp/hil/ast"
)

type request struct {
	Expression string         `json:"expression"`
	Variables  map[string]any `json:"variables"`
}

type response struct {
	IsExpression bool    `json:"is_expression"`
	Value        any     `json:"value,omitempty"`
	Error        *string `json:"error,omitempty"`
}

func function(result ast.Type, arguments []ast.Type, call func(args []any) (any, error)) ast.Function {
	return ast.Function{ArgTypes: arguments, ReturnType: result, Callback: call}
}

// plain turns variables into values that encoding/json and %v know.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]ast.Variable:
		result := map[string]any{}
		for key, element := range value {
			result[key], _ = hil.VariableToInterface(element)
		}
		return result
	case []ast.Variable:
		var result []any
		for _, element := range value {
			converted, _ := hil.VariableToInterface(element)
			result = append(result, converted)
		}
		return result
	}
	return value
}

func functions() map[string]ast.Function {
	counter := 0
	text, integer, boolean := ast.TypeString, ast.TypeInt, ast.TypeBool
	return map[string]ast.Function{
		"assert": function(boolean, []ast.Type{boolean, text}, func(args []any) (any, error) {
			if !args[0].(bool) {
				return false, fmt.Errorf("assertion failed: %s", args[1])
			}
			return true, nil
		}),
		"config": function(text, []ast.Type{text}, func(args []any) (any, error) {
			return "", fmt.Errorf("missing config value %s", args[0])
		}),
		"counter.next": function(integer, nil, func([]any) (any, error) {
			counter++
			return counter, nil
		}),
		"env": function(text, []ast.Type{text}, func(args []any) (any, error) {
			if args[0] == "HOME" {
				return "/home", nil
			}
			return "", fmt.Errorf("missing environment variable %s", args[0])
		}),
		"json.marshal": function(text, []ast.Type{ast.TypeAny}, func(args []any) (any, error) {
			bytes, err := json.Marshal(plain(args[0]))
			if err != nil {
				return nil, fmt.Errorf("couldn't convert: %v to JSON %s", args[0], err)
			}
			return string(bytes), nil
		}),
		"map.flatten": function(text, []ast.Type{text, text, ast.TypeMap}, func(args []any) (any, error) {
			var parts []string
			for key, value := range plain(args[2]).(map[string]any) {
				parts = append(parts, fmt.Sprintf("%v%s%v", key, args[0], value))
			}
			sort.Strings(parts)
			return strings.Join(parts, args[1].(string)), nil
		}),
		"regexp.matches": function(boolean, []ast.Type{text, text}, func(args []any) (any, error) {
			return regexp.MatchString(args[0].(string), args[1].(string))
		}),
		"str.queryEscape": function(text, []ast.Type{text}, func(args []any) (any, error) {
			return url.QueryEscape(args[0].(string)), nil
		}),
		// Characters, not bytes, and no panic: as the specification has it.
		"str.truncate": function(text, []ast.Type{integer, text}, func(args []any) (any, error) {
			count, value := args[0].(int), args[1].(string)
			if count < 0 {
				return nil, fmt.Errorf("the count %d is negative", count)
			}
			if utf8.RuneCountInString(value) > count {
				value = string([]rune(value)[:count])
			}
			return value, nil
		}),
	}
}

func evaluate(expression string, variables map[string]any) (value any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	tree, err := hil.Parse(expression)
	if err != nil {
		return nil, err
	}
	scope := &ast.BasicScope{VarMap: map[string]ast.Variable{}, FuncMap: functions()}
	for name, value := range variables {
		if scope.VarMap[name], err = hil.InterfaceToVariable(value); err != nil {
			return nil, err
		}
	}
	result, err := hil.Eval(tree, &hil.EvalConfig{GlobalScope: scope})
	return result.Value, err
}

func isExpression(text string) (is bool) {
	tree, err := hil.Parse(text)
	if err != nil {
		return false
	}
	defer func() {
		if recover() != nil {
			is = true
		}
	}()
	result, err := hil.Eval(tree, &hil.EvalConfig{GlobalScope: &ast.BasicScope{}})
	return err != nil || result.Value != any(text)
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var request request
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			panic(errors.New("not a request: " + err.Error()))
		}
		response := response{IsExpression: isExpression(request.Expression)}
		value, err := evaluate(request.Expression, request.Variables)
		if err != nil {
			message := err.Error()
			response.Error = &message
		} else {
			response.Value = value
		}
		if err := out.Encode(response); err != nil {
			panic(err)
		}
	}
}
