package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"sidestep/pkg/check"
)

// errTooLarge ends the reading of an answer that is longer than allowed.
var errTooLarge = errors.New("answer is longer than allowed")

// failure is why a probe did not pass.
type failure struct {
	outcome check.Outcome
	phase   check.Phase
	cause   check.Cause
	detail  string
	clock   bool // as in check.Result
}

// fail is the target's fault.
func fail(phase check.Phase, cause check.Cause, format string, args ...any) *failure {
	return &failure{outcome: check.Fail, phase: phase, cause: cause, detail: fmt.Sprintf(format, args...)}
}

// unknown is our own fault, and counts neither way.
func unknown(phase check.Phase, format string, args ...any) *failure {
	return &failure{outcome: check.Unknown, phase: phase, cause: check.CauseLocal, detail: fmt.Sprintf(format, args...)}
}

// failed judges an error of the phase the attempt is in: ours, the network's or
// the target's. The order matters: a cancelled probe says nothing whatever its
// error is, and an error number is exact where the rest is a guess.
func (a *attempt) failed(err error) *failure {
	var (
		errno syscall.Errno
		wrong *trouble
	)
	switch {
	case errors.Is(a.ctx.Err(), context.Canceled):
		return unknown(a.phase, "probe was stopped before its outcome was known")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		if a.phase == check.PhaseBody {
			return fail(a.phase, check.CauseTimeout, "the answer of port %d began, and was not complete %s", a.remote.Port(), a.within())
		}
		return fail(a.phase, check.CauseTimeout, "no answer from port %d %s", a.remote.Port(), a.within())
	case errors.As(err, &errno):
		return a.failedCall(err, errno)
	case errors.Is(err, errTooLarge):
		return fail(a.phase, check.CauseTooLarge, "%s: more than %d bytes came", a.phase, a.limit)
	case errors.As(err, &wrong):
		return fail(a.phase, wrong.cause, "%s", a.plain(wrong.text))
	}
	if f := a.failedTLS(err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(a.phase, check.CauseReset, "the server closed the connection before its answer was complete")
	case a.phase == check.PhaseConnect, a.phase == check.PhaseSend:
		return unknown(a.phase, "%s: %v", a.phase, err)
	}
	return fail(a.phase, check.CauseMismatch, "not an answer of the expected protocol: %s", a.plain(err.Error()))
}

// within names the time that a probe has.
func (a *attempt) within() string { return "within the timeout of " + timeout(a.spec).String() }

// failedCall judges the error number of a system call.
func (a *attempt) failedCall(err error, errno syscall.Errno) *failure {
	if hint := remedy(err, errno); hint != "" {
		return unknown(a.phase, "%s: %v; %s", a.phase, errno, hint)
	}
	switch errno {
	case syscall.ECONNREFUSED:
		return fail(a.phase, check.CauseRefused, "connection refused")
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return fail(a.phase, check.CauseReset, "%v", errno)
	case syscall.ETIMEDOUT:
		return fail(a.phase, check.CauseTimeout, "%v", errno)
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		if !a.routed() {
			return unknown(a.phase, "%s: %v; this machine has no route to %s: add one, or probe from a machine that has the family",
				a.phase, errno, a.remote.Addr())
		}
		return fail(a.phase, check.CauseUnreachable, "%v", errno)
	case syscall.EHOSTDOWN:
		return fail(a.phase, check.CauseUnreachable, "%v", errno)
	}
	return unknown(a.phase, "%s: %v", a.phase, errno)
}

// remedy tells what to do about an error number that is this machine's own
// trouble; empty when it is not.
func remedy(err error, errno syscall.Errno) string {
	switch errno {
	case syscall.EMFILE:
		return "raise LimitNOFILE of the service"
	case syscall.ENFILE:
		return "raise the sysctl fs.file-max"
	case syscall.EADDRNOTAVAIL:
		var call *os.SyscallError
		if errors.As(err, &call) && call.Syscall == "bind" {
			return "the check's source address is not on this machine: add it, or change the check's source"
		}
		return "no free local port, or no address of this family: widen the sysctl net.ipv4.ip_local_port_range, or add an address"
	case syscall.EADDRINUSE, syscall.EAGAIN:
		return "no free local port: widen the sysctl net.ipv4.ip_local_port_range"
	case syscall.EACCES, syscall.EPERM:
		return "a local firewall or security policy forbids it: allow the connection"
	case syscall.ENOBUFS, syscall.ENOMEM:
		return "out of kernel memory: raise the memory limit of the service"
	case syscall.EAFNOSUPPORT:
		return "this machine cannot speak the address family: turn it on (RestrictAddressFamilies, ipv6.disable)"
	case syscall.ENETDOWN:
		return "the network interface is down: bring it up"
	}
	return ""
}
