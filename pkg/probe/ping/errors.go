package ping

import (
	"errors"
	"fmt"
)

// ErrNotPermitted says that this process may open neither kind of socket.
var ErrNotPermitted = errors.New("no permission to ping: allow the group of this process in the sysctl net.ipv4.ping_group_range, or grant CAP_NET_RAW (unit: AmbientCapabilities=CAP_NET_RAW)")

// Error is a fault of this machine: nothing is known of the address.
type Error struct {
	Op  string // socket, bind, send or receive
	Err error  // holds the error number of the system call
}

// Error names the call and its error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
