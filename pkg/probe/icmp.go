package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"sidestep/pkg/check"
	"sidestep/pkg/probe/ping"
)

// defaultCount stands in for a Spec without a number of requests.
const defaultCount = 3

// need is how many replies pass: so many that no more than MaxLoss percent are
// lost, and at least one, for silence never passes.
func need(spec *check.ICMP) int {
	count := cmp.Or(spec.Count, defaultCount)
	return max(1, count-count*spec.MaxLoss/100)
}

// Permitted tells whether this process may probe as spec says: nil, or what
// every probe would come to. Nothing is sent. Only ICMP needs a permission, and
// one that holds for both families.
func Permitted(spec *check.Spec) error {
	if spec.Kind != check.KindICMP {
		return nil
	}
	if err := ping.Permitted(false); errors.Is(err, ping.ErrNotPermitted) {
		return err
	}
	return nil // other faults may pass, and are said by the probes
}

// ping asks for replies and judges how many came.
func (a *attempt) ping(source *string) *failure {
	a.phase = check.PhaseConnect
	if f := a.sameFamily(); f != nil {
		return f
	}
	spec := a.shared.icmp
	ask := ping.Ask{Peer: a.remote.Addr(), Source: a.shared.source, Count: cmp.Or(spec.Count, defaultCount), Need: need(spec)}
	answer, err := a.pinger.Ping(a.ctx, ask)
	switch {
	case answer.Local.IsValid():
		*source = answer.Local.String()
	case answer.Sent > 0:
		if local := a.wayOut(); local.IsValid() {
			*source = local.String()
		}
	}
	if err != nil {
		return a.failedPing(err)
	}
	return a.judgePing(ask, answer)
}

// judgePing says what the replies mean.
func (a *attempt) judgePing(ask ping.Ask, answer ping.Answer) *failure {
	unsent := ask.Count - answer.Sent
	switch {
	case answer.Enough(ask.Need):
		return nil
	case answer.Came+unsent >= ask.Need && answer.Unsent != nil:
		return a.failedPing(&ping.Error{Op: "send", Err: answer.Unsent})
	case answer.Came+unsent >= ask.Need:
		return unknown(a.phase, "send: only %d of %d echo requests left within the timeout: this machine is overloaded, or the timeout is too short",
			answer.Sent, ask.Count)
	case answer.Came > 0:
		lost := ask.Count - answer.Came
		return fail(check.PhaseAssert, check.CauseLoss, "%d of %d echo requests without a reply: %d%% lost, expected at most %d%%%s",
			lost, ask.Count, lost*100/ask.Count, a.shared.icmp.MaxLoss, also(answer.Report))
	case answer.Refused > 0:
		return fail(a.phase, check.CauseUnreachable, "%s; no reply to %d echo requests", answer.Report, answer.Sent)
	}
	return fail(a.phase, check.CauseTimeout, "no reply to %d echo requests %s", answer.Sent, a.within())
}

// also adds what an ICMP error said.
func also(report string) string {
	if report == "" {
		return ""
	}
	return "; " + report
}

// failedPing judges an error of sending or receiving: this machine's own.
func (a *attempt) failedPing(err error) *failure {
	var (
		call  *ping.Error
		errno syscall.Errno
	)
	switch {
	case errors.Is(err, context.Canceled):
		return unknown(a.phase, "probe was stopped before its outcome was known")
	case errors.Is(err, ping.ErrNotPermitted):
		return unknown(a.phase, "%v", err)
	case !errors.As(err, &call) || !errors.As(err, &errno):
		return unknown(a.phase, "%v", err)
	}
	if hint := a.pingRemedy(call, errno); hint != "" {
		return unknown(a.phase, "%v; %s", call, hint)
	}
	return unknown(a.phase, "%v", call)
}

// pingRemedy tells what to do about an error number where that is other than
// for a connection.
func (a *attempt) pingRemedy(call *ping.Error, errno syscall.Errno) string {
	switch errno {
	case syscall.EADDRNOTAVAIL:
		if call.Op == "bind" {
			return "the check's source address is not on this machine: add it, or change the check's source"
		}
		return "no address of this family: add one"
	case syscall.EAGAIN:
		return "the send buffer is full: raise the sysctl net.core.wmem_max"
	case syscall.EADDRINUSE:
		return "no identifier is free for one more ping socket: end other programs that ping"
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		return "this machine has no route to " + a.remote.Addr().String() + ": add one, or probe from a machine that has the family"
	}
	return remedy(call, errno)
}

// wayOut is the local address from which packets to the address under test
// leave; zero when this machine knows no way to it. Connecting a UDP socket
// asks the routing table and sends nothing.
func (a *attempt) wayOut() netip.Addr {
	d := net.Dialer{}
	if a.shared.source.IsValid() {
		d.LocalAddr = &net.UDPAddr{IP: a.shared.source.AsSlice(), Zone: a.shared.source.Zone()}
	}
	conn, err := d.DialContext(context.WithoutCancel(a.ctx), "udp", a.remote.String())
	if err != nil {
		return netip.Addr{}
	}
	local := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr() // what the network udp gives
	_ = conn.Close()
	return local.Unmap().WithZone("")
}
