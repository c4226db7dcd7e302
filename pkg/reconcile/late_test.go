package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// secondary is a name server that shows a change so long after it was made, or is silent.
type secondary struct {
	w     *world
	mu    sync.Mutex
	shown []string
	since time.Duration // boot time since when the zone has what is not shown yet
	delay time.Duration
	asked int
}

// silent is the delay of a name server that gives no answer at all.
const silent = -time.Second

func (s *secondary) ask(ctx context.Context, key record.Key) ([]string, error) {
	if s.delay == silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	live := s.w.zone.Live(key)
	switch now := s.w.clock.Boot(); {
	case slices.Equal(live, s.shown):
		s.since = 0
	case s.since == 0:
		s.since = now
	case now >= s.since+s.delay:
		s.shown, s.since = live, 0
	}
	return s.shown, nil
}

// lagging is a world with a punctual name server and one that lags, in which the first
// answer was just told to go, and what is told of the latter.
func lagging(t *testing.T, delay time.Duration) (*world, *secondary, func() []Verification) {
	t.Helper()
	w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
	ns2 := &secondary{w: w, shown: []string{values[0], values[1]}, delay: delay}
	w.asking(func(ctx context.Context, server string, key record.Key) ([]string, error) {
		if server == "ns2:53" {
			return ns2.ask(ctx, key)
		}
		return w.zone.Live(key), nil
	}, Zone{Servers: []string{"ns1:53", "ns2:53"}})
	n := w.only()
	var told []Verification
	n.write.options.Verified = func(l Verification) { n.note(func() { told = append(told, l) }) }
	w.runs(t)
	n.write.Submit(w.want(values[1]))
	return w, ns2, func() []Verification {
		n.mu.Lock()
		defer n.mu.Unlock()
		return slices.Clone(told)
	}
}

// A name server that has not come round when its round ends is asked on, and told
// of with its delay.
func TestLateServersAreAskedOn(t *testing.T) {
	for _, delay := range []time.Duration{15 * time.Second, 100 * time.Second, 8 * time.Minute} {
		bubble(t, func(t *testing.T) {
			w, ns2, late := lagging(t, delay)
			began := w.clock.Boot()
			synctest.Wait()
			if told := w.only().told; len(told) != 1 || len(told[0].Applied) != 1 || told[0].Asked || len(late()) != 0 {
				t.Fatalf("the round is not told of at once: %+v", told)
			}
			time.Sleep(lateFirst)
			synctest.Wait()
			first := late()
			if len(first) != 1 || first[0].Verified || len(first[0].Heard) != 2 || !first[0].Heard[0].Agrees || first[0].Heard[1].Agrees || first[0].AskedUntil != began+lateFor {
				t.Fatalf("after a second: %+v", first)
			}
			time.Sleep(delay + delay/9)
			synctest.Wait()
			told := late()
			if len(told) != 2 || !told[1].Verified || told[1].Detail != "" || told[1].AskedUntil != 0 {
				t.Fatalf("after %s: %+v", delay, told)
			}
			ns1, took := told[1].Heard[0].Took, told[1].Heard[1].Took
			if ns1 != 0 || took < delay || took > delay+delay/9+time.Second {
				t.Errorf("delayed by %s: took %s, the punctual one %s", delay, took, ns1)
			}
			ns2.mu.Lock()
			asked := ns2.asked
			ns2.mu.Unlock()
			if asked > 80 {
				t.Errorf("asked %d times", asked)
			}
			time.Sleep(time.Hour)
			if ns2.asked != asked {
				t.Error("asked on though it had come round")
			}
		})
	}
}

// One that gives no answer at all is named at once as well, beside those that do, and
// for how long it was silent counts.
func TestSilentServersAreNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, _, late := lagging(t, silent)
		time.Sleep(lateFirst)
		synctest.Wait()
		if told := late(); len(told) != 1 || told[0].Verified || !strings.HasPrefix(told[0].Detail, "ask ns2:53 for ") {
			t.Fatalf("after a second: %+v", told)
		}
		time.Sleep(lateFor + lateMost)
		synctest.Wait()
		if told := late(); len(told) != 2 || told[1].AskedUntil != 0 || told[1].Heard[1].AtLeast < lateFor/2 {
			t.Errorf("at the end: %+v", told)
		}
	})
}

// Who waits for a round is told what the name servers say, of what was written
// before it too.
func TestWhoWaitsIsToldOfTheServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _, _ := lagging(t, 15*time.Second)
		n := w.only()
		synctest.Wait()
		report := n.write.Do(t.Context(), w.want(values[1]), Orders{})
		if len(report.Applied) > 0 || !report.Asked || report.Verified || !strings.Contains(report.Detail, "ask ns2:53") {
			t.Errorf("while one lags: %+v", report)
		}
		time.Sleep(10 * time.Second)
		if report := n.write.Do(t.Context(), w.want(values[1]), Orders{}); report.Err != nil || !report.Verified {
			t.Errorf("when it has come round: %+v", report)
		}
	})
}

// One that never comes round is given up after ten minutes, and named.
func TestLateServersAreGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, _, late := lagging(t, time.Hour)
		time.Sleep(lateFor + lateMost)
		synctest.Wait()
		told := late()
		if len(told) != 2 || told[1].Verified || !strings.Contains(told[1].Detail, "ask ns2:53 for www.example.com. A: expected 192.0.2.2, got 192.0.2.1, 192.0.2.2") {
			t.Errorf("got %+v", told)
		}
	})
}

// A write takes the place of what was asked before it, and waits for none of it:
// what was open is asked with it.
func TestLateServersGiveWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _, late := lagging(t, 30*time.Second)
		n := w.only()
		time.Sleep(verifyFor + 5*time.Second)
		began := w.clock.Boot()
		n.write.Submit(w.want(values[0]))
		synctest.Wait()
		if !slices.Equal(w.zone.Live(www), values[:1]) || w.clock.Boot() != began {
			t.Fatalf("live is %v", w.zone.Live(www))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		told := late()
		if len(told) != 3 || !told[2].Verified {
			t.Fatalf("got %+v", told)
		}
		if took := told[2].Heard[1].Took; took < 10*time.Second || took > 40*time.Second {
			t.Errorf("the second write took %s", took)
		}
	})
}

// known is a fenced adapter that has a name server of its own.
type known struct{ fencedShim }

func (known) Servers() []string { return []string{"own:53"} }

func (w *world) known(t *testing.T) known {
	t.Helper()
	adapter := w.zone.Adapter("node-1")
	fencer, ok := adapter.(provider.Fencer)
	if !ok {
		t.Fatal("not fenced")
	}
	return known{fencedShim{&shim{Adapter: adapter}, fencer}}
}

// A record set behind the provider's own proxy is verified by the API, which is
// said.
func TestProxiedIsVerifiedByTheAPI(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		adapter := w.known(t)
		adapter.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
			s, err := next(ctx)
			if err == nil {
				for i := range s.Set(www).Answers {
					s.Set(www).Answers[i].Proxied = true
				}
			}
			return s, err
		}
		w.asking(func(context.Context, string, record.Key) ([]string, error) {
			t.Error("asked")
			return nil, nil
		}, Zone{Adapter: adapter})
		report := w.round(w.want(values[1]))
		if !report.Verified || report.Detail != "www.example.com. A by listing the zone only: it is proxied, so that name servers answer with the provider's own addresses" {
			t.Errorf("got %+v", report)
		}
	})
}

// The name servers that the NS records lead to are asked beside the adapter's own,
// and are looked for once.
func TestFoundServersAreAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		var mu sync.Mutex
		asked, looked := map[string]bool{}, 0
		w.asking(func(ctx context.Context, server string, key record.Key) ([]string, error) {
			mu.Lock()
			asked[server] = true
			mu.Unlock()
			if strings.HasPrefix(server, "[") {
				return nil, fmt.Errorf("%w: network is unreachable", ErrNoWay)
			}
			return w.zone.Live(key), nil
		}, Zone{Adapter: w.known(t), Find: true})
		w.only().write.options.Find = func(_ context.Context, zone record.Name) ([]Server, error) {
			looked++
			return []Server{{"ns1." + string(zone), "192.0.2.53:53"}, {"ns1." + string(zone), "[2001:db8::53]:53"}, {"ns2." + string(zone), "own:53"}}, nil
		}
		for _, value := range []string{values[1], values[0]} {
			began := w.clock.Boot()
			report := w.round(w.want(value))
			if report.Err != nil || !report.Verified || len(report.Heard) != 3 || w.clock.Boot() != began {
				t.Errorf("got %+v", report)
			}
			if h := report.Heard[0]; h.Server.String() != "ns2.example.com. own" {
				t.Errorf("the adapter's own server is called %s", h.Server)
			}
		}
		if len(asked) != 3 || looked != 1 {
			t.Errorf("asked %v, looked for them %d times", asked, looked)
		}
		// A server of which no address can be reached has not answered.
		w.only().worker().found = []Server{{"ns6.example.com.", "[2001:db8::53]:53"}}
		if report := w.round(w.want(values[1])); report.Verified || !strings.Contains(report.Detail, "network is unreachable") {
			t.Errorf("got %+v", report)
		}
	})
}

// Without an answer to who the name servers are nothing is verified, and the error
// names the way on. What the adapter knows is asked all the same.
func TestServersThatCannotBeFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		w.asking(func(_ context.Context, _ string, key record.Key) ([]string, error) { return w.zone.Live(key), nil }, Zone{Find: true})
		w.only().write.options.Find = func(context.Context, record.Name) ([]Server, error) {
			return nil, errors.New("it does not exist (NXDOMAIN)")
		}
		report := w.round(w.want(values[1]))
		if report.Err != nil || report.Verified || !strings.Contains(report.Detail, "NXDOMAIN") || !strings.Contains(report.Detail, "verify.servers") {
			t.Errorf("got %+v", report)
		}
	})
}
