package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestProgram types the program in the ways there are; what the demo prints works
// from every folder.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", "other"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, "sidestep"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, other := filepath.Join(dir, "bin", "sidestep"), filepath.Join(dir, "other", "sidestep")
	for _, c := range []struct{ path, typed, want string }{
		{"", "bin/sidestep", bin},
		{"", bin, bin},
		{filepath.Join(dir, "bin"), "sidestep", "sidestep"},
		{filepath.Join(dir, "bin"), "bin/sidestep", "sidestep"},
		{filepath.Join(dir, "bin"), "other/sidestep", other},
		{"", "gone/sidestep", self},
	} {
		t.Setenv("PATH", c.path)
		if got := program(c.typed); got != c.want {
			t.Errorf("%q with PATH %q: %q, want %q", c.typed, c.path, got, c.want)
		}
	}
}
