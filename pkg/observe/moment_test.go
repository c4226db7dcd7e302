package observe

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// TestEachClockHasItsOwnTime: a backend that takes its whole time limit makes the
// others no later, neither in the events nor in the picture.
func TestEachClockHasItsOwnTime(t *testing.T) {
	var line Timeline
	line.Add(moment(told(oldIP), reply(oldIP, "A"), reply(oldIP, "A"), told(oldIP)))
	server, hung := told(newIP), failedReply(oldIP, check.PhaseHeaders, check.CauseTimeout)
	server.At, server.Took = began.Add(4*time.Second), time.Second
	hung.At, hung.Took = began.Add(4*time.Second), 3*time.Second
	s := moment(told(oldIP), reply(oldIP, "A"), hung, server)
	s.At, s.Took = began.Add(4*time.Second), 3*time.Second
	events := line.Add(s)
	if len(events) != 2 || !events[0].At.Equal(began.Add(5*time.Second)) || !events[1].At.Equal(began.Add(7*time.Second)) {
		t.Errorf("events %+v", events)
	}
	if what, took := s.Slowest(); what != "new connection to 203.0.113.10" || took != 3*time.Second {
		t.Errorf("slowest: %s, %s", what, took)
	}
	var out strings.Builder
	if err := line.SVG(&out, "x"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{`<rect x="792.5"`, `<rect x="1017.5"`} { // 5 and 7 of 8 seconds
		if !strings.Contains(out.String(), x) {
			t.Errorf("no bar begins at %s in\n%s", x, out.String())
		}
	}
}

// TestOneReasonIsSaidOnce: without an address no connection can be, for one reason.
func TestOneReasonIsSaidOnce(t *testing.T) {
	dead := View{Outcome: Refused, Detail: "it answered REFUSED", Server: told(oldIP).Server}
	none := failedReply("", check.PhaseResolve, check.CauseLocal)
	none.Detail = noAddress + "whatever"
	if gaps := moment(dead, none, none, told(oldIP)).Gaps(); len(gaps) != 1 || gaps[0] != "resolver 192.0.2.53: refused: it answered REFUSED" {
		t.Errorf("a dead resolver: %q", gaps)
	}
	if gaps := moment(told(), none, none, told()).Gaps(); len(gaps) != 1 || gaps[0] != "connections: "+none.Detail {
		t.Errorf("no name: %q", gaps)
	}
}

// TestADeadProxyIsNamed: the proxy failed, not what is behind it.
func TestADeadProxyIsNamed(t *testing.T) {
	world, p := newWorld(t, false), newProxy(t, true)
	via, err := ParseVia(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	o := world.options(t, "/", "header:x-backend")
	o.Request.Via = via
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
		s, _ := next()
		if want := p.URL + " itself cannot be reached: "; !strings.HasPrefix(s.New[0].Detail, want) || !strings.HasPrefix(s.Kept.Detail, want) {
			t.Errorf("kept %+v, new %+v", s.Kept, s.New)
		}
	})
}
