package observe

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// TestNoClockWaitsForAnother lets a backend hang while the name moves: name server and
// resolver are asked on meanwhile, new connections move, and the kept one is late. What
// it says in the end comes once.
func TestNoClockWaitsForAnother(t *testing.T) {
	world := newWorld(t, false)
	var hang atomic.Bool
	over := world.hangs(t, siteA, func(*http.Request) bool { return hang.Load() })
	o := world.options(t, "/", "header:x-backend")
	o.Timeout = time.Minute
	var line Timeline
	moved, came := false, false
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := Watch(o, func(w *Watcher) error {
		w.Follow(ctx, 50*time.Millisecond, func(s Sample) bool {
			line.Add(s)
			switch late := s.LateFor(Kept, "") > 0; {
			case len(line.Samples) == 1:
				hang.Store(true)
				world.set(t, siteB)
			case !moved:
				moved = late && s.Servers[0].Said() == siteB && s.Resolver.Said() == siteB && SaysAll(s.New) == "B at "+siteB
				if moved {
					over()
				}
			case s.Kept.Requests >= 3: // the first, the one that hung, and one after
				came = true
			}
			return !came
		})
		return nil
	})
	if err != nil || !moved || !came {
		t.Fatalf("%v, moved %v, came %v: %v", err, moved, came, line.Events)
	}
	for _, e := range line.Events {
		if e.Clock == Kept {
			t.Errorf("the kept connection stayed where it was: %s", e)
		}
	}
}

// TestFollowEndsWithWhatIsUnderWay ends while a backend hangs.
func TestFollowEndsWithWhatIsUnderWay(t *testing.T) {
	world := newWorld(t, false)
	world.hangs(t, siteA, func(in *http.Request) bool { return in.URL.Path == "/hang" })
	o := world.options(t, "/", "header:x-backend")
	o.Timeout = time.Minute
	began, asked := time.Now(), 0
	err := Watch(o, func(w *Watcher) error {
		w.Follow(t.Context(), 50*time.Millisecond, func(Sample) bool {
			if asked++; asked == 1 {
				w.o.Request.HTTP.Path = "/hang"
			}
			return asked < 3
		})
		return nil
	})
	if took := time.Since(began); err != nil || asked != 3 || took >= o.Timeout {
		t.Errorf("%v, %d samples, %s", err, asked, took)
	}
}

// TestRequestsLeaveFromTheSource gives requests an address of their own, and one that
// cannot be.
func TestRequestsLeaveFromTheSource(t *testing.T) {
	world := newWorld(t, false)
	answer := world.backends[siteA].Config.Handler
	world.backends[siteA].Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("X-From", netip.MustParseAddrPort(in.RemoteAddr).Addr().String())
		answer.ServeHTTP(out, in)
	})
	o := world.options(t, "/", "header:x-from")
	o.Request.Source = netip.MustParseAddr("127.0.0.9")
	if s := sampleOf(t, o); s.Kept.Identity != "127.0.0.9" || s.New[0].Identity != "127.0.0.9" {
		t.Errorf("kept %+v, new %+v", s.Kept, s.New)
	}
	o.Request.Source = netip.MustParseAddr("2001:db8::9")
	if r := sampleOf(t, o).New[0]; r.Phase != check.PhaseConnect || r.Cause != check.CauseLocal || !strings.Contains(r.Detail, "source 2001:db8::9") {
		t.Errorf("new %+v", r)
	}
}
