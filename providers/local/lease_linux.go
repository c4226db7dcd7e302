package local

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// lease is a read lease on an open file (fcntl(2), F_SETLEASE). The kernel
// grants it only while nobody has the file open for writing, whatever locks
// they honour, and holds up whoever opens it for writing until it is dropped:
// it is kept for moments. The kernel tells us of such a one by SIGIO, which the
// Go runtime catches and leaves at that (os/signal); asked tells it too.
//
// The zero lease stands for one that this file cannot have.
type lease struct {
	file    *os.File
	granted bool
}

// takeLease leases a file that is open for reading only, and is errWriting when
// somebody has it open for writing. Where the kernel cannot know or does not
// tell us (another user's file without CAP_LEASE, a file system without leases
// or shared with other hosts), the lease is not granted, and that is no error.
func takeLease(file *os.File) (lease, error) {
	if remote(file) {
		return lease{}, nil
	}
	_, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return lease{}, errWriting
	}
	return lease{file, err == nil}, nil
}

// asked reports whether somebody has begun to open the file for writing since
// the lease was granted.
func (l lease) asked() bool {
	if !l.granted {
		return false
	}
	kind, err := unix.FcntlInt(l.file.Fd(), unix.F_GETLEASE, 0)
	return err != nil || kind != unix.F_RDLCK
}

// drop gives the lease back. Closing the file does so too, but not as long as a
// child that is just being started holds a copy of it.
func (l lease) drop() {
	if l.granted {
		_, _ = unix.FcntlInt(l.file.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // fails only when it is gone
	}
}

// remote reports whether a file may be written by other hosts, of which this
// kernel knows nothing. NFS and SMB would besides refuse a lease with EAGAIN
// for reasons of their own.
func remote(file *os.File) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &fs); err != nil {
		return true
	}
	return slices.Contains([]uint32{
		unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
		unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC,
	}, uint32(fs.Type)) //nolint:gosec // the numbers have 32 bits, the field's width differs
}
