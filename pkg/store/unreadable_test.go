package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"sidestep/pkg/store"
)

// nobody is a user who owns nothing.
const nobody = 65534

// TestCase30UnreadableFile opens a state file that its reader has no right to.
// Root has every right, so the test takes on the file rights of nobody, for its
// own thread alone.
func TestCase30UnreadableFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "store-") //nolint:usetesting // its parent is closed to nobody
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":1}`)
	if err := os.Chmod(filepath.Join(dir, "state.json"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		defer asNobody(t)()
	}
	_, l := open(t, dir, store.Options{})
	if l.Status != store.Corrupt || l.Aside == "" {
		t.Errorf("loaded %+v", l)
	}
}

// asNobody gives this goroutine's thread the file rights of nobody, and returns
// what takes them back (setfsuid(2): the rights of a thread, not of a process).
func asNobody(t *testing.T) (back func()) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Fatal(err) // the thread stays locked, and ends with its goroutine
		}
		runtime.UnlockOSThread()
	}
}
