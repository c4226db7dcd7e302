package file

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newLock(dir, node string) lease.Lease {
	return New(Options{Dir: dir, Node: node, Clock: clock.NewFake(time.Hour, noon), Poll: time.Millisecond})
}

// ended is a context that is over: one try and no waiting.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func acquire(t *testing.T, l lease.Lease) lease.Held {
	t.Helper()
	h, err := l.Acquire(ended())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(t, h) })
	return h
}

func release(t *testing.T, h lease.Held) {
	t.Helper()
	if err := h.Release(context.Background()); err != nil {
		t.Error(err)
	}
}

func isLost(h lease.Held) bool {
	select {
	case <-h.Lost():
		return true
	default:
		return false
	}
}

func TestLeaseIsHeldByOneAndFreedByRelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	first := acquire(t, newLock(dir, "mon-1"))
	if err := first.Gate(time.Hour); err != nil || isLost(first) {
		t.Errorf("gate of the holder: %v, lost %v", err, isLost(first))
	}
	if until, ends := first.Until(); ends {
		t.Errorf("a file lock ends at %v", until)
	}
	_, err := newLock(dir, "mon-2").Acquire(ended())
	var by *lease.HeldError
	if !errors.As(err, &by) || !errors.Is(err, context.Canceled) {
		t.Fatalf("second acquire: %v, want a HeldError of the context", err)
	}
	want := fmt.Sprintf("mon-1 (process %d, since 2026-03-04T12:00:00Z)", os.Getpid())
	if by.Holder != want || by.Hint == "" || !strings.Contains(err.Error(), want) {
		t.Errorf("held by %q (%v), want %q", by.Holder, err, want)
	}
	release(t, first)
	if err := first.Gate(0); !errors.Is(err, lease.ErrLost) || !isLost(first) {
		t.Errorf("gate after the release: %v, lost %v", err, isLost(first))
	}
	second := acquire(t, newLock(dir, "mon-2"))
	if second.Term().Epoch != first.Term().Epoch+1 {
		t.Errorf("epochs %d and %d", first.Term().Epoch, second.Term().Epoch)
	}
	release(t, first) // again: does nothing to the second
	if err := second.Gate(0); err != nil {
		t.Errorf("gate of the second: %v", err)
	}
}

func TestAcquireWaitsUntilTheLeaseIsFree(t *testing.T) {
	dir := t.TempDir()
	first := acquire(t, newLock(dir, "mon-1"))
	waiter := newLock(dir, "mon-2")
	looked := make(chan struct{}, 100)
	waiting(t, waiter).magic = func(string) (uint32, error) { looked <- struct{}{}; return 0, nil }
	got := make(chan error, 1)
	go func() {
		h, err := waiter.Acquire(t.Context())
		if err == nil {
			err = h.Release(context.Background())
		}
		got <- err
	}()
	<-looked
	select {
	case err := <-got:
		t.Fatalf("acquired while it was held: %v", err)
	default:
	}
	release(t, first)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestAcquireStopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	acquire(t, newLock(dir, "mon-1"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := newLock(dir, "mon-2").Acquire(ctx)
	var by *lease.HeldError
	if !errors.As(err, &by) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a HeldError of the deadline", err)
	}
}

// Whatever happens to the file under the holder, the next gate says no, and it
// stays so.
func TestReplacedOrRemovedFileLosesTheLease(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed":         os.Remove,
		"directory moved": func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-old") },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		},
		"linked": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			h := acquire(t, newLock(dir, "mon-1"))
			path := filepath.Join(dir, Name)
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := h.Gate(0); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "replaced") || !isLost(h) {
					t.Errorf("gate: %v, lost %v", err, isLost(h))
				}
			}
		})
	}
}

func TestFileThatWasReplacedIsLockedAnew(t *testing.T) {
	dir := t.TempDir()
	old := acquire(t, newLock(dir, "mon-1"))
	if err := os.Remove(filepath.Join(dir, Name)); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, newLock(dir, "mon-2"))
	if err := old.Gate(0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("gate of the old holder: %v", err)
	}
	release(t, old)
	if err := next.Gate(0); err != nil {
		t.Errorf("gate of the new holder: %v", err)
	}
}

func TestFileReplacedBetweenOpenAndLockIsNotClaimed(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		dir := t.TempDir()
		l := waiting(t, newLock(dir, "mon-1"))
		f, err := l.open()
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(filepath.Join(dir, Name)); err != nil {
			t.Fatal(err)
		}
		if h, err := l.claim(f); h != nil || err != nil {
			t.Errorf("%s: got %v, %v, want neither", name, h, err)
		}
		acquire(t, l)
	}
}

// The lock of this open file was taken away without a trace in the directory;
// somebody else has it by now.
func TestLockThatIsGoneLosesTheLease(t *testing.T) {
	dir := t.TempDir()
	h := acquire(t, newLock(dir, "mon-1"))
	inner, is := h.(*held)
	if !is {
		t.Fatalf("got %T", h)
	}
	if err := unix.Flock(int(inner.f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	acquire(t, newLock(dir, "mon-2"))
	if err := h.Gate(0); !errors.Is(err, lease.ErrLost) || !isLost(h) {
		t.Errorf("gate: %v, lost %v", err, isLost(h))
	}
}

func TestCase83NetworkFileSystemIsRefused(t *testing.T) {
	for magic, name := range network {
		dir := t.TempDir()
		l := newLock(dir, "mon-1")
		waiting(t, l).magic = func(string) (uint32, error) { return magic, nil }
		_, err := l.Acquire(ended())
		var by *lease.HeldError
		if err == nil || errors.As(err, &by) {
			t.Fatalf("%s: %v, want a refusal", name, err)
		}
		for _, part := range []string{dir, "(" + name + ")", "etcd"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, Name)); err == nil {
			t.Errorf("%s: a lock file was made all the same", name)
		}
	}
	for name, magic := range map[string]uint32{"ext4": 0xef53, "tmpfs": 0x01021994, "xfs": 0x58465342, "btrfs": 0x9123683e, "overlay": 0x794c7630} {
		l := newLock(t.TempDir(), "mon-1")
		waiting(t, l).magic = func(string) (uint32, error) { return magic, nil }
		if _, err := l.Acquire(ended()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileSystemThatCannotBeToldIsAnError(t *testing.T) {
	l := newLock(t.TempDir(), "mon-1")
	waiting(t, l).magic = func(string) (uint32, error) { return magicOf("/does/not/exist") }
	if _, err := l.Acquire(ended()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// What a crash left behind means nothing: a process id that is somebody else's
// now (1, ours), another host's name, half a line, NULs.
func TestCase84LeftoverFileIsHarmless(t *testing.T) {
	old := func(pid int) string {
		text, err := json.Marshal(info{Node: "other-host", PID: pid, Since: noon.Add(time.Hour), Epoch: 41})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, tc := range map[string]struct {
		text  string
		epoch uint64
	}{
		"process 1":     {old(1), 42},
		"our own id":    {old(os.Getpid()), 42},
		"nobody's id":   {old(1 << 22), 42},
		"empty":         {"", 1},
		"half a line":   {old(1)[:20], 1},
		"NULs":          {strings.Repeat("\x00", 4096), 1},
		"a longer text": {old(1) + strings.Repeat(" ", 9999) + "rubbish", 42},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, Name)
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		h := acquire(t, newLock(dir, "mon-1"))
		if h.Term().Epoch != tc.epoch || h.Gate(0) != nil {
			t.Errorf("%s: epoch %d, want %d; gate %v", name, h.Term().Epoch, tc.epoch, h.Gate(0))
		}
		text, err := os.ReadFile(path)
		var now info
		if err != nil || json.Unmarshal(text, &now) != nil || now.Node != "mon-1" || now.PID != os.Getpid() {
			t.Errorf("%s: the file says %q, %v", name, text, err)
		}
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(path+".elsewhere", path) },
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, Name)); err != nil {
			t.Fatal(err)
		}
		_, err := newLock(dir, "mon-1").Acquire(ended())
		var by *lease.HeldError
		if err == nil || errors.As(err, &by) || !strings.Contains(err.Error(), Name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is written about the holder goes into the file that is locked, and never
// into one that took its place.
func TestReplacedFileIsNotWrittenInto(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	h := acquire(t, newLock(dir, "mon-1"))
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	release(t, h)
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("the other file says %q, %v", text, err)
	}
}

// root makes the file, the daemon's user must be able to open it.
func TestFileMadeByRootBelongsToTheOwnerOfTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file for somebody else")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skip(err)
	}
	acquire(t, newLock(dir, "mon-1"))
	var of unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, Name), &of); err != nil || of.Uid != 65534 || of.Mode&0o777 != 0o600 {
		t.Errorf("owner %d, mode %o, %v", of.Uid, of.Mode, err)
	}
}

// A real second process: it holds the lease against us and is named; killed, it
// frees it at once.
func TestCase84KilledProcessFreesTheLease(t *testing.T) {
	dir := t.TempDir()
	var last uint64
	for range 3 { // start, kill, start again, as a crash loop does
		child, epoch := startHolder(t, dir)
		_, err := newLock(dir, "mon-2").Acquire(ended())
		var by *lease.HeldError
		if !errors.As(err, &by) || !strings.Contains(by.Holder, fmt.Sprintf("child (process %d,", child.Process.Pid)) {
			t.Errorf("held by a living process: %v", err)
		}
		if epoch <= last {
			t.Errorf("epoch %d after %d", epoch, last)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil {
			t.Error("the child was not killed")
		}
		h := acquire(t, newLock(dir, "mon-2"))
		last = h.Term().Epoch
		release(t, h)
	}
}

// Several processes take and release the lease in turn; each finds itself alone
// every time.
func TestProcessesHoldTheLeaseOneAtATime(t *testing.T) {
	dir := t.TempDir()
	var children []*exec.Cmd
	for range 3 {
		child := helper(t, "contend", dir)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Errorf("process %d: %v", child.Process.Pid, err)
		}
	}
	h := acquire(t, newLock(dir, "mon-1"))
	if want := uint64(3*turns + 1); h.Term().Epoch != want {
		t.Errorf("epoch %d after %d holders, want %d", h.Term().Epoch, want-1, want)
	}
}

// startHolder starts a process that holds the lease until it is killed.
func startHolder(t *testing.T, dir string) (*exec.Cmd, uint64) {
	t.Helper()
	child := helper(t, "hold", dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = os.Stderr
	in, err := child.StdinPipe() // it ends with us at the latest
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var epoch uint64
	if _, err := fmt.Fscan(bufio.NewReader(out), &epoch); err != nil {
		t.Fatalf("the child holds nothing: %v", err)
	}
	return child, epoch
}

func helper(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return child
}

const (
	roleEnv = "LEASE_TEST_ROLE"
	dirEnv  = "LEASE_TEST_DIR"
	turns   = 25
)

func TestMain(m *testing.M) {
	roles := map[string]func(dir string) error{"hold": hold, "contend": contend}
	role, is := roles[os.Getenv(roleEnv)]
	if !is {
		os.Exit(m.Run())
	}
	if err := role(os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(dir string) error {
	h, err := newLock(dir, "child").Acquire(ended())
	if err != nil {
		return err
	}
	fmt.Println(h.Term().Epoch)
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, h.Release(context.Background()))
}

func contend(dir string) error {
	mark := filepath.Join(dir, "inside")
	for range turns {
		h, err := newLock(dir, "child").Acquire(context.Background())
		if err != nil {
			return err
		}
		f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("two processes hold the lease: %w", err)
		}
		if err := errors.Join(f.Close(), h.Gate(0), os.Remove(mark), h.Release(context.Background())); err != nil {
			return err
		}
	}
	return nil
}

func waiting(t *testing.T, l lease.Lease) *lock {
	t.Helper()
	inner, is := l.(*lock)
	if !is {
		t.Fatalf("got %T", l)
	}
	return inner
}
