package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// store is the directory of the objects.
type store struct{ directory string }

func openStore(directory string) *store {
	if directory == "" {
		directory = os.Getenv("RANDOM_DIRECTORY")
	}
	return &store{directory}
}

func (s *store) path(id string) (string, error) {
	if s.directory == "" {
		return "", errors.New("the provider has no directory: neither its argument nor RANDOM_DIRECTORY is set")
	}
	if id == "" || strings.ContainsAny(id, "/\\") || strings.HasPrefix(id, ".") {
		return "", fmt.Errorf("%q is not an id", id)
	}
	return filepath.Join(s.directory, "machines", id+".json"), nil
}

// read gives nil where there is no such object.
func (s *store) read(id string) (*object, error) {
	file, err := s.path(id)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &object{}
	return found, json.Unmarshal(content, found)
}

func (s *store) write(id string, content *object) error {
	file, err := s.path(id)
	if err != nil {
		return err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	// Renamed, so that a test never reads a half of it.
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func (s *store) remove(id string) error {
	file, err := s.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// begin reports an operation, waits while hang-OPERATION exists, and fails if fail-OPERATION exists or fail names it.
func (s *store) begin(ctx context.Context, operation, fail, password string) error {
	if fail == operation {
		return fmt.Errorf("the password %s is refused", password)
	}
	if s.directory == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(s.directory, "at-"+operation), nil, 0o644); err != nil {
		return err
	}
	for {
		content, err := os.ReadFile(filepath.Join(s.directory, "hang-"+operation))
		if err != nil {
			break
		}
		if ctx.Err() != nil && strings.TrimSpace(string(content)) != "ignore" {
			return ctx.Err()
		}
		time.Sleep(10 * time.Millisecond)
	}
	if content, err := os.ReadFile(filepath.Join(s.directory, "fail-"+operation)); err == nil {
		return errors.New(string(content))
	}
	return nil
}
