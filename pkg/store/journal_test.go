package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidestep/pkg/store"
)

// lines reads the journal as text.
func lines(t *testing.T, dir string, f store.Filter) []string {
	t.Helper()
	var got []string
	skipped, err := store.ReadJournal(dir, f, func(l store.Line) bool {
		got = append(got, string(l.Raw))
		return true
	})
	must(t, err)
	if skipped > 0 {
		t.Errorf("%d lines are no journal lines", skipped)
	}
	return got
}

func TestAppendedLinesAreReadInOrder(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	must(t,
		s.Append("leader", nil),
		s.Append("guard", struct{}{}),
		s.Append("verdict", map[string]any{"target": "web@192.0.2.1", "detail": "<html> & more"}),
		s.AppendAll(
			store.Entry{Kind: "plan", Fields: json.RawMessage(`{"n": 1}`)},
			store.Entry{Kind: "write", At: noon.Add(time.Hour).In(time.FixedZone("", 3600)), Fields: struct {
				Name string `json:"name"`
			}{"www.example.com."}},
		),
		s.AppendAll(),
	)
	want := []string{
		`{"at":"2026-03-04T12:00:00Z","kind":"leader"}`,
		`{"at":"2026-03-04T12:00:00Z","kind":"guard"}`,
		`{"at":"2026-03-04T12:00:00Z","kind":"verdict","detail":"<html> & more","target":"web@192.0.2.1"}`,
		`{"at":"2026-03-04T12:00:00Z","kind":"plan","n":1}`,
		`{"at":"2026-03-04T13:00:00Z","kind":"write","name":"www.example.com."}`,
	}
	if diff := cmp.Diff(want, lines(t, dir, store.Filter{})); diff != "" {
		t.Error(diff)
	}
}

func TestAppendRefusesFieldsThatAreNoObjectOrHideTheHead(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	for _, fields := range []any{[]int{1}, "text", json.RawMessage("null"), map[string]int{"at": 1}, map[string]int{"kind": 1}, func() {}} {
		if err := s.AppendAll(store.Entry{Kind: "ok"}, store.Entry{Kind: "bad", Fields: fields}); err == nil {
			t.Errorf("fields %v were taken", fields)
		}
	}
	if got := lines(t, dir, store.Filter{}); len(got) != 0 {
		t.Errorf("a refused batch left %v", got)
	}
}

func TestReadFilters(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	for i := range 10 {
		kind := []string{"verdict", "write"}[i%2]
		must(t, s.AppendAll(store.Entry{At: noon.Add(time.Duration(i) * time.Minute), Kind: kind, Fields: map[string]int{"n": i}}))
	}
	for _, tc := range []struct {
		name string
		f    store.Filter
		want int
	}{
		{"all", store.Filter{}, 10},
		{"one kind", store.Filter{Kinds: []string{"write"}}, 5},
		{"two kinds", store.Filter{Kinds: []string{"write", "verdict"}}, 10},
		{"since", store.Filter{Since: noon.Add(7 * time.Minute)}, 3},
		{"until", store.Filter{Until: noon.Add(7 * time.Minute)}, 7},
		{"all of it", store.Filter{Since: noon.Add(2 * time.Minute), Until: noon.Add(6 * time.Minute), Kinds: []string{"write"}}, 2},
	} {
		if got := lines(t, dir, tc.f); len(got) != tc.want {
			t.Errorf("%s: %d lines, want %d: %v", tc.name, len(got), tc.want, got)
		}
	}
	seen := 0
	_, err := s.Read(store.Filter{}, func(store.Line) bool { seen++; return seen < 4 })
	if err != nil || seen != 4 {
		t.Errorf("stopped after the fourth line: %d lines, %v", seen, err)
	}
}

// Newest reads whole lines from the end of the journal, across its generations,
// and not much more than it was told to.
func TestReadTheNewestBytes(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{JournalSize: 1000})
	for i := range 30 {
		must(t, s.Append("verdict", map[string]int{"n": 100 + i}))
	}
	all := lines(t, dir, store.Filter{})
	if _, err := os.Stat(filepath.Join(dir, "journal.jsonl.1")); err != nil || len(all) < 20 {
		t.Fatalf("the journal has %d lines and not two generations: %v", len(all), err)
	}
	size := len(all[len(all)-1]) + 1
	for _, want := range []int{1, 2, 5, len(all) - 1, len(all)} {
		for _, more := range []int{0, 1 - size} {
			got := lines(t, dir, store.Filter{Newest: int64(want*size + more)})
			if diff := cmp.Diff(all[len(all)-want:], got); diff != "" {
				t.Errorf("the newest %d lines, %d bytes: %s", want, want*size+more, diff)
			}
		}
	}
	if got := lines(t, dir, store.Filter{Newest: 1 << 30}); len(got) != len(all) {
		t.Errorf("read %d lines of %d", len(got), len(all))
	}
}

func TestReadWithoutAJournalIsEmpty(t *testing.T) {
	if got := lines(t, t.TempDir(), store.Filter{}); got != nil {
		t.Errorf("got %v", got)
	}
}

// Cut anywhere, the journal keeps every whole line, and the next line is
// readable too.
func TestTornLastLineIsMended(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	must(t, s.Append("one", nil), s.Append("two", map[string]string{"pad": strings.Repeat("x", 10000)}))
	whole := read(t, filepath.Join(dir, "journal.jsonl"))
	second := strings.Index(whole, "\n") + 1
	base, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(0, len(whole)).Draw(rt, "cut")
		tail := rapid.SampledFrom([]string{"", "\x00\x00\x00"}).Draw(rt, "tail")
		reopen := rapid.Bool().Draw(rt, "reopen")
		dir := filepath.Join(base, strconv.Itoa(runs))
		runs++
		s, _ := open(t, dir, store.Options{})
		write(t, filepath.Join(dir, "journal.jsonl"), whole[:cut]+tail)
		if reopen { // else the append has to notice
			s, _ = open(t, dir, store.Options{})
		}
		must(t, s.Append("three", nil))
		want := []string{"three"}
		if cut == len(whole)-1 && tail == "" || cut == len(whole) {
			want = []string{"one", "two", "three"}
		} else if cut >= second || cut == second-1 && tail == "" {
			want = []string{"one", "three"}
		}
		var got []string
		skipped, err := s.Read(store.Filter{}, func(l store.Line) bool { got = append(got, l.Kind); return true })
		if err != nil || skipped > 0 || !cmp.Equal(got, want) {
			rt.Fatalf("cut at %d of %d: %v (%d unreadable, %v), want %v", cut, len(whole), got, skipped, err, want)
		}
	})
}

func TestRubbishInTheMiddleIsLeftOutAndCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "journal.jsonl"),
		`{"at":"2026-03-04T12:00:00Z","kind":"one"}`+"\n\x00\x00\nrubbish\n\n[]\n{}\n"+`{"at":"2026-03-04T12:00:00Z","kind":"two"}`+"\n")
	var got []string
	skipped, err := store.ReadJournal(dir, store.Filter{}, func(l store.Line) bool { got = append(got, l.Kind); return true })
	if err != nil || skipped != 4 || !cmp.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v, %d left out, %v", got, skipped, err)
	}
}

func TestJournalIsRotatedAndBounded(t *testing.T) {
	dir := t.TempDir()
	const size = 4096
	s, _ := open(t, dir, store.Options{JournalSize: size})
	for i := range 500 {
		must(t, s.Append("write", map[string]int{"n": i}))
		for _, name := range []string{"journal.jsonl", "journal.jsonl.1"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Size() > size {
				t.Fatalf("%s has %d bytes, more than %d", name, info.Size(), size)
			}
		}
	}
	got := lines(t, dir, store.Filter{})
	if len(got) < size/80 {
		t.Errorf("%d lines are left, want at least one generation", len(got))
	}
	for i, line := range got { // no hole, up to the newest
		if want := fmt.Sprintf(`"n":%d}`, 500-len(got)+i); !strings.HasSuffix(line, want) {
			t.Fatalf("line %d is %s, want it to end in %s", i, line, want)
		}
	}
}

func TestOneEntryLargerThanTheJournalIsKept(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{JournalSize: 100})
	big := map[string]string{"pad": strings.Repeat("x", 500)}
	must(t, s.Append("one", big), s.Append("two", big))
	if got := lines(t, dir, store.Filter{}); len(got) != 2 {
		t.Errorf("%d lines, want 2", len(got))
	}
}

// Somebody moves the journal away, as log rotation does: nothing goes into the
// file that is gone.
func TestJournalThatWasMovedAwayIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	must(t, s.Append("one", nil),
		os.Rename(filepath.Join(dir, "journal.jsonl"), filepath.Join(dir, "elsewhere")),
		s.Append("two", nil))
	if got := lines(t, dir, store.Filter{}); len(got) != 1 || !strings.Contains(got[0], "two") {
		t.Errorf("got %v", got)
	}
}

func TestJournalOnAFullDeviceIsErrFull(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "journal.jsonl")); err != nil {
		t.Skip(err)
	}
	s, _ := open(t, dir, store.Options{})
	if err := s.Append("one", nil); !isFull(err) {
		t.Errorf("got %v, want ErrFull", err)
	}
}

func TestWholeLastLineWithoutItsLineFeedIsKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "journal.jsonl"), `{"at":"2026-03-04T12:00:00Z","kind":"one"}`)
	s, _ := open(t, dir, store.Options{})
	must(t, s.Append("two", nil))
	if got := lines(t, dir, store.Filter{}); len(got) != 2 {
		t.Errorf("got %v, want both lines", got)
	}
}

// A rotation while somebody begins to read makes both names one file.
func TestRotationDuringAReadShowsNoLineTwice(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	must(t, s.Append("one", nil),
		os.Link(filepath.Join(dir, "journal.jsonl"), filepath.Join(dir, "journal.jsonl.1")))
	if got := lines(t, dir, store.Filter{}); len(got) != 1 {
		t.Errorf("got %v, want one line", got)
	}
}
