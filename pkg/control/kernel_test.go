package control_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// beNobody takes root's right to write everywhere from this test's thread.
func beNobody(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	runtime.LockOSThread() // and never unlock: the thread ends with the test
	if _, err := unix.SetfsuidRetUid(65534); err != nil {
		t.Fatal(err)
	}
}

// fillSocket makes a socket that listens, never accepts, and has room for no
// further connection.
func fillSocket(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for { // until the queue is full
		client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(client) })
		if err := unix.Connect(client, &unix.SockaddrUnix{Name: path}); err != nil {
			return
		}
	}
}
