package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/store"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string, o store.Options) (*store.Store, store.Loaded) {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	s, loaded, err := store.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, loaded
}

func save(t *testing.T, s *store.Store, payload string) {
	t.Helper()
	if err := s.Save([]byte(payload)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhatWasSavedIsLoaded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	s, loaded := open(t, dir, store.Options{})
	if loaded.Status != store.Absent || loaded.Payload != nil || loaded.Lost() || loaded.Unwritable != nil {
		t.Fatalf("an empty directory: %+v", loaded)
	}
	save(t, s, `{"a": "<&>é\u2028", "n": 1.50}`)
	_, loaded = open(t, dir, store.Options{MaxAge: time.Minute})
	if loaded.Status != store.Fresh || !loaded.Recent || loaded.Age != 0 || !loaded.SavedAt.Equal(noon) {
		t.Errorf("loaded %+v", loaded)
	}
	if got := string(loaded.Payload); got != `{"a":"<&>é\u2028","n":1.50}` {
		t.Errorf("payload %s", got)
	}
	for _, name := range []string{"state.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o027 != 0 {
		t.Errorf("directory: %v, %v; want at most 0750", info.Mode(), err)
	}
}

func TestSaveRefusesWhatIsNotJSON(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":1}`)
	if err := s.Save([]byte(`{"n":`)); err == nil {
		t.Error("half a payload was saved")
	}
	if _, loaded := open(t, dir, store.Options{}); string(loaded.Payload) != `{"n":1}` {
		t.Errorf("payload %s", loaded.Payload)
	}
}

func TestThePreviousGenerationIsKept(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	for n := range 5 {
		save(t, s, fmt.Sprintf(`{"n":%d}`, n))
		if n > 0 && !strings.Contains(read(t, filepath.Join(dir, "state.json.1")), fmt.Sprintf(`{"n":%d}`, n-1)) {
			t.Errorf("after save %d the older generation is %s", n, read(t, filepath.Join(dir, "state.json.1")))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v, want two generations", entries)
	}
}

func TestCase29AgeIsToldAndTheFutureIsStale(t *testing.T) {
	for _, tc := range []struct {
		later  time.Duration
		status store.Status
		recent bool
		says   string
	}{
		{0, store.Fresh, true, ""},
		{15 * time.Minute, store.Fresh, true, ""},
		{15*time.Minute + 1, store.Stale, false, "saved 15m0s ago"},
		{72 * time.Hour, store.Stale, false, "saved 72h0m0s ago"},
		{-5 * time.Second, store.Fresh, true, ""},
		{-time.Hour, store.Stale, false, "clock was set back"},
	} {
		dir := t.TempDir()
		s, _ := open(t, dir, store.Options{})
		save(t, s, `{"n":1}`)
		_, l := open(t, dir, store.Options{MaxAge: 15 * time.Minute, Now: func() time.Time { return noon.Add(tc.later) }})
		if l.Status != tc.status || l.Recent != tc.recent || l.Age != tc.later || !strings.Contains(l.Reason, tc.says) {
			t.Errorf("%v later: %+v", tc.later, l)
		}
		if string(l.Payload) != `{"n":1}` || l.Lost() {
			t.Errorf("%v later: overrides are taken up at any age, got %+v", tc.later, l)
		}
	}
}

// Every way in which a state file was found broken in the field.
func TestCase30CorruptState(t *testing.T) {
	good := func(t *testing.T) string {
		dir := t.TempDir()
		s, _ := open(t, dir, store.Options{})
		save(t, s, `{"answers":{"www":["192.0.2.1","192.0.2.2"]}}`)
		return read(t, filepath.Join(dir, "state.json"))
	}
	for name, spoil := range map[string]func(text string) string{
		"empty":           func(string) string { return "" },
		"NULs":            func(string) string { return strings.Repeat("\x00", 4096) },
		"half":            func(text string) string { return text[:len(text)/2] },
		"a list":          func(string) string { return "[]" },
		"an empty object": func(string) string { return "{}" },
		"version 0":       func(text string) string { return strings.Replace(text, `"version":1`, `"version":0`, 1) },
		"version as text": func(text string) string { return strings.Replace(text, `"version":1`, `"version":"1"`, 1) },
		"one digit":       func(text string) string { return strings.Replace(text, "192.0.2.2", "192.0.2.3", 1) },
		"two states":      func(text string) string { return text + text },
		"no checksum":     func(text string) string { return strings.Replace(text, `"sha256"`, `"sha1"`, 1) },
	} {
		for _, older := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, older generation %v", name, older), func(t *testing.T) {
				dir := t.TempDir()
				bad := spoil(good(t))
				s, _ := open(t, dir, store.Options{})
				if older {
					save(t, s, `{"n":1}`)
					save(t, s, `{"n":2}`)
				}
				write(t, filepath.Join(dir, "state.json"), bad)
				checkCorrupt(t, dir, bad, older)
			})
		}
	}
}

func checkCorrupt(t *testing.T, dir, bad string, older bool) {
	t.Helper()
	var l store.Loaded
	var s *store.Store
	for range 2 { // a second start before anything was saved warns again, and makes no second copy
		s, l = open(t, dir, store.Options{MaxAge: time.Hour})
		if l.Status != store.Corrupt || !l.Lost() || l.Reason == "" {
			t.Fatalf("loaded %+v", l)
		}
		if older != (string(l.Payload) == `{"n":1}`) || l.Recent != older {
			t.Errorf("payload %q with an older generation: %v", l.Payload, older)
		}
		if asides := glob(t, dir, "state.corrupt-*"); len(asides) != 1 || asides[0] != l.Aside || read(t, l.Aside) != bad {
			t.Errorf("copies %v, said %q, or not the same bytes", asides, l.Aside)
		}
	}
	save(t, s, `{"n":3}`)
	if _, l := open(t, dir, store.Options{}); l.Status != store.Fresh || string(l.Payload) != `{"n":3}` {
		t.Errorf("after the next save: %+v", l)
	}
	if older && !strings.Contains(read(t, filepath.Join(dir, "state.json.1")), `{"n":1}`) {
		t.Error("the corrupt generation replaced the good older one")
	}
	if len(glob(t, dir, "state.corrupt-*")) != 1 || read(t, l.Aside) != bad {
		t.Error("the copy of the corrupt state was lost")
	}
}

func TestCase30NewerVersionIsNotWrittenOver(t *testing.T) {
	dir := t.TempDir()
	newer := `{"version":999,"state":{"what":"ever"}}`
	write(t, filepath.Join(dir, "state.json"), newer)
	s, l := open(t, dir, store.Options{})
	if l.Status != store.Newer || !l.Lost() || l.Payload != nil || !strings.Contains(l.Reason, "999") {
		t.Errorf("loaded %+v", l)
	}
	if err := s.Save([]byte(`{}`)); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("save: %v, want ErrNewer with the next step", err)
	}
	if read(t, filepath.Join(dir, "state.json")) != newer || read(t, l.Aside) != newer {
		t.Error("the newer state was changed")
	}
}

func TestCase30DirectoryInPlaceOfTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "state.json", "inside"), "kept")
	s, l := open(t, dir, store.Options{})
	if l.Status != store.Corrupt || read(t, filepath.Join(l.Aside, "inside")) != "kept" {
		t.Fatalf("loaded %+v", l)
	}
	save(t, s, `{"n":1}`)
	if _, l := open(t, dir, store.Options{}); l.Status != store.Fresh {
		t.Errorf("after the next save: %+v", l)
	}
}

func TestAPipeInPlaceOfTheFileDoesNotBlock(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "state.json"), 0o600); err != nil {
		t.Skip(err)
	}
	if _, l := open(t, dir, store.Options{}); l.Status != store.Corrupt {
		t.Errorf("loaded %+v", l)
	}
}

func TestAMissingStateBesideAnOlderOneIsALoss(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":1}`)
	save(t, s, `{"n":2}`)
	if err := os.Remove(filepath.Join(dir, "state.json")); err != nil {
		t.Fatal(err)
	}
	_, l := open(t, dir, store.Options{})
	if l.Status != store.Corrupt || string(l.Payload) != `{"n":1}` || !strings.Contains(l.Reason, "missing") {
		t.Errorf("loaded %+v", l)
	}
}

func TestRejectOffersTheOlderGeneration(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":1}`)
	save(t, s, `{"address":""}`)
	s, l := open(t, dir, store.Options{})
	l = s.Reject(l, "an empty address")
	if l.Status != store.Corrupt || string(l.Payload) != `{"n":1}` || !strings.Contains(l.Reason, "an empty address") || !strings.Contains(read(t, l.Aside), "address") {
		t.Errorf("rejected once: %+v", l)
	}
	l = s.Reject(l, "no good either")
	if l.Status != store.Corrupt || l.Payload != nil || !strings.Contains(read(t, l.Aside), `{"n":1}`) {
		t.Errorf("rejected twice: %+v", l)
	}
	save(t, s, `{"n":3}`)
	if _, l := open(t, dir, store.Options{}); l.Status != store.Fresh {
		t.Errorf("after the next save: %+v", l)
	}
}

func TestLeftoversOfKilledProcessesAreSwept(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, ".state.json123"), filepath.Join(dir, ".notes.json456")
	for _, path := range []string{old, young} {
		write(t, path, "half")
		if err := os.Chtimes(path, noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, noon, noon.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	open(t, dir, store.Options{})
	if left := glob(t, dir, ".*"); len(left) != 1 || left[0] != young {
		t.Errorf("left over: %v, want only the young one, which may be in use", left)
	}
}

// What a command run by root writes, the daemon's user must be able to read.
func TestFilesWrittenByRootBelongToTheOwnerOfTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file for somebody else")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skip(err)
	}
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":1}`)
	save(t, s, `{"n":2}`)
	must(t, s.Append("one", nil), s.Notes().Trust())
	for _, path := range glob(t, dir, "*") {
		var of unix.Stat_t
		if err := unix.Stat(path, &of); err != nil || of.Uid != 65534 || of.Mode&0o777 != 0o600 {
			t.Errorf("%s: owner %d, mode %o, %v", path, of.Uid, of.Mode&0o777, err)
		}
	}
}

func TestOpenNeedsADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "x")
	if _, _, err := store.Open(path, store.Options{}); err == nil {
		t.Error("a file was opened as a directory")
	}
}

// The disk is full, then read-only: the old files stay as they were, the
// errors can be told apart, and everything works again once there is room.
func TestCase31FullAndReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s, _ := open(t, dir, store.Options{})
	notes := s.Notes()
	save(t, s, `{"n":1}`)
	must(t, s.Append("write", map[string]int{"n": 1}), notes.Trust())
	before := read(t, filepath.Join(dir, "state.json")) + read(t, filepath.Join(dir, "journal.jsonl"))
	filler := fill(t, dir)

	big := fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", 8192))
	if err := s.Save([]byte(big)); !errors.Is(err, store.ErrFull) {
		t.Errorf("save on a full disk: %v, want ErrFull", err)
	}
	if err := s.Append("write", json.RawMessage(big)); !errors.Is(err, store.ErrFull) {
		t.Errorf("append on a full disk: %v, want ErrFull", err)
	}
	if after := read(t, filepath.Join(dir, "state.json")) + read(t, filepath.Join(dir, "journal.jsonl")); after != before {
		t.Errorf("the full disk changed the old files:\n%s\n%s", before, after)
	}
	if err := notes.Open("call-1", json.RawMessage(big)); !errors.Is(err, store.ErrFull) {
		t.Errorf("note on a full disk: %v, want ErrFull", err)
	}
	if _, trusted := s.Notes().Pending(); trusted {
		t.Error("a note could not be stored, and a restart would believe that there is none")
	}

	must(t, os.Remove(filler), s.Save([]byte(big)), s.Append("write", nil), notes.Open("call-2", nil))
	if open, trusted := s.Notes().Pending(); len(open) != 2 || !trusted {
		t.Errorf("with room again: open %v, trusted %v", open, trusted)
	}

	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	s, l := open(t, dir, store.Options{})
	if l.Status != store.Fresh || !errors.Is(l.Unwritable, store.ErrReadOnly) {
		t.Errorf("read-only: %+v, want the payload and ErrReadOnly", l)
	}
	if err := s.Save([]byte(`{}`)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("save: %v, want ErrReadOnly", err)
	}
	if err := s.Append("write", nil); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("append: %v, want ErrReadOnly", err)
	}
}

// fill takes all room that is left and returns the file that holds it.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	must(t, f.Close())
	return path
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	return names
}
