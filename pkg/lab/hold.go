package lab

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// hold binds a TCP address and never listens on it: connections to it are
// refused, and the kernel gives its port to nobody who asks for any free one. A
// listener that asks for this very address gets it all the same, because both
// have SO_REUSEADDR set (socket(7)), as all listeners of package net. Port 0
// takes a free one; the address that was taken is returned.
func hold(addr string) (*os.File, string, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, "", err
	}
	family, sockaddr := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: at.Port, Addr: at.AddrPort().Addr().As16()})
	if v4 := at.AddrPort().Addr().Unmap(); v4.Is4() {
		family, sockaddr = unix.AF_INET, &unix.SockaddrInet4{Port: at.Port, Addr: v4.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, "", os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), addr)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, "", errors.Join(os.NewSyscallError("setsockopt", err), file.Close())
	}
	if err := unix.Bind(fd, sockaddr); err != nil {
		return nil, "", errors.Join(os.NewSyscallError("bind", err), file.Close())
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return nil, "", errors.Join(os.NewSyscallError("getsockname", err), file.Close())
	}
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		at.Port = bound.Port
	case *unix.SockaddrInet6:
		at.Port = bound.Port
	}
	return file, at.String(), nil
}
