package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sidestep/pkg/lease"
)

// The disk is full before the holder can be written down: the lock holds.
func TestFullDiskDoesNotCostTheLease(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	full := make([]byte, 1<<20)
	if err := os.WriteFile(filepath.Join(dir, "filler"), full, 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	h, err := newLock(dir, "mon-1").Acquire(ended())
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, h)
	if err := h.Gate(0); err != nil {
		t.Error(err)
	}
	_, err = newLock(dir, "mon-2").Acquire(ended())
	var by *lease.HeldError
	if !errors.As(err, &by) || by.Holder != "another process on this host" {
		t.Errorf("second acquire: %v", err)
	}
}

// A state directory that is mounted read-only: a lock file that is there can be
// locked by one, and one that is missing is an error that says what to do, since
// nobody may lead without. A held lock does not keep anybody from remounting.
func TestCase31ReadOnlyDirectoryDoesNotCostTheLease(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	_, err := newLock(dir, "mon-1").Acquire(ended())
	var by *lease.HeldError
	if err == nil || errors.As(err, &by) || !strings.Contains(err.Error(), "mount "+dir+" writable") {
		t.Errorf("without a lock file: %v", err)
	}
	remount(0)
	h := acquire(t, newLock(dir, "mon-1"))
	remount(unix.MS_RDONLY)
	if err := h.Gate(0); err != nil {
		t.Errorf("gate of the holder after the remount: %v", err)
	}
	release(t, h)
	next := acquire(t, newLock(dir, "mon-2"))
	if err := next.Gate(0); err != nil {
		t.Errorf("gate of a holder that came afterwards: %v", err)
	}
	if _, err := newLock(dir, "mon-3").Acquire(ended()); !errors.As(err, &by) {
		t.Errorf("a second one beside it: %v", err)
	}
	remount(0) // and the release can be written again
	release(t, next)
}

// No room even for an empty file: nobody leads, and the error says what to do.
func TestCase31NoRoomForTheLockFile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "nr_inodes=2"); err != nil { // its root, and one file
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newLock(dir, "mon-1").Acquire(ended())
	var by *lease.HeldError
	if !errors.Is(err, unix.ENOSPC) || errors.As(err, &by) || !strings.Contains(err.Error(), "free some space in "+dir) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	acquire(t, newLock(dir, "mon-1"))
}
