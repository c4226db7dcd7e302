package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sidestep/pkg/store"
)

func isFull(err error) bool { return errors.Is(err, store.ErrFull) }

func ids(notes []store.Note) []string {
	var list []string
	for _, n := range notes {
		list = append(list, n.ID)
	}
	return list
}

func expectNotes(t *testing.T, when string, n *store.Notes, trusted bool, want ...string) {
	t.Helper()
	open, got := n.Pending()
	if got != trusted || !slices.Equal(ids(open), want) {
		t.Errorf("%s: open %v, trusted %v; want %v, %v", when, ids(open), got, want, trusted)
	}
}

// No note file, no trust; and none in any later life before a time of quiet
// was over, though there is a file by then.
func TestNotesAreNotBelievedBeforeQuiet(t *testing.T) {
	s, _ := open(t, t.TempDir(), store.Options{})
	n := s.Notes()
	expectNotes(t, "no file", n, false)
	must(t, n.Open("a", json.RawMessage(`{"value":"192.0.2.1"}`)))
	expectNotes(t, "a note in an untrusted life", s.Notes(), false, "a")
	must(t, n.Close("a"))
	expectNotes(t, "closed in an untrusted life", s.Notes(), false)
	must(t, n.Trust())
	expectNotes(t, "after quiet", n, true)
	expectNotes(t, "next life", s.Notes(), true)
}

func TestNoteIsStoredBeforeOpenReturnsAndClearedByClose(t *testing.T) {
	s, _ := open(t, t.TempDir(), store.Options{})
	n := s.Notes()
	must(t, n.Trust(), n.Open("a", json.RawMessage(`{"value":"192.0.2.1"}`)), n.Open("b", nil))
	next, _ := s.Notes().Pending()
	if len(next) != 2 || string(next[0].Data) != `{"value":"192.0.2.1"}` || !next[0].At.Equal(noon) {
		t.Errorf("the next life sees %+v", next)
	}
	must(t, n.Open("a", nil)) // again: replaces the first
	expectNotes(t, "opened again", s.Notes(), true, "b", "a")
	must(t, n.Close("a"), n.Close("a"), n.Close("never opened"))
	expectNotes(t, "closed", s.Notes(), true, "b")
}

func TestTrustClearsOnlyNotesOfEarlierLives(t *testing.T) {
	s, _ := open(t, t.TempDir(), store.Options{})
	first := s.Notes()
	must(t, first.Trust(), first.Open("old", nil), first.Open("again", nil))
	second := s.Notes()
	must(t, second.Open("new", nil), second.Open("again", nil))
	expectNotes(t, "before quiet", second, true, "old", "new", "again")
	must(t, second.Trust())
	expectNotes(t, "after quiet", second, true, "new", "again")
	expectNotes(t, "third life", s.Notes(), true, "new", "again")
}

func TestCorruptNotesAreNotBelieved(t *testing.T) {
	for name, spoil := range map[string]func(string) string{
		"empty":       func(string) string { return "" },
		"half":        func(text string) string { return text[:len(text)/2] },
		"NULs":        func(text string) string { return strings.Repeat("\x00", len(text)) },
		"flipped":     func(text string) string { return strings.Replace(text, "call-1", "call-2", 1) },
		"newer":       func(text string) string { return strings.Replace(text, `"version":1`, `"version":2`, 1) },
		"wrong shape": func(string) string { return "[]" },
	} {
		dir := t.TempDir()
		s, _ := open(t, dir, store.Options{})
		n := s.Notes()
		must(t, n.Trust(), n.Open("call-1", nil))
		path := filepath.Join(dir, "notes.json")
		bad := spoil(read(t, path))
		write(t, path, bad)
		n = s.Notes()
		expectNotes(t, name, n, false)
		must(t, n.Open("call-3", nil))
		expectNotes(t, name+", next life", s.Notes(), false, "call-3")
		if asides := glob(t, dir, "notes.corrupt-*"); len(asides) != 1 || read(t, asides[0]) != bad {
			t.Errorf("%s: copies %v", name, asides)
		}
		save(t, s, `{}`) // bad notes are no reason to stop saving the state
	}
}

func TestNoteThatCannotBeStoredEndsTheTrust(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	n := s.Notes()
	must(t, n.Trust())
	if err := n.Open("a", json.RawMessage(`{`)); err == nil {
		t.Error("a note that is not JSON was taken")
	}
	expectNotes(t, "refused for its data", n, true)
	must(t, os.RemoveAll(dir))
	if err := n.Open("a", nil); err == nil {
		t.Fatal("a note was stored in a directory that is gone")
	}
	expectNotes(t, "not stored, kept in memory", n, true, "a")
	must(t, os.Mkdir(dir, 0o700))
	expectNotes(t, "next life", s.Notes(), false)
	must(t, n.Open("b", nil))
	expectNotes(t, "stored later", s.Notes(), true, "a", "b")
}

// Whatever is opened and closed over whatever number of lives: the file says
// what is open, and is believed only when quiet was reached.
func TestNotesTellTheTruthOverManyLives(t *testing.T) {
	base, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		dir := filepath.Join(base, strconv.Itoa(runs))
		runs++
		s, _ := open(t, dir, store.Options{})
		n := s.Notes()
		var open []string
		inherited, trusted := map[string]bool{}, false
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
			switch rapid.SampledFrom([]string{"open", "open", "close", "trust", "restart"}).Draw(rt, "step") {
			case "open":
				must(t, n.Open(id, nil))
				open = append(slices.DeleteFunc(open, func(o string) bool { return o == id }), id)
				delete(inherited, id)
			case "close":
				must(t, n.Close(id))
				open = slices.DeleteFunc(open, func(o string) bool { return o == id })
			case "trust":
				must(t, n.Trust())
				trusted = true
				open = slices.DeleteFunc(open, func(o string) bool { return inherited[o] })
			case "restart":
				n = s.Notes()
				for _, o := range open {
					inherited[o] = true
				}
			}
			got, believed := s.Notes().Pending()
			if !slices.Equal(ids(got), open) || believed != trusted {
				rt.Fatalf("the file says %v (trusted %v), true is %v (%v)", ids(got), believed, open, trusted)
			}
		}
	})
}
