package probe

import (
	"context"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/probe/ping"
)

func icmpSpec(count, maxLoss int) *check.Spec {
	return &check.Spec{Name: "ping", Kind: check.KindICMP, ICMP: &check.ICMP{Count: count, MaxLoss: maxLoss}, Timeout: patience}
}

func TestNeededReplies(t *testing.T) {
	for _, c := range []struct{ count, maxLoss, want int }{
		{3, 34, 2}, {3, 33, 3}, {3, 0, 3}, {3, 66, 2}, {3, 67, 1}, {3, 100, 1}, {1, 0, 1}, {1, 99, 1}, {1, 100, 1},
		{100, 1, 99}, {100, 100, 1}, {10, 25, 8}, {0, 34, 2},
	} {
		if got := need(&check.ICMP{Count: c.count, MaxLoss: c.maxLoss}); got != c.want {
			t.Errorf("%d requests, %d%% loss: %d replies needed, want %d", c.count, c.maxLoss, got, c.want)
		}
	}
}

func TestJudgePing(t *testing.T) {
	report := "host unreachable, says 10.0.0.1"
	for _, c := range []struct {
		answer     ping.Answer
		want, text string
	}{
		{ping.Answer{Sent: 2, Came: 2}, "pass", ""},
		{ping.Answer{Sent: 3, Came: 2, Refused: 1, Report: report}, "pass", ""},
		{ping.Answer{Sent: 3}, "fail connect/timeout", "no reply to 3 echo requests"},
		{ping.Answer{Sent: 3, Came: 1}, "fail assert/loss", "2 of 3 echo requests without a reply: 66% lost, expected at most 34%"},
		{ping.Answer{Sent: 3, Came: 1, Refused: 2, Report: report}, "fail assert/loss", report},
		{ping.Answer{Sent: 2, Refused: 2, Report: report}, "fail connect/unreachable", report},
		{ping.Answer{Sent: 3, Refused: 1, Report: report}, "fail connect/unreachable", report},
		{ping.Answer{Sent: 1}, "unknown connect/local", "only 1 of 3 echo requests left"},
		{ping.Answer{Sent: 1, Unsent: syscall.EAGAIN}, "unknown connect/local", "net.core.wmem_max"},
		{ping.Answer{Sent: 2}, "fail connect/timeout", "no reply to 2 echo requests within the timeout of 2s"}, // the third could not have changed it
	} {
		a := attempt{ctx: context.Background(), spec: &check.Spec{Timeout: 2 * time.Second}, phase: check.PhaseConnect, remote: netip.MustParseAddrPort("127.0.0.1:0"), shared: &shared{icmp: &check.ICMP{Count: 3, MaxLoss: 34}}}
		got := check.Result{Outcome: check.Pass}
		if f := a.judgePing(ping.Ask{Count: 3, Need: 2}, c.answer); f != nil {
			got = check.Result{Outcome: f.outcome, Phase: f.phase, Cause: f.cause, Detail: clean(f.detail)}
		}
		expect(t, got, c.want, c.text)
	}
}

func TestOwnFaultsOfPing(t *testing.T) {
	for _, c := range []struct {
		err  error
		text string
	}{
		{ping.ErrNotPermitted, "net.ipv4.ping_group_range"},
		{ping.ErrNotPermitted, "AmbientCapabilities=CAP_NET_RAW"},
		{context.Canceled, "stopped"},
		{&ping.Error{Op: "bind", Err: syscall.EADDRNOTAVAIL}, "source address is not on this machine"},
		{&ping.Error{Op: "send", Err: syscall.EADDRNOTAVAIL}, "no address of this family"},
		{&ping.Error{Op: "bind", Err: syscall.EADDRINUSE}, "no identifier is free"},
		{&ping.Error{Op: "send", Err: syscall.ENETUNREACH}, "no route to 127.0.0.1"},
		{&ping.Error{Op: "send", Err: syscall.EHOSTUNREACH}, "no route to 127.0.0.1"},
		{&ping.Error{Op: "send", Err: syscall.EPERM}, "firewall"},
		{&ping.Error{Op: "send", Err: syscall.ENETDOWN}, "bring it up"},
		{&ping.Error{Op: "socket", Err: syscall.EMFILE}, "LimitNOFILE"},
		{&ping.Error{Op: "socket", Err: syscall.EAFNOSUPPORT}, "family"},
		{&ping.Error{Op: "receive", Err: os.ErrClosed}, "receive"},
	} {
		a := attempt{ctx: context.Background(), spec: &check.Spec{Timeout: 2 * time.Second}, phase: check.PhaseConnect, remote: netip.MustParseAddrPort("127.0.0.1:0"), shared: &shared{}}
		f := a.failedPing(c.err)
		expect(t, check.Result{Outcome: f.outcome, Phase: f.phase, Cause: f.cause, Detail: f.detail}, "unknown connect/local", c.text)
	}
}

func TestICMP(t *testing.T) {
	if err := ping.Permitted(false); err != nil {
		if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	p := New(counting(), Options{})
	for _, address := range []string{"127.0.0.2", "::1"} {
		got := p.Probe(context.Background(), icmpSpec(3, 34), address)
		expect(t, got, "pass")
		if netip.MustParseAddr(got.Source).Is4() != netip.MustParseAddr(address).Is4() {
			t.Errorf("probe of %s: source %q", address, got.Source)
		}
	}
	spec := icmpSpec(3, 34)
	spec.Source = netip.MustParseAddr("127.0.0.77")
	got := p.Probe(context.Background(), spec, "127.0.0.2")
	if expect(t, got, "pass"); got.Source != "127.0.0.77" {
		t.Errorf("source %q, want the check's", got.Source)
	}
	expect(t, p.Probe(context.Background(), spec, "::1"), "unknown connect/local", "different families")
	spec = icmpSpec(3, 34)
	spec.Source = netip.MustParseAddr("192.0.2.7")
	expect(t, p.Probe(context.Background(), spec, "127.0.0.2"), "unknown connect/local", "source address is not on this machine")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	expect(t, p.Probe(ctx, icmpSpec(3, 34), "127.0.0.2"), "unknown connect/local", "stopped")
}

func pingWithoutNetwork() {
	spec := icmpSpec(3, 34)
	spec.Timeout = time.Second
	say(once(spec))
}

func TestPingWithoutRouteIsUnknown(t *testing.T) {
	namespace := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	got := inChild(t, "ping-no-network", namespace)
	if want := "unknown connect/local send: network is unreachable; this machine has no route to 127.0.0.1"; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
