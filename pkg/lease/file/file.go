package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
)

// Name is the lock file's name in the state directory.
const Name = "leader.lock"

const defaultPoll = 250 * time.Millisecond

// Options are what a lock works with. Dir and Node are needed.
type Options struct {
	Dir    string        // the state directory; it is made when it is missing
	Node   string        // who we are, for the message that others get
	Clock  clock.Clock   // nil means clock.System
	Logger *slog.Logger  // nil logs nothing
	Poll   time.Duration // how often a waiting process tries again; 0 means 250 ms
}

// New is a lease on the lock file of a directory.
func New(o Options) lease.Lease {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll <= 0 {
		o.Poll = defaultPoll
	}
	return &lock{opts: o, path: filepath.Join(o.Dir, Name), magic: magicOf}
}

type lock struct {
	opts  Options
	path  string
	magic func(path string) (uint32, error)
}

// info is what stands in the lock file. It is for people: nothing but the
// message and the epoch follows from it.
type info struct {
	Node     string    `json:"node"`
	PID      int       `json:"pid"`
	Since    time.Time `json:"since"`
	Epoch    uint64    `json:"epoch"`
	Released bool      `json:"released,omitempty"`
}

// String names the holder for a message.
func (i info) String() string {
	if i.Node == "" || i.Released { // not written yet
		return "another process on this host"
	}
	return fmt.Sprintf("%s (process %d, since %s)", i.Node, i.PID, i.Since.Format(time.RFC3339))
}

// Acquire implements lease.Lease. There is no queue: of several processes that
// wait, any may be next.
func (l *lock) Acquire(ctx context.Context) (lease.Held, error) {
	if err := os.MkdirAll(l.opts.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("acquire the lease: %w", err)
	}
	magic, err := l.magic(l.opts.Dir)
	if err == nil {
		err = refuseNetwork(l.opts.Dir, magic)
	}
	if err != nil {
		return nil, fmt.Errorf("acquire the lease: %w", err)
	}
	again := time.NewTicker(l.opts.Poll)
	defer again.Stop()
	for {
		h, err := l.try()
		if err != nil {
			return nil, fmt.Errorf("acquire the lease: %w", err)
		}
		if h != nil {
			return h, nil
		}
		select {
		case <-ctx.Done():
			return nil, &lease.HeldError{
				Holder: l.holder().String(),
				Hint:   "it is freed when that process ends; only one process may steer from " + l.opts.Dir,
				Err:    ctx.Err(),
			}
		case <-again.C:
		}
	}
}

// try locks the file once. It returns nil, nil when somebody else has it.
func (l *lock) try() (*held, error) {
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	return l.claim(f)
}

// claim locks an open file. The file may have been replaced since it was
// opened; its lock would then be worth nothing, and the next try finds the new
// one.
func (l *lock) claim(f *os.File) (*held, error) {
	same := false
	err := flock(f)
	if err == nil {
		same, err = l.same(f)
	}
	if same {
		return l.hold(f), nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return nil, errors.Join(err, f.Close())
}

// open opens the lock file, and makes it if need be. It is opened to be read
// only: that is enough for flock, works where the file system is read-only, and
// lets an administrator remount it so while the lock is held. A symbolic link
// is refused: what it points to could be changed under the lock. When root
// makes the file, it belongs to the owner of the directory, so that a command
// run by root does not lock the daemon out.
func (l *lock) open() (*os.File, error) {
	f, err := os.OpenFile(l.path, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600) // a pipe would block
	if err != nil {
		return nil, l.explain(err)
	}
	stat, err := f.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = fmt.Errorf("expected a file, got %v; remove %s", stat.Mode().Type(), l.path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := giveToOwner(f, l.opts.Dir); err != nil {
		l.opts.Logger.Warn("the lock file could not be given to the owner of its directory", "path", l.path, "error", err)
	}
	return f, nil
}

// explain says what to do about a lock file that can neither be opened nor made.
// Nobody leads without one: a second process could not see the first.
func (l *lock) explain(err error) error {
	switch {
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("expected a file, got a symbolic link; remove %s: %w", l.path, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w; run as the user of the daemon", err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("make the lock file: %w; mount %s writable once, after which a read-only one will do, or name another state.dir", err, l.opts.Dir)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("make the lock file: %w; free some space in %s: the empty file is enough", err, l.opts.Dir)
	}
	return err
}

// giveToOwner makes a file that root opened belong to whom its directory
// belongs to.
func giveToOwner(f *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var of, is unix.Stat_t
	if err := errors.Join(unix.Stat(dir, &of), unix.Fstat(int(f.Fd()), &is)); err != nil {
		return err
	}
	if of.Uid == is.Uid && of.Gid == is.Gid {
		return nil
	}
	return f.Chown(int(of.Uid), int(of.Gid))
}

// flock takes the lock, or confirms it when this open file has it already.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err
		}
	}
}

// same reports whether the path still leads to the open file.
func (l *lock) same(f *os.File) (bool, error) {
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(l.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(ours, there), nil
}

// holder reads who holds the lock, as far as it is written there.
func (l *lock) holder() info {
	f, err := os.Open(l.path)
	if err != nil {
		l.opts.Logger.Warn("the holder of the lock could not be read", "error", err)
		return info{}
	}
	defer func() { _ = f.Close() }() // nothing was written
	return readInfo(f)
}

// readInfo reads what an earlier holder wrote; rubbish counts as nothing.
func readInfo(f io.ReaderAt) info {
	var i info
	if err := json.NewDecoder(io.NewSectionReader(f, 0, 4096)).Decode(&i); err != nil {
		return info{}
	}
	return i
}

// hold writes down who holds the lock. That may fail, on a full or read-only
// disk: the lock holds all the same.
func (l *lock) hold(f *os.File) *held {
	h := &held{lock: l, f: f, lost: make(chan struct{})}
	h.info = info{
		Node:  l.opts.Node,
		PID:   os.Getpid(),
		Since: l.opts.Clock.Wall().UTC().Truncate(time.Second),
		Epoch: readInfo(f).Epoch + 1,
	}
	if err := h.write(); err != nil {
		l.opts.Logger.Warn("the holder could not be written into the lock file; the lock holds", "path", l.path, "error", err)
	}
	return h
}

type held struct {
	lock *lock
	info info

	mu   sync.Mutex
	f    *os.File // nil once released
	once sync.Once
	lost chan struct{}
}

// write writes over what is there, which needs no new room on the disk, and
// then cuts off the rest. It opens the file a second time, since the locked one
// is open to be read only; closing that one frees nothing (flock(2)).
func (h *held) write() (err error) {
	text, err := json.Marshal(h.info)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	f, err := os.OpenFile(h.lock.path, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	there, err := f.Stat()
	if err != nil {
		return err
	}
	ours, err := h.f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(there, ours) {
		return errors.New("it was replaced, and the new one is somebody else's")
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// Gate implements lease.Held. An flock has no end, so the length of the call
// does not matter.
func (h *held) Gate(time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.lost:
		return fmt.Errorf("%w: it was given up, or %s was replaced before", lease.ErrLost, h.lock.path)
	default:
	}
	same, err := h.lock.same(h.f)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("confirm the lease: %w", err)
	}
	if !same {
		h.lose()
		return fmt.Errorf("%w: %s was replaced or removed while it was locked", lease.ErrLost, h.lock.path)
	}
	if err := flock(h.f); err != nil {
		h.lose()
		return fmt.Errorf("%w: the lock on %s could not be confirmed: %w", lease.ErrLost, h.lock.path, err)
	}
	return nil
}

func (h *held) lose() { h.once.Do(func() { close(h.lost) }) }

// Term counts the holders since the lock file was made.
func (h *held) Term() lease.Term { return lease.Term{Epoch: h.info.Epoch} }

// Until is false: the lease ends with the process.
func (h *held) Until() (time.Duration, bool) { return 0, false }

// Lost is closed by Release, and by the Gate that notices a replaced file.
func (h *held) Lost() <-chan struct{} { return h.lost }

// Release says in the file that nobody holds it, and frees the lock.
func (h *held) Release(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose()
	if h.f == nil {
		return nil
	}
	h.info.Released = true
	if err := h.write(); err != nil {
		h.lock.opts.Logger.Warn("the release could not be written into the lock file", "path", h.lock.path, "error", err)
	}
	err := h.f.Close() // frees the lock: no other open file shares it
	h.f = nil
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}
