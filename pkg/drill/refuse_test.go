package drill

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"sidestep/pkg/authority/authoritytest"
	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
)

// altered is a daemon whose status is not as it is.
type altered struct {
	Daemon

	alter func(*control.Status)
}

func (a altered) Status(ctx context.Context, name string) (control.Status, error) {
	status, err := a.Daemon.Status(ctx, name)
	a.alter(&status)
	return status, err
}

// TestRehearsalIsRefused asks for what would hurt, or could not be told from what is
// there already. Nothing is drained by it.
func TestRehearsalIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	app := func() Options { return s.options("app.stage.test.") }
	with := func(change func(*Options)) Options {
		o := app()
		change(&o)
		return o
	}
	said := func(alter func(*control.Status)) Options {
		return with(func(o *Options) { o.Daemon = altered{s.client, alter} })
	}
	for name, c := range map[string]struct {
		options Options
		exit    int
		says    string
	}{
		"not the leader":     {said(func(st *control.Status) { st.Leader = control.Leader{State: "standby", Holder: "mon-2"} }), control.ExitNotLeader, "the leader is mon-2"},
		"led zone by zone":   {said(func(st *control.Status) { st.Zones[0].Leader = &control.Leader{State: "standby", Holder: "mon-2"} }), control.ExitNotLeader, "the leader is mon-2"},
		"zone in trouble":    {said(func(st *control.Status) { st.Zones[0].Error = "401" }), control.ExitProvider, "zone stage.test: 401"},
		"canary":             {said(func(st *control.Status) { st.Canary = &control.Canary{State: "fail"} }), control.ExitGuard, "the canary does not pass"},
		"changes pending":    {said(func(st *control.Status) { s.setOf(st).Pending = []control.Change{{}} }), control.ExitGuard, "changes are pending"},
		"waits for a person": {said(func(st *control.Status) { s.setOf(st).Waiting = "its first plan" }), control.ExitGuard, "waits for a person: its first plan"},
		"waits for failback": {said(func(st *control.Status) { now := time.Now(); s.setOf(st).HoldEnds = &now }), control.ExitGuard, "a failback waits until"},
		"not listed":         {said(func(st *control.Status) { s.setOf(st).Listed = false }), control.ExitGuard, "is not known yet"},
		"no other verdict":   {said(func(st *control.Status) { s.setOf(st).Answers[1].Verdict = "suspected" }), control.ExitGuard, "the rest is not healthy enough: of app.stage.test 127.0.0.13 is suspected"},
		"in an emergency":    {said(func(st *control.Status) { s.setOf(st).Answers[0].Mode = "dr" }), control.ExitGuard, "it is in an emergency already"},
		"no such type":       {with(func(o *Options) { o.Watch.Type = "AAAA" }), control.ExitUsage, "expected one record set of type AAAA"},
		"shorter than a TTL": {with(func(o *Options) { o.For = time.Second }), control.ExitUsage, "caches keep the answer for 1s"},
		"no resolver":        {with(func(o *Options) { o.Watch.Resolvers = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")} }), control.ExitFailure, "it cannot be watched as it is: resolver 127.0.0.1:1"},
		"another answer":     {with(func(o *Options) { o.Watch.Resolvers = []netip.AddrPort{s.stranger()} }), control.ExitFailure, "answers 127.0.0.99, and live is 127.0.0.12"},
		"requests fail":      {with(func(o *Options) { o.Watch.Request.HTTP.Port = 1 }), control.ExitFailure, "connect/refused"},
		"no identity": {with(func(o *Options) {
			o.Watch.Request.Identity, _ = observe.ParseIdentity("header:X-None")
		}), control.ExitFailure, "no identity"},
		"one identity for all": {with(func(o *Options) {
			o.Watch.Request.Identity, _ = observe.ParseIdentity("json:status")
		}), control.ExitUsage, `127.0.0.12 and 127.0.0.13 both say that they are "ok"`},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, c.options, c.exit, c.says) })
	}
	s.wantNoDrain(t)
	for name, word := range map[string]control.OverrideRequest{
		"drain":  {Kind: "drain", Target: "127.0.0.12"},
		"pin":    {Kind: "pin", Target: "app.stage.test", Values: []string{"127.0.0.12"}},
		"freeze": {Kind: "freeze", Target: "stage.test"},
	} {
		t.Run(name, func(t *testing.T) { s.refusedUnder(t, word) })
	}
	t.Run("the rest is down", func(t *testing.T) {
		s.breakIt(t, 2, lab.Refuse)
		s.wait("the break to be noticed", func() bool {
			status, err := s.client.Status(t.Context(), "app")
			return err == nil && s.setOf(&status).Answers[1].Verdict == "down"
		})
		wantRefusal(t, app(), control.ExitGuard, "app.stage.test has no other usable answer than 127.0.0.12: 127.0.0.13 is down (")
		s.wait("www to be written without it", func() bool {
			status, err := s.client.Status(t.Context(), "www")
			return err == nil && len(status.Records[0].Live) == 2 && len(status.Records[0].Pending) == 0
		})
		wantRefusal(t, s.options("www.stage.test."), control.ExitGuard, "the rest is not healthy enough: of www.stage.test 127.0.0.13 is down")
		s.mend(t, 2)
	})
}

// setOf is app's record set, or one that nobody sees.
func (s *stage) setOf(status *control.Status) *control.Record {
	for i := range status.Records {
		if status.Records[i].Name == "app.stage.test." {
			return &status.Records[i]
		}
	}
	return &control.Record{Answers: make([]control.Answer, 2)}
}

// stranger is a name server that answers otherwise.
func (s *stage) stranger() netip.AddrPort {
	s.t.Helper()
	server := authoritytest.Start(s.t, "stage.test.", "@ 60 IN SOA ns h 1 60 60 60 60\n@ 60 IN NS ns\napp 60 IN A 127.0.0.99\n")
	return netip.MustParseAddrPort(server.Addr())
}

// refusedUnder lets a word of somebody else stand in the way.
func (s *stage) refusedUnder(t *testing.T, word control.OverrideRequest) {
	t.Helper()
	word.For, word.Reason = "1h", "maintenance"
	if _, err := s.client.Override(t.Context(), word); err != nil {
		t.Fatal(err)
	}
	exit, says := control.ExitGuard, map[string]string{"drain": "changes are pending", "pin": "(maintenance)"}[word.Kind]
	if word.Kind == "freeze" {
		exit, says = control.ExitFrozen, "is frozen by "
	}
	o := s.options("app.stage.test.")
	if word.Kind == "drain" { // which is refused for that as well once it is written
		o.Daemon = altered{s.client, func(st *control.Status) {
			set := s.setOf(st)
			set.Pending, set.Live = nil, []string{"127.0.0.12"}
			for i := range set.Answers {
				set.Answers[i].State = "live"
			}
		}}
		says = "127.0.0.12 is drained by "
	}
	wantRefusal(t, o, exit, says)
	if left := s.drains(); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	if _, err := s.client.ClearOverride(t.Context(), control.ClearRequest{Target: word.Target}); err != nil {
		t.Fatal(err)
	}
	s.settle()
}

// TestRehearsalProvesTheRest sends the name's request to what is to carry it before
// anything is touched: that its probe passes says nothing of this URL.
func TestRehearsalProvesTheRest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	listener, err := net.Listen("tcp", "127.0.0.12:0") // where app is, and nobody at 127.0.0.13
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	other := lab.NewBackend("other", listener.Addr().String())
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	o := s.options("app.stage.test.")
	o.Watch.Request.HTTP.Port = netip.MustParseAddrPort(other.Addr()).Port()
	wantRefusal(t, o, control.ExitGuard, "the rest is not healthy enough: 127.0.0.13: connect/refused")
	s.wantNoDrain(t)

	o = s.options("app.stage.test.")
	o.DryRun = true
	report, err := Run(t.Context(), o)
	if err != nil || !report.Held() || !report.DryRun || report.Out != nil || report.Target != "127.0.0.12" || report.During[0] != "127.0.0.13" || report.For != time.Minute+2*time.Second {
		t.Errorf("%v, %+v", err, report)
	}
	s.wantNoDrain(t)
}
