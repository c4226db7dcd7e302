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
			about, opts := read(t, filepath.Join(folder, "README.md")), world()
			if _, err := Parse(path, []byte(read(t, path)), opts); err != nil && !strings.Contains(about, "sidestep validate") {
				t.Errorf("a trial of the example fails, and its README does not say what validate needs: %v", err)
			}
			opts.SkipSecrets = true
			c := mustParse(t, path, read(t, path), opts)
			for _, w := range c.Warnings {
				if !strings.Contains(w.Problem, "loopback") {
					t.Errorf("warning: %s", w)
				}
			}
			checkRoundTrip(t, c, opts)
		})
	}
}
