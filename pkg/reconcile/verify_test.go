package reconcile

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// asking lets the first node ask name servers, which answer with ask.
func (w *world) asking(ask Ask, zone Zone) {
	if zone.Adapter == nil {
		zone.Adapter = w.zone.Adapter(w.only().name)
	}
	zone.Name = zoneName
	w.startWith(w.only(), zone)
	w.only().write.options.Ask = ask
}

var errNoRoute = errors.New("no route to host")

func TestVerifyAsksUntilTheServersAgree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		var mu sync.Mutex
		asked := map[string]int{}
		slow := w.clock.Boot() + 3*time.Second
		w.asking(func(_ context.Context, server string, key record.Key) ([]string, error) {
			mu.Lock()
			asked[server]++
			mu.Unlock()
			if server == "ns2:53" && w.clock.Boot() < slow {
				return values[:2], nil // not told yet
			}
			return w.zone.Live(key), nil
		}, Zone{Servers: []string{"ns1:53", "ns2:53"}})
		report := w.round(w.want(values[1]))
		if report.Err != nil || !report.Asked || !report.Verified || report.Detail != "" {
			t.Errorf("got %+v", report)
		}
		if asked["ns1:53"] != 1 || asked["ns2:53"] < 3 || w.clock.Boot() < slow || w.clock.Boot() > slow+time.Second {
			t.Errorf("asked %v, until %s", asked, w.clock.Boot()-slow)
		}
		if report := w.round(w.want(values[1])); report.Asked {
			t.Errorf("asked again though nothing was written: %+v", report)
		}
	})
}

// A server that does not come round, or cannot be reached, is named after ten
// seconds. That is no failure of the write.
func TestVerifySaysWhoLags(t *testing.T) {
	for name, row := range map[string]struct {
		answer []string
		err    error
		want   string
	}{
		"lags":     {answer: []string{values[0]}, want: "ask ns2:53 for www.example.com. A: expected 192.0.2.2, got 192.0.2.1"},
		"is empty": {want: "got nothing"},
		"is away":  {err: errNoRoute, want: "ask ns2:53 for www.example.com. A: no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
				w.asking(func(_ context.Context, server string, key record.Key) ([]string, error) {
					if server == "ns2:53" {
						return row.answer, row.err
					}
					return w.zone.Live(key), nil
				}, Zone{Servers: []string{"ns1:53", "ns2:53"}})
				began := w.clock.Boot()
				report := w.round(w.want(values[1]))
				if report.Err != nil || report.Verified || !strings.Contains(report.Detail, row.want) || strings.Contains(report.Detail, "ns1") {
					t.Errorf("got %+v", report)
				}
				if took := w.clock.Boot() - began; took != verifyFor {
					t.Errorf("asked for %s", took)
				}
			})
		})
	}
}

// The next failover does not wait for a server that lags, and what was written
// before it is verified with it.
func TestVerifyGivesWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		var lags atomic.Bool
		lags.Store(true)
		w.asking(func(_ context.Context, _ string, key record.Key) ([]string, error) {
			if lags.Load() {
				return nil, errNoRoute
			}
			return w.zone.Live(key), nil
		}, Zone{Servers: []string{"ns1:53"}})
		w.runs(t)
		n := w.only()
		var after []Verification
		n.write.options.Verified = func(v Verification) { n.note(func() { after = append(after, v) }) }
		go n.write.Do(t.Context(), w.want(values[1]), Orders{})
		time.Sleep(time.Second)
		lags.Store(false)
		began := w.clock.Boot()
		n.write.Submit(w.want(values[1])) // the same again: nothing is left to write
		synctest.Wait()
		if w.clock.Boot() != began || len(n.told) != 2 {
			t.Fatalf("the second round did not come at once: %d rounds", len(n.told))
		}
		if first := n.told[0]; first.Err != nil || first.Verified || !strings.Contains(first.Detail, "newer work") {
			t.Errorf("the first round: %+v", first)
		}
		if second := n.told[1]; len(second.Applied) > 0 || len(after) != 1 || !after[0].Verified {
			t.Errorf("the second round: %+v, then %+v", second, after)
		}
	})
}

// A stop in the middle of the asking is no word about the name servers: it is
// not told as one, and the write stands.
func TestVerifyIsStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
		ctx, stop := context.WithCancel(t.Context())
		w.asking(func(ctx context.Context, _ string, _ record.Key) ([]string, error) {
			stop()
			return nil, ctx.Err()
		}, Zone{Servers: []string{"ns1:53"}})
		report := w.only().worker().round(ctx, w.want(values[1]), Orders{})
		if report.Err != nil || len(report.Applied) == 0 || report.Asked || report.Verified || !strings.Contains(report.Detail, "stopped before") {
			t.Errorf("got %+v", report)
		}
	})
}

// What a guard stops is not verified, and does not make what was written beside
// it less so.
func TestVerifyBesideAGuard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, want, other := twoSets(t, memory.Exact)
		work := w.want(values[1])
		work.Inputs = want(values[1])
		for i, in := range work.Inputs {
			spec := *in.Spec
			spec.AskFirst, spec.Policy, spec.MaxLive = true, steer.Priority, 1 // takes a usable one of two out
			work.Inputs[i].Spec = &spec
			for j := range in.Judged {
				in.Judged[j].Usable = steer.Yes
			}
		}
		got := w.round(work)
		if len(got.Applied) > 0 || got.Final.InSync() || got.Asked || got.Verified || got.Detail != "guards stop all that is left to write" {
			t.Errorf("everything is stopped: got %+v", got)
		}
		work.Limits.Adopted = map[record.Key]bool{other: true}
		if got := w.round(work); len(got.Applied) != 1 || got.Final.InSync() || !got.Verified {
			t.Errorf("one of two sets is stopped: got %+v", got)
		}
		if got := w.round(work); len(got.Applied) > 0 || got.Verified {
			t.Errorf("the other is still stopped: got %+v", got)
		}
	})
}

// Without a server to ask, or when nobody shall be asked, the list is the proof.
func TestVerifyByTheListAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, zone := range []Zone{{}, {Servers: []string{"ns1:53"}, NoDNS: true}} {
			w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
			w.asking(func(context.Context, string, record.Key) ([]string, error) {
				t.Error("asked")
				return nil, nil
			}, zone)
			if report := w.round(w.want(values[1])); !report.Verified || !strings.Contains(report.Detail, "listing") {
				t.Errorf("got %+v", report)
			}
		}
	})
}

// An adapter that knows its servers is asked for them, unless the config names
// others.
func TestVerifyAsksWhomTheAdapterKnows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Whole}, values[0], values[1])
		for servers, want := range map[string]string{"": "own:53", "ns1:53": "ns1:53"} {
			zone := Zone{Adapter: knowing{w.zone.Adapter("node-1")}}
			if servers != "" {
				zone.Servers = []string{servers}
			}
			w.asking(nil, zone)
			if got, _ := w.only().worker().servers(t.Context()); got != nil {
				t.Errorf("without a way to ask: %v", got)
			}
			w.only().write.options.Ask = func(context.Context, string, record.Key) ([]string, error) { return nil, nil }
			if got, _ := w.only().worker().servers(t.Context()); len(got) != 1 || got[0].Addr != want {
				t.Errorf("asks %v, want %s", got, want)
			}
		}
	})
}

// knowing is an adapter that has a name server of its own.
type knowing struct{ provider.Adapter }

func (knowing) Servers() []string { return []string{"own:53"} }
