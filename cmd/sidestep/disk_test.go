package main

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// smallDisk mounts a file system of 64 KiB at the state directory.
func (w *world) smallDisk() {
	w.t.Helper()
	if err := os.Mkdir(w.state(), 0o750); err != nil {
		w.t.Fatal(err)
	}
	err := unix.Mount("tmpfs", w.state(), "tmpfs", 0, "size=64k")
	switch {
	case err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require":
		w.t.Fatal(err)
	case err != nil:
		w.t.Skip("needs the right to mount a small file system: ", err)
	}
	w.t.Cleanup(func() {
		if err := unix.Unmount(w.state(), unix.MNT_DETACH); err != nil {
			w.t.Error(err)
		}
	})
}

// remount makes the state directory read-only, or writable again. It is refused
// while the daemon has a file open for writing, which a save does for a moment.
func (w *world) remount(flags uintptr) {
	w.t.Helper()
	w.wait("the disk to be mounted anew", func() bool {
		return unix.Mount("", w.state(), "", unix.MS_REMOUNT|flags, "") == nil
	})
}

// fillDisk takes all room of the state directory, a page after the other, and
// holds on to the older generation of the state: the next save would free its
// room and find place there.
func (w *world) fillDisk() {
	w.t.Helper()
	f, err := os.Create(filepath.Join(w.state(), "filler"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	fill := func() {
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, unix.ENOSPC) {
			w.t.Fatalf("the disk is not full: %v", err)
		}
		err = nil
	}
	fill()
	older := filepath.Join(w.state(), "state.json.1")
	if err := os.Link(older, older+".held"); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	fill() // what a save that was under way gave back
	w.wait("that save to be over", func() bool {
		temporary, err := filepath.Glob(filepath.Join(w.state(), ".state.json*"))
		return err == nil && len(temporary) == 0
	})
}

// emptyDisk takes away what fillDisk put there.
func (w *world) emptyDisk() {
	for _, name := range []string{"state.json.1.held", "filler"} {
		if err := os.Remove(filepath.Join(w.state(), name)); err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
	}
}

// stateSum is the checksum of the saved state.
func (w *world) stateSum() [sha256.Size]byte {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.state(), "state.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	return sha256.Sum256(content)
}

// waitUnsaved waits until status says loudly that nothing can be saved, or does not
// any more.
func (w *world) waitUnsaved(want bool) {
	w.t.Helper()
	w.wait("status to be right about the disk", func() bool {
		s := w.status()
		return s != nil && slices.ContainsFunc(s.Notices, func(n string) bool { return strings.Contains(n, "the state cannot be saved") }) == want
	})
}

// TestCase31FullAndReadOnlyDisk fills the state directory, then remounts it
// read-only, and lets a server die each time. The failover comes from memory,
// the old file stays whole, status is loud, a person's yes that cannot be stored
// is refused, and once there is room the new state is there.
func TestCase31FullAndReadOnlyDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.extra = "guard: {max_writes: 0}"
	w.smallDisk()
	w.write()
	p := w.run()
	w.waitUp(2)
	w.wait("the state to be saved", func() bool {
		_, err := os.Stat(filepath.Join(w.state(), "state.json"))
		return err == nil
	})
	for _, disk := range []struct {
		name       string
		harm, mend func()
	}{
		{"full", w.fillDisk, w.emptyDisk},
		{"read-only", func() { w.remount(unix.MS_RDONLY) }, func() { w.remount(0) }},
	} {
		disk.harm()
		sum := w.stateSum()
		w.failOverAndBack(0)
		w.waitUnsaved(true)
		if w.stateSum() != sum {
			t.Errorf("%s: the old state was changed", disk.name)
		}
		if code, _, errOut := w.sidestep("approve", "www.example.com"); code == 0 || !strings.Contains(errOut, "could not be stored") {
			t.Errorf("%s: approve exited with %d: %s", disk.name, code, errOut)
		}
		disk.mend()
		w.waitUnsaved(false)
		if w.stateSum() == sum {
			t.Errorf("%s: the new state was not saved when it could be", disk.name)
		}
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// TestCase31StartOnAReadOnlyDisk starts where nothing can be written. With a lock
// file that is there, one process leads and fails over; without one nobody does,
// since two could not see each other, until the disk is writable again.
func TestCase31StartOnAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.extra = "guard: {max_writes: 0}"
	w.smallDisk()
	w.write()
	w.remount(unix.MS_RDONLY)
	p := w.run()
	w.wait("it to say why it does not lead", func() bool {
		s := w.status()
		return s != nil && s.Leader.State == "none" && strings.Contains(s.Leader.Detail, "make the lock file") && strings.Contains(s.Leader.Detail, "writable")
	})
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.wait("it to see the server down", func() bool { return verdictOf(w.status(), 0) == "down" })
	if live := w.live(); len(live) != 2 {
		t.Errorf("written without a lock: %v", live)
	}
	if code, _, errOut := w.sidestep("reconcile"); code == 0 || !strings.Contains(errOut, "lock file") {
		t.Errorf("reconcile exited with %d: %s", code, errOut)
	}
	w.remount(0)
	w.waitLive(ip(w.backends[1])) // it leads by itself now
	if err := w.backends[0].Mend(); err != nil {
		t.Fatal(err)
	}
	w.waitLive(ip(w.backends[0]), ip(w.backends[1]))
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}

	w.remount(unix.MS_RDONLY)
	p = w.run()
	w.waitUp(2)
	w.failOverAndBack(0)
	w.waitUnsaved(true)
	if n := strings.Count(p.log.String(), "older generation"); n > 0 {
		t.Errorf("%d lines of what is only a part of the trouble", n)
	}
	if code := p.stop(t); code == 0 || !strings.Contains(p.log.String(), "read-only file system") {
		t.Errorf("it ended with %d, and its last state is not saved", code)
	}
}

// TestCase31OneShotOnAReadOnlyDisk fails over by one command with a lock file that
// is there and a disk that takes nothing: the answer is what was done, and the
// exit code says that it is not saved.
func TestCase31OneShotOnAReadOnlyDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.smallDisk()
	w.write()
	if code, out, errOut := w.sidestep("reconcile"); code != 0 {
		t.Fatalf("reconcile exited with %d: %s%s", code, out, errOut)
	}
	w.remount(unix.MS_RDONLY)
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := w.sidestep("reconcile")
	if code != 1 || !strings.Contains(out, "written: 1") || !strings.Contains(errOut, "sidestep: save the state") {
		t.Errorf("reconcile exited with %d:\n%s%s", code, out, errOut)
	}
	w.waitLive(ip(w.backends[1]))
}

func verdictOf(s *control.Status, target int) string {
	if s == nil || len(s.Targets) <= target {
		return ""
	}
	return s.Targets[target].Verdict
}
