package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var fuzzNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func openFuzzed(t *testing.T, dir string) (*Store, Loaded) {
	t.Helper()
	s, loaded, err := Open(dir, Options{Now: func() time.Time { return fuzzNow }})
	if err != nil {
		t.Fatal(err)
	}
	return s, loaded
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzUnseal starts with any bytes as the state and as the notes. What is believed
// bears its own checksum, what is not stays on disk beside the next state, and the
// next start finds that one.
func FuzzUnseal(f *testing.F) {
	f.Add([]byte(`{"version":1,"saved_at":"2026-01-02T03:04:05Z","payload":{},"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}` + "\n"))
	f.Add([]byte(`{"version":1,"saved_at":"2026-01-02T03:04:05Z","payload":{"a":1},"sha256":"00"}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"payload":null,"Payload":[]}`))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := unseal(data)
		if err == nil && !json.Valid(e.Payload) && len(e.Payload) > 0 {
			t.Errorf("a payload is believed that is not JSON: %q", e.Payload)
		}
		dir := t.TempDir()
		for _, name := range []string{stateFile, notesFile} {
			put(t, filepath.Join(dir, name), data)
		}
		s, loaded := openFuzzed(t, dir)
		s.Notes()
		if (err == nil) == loaded.Lost() {
			t.Errorf("read with the error %v, and found %+v", err, loaded)
		}
		if loaded.Lost() {
			kept, err := os.ReadFile(loaded.Aside)
			if err != nil || !bytes.Equal(kept, data) {
				t.Errorf("what could not be read was not kept: %q, %v", kept, err)
			}
		}
		if loaded.Status == Newer {
			return // nothing is saved over it
		}
		if err := s.Save([]byte(`{"next":true}`)); err != nil {
			t.Fatal(err)
		}
		if _, again := openFuzzed(t, dir); again.Status != Fresh || string(again.Payload) != `{"next":true}` {
			t.Errorf("the next start found %+v", again)
		}
	})
}

// FuzzJournal appends to a journal of any bytes: the lines that could be read before
// can be read after it, and the new one with them.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","kind":"verdict","target":"web@192.0.2.1"}` + "\n"))
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","kind":"ver`))
	f.Add([]byte("{}\n\n \nnull\n[\"kind\"]\n{\"kind\":7}\n"))
	f.Add([]byte(`{"kind":"a"}{"kind":"b"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, journalFile), data)
		kinds := func() (kinds []string) {
			if _, err := ReadJournal(dir, Filter{}, func(l Line) bool {
				kinds = append(kinds, l.Kind)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			return kinds
		}
		before := kinds()
		s, _ := openFuzzed(t, dir)
		if err := s.Append("new", nil); err != nil {
			t.Fatal(err)
		}
		if after := kinds(); !slices.Equal(after, append(before, "new")) {
			t.Errorf("read %q before and %q after a line was appended", before, after)
		}
	})
}
