package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const twoAnswers = soaAndNS + "www A 192.0.2.1\nwww A 192.0.2.2\n"

// settled writes a zone file that nobody seems to be writing just now.
func settled(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
}

func adapterFor(t testing.TB, path string) *Adapter {
	t.Helper()
	a, err := build(provider.Settings{Zone: zone, Options: map[string]string{"file": path}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newZoneFile(t testing.TB, text string) (path string, a *Adapter) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "example.com.zone")
	settled(t, path, text)
	return path, adapterFor(t, path)
}

func contentOf(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func list(t testing.TB, a *Adapter) *provider.Snapshot {
	t.Helper()
	s, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pauseCall takes a value of www away beside the other.
func pauseCall(seen *provider.Snapshot, value, survivor, nonce string) provider.Call {
	www := keyOf("www", record.A)
	return provider.Call{
		Key:       www,
		Seen:      seen,
		Away:      []record.Change{{Action: record.Pause, Key: www, Value: value}},
		Survivors: []string{survivor},
		Next:      provider.Stamp{Holder: "test", Nonce: nonce},
	}
}

func TestListRefusesBadFiles(t *testing.T) {
	dir := t.TempDir()
	for name, prepare := range map[string]func(path string) error{
		"missing":   func(string) error { return nil },
		"empty":     func(path string) error { settled(t, path, ""); return nil },
		"cut off":   func(path string) error { settled(t, path, exampleZone[:130]); return nil },
		"no SOA":    func(path string) error { settled(t, path, "$TTL 1\nwww A 192.0.2.1\n"); return nil },
		"a folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a loop":    func(path string) error { return os.Symlink(path, path) },
		"too large": func(path string) error { settled(t, path, ""); return os.Truncate(path, maxFile+1) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := prepare(path); err != nil {
				t.Fatal(err)
			}
			s, err := adapterFor(t, path).List(t.Context())
			typed, ok := errors.AsType[*provider.Error](err)
			if s != nil || !ok || typed.Class != provider.Permanent || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, %v; want no snapshot and a permanent error that names the file", s, err)
			}
		})
	}
}

// TestListWaitsForAWriter: what a person's editor has truncated and not yet
// written is not taken for the zone.
func TestListWaitsForAWriter(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	for took := settling; took >= settling; { // again where this machine was too slow to be that editor
		start := time.Now()
		if err := os.WriteFile(path, []byte(soaAndNS), 0o640); err != nil { // half of it, just now
			t.Fatal(err)
		}
		sets := make(chan int, 1)
		go func() {
			s, err := a.List(t.Context())
			if err != nil {
				t.Errorf("list: %v", err)
				s = &provider.Snapshot{}
			}
			sets <- len(s.Sets)
		}()
		if err := os.WriteFile(path, []byte(twoAnswers), 0o640); err != nil {
			t.Fatal(err)
		}
		took = time.Since(start)
		if got := <-sets; got != 1 && took < settling {
			t.Errorf("the list has %d sets", got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	settled(t, path, twoAnswers)
	now := time.Now()
	if err := os.Chtimes(path, now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.List(ctx); provider.ClassOf(err) != provider.Retryable {
		t.Errorf("a file of the future, and no time to wait: expected a retryable error, got %v", err)
	}
	if _, err := a.List(t.Context()); err != nil {
		t.Errorf("a file of the future that holds still: %v", err)
	}
}

func TestWriteKeepsModeAndLink(t *testing.T) {
	path, _ := newZoneFile(t, twoAnswers)
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	a := adapterFor(t, link)
	if err := a.TakeAway(t.Context(), pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o604 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(link); err != nil || target != path {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	left, err := filepath.Glob(path + "*")
	if err != nil || len(left) != 2 {
		t.Errorf("expected the file and its lock, found %v, %v", left, err)
	}
}

func TestWriteKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path, a := newZoneFile(t, twoAnswers)
	if err := os.Chown(path, 65534, 65533); err != nil {
		t.Fatal(err)
	}
	if err := a.TakeAway(t.Context(), pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 65534 || stat.Gid != 65533 {
		t.Errorf("owner %+v", info.Sys())
	}
}

// TestWriteRefuses: each error is classed, names the file, and leaves it.
func TestWriteRefuses(t *testing.T) {
	www := keyOf("www", record.A)
	for _, c := range []struct {
		name, text string
		spoil      func(*provider.Call)
		class      provider.Class
	}{
		{"no list", twoAnswers, func(c *provider.Call) { c.Seen = nil }, provider.Permanent},
		{"a strange list", twoAnswers, func(c *provider.Call) { c.Seen = &provider.Snapshot{Zone: zone} }, provider.Permanent},
		{"no stamp", twoAnswers, func(c *provider.Call) { c.Next = provider.Stamp{} }, provider.Permanent},
		{"another zone", twoAnswers, func(c *provider.Call) { c.Key.Zone = "example.net." }, provider.Permanent},
		{"a variant", twoAnswers, func(c *provider.Call) { c.Key.Variant = "x" }, provider.Permanent},
		{"another set's change", twoAnswers, func(c *provider.Call) { c.Away[0].Key.Name = "x.example.com." }, provider.Permanent},
		{"a weight", twoAnswers, func(c *provider.Call) { c.Away[0].Action = record.SetWeight }, provider.Permanent},
		{"a TTL without bound", twoAnswers, func(c *provider.Call) { c.Away[0].TTL = 1 << 62 }, provider.Permanent},
		{"an unknown action", twoAnswers, func(c *provider.Call) { c.Away[0].Action = "delete" }, provider.Permanent},
		{"no such value", twoAnswers, func(c *provider.Call) { c.Away[0].Value = "192.0.2.9" }, provider.Conflict},
		{"no such survivor", twoAnswers, func(c *provider.Call) { c.Survivors[0] = "192.0.2.9" }, provider.Conflict},
		{"the last", twoAnswers, func(c *provider.Call) {
			c.Away = append(c.Away, record.Change{Action: record.Pause, Key: www, Value: "192.0.2.2"})
		}, provider.Conflict},
		{"an add that takes away", twoAnswers, func(c *provider.Call) { c.Add, c.Away = c.Away, nil }, provider.Permanent},
		{"nothing to resume", twoAnswers, func(c *provider.Call) {
			c.Add, c.Away = []record.Change{{Action: record.Resume, Key: www, Value: "192.0.2.9"}}, nil
		}, provider.Conflict},
		{"not an address", twoAnswers, func(c *provider.Call) {
			c.Add, c.Away = []record.Change{{Action: record.Create, Key: www, Value: "x"}}, nil
		}, provider.Permanent},
		{"another serial", twoAnswers, func(c *provider.Call) { c.Seen.Version = "6" }, provider.Conflict},
		{"another stamp", twoAnswers, func(c *provider.Call) { c.Seen.Stamps = []provider.Stamp{{Raw: "x"}} }, provider.FencedOut},
		{"a signed zone", twoAnswers + "www RRSIG A 8 3 300 20300101000000 20200101000000 1 example.com. AAAA\n", func(*provider.Call) {}, provider.Permanent},
		{"a CNAME beside", soaAndNS + "www A 192.0.2.1\nwww A 192.0.2.2\nwww CNAME x\n", func(*provider.Call) {}, provider.Permanent},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, a := newZoneFile(t, c.text)
			call := pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")
			c.spoil(&call)
			write := a.TakeAway
			if len(call.Away) == 0 {
				write = a.Add
			}
			err := write(t.Context(), call)
			typed, ok := errors.AsType[*provider.Error](err)
			if !ok || typed.Class != c.class || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want class %v and the file's name", err, c.class)
			}
			if got := contentOf(t, path); got != c.text {
				t.Errorf("the file became\n%s", got)
			}
		})
	}
}

// TestWriteFailsWhole: when the file cannot be written, it stays, and the error
// says that nothing has happened.
func TestWriteFailsWhole(t *testing.T) {
	for name, c := range map[string]struct {
		obstruct func(path string) error
		class    provider.Class
	}{
		"lock is a folder": {func(path string) error { return os.Mkdir(path+lockSuffix, 0o700) }, provider.Retryable},
		"lock is a link":   {func(path string) error { return os.Symlink("x", path+lockSuffix) }, provider.Permanent},
		"temp is a folder": {func(path string) error { return os.MkdirAll(path+tempSuffix+"/x", 0o700) }, provider.Retryable},
	} {
		t.Run(name, func(t *testing.T) {
			path, a := newZoneFile(t, twoAnswers)
			if err := c.obstruct(path); err != nil {
				t.Fatal(err)
			}
			err := a.TakeAway(t.Context(), pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1"))
			if provider.ClassOf(err) != c.class || contentOf(t, path) != twoAnswers {
				t.Errorf("got %v, want class %v; the file is\n%s", err, c.class, contentOf(t, path))
			}
		})
	}
}

// TestWriteWaitsForTheLock for as long as its context lasts.
func TestWriteWaitsForTheLock(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	call := pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")
	held, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := a.TakeAway(ctx, call); provider.ClassOf(err) != provider.Retryable {
		t.Errorf("expected a retryable error, got %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- a.TakeAway(t.Context(), call) }()
	held.release()
	if err := <-done; err != nil {
		t.Errorf("after the lock was free: %v", err)
	}
}

// TestWriteYieldsToAnEditor: what changes in the file after it was read, by
// hands that know no lock, is not overwritten.
func TestWriteYieldsToAnEditor(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	err := a.editLocked(t.Context(), func(doc *document) (*draft, error) {
		settled(t, path, twoAnswers+"x A 192.0.2.9\n")
		return doc.draft(), nil
	})
	if f, ok := errors.AsType[*fault](err); !ok || f.class != provider.Conflict {
		t.Errorf("expected a conflict, got %v", err)
	}
	if got := contentOf(t, path); got != twoAnswers+"x A 192.0.2.9\n" {
		t.Errorf("the file is\n%s", got)
	}
}

// TestLateWriteIsRefused: a writer that was stopped until its time was up does
// not rename.
func TestLateWriteIsRefused(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	ctx, cancel := context.WithCancel(t.Context())
	err := a.editLocked(ctx, func(doc *document) (*draft, error) {
		cancel()
		return doc.draft(), nil
	})
	if f, ok := errors.AsType[*fault](err); !ok || f.class != provider.Retryable || contentOf(t, path) != twoAnswers {
		t.Errorf("expected a retryable error and the file as it was, got %v", err)
	}
}

// TestLeftoverOfAKilledWriter is cleaned up by the next.
func TestLeftoverOfAKilledWriter(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	settled(t, path+tempSuffix, "half a zo")
	if err := a.TakeAway(t.Context(), pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + tempSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"no file":       {},
		"no port":       {"file": "x", "listen": "127.0.0.1"},
		"a host name":   {"file": "x", "listen": "localhost:53"},
		"a port's name": {"file": "x", "listen": "127.0.0.1:domain"},
		"a large port":  {"file": "x", "listen": "127.0.0.1:65536"},
	} {
		if a, err := New(provider.Settings{Zone: zone, Options: options}); a != nil || provider.ClassOf(err) != provider.Permanent {
			t.Errorf("%s: got %v, %v", name, a, err)
		}
	}
}

// TestWriteComparesTheSet: a hand that does not touch the serial is noticed by
// the set and by its parked copies, in a loose call as well.
func TestWriteComparesTheSet(t *testing.T) {
	for name, text := range map[string]string{
		"another TTL":   strings.Replace(twoAnswers, "www A 192.0.2.2", "www 60 A 192.0.2.2", 1),
		"another value": twoAnswers + "www A 192.0.2.3\n",
		"another copy":  twoAnswers + "_sidestep-paused.www TXT \"v=sidestep1 type=A value=192.0.2.3 ttl=60\"\n",
	} {
		path, a := newZoneFile(t, twoAnswers)
		call := pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1")
		call.Loose = true
		settled(t, path, text)
		if err := a.TakeAway(t.Context(), call); provider.ClassOf(err) != provider.Conflict || contentOf(t, path) != text {
			t.Errorf("%s: expected a conflict, got %v", name, err)
		}
	}
}
