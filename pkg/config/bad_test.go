package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update rewrites the expected files. Only keep what changed if you understand
// why it did and want it so.
var update = flag.Bool("update", false, "rewrite the expected files and CONFIG.md")

// world is a test's environment: no variable, a fixed host name, no file but
// those of pems.
func world() Options {
	return Options{
		Getenv:   func(string) string { return "" },
		Open:     openPEM,
		Hostname: func() (string, error) { return "mon-1", nil },
		Abs:      func(string) (string, error) { return "/etc/sidestep", nil },
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestBadConfigsAreRefusedInTheseWords(t *testing.T) {
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatalf("found %d bad configs, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(name+".yaml", data, world())
			var all Errors
			if !errors.As(err, &all) {
				t.Fatalf("Parse = %v, want Errors", err)
			}
			checkErrorsForm(t, all)
			for _, e := range all {
				if strings.Contains(e.Error(), "MARKER") || strings.Contains(e.Error(), "PASSWORD") {
					t.Errorf("error %q shows a secret", e)
				}
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".want", all.Error()+"\n")
		})
	}
}

// oneLine is the form of every message.
var oneLine = regexp.MustCompile(`^[^:\n]+(:\d+:\d+)?: [^\n]+$`)

func checkErrorsForm(t *testing.T, all Errors) {
	t.Helper()
	for i, e := range all {
		if !oneLine.MatchString(e.Error()) || e.Problem == "" {
			t.Errorf("error %q has not the form FILE:LINE:COL: KEY: PROBLEM; HINT", e)
		}
		if i > 0 && all[i-1].compare(e.Position) > 0 {
			t.Errorf("error %q stands after %q", e, all[i-1])
		}
	}
}
