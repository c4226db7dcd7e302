package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sidestep/pkg/store"
)

// tree is every file of a directory with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Who only looks changes nothing, whatever is in the directory, and cannot
// write.
func TestLookingChangesNothing(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"state.json": "half a sta", "state.json.1": "\x00\x00", "notes.json": "[]",
		"journal.jsonl": `{"at":"2026-01-01T00:00:00Z","kind":"plan"}` + "\n" + `{"at":`, ".state.json123": "left over",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	s, loaded, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil || loaded.Status != store.Corrupt || !loaded.Lost() || loaded.Aside != "" {
		t.Fatalf("loaded %+v (%v)", loaded, err)
	}
	s.Reject(loaded, "it means nothing")
	notes := s.Notes()
	for what, err := range map[string]error{
		"save": s.Save([]byte("{}")), "append": s.Append("plan", nil), "note": notes.Open("a", nil), "trust": notes.Trust(),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after := tree(t, dir)
	if len(after) != len(before) {
		t.Errorf("there are %d files now, there were %d", len(after), len(before))
	}
	for path, content := range before {
		if after[path] != content {
			t.Errorf("%s was %q and is %q", path, content, after[path])
		}
	}
}

func TestLookingMakesNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, loaded, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil || loaded.Status != store.Absent {
		t.Errorf("loaded %+v (%v)", loaded, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}
