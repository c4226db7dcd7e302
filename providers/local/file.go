package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sidestep/pkg/provider"
)

const (
	maxFile = 64 << 20 // octets of a zone file that are read

	// For how long a file that this package did not write has to hold still:
	// where the kernel says that nobody has it open for writing, and where not.
	settling      = 50 * time.Millisecond
	settlingBlind = 2 * time.Second

	patience = time.Second // with somebody who has the file open for writing

	tempSuffix = ".sidestep.tmp"
)

// identity tells one state of a file from the next: a rename changes the
// inode, a write in place the time or the size.
type identity struct {
	device, inode uint64
	size, mtime   int64
}

func identityOf(info fs.FileInfo) identity {
	id := identity{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id.device, id.inode = uint64(stat.Dev), stat.Ino //nolint:unconvert // not an uint64 on every system
	}
	return id
}

// source is a zone file as it was read.
type source struct {
	path string // of the file itself, symbolic links followed
	text string
	info fs.FileInfo
	id   identity
	sure bool // nobody had it open for writing
}

var (
	// errMoving is a file that changed while it was read.
	errMoving = errors.New("the file changed while it was read")

	// errWriting is a file that may be half of what it is about to be.
	errWriting = errors.New("somebody has the file open for writing, so it may be half written; it is taken up once they close it (fuser -v FILE names the process)")
)

// readFile reads a file whole. While somebody has it open for writing it is
// waited for, with patience. One that was written in this moment, and not by
// this package, is read again a little later and believed only once it holds
// still: a program that writes and closes it several times would show half a
// zone, as does any where the kernel does not say who writes.
func readFile(ctx context.Context, path string) (source, error) {
	began := time.Now()
	var last identity
	var seen time.Time // when the file was first found to be as it was last
	for {
		src, err := readOnce(path)
		if src.id != last || seen.IsZero() {
			last, seen = src.id, time.Now()
		}
		wait := settling
		switch {
		case err == nil:
			if wait = src.unsettled(seen); wait <= 0 {
				return src, nil
			}
		case errors.Is(err, errWriting) && time.Since(began) >= patience:
			return source{}, failf(provider.Retryable, "%w", err)
		case !errors.Is(err, errWriting) && !errors.Is(err, errMoving):
			return source{}, err
		}
		if late := provider.Sleep(ctx, wait); late != nil {
			if err != nil {
				late = fmt.Errorf("%w: %w", late, err)
			}
			return source{}, failf(provider.Retryable, "wait for the file to hold still: %w", late)
		}
	}
}

// unsettled is for how long a file has yet to hold still before it is believed,
// when it has been as it is since it was seen first.
func (s source) unsettled(seen time.Time) time.Duration {
	if s.id == noted(s.path) {
		return 0
	}
	still := max(time.Since(s.info.ModTime()), time.Since(seen)) // it may be of the future
	if s.sure {
		return settling - still
	}
	return settlingBlind - still
}

// follow finds the file that symbolic links lead to.
func follow(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", failf(provider.Permanent, "%w", err)
	}
	return target, nil
}

// readOnce reads a file while, as far as can be told, nobody writes it.
func readOnce(path string) (source, error) {
	target, err := follow(path)
	if err != nil {
		return source{}, err
	}
	file, err := os.OpenFile(target, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hang
	if err != nil {
		return source{}, classed(err)
	}
	defer func() { _ = file.Close() }() // read only: nothing can be lost
	info, err := file.Stat()
	if err != nil {
		return source{}, classed(err)
	}
	if !info.Mode().IsRegular() {
		return source{}, failf(provider.Permanent, "%s: expected a regular file, got %s", target, info.Mode().Type())
	}
	if info.Size() > maxFile {
		return source{}, failf(provider.Permanent, "%s: %d octets, more than the %d that a zone file may have", target, info.Size(), maxFile)
	}
	leased, err := takeLease(file)
	if err != nil {
		return source{}, err
	}
	defer leased.drop()
	src, err := readWhole(file)
	if err == nil && leased.asked() {
		err = errWriting
	}
	if err != nil {
		return source{}, err
	}
	src.path, src.sure = target, leased.granted
	return src, nil
}

// readWhole reads a file that must not change meanwhile.
func readWhole(file *os.File) (source, error) {
	before, err := file.Stat()
	if err != nil {
		return source{}, classed(err)
	}
	text, err := io.ReadAll(io.LimitReader(file, before.Size()+1))
	if err != nil {
		return source{}, classed(err)
	}
	after, err := file.Stat()
	if err != nil {
		return source{}, classed(err)
	}
	if identityOf(before) != identityOf(after) || int64(len(text)) != after.Size() {
		return source{}, errMoving
	}
	return source{text: string(text), info: after, id: identityOf(after)}, nil
}

// replaceFile puts a text in the place of what src read, in one step, with the
// same mode and owner. Until the rename nothing has happened; after it only the
// directory's own durability can be in doubt.
func replaceFile(ctx context.Context, held *lock, src source, text string) (identity, error) {
	temp := src.path + tempSuffix
	info, err := writeTemp(temp, text, src.info)
	if err == nil {
		err = held.note(identityOf(info))
	}
	if err == nil {
		err = takePlace(ctx, src, temp)
	}
	if err != nil {
		if left := os.Remove(temp); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
		return identity{}, classed(err)
	}
	if err := syncDir(filepath.Dir(src.path)); err != nil {
		return identity{}, failf(provider.Ambiguous, "make the new file durable: %w", err)
	}
	return identityOf(info), nil
}

// takePlace renames the new file over what src read. Somebody who has that open
// for writing would go on writing into a file without a name: the lease is the
// last look before the rename, and is held over it.
func takePlace(ctx context.Context, src source, temp string) error {
	file, err := os.OpenFile(src.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only: nothing can be lost
	leased, err := takeLease(file)
	if err != nil {
		return failf(provider.Conflict, "%w", err)
	}
	defer leased.drop()
	if err := unmoved(ctx, src, file); err != nil {
		return err
	}
	if leased.asked() {
		return failf(provider.Conflict, "%w", errWriting)
	}
	return os.Rename(temp, src.path)
}

// unmoved sees that nobody without the lock has touched the file meanwhile, and
// that the open file is it.
func unmoved(ctx context.Context, src source, file *os.File) error {
	if err := ctx.Err(); err != nil {
		return failf(provider.Retryable, "the call's time is up before anything was written: %w", err)
	}
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(src.path)
	if err != nil {
		return err
	}
	if identityOf(opened) != src.id || identityOf(named) != src.id {
		return failf(provider.Conflict, "somebody has changed the file while it was being edited")
	}
	return nil
}

// writeTemp writes the new file beside the old one. Its name is always the same
// one: the lock is held, and what a killed writer left is cleaned up by the next.
func writeTemp(temp, text string, like fs.FileInfo) (fs.FileInfo, error) {
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := fillTemp(file, text, like)
	return info, errors.Join(err, file.Close())
}

func fillTemp(file *os.File, text string, like fs.FileInfo) (fs.FileInfo, error) {
	if _, err := io.WriteString(file, text); err != nil {
		return nil, err
	}
	if err := takeOwner(file, like); err != nil {
		return nil, err
	}
	if err := file.Chmod(like.Mode().Perm()); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return file.Stat()
}

// takeOwner gives the new file the owner of the old one, without which a name
// server might no longer be able to read it.
func takeOwner(file *os.File, like fs.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	want, ok1 := like.Sys().(*syscall.Stat_t)
	got, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || want.Uid == got.Uid && want.Gid == got.Gid {
		return nil
	}
	if err := file.Chown(int(want.Uid), int(want.Gid)); err != nil {
		return fmt.Errorf("keep the file's owner %d:%d (run as that user, or give the file to this one): %w", want.Uid, want.Gid, err)
	}
	return nil
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// classed sorts an error of the file system, before which nothing has happened:
// what only a person can mend from what may be over in a moment.
func classed(err error) error {
	if _, known := errors.AsType[*fault](err); known {
		return err
	}
	class := provider.Retryable
	for _, lasting := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.ELOOP, syscall.EBUSY} {
		if errors.Is(err, lasting) {
			class = provider.Permanent
		}
	}
	return failf(class, "%w", err)
}
