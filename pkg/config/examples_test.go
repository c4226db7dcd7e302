package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples loads every example without its secrets. They may warn about
// nothing but loopback, which only a trial on one machine uses.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/config.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("found %d examples, %v", len(paths), err)
	}
	for _, path := range paths {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			read(t, filepath.Join(folder, "README.md"))
			opts := world()
			opts.SkipSecrets, opts.AnyProvider = true, true
			c := mustParse(t, path, read(t, path), opts)
			for _, w := range c.Warnings {
				if !strings.Contains(w.Problem, "loopback") {
					t.Errorf("warning: %s", w)
				}
			}
			checkRoundTrip(t, c)
		})
	}
}
