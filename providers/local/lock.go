package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/provider"
)

const (
	lockPoll   = 5 * time.Millisecond
	lockSuffix = ".sidestep.lock"
)

// lock keeps every other writer out that knows of it. It is a file beside the
// zone file, because that is replaced by each write, and stays when it is
// unlocked, for removing it would let two in. In it stands which state of the
// zone file was written whole by this package, so that readers need not wait
// to see whether it holds still.
type lock struct{ file *os.File }

// acquire waits for the lock of a zone file until ctx ends.
func acquire(ctx context.Context, target string) (*lock, error) {
	file, err := os.OpenFile(target+lockSuffix, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, classed(err)
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return &lock{file}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(classed(fmt.Errorf("lock %s: %w", file.Name(), err)), file.Close())
		}
		if err := provider.Sleep(ctx, lockPoll); err != nil {
			return nil, errors.Join(failf(provider.Retryable, "wait for the lock %s: %w", file.Name(), err), file.Close())
		}
	}
}

// release lets the next writer in. Closing is what unlocks; a note that got
// lost with it costs a reader a short wait and nothing else.
func (l *lock) release() { _ = l.file.Close() }

// note says that a state of the zone file, which is about to be, is whole.
func (l *lock) note(id identity) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%d %d %d %d\n", id.device, id.inode, id.size, id.mtime), 0)
	return err
}

// noted is the state of a zone file that was noted last; the zero identity when
// there is no note that can be read.
func noted(target string) identity {
	file, err := os.OpenFile(target+lockSuffix, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return identity{}
	}
	defer func() { _ = file.Close() }() // read only: nothing can be lost
	var id identity
	if _, err := fmt.Fscan(io.LimitReader(file, 128), &id.device, &id.inode, &id.size, &id.mtime); err != nil {
		return identity{}
	}
	return id
}

// openLocked reads a file and holds its lock from before. One that is being
// written is a conflict: nothing has happened, and what is read next may differ.
func openLocked(ctx context.Context, path string) (source, *lock, error) {
	target, err := follow(path)
	if err != nil {
		return source{}, nil, err
	}
	held, err := acquire(ctx, target)
	if err != nil {
		return source{}, nil, err
	}
	src, err := readFile(ctx, path)
	if err == nil && src.path != target {
		err = failf(provider.Retryable, "%s now leads to %s, not to %s", path, src.path, target)
	}
	if errors.Is(err, errWriting) {
		err = failf(provider.Conflict, "%w", err)
	}
	if err != nil {
		held.release()
		return source{}, nil, err
	}
	return src, held, nil
}
