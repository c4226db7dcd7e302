package control

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

type peerKey struct{}

// withPeer remembers who is at the other end of a connection.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerName(conn))
}

func peer(ctx context.Context) string {
	name, _ := ctx.Value(peerKey{}).(string)
	return name
}

type holdsKey struct{}

// stillLetIn reports whether who asked could still do so: tokens are taken away while
// a long answer is under way.
func stillLetIn(ctx context.Context) bool {
	holds, byToken := ctx.Value(holdsKey{}).(func() bool)
	return !byToken || holds()
}

// peerName asks the kernel for the credentials of the process that connected
// (SO_PEERCRED, unix(7)): they cannot be made up.
func peerName(conn net.Conn) string {
	const unknown = "unknown"
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return unknown
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return unknown
	}
	name := unknown
	err = raw.Control(func(fd uintptr) {
		cred, credErr := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if credErr == nil {
			name = userName(cred.Uid)
		}
	})
	if err != nil {
		return unknown
	}
	return name
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %s", id)
}

// Self is the name of the user that runs this process, for a command that works
// without a daemon.
func Self() string { return userName(uint32(os.Getuid())) }
