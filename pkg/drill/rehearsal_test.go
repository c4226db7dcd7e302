package drill

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// wantWay wants a way on which everything moved, in the order in which one thing
// leads to the next, and nothing was lost.
func wantWay(t *testing.T, y *Way, from, to string) {
	t.Helper()
	if y == nil {
		t.Fatal("there is no way")
	}
	if !y.held() || strings.Join(y.From, " ") != from || strings.Join(y.To, " ") != to || y.Samples < settle {
		t.Errorf("%+v", y)
	}
	for _, c := range y.Clocks {
		if !c.Moved || c.After > y.Took || c.Seen == "" {
			t.Errorf("%s: %+v", y.Direction, c)
		}
	}
	if next := y.clock(observe.New); next != nil && (y.Requests == 0 || next.After < y.clock(observe.Resolver).After) {
		t.Errorf("%s: a new connection moved after %s, the resolver after %s; %d requests", y.Direction, next.After, y.clock(observe.Resolver).After, y.Requests)
	}
}

// wantRetired wants a kept connection that stayed until it was retired.
func wantRetired(t *testing.T, y *Way) {
	t.Helper()
	kept := y.clock(observe.Kept)
	if kept.Stayed <= 0 || kept.After <= y.clock(observe.New).After || !strings.Contains(kept.Ended, "ended by sidestep: it was idle") {
		t.Errorf("%s: %+v", y.Direction, kept)
	}
}

func TestRehearsal(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Run("an answer of several", func(t *testing.T) {
		report, err := Run(t.Context(), s.options("www.stage.test."))
		if err != nil || !report.Held() || report.Target != "127.0.0.11" {
			t.Fatalf("%v, %+v", err, report)
		}
		wantWay(t, report.Out, "127.0.0.11 127.0.0.12 127.0.0.13", "127.0.0.12 127.0.0.13")
		wantRetired(t, report.Out)
		wantWay(t, report.Back, "127.0.0.12 127.0.0.13", "127.0.0.11 127.0.0.12 127.0.0.13")
		if kept := report.Back.clock(observe.Kept); kept.Ended != "" {
			t.Errorf("a connection to an answer that stayed was ended: %+v", kept)
		}
	})
	t.Run("a site", func(t *testing.T) {
		report, err := Run(t.Context(), s.options("db.stage.test."))
		if err != nil || !report.Held() || report.Target != "dc1" || report.Site != "dc1" || report.Value != "127.0.0.11" {
			t.Fatalf("%v, %+v", err, report)
		}
		if len(report.Also) != 1 || report.Also[0].Name != "cdn.stage.test." || report.Also[0].Live[0] != "127.0.0.13" {
			t.Errorf("also moved: %+v", report.Also)
		}
		wantWay(t, report.Out, "127.0.0.11", "127.0.0.12")
		wantRetired(t, report.Out)
		wantWay(t, report.Back, "127.0.0.12", "127.0.0.11")
		wantRetired(t, report.Back)
	})
	t.Run("without requests, and a failback that is held back", func(t *testing.T) {
		o := s.options("app.stage.test.")
		o.Watch.Request = nil
		o.Hold = time.Second
		waits := false
		o.Progress = func(text string) { waits = waits || strings.Contains(text, "a failback waits until ") }
		report, err := Run(t.Context(), o)
		if err != nil || !report.Held() || !waits {
			t.Fatalf("%v, %+v, it waited: %v", err, report, waits)
		}
		wantWay(t, report.Out, "127.0.0.12", "127.0.0.13")
		wantWay(t, report.Back, "127.0.0.13", "127.0.0.12")
		if !slices.ContainsFunc(report.NotTested, func(text string) bool { return strings.HasPrefix(text, "requests and connections") }) {
			t.Errorf("not tested: %q", report.NotTested)
		}
	})
	if left := s.drains(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestRehearsalBehindAGateway has one that asks the cache at every connection: its
// address stays, and the identity alone tells.
func TestRehearsalBehindAGateway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.options("app.stage.test.")
	via, err := observe.ParseVia("tcp://" + s.gateway("app.stage.test."))
	if err != nil {
		t.Fatal(err)
	}
	o.Watch.Request.Via = via
	report, err := Run(t.Context(), o)
	if err != nil || !report.Held() {
		t.Fatalf("%v, %+v", err, report)
	}
	wantWay(t, report.Out, "127.0.0.12", "127.0.0.13")
	wantRetired(t, report.Out)
	wantRetired(t, report.Back)

	o = s.options("www.stage.test.")
	o.Watch.Request.Via = via
	wantRefusal(t, o, control.ExitUsage, "it answers with several")
}

// gateway passes connections on to what the cache says at that moment.
func (s *stage) gateway(name record.Name) string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	var all sync.WaitGroup
	s.t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answer, err := observe.Ask(context.Background(), s.cache.Addr(), name, record.A)
			if err != nil || len(answer.Values) == 0 {
				_ = conn.Close()
				continue
			}
			upstream, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr(answer.Values[0]), s.port).String())
			if err != nil {
				_ = conn.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{conn, upstream}, {upstream, conn}} {
				all.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = conn.Close(), upstream.Close()
				})
			}
		}
	})
	return listener.Addr().String()
}

// meddling does something once the rehearsal is on its way out, or when new connections
// have moved on that.
func meddling(o *Options, moved bool, do func()) {
	done := false
	o.Progress = func(text string) {
		if !done && strings.HasPrefix(text, "way out") && (!moved || !strings.Contains(text, "new")) {
			done = true
			do()
		}
	}
}

func TestRehearsalIsAlwaysUndone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := s.options("app.stage.test.")
		meddling(&o, false, cancel)
		report, err := Run(ctx, o)
		if err != nil || report.Held() || !report.Restored || report.Stopped != "interrupted" || report.Out == nil || report.Back != nil || report.Left != "" {
			t.Errorf("%v, %+v", err, report)
		}
		s.wantNoDrain(t)
	})
	t.Run("the rest fails", func(t *testing.T) {
		o := s.options("app.stage.test.")
		meddling(&o, true, func() { s.breakIt(t, 2, lab.Status(503)) })
		report, err := Run(t.Context(), o)
		if err != nil || report.Held() || !report.Restored || report.Out.Failed == 0 || !strings.Contains(report.Stopped, "the rest") {
			t.Fatalf("%v, %+v", err, report)
		}
		if !report.Back.moved() || !strings.Contains(report.Out.Failures[0].Why, "status 503") {
			t.Errorf("%+v", report.Back)
		}
		s.mend(t, 2)
		s.wantNoDrain(t)
	})
	t.Run("taken back by another", func(t *testing.T) {
		o := s.options("app.stage.test.")
		meddling(&o, false, func() {
			if _, err := s.client.ClearOverride(t.Context(), control.ClearRequest{Target: "127.0.0.12"}); err != nil {
				t.Error(err)
			}
		})
		report, err := Run(t.Context(), o)
		if err != nil || report.Held() || !report.Restored || report.Left != "" || !strings.Contains(report.Stopped, "taken back by somebody else") {
			t.Errorf("%v, %+v", err, report)
		}
	})
	t.Run("drained by another", func(t *testing.T) {
		o := s.options("app.stage.test.")
		meddling(&o, false, func() {
			if _, err := s.client.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: "127.0.0.12", For: "1h", Reason: "new kernel"}); err != nil {
				t.Error(err)
			}
		})
		report, err := Run(t.Context(), o)
		if err != nil || report.Held() || report.Back != nil || !strings.Contains(report.Left, "(new kernel), which stays") {
			t.Errorf("%v, %+v", err, report)
		}
		if left := s.drains(); len(left) != 1 || left[0] != "drain 127.0.0.12 new kernel" {
			t.Errorf("left: %q", left)
		}
	})
	t.Run("the daemon is gone", func(t *testing.T) {
		if _, err := s.client.ClearOverride(t.Context(), control.ClearRequest{Target: "127.0.0.12"}); err != nil {
			t.Fatal(err)
		}
		s.settle()
		o := s.options("app.stage.test.")
		ctx, cancel := context.WithCancel(t.Context())
		o.restoreWithin = 300 * time.Millisecond
		silent := ""
		o.Notice = func(text string) {
			if strings.HasPrefix(text, "the daemon does not answer (") {
				silent = text
				cancel()
			}
		}
		meddling(&o, false, s.stopped)
		report, err := Run(ctx, o)
		if err != nil || report.Held() || report.Restored || !strings.Contains(report.Left, "it ends by itself at 20") || !strings.Contains(silent, "the drain is in force until 20") {
			t.Errorf("%v, %+v; said at once: %q", err, report, silent)
		}
	})
}

func (s *stage) breakIt(t *testing.T, i int, mode lab.Mode) {
	t.Helper()
	if err := s.backends[i].Break(mode); err != nil {
		t.Error(err)
	}
}

// mend mends a web server, and waits until everything is as it was.
func (s *stage) mend(t *testing.T, i int) {
	t.Helper()
	if err := s.backends[i].Mend(); err != nil {
		t.Error(err)
	}
	s.settle()
}

func (s *stage) wantNoDrain(t *testing.T) {
	t.Helper()
	if left := s.drains(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	s.settle()
}

// wantRefusal wants a rehearsal that is not begun.
func wantRefusal(t *testing.T, o Options, exit int, says string) {
	t.Helper()
	report, err := Run(t.Context(), o)
	no, is := errors.AsType[*control.Error](err)
	if report != nil || !is || no.Exit != exit || !strings.Contains(no.Error(), says) {
		t.Errorf("%v, exit %d; want %d and %q; %+v", err, control.ExitOf(err), exit, says, report)
	}
}
