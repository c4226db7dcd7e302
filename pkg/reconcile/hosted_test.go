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

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// What happens to zones at hosted providers: other tools in them, limits of their
// APIs, replies that are lost.

const claim = "heritage=external-dns,external-dns/owner=k8s,external-dns/resource=service/default/web"

// TestCase59OwnedByAnotherTool has a registry's TXT record beside www, or in front
// of it as newer versions write it: www A 192.0.2.10, TXT www or a-www
// "heritage=external-dns,external-dns/owner=k8s". Nothing is written before a
// person says so, and the claim itself stays in any case.
func TestCase59OwnedByAnotherTool(t *testing.T) {
	for _, name := range []string{"www.example.com.", "a-www.example.com."} {
		t.Run(name, func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
				w.hand(t, memory.Put(name, "TXT", time.Minute, claim))
				work := w.want(values[1])
				report := w.round(work)
				if report.Err != nil || len(report.Final.Blocked) != 1 || report.Final.Blocked[0].Guard != plan.GuardOwned ||
					!strings.Contains(report.Final.Blocked[0].Detail, "external-dns/k8s") {
					t.Fatalf("got %+v", report)
				}
				if e := w.effects(); len(e) > 0 {
					t.Errorf("written: %v", e)
				}
				work.Limits.Owned = map[record.Key]bool{www: true}
				if report := w.round(work); report.Err != nil {
					t.Fatal(report.Err)
				}
				w.mustLive(t, values[1])
				if !slices.ContainsFunc(w.zone.Records(), func(r memory.Record) bool { return r.Name == name && r.Value == claim }) {
					t.Error("the claim is gone")
				}
				w.check(t)
			}, memory.Classes()...)
		})
	}
}

// TestCase61ChallengesSurvive lets an ACME client put two _acme-challenge TXT
// records below www and take them away again, once every few requests, while www
// fails over and back fifty times. A text of another robot stands beside. No write
// of ours touches any of them.
func TestCase61ChallengesSurvive(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		const challenge = "_acme-challenge.www.example.com."
		w.hand(t, memory.Put("_mark.www.example.com.", "TXT", time.Minute, "another robot"), memory.Put(string(www.Name), "TXT", time.Minute, "v=spf1 -all"))
		requests, there := 0, false
		w.zone.Between(func() {
			if requests++; requests%7 != 0 {
				return
			}
			edit := memory.Put
			if there {
				edit = func(name, kind string, _ time.Duration, value string, _ ...memory.Detail) memory.Edit {
					return memory.Delete(name, kind, value)
				}
			}
			w.hand(t, edit(challenge, "TXT", time.Minute, "first"), edit(challenge, "TXT", time.Minute, "second"))
			there = !there
		})
		for i := range 50 {
			value := values[(i+1)%2]
			if report := w.round(w.want(value)); report.Err != nil {
				t.Fatalf("failover %d: %v", i, report.Err)
			}
			w.mustLive(t, value)
		}
		if requests < 100 {
			t.Errorf("only %d requests", requests)
		}
		w.check(t, gapTolerance(class)...) // a record that is foreign is never gone by a write of ours
		for _, text := range []string{"another robot", "v=spf1 -all"} {
			if !slices.ContainsFunc(w.zone.Records(), func(r memory.Record) bool { return r.Value == text }) {
				t.Errorf("%q is gone", text)
			}
		}
	}, memory.Classes()...)
}

// metered is an adapter behind its credential's limiter, as those of HTTP APIs
// are: a refusal for being one too many holds the whole credential.
type metered struct {
	fencedShim

	limiter *provider.Limiter
}

func meter(adapter provider.Adapter, limiter *provider.Limiter) metered {
	fencer, _ := adapter.(provider.Fencer)
	m := metered{fencedShim{&shim{Adapter: adapter}, fencer}, limiter}
	m.list = func(ctx context.Context, next func(context.Context) (*provider.Snapshot, error)) (*provider.Snapshot, error) {
		if err := limiter.Read(ctx); err != nil {
			return nil, err
		}
		s, err := next(ctx)
		m.hold(err)
		return s, err
	}
	m.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
		if err := limiter.Write(ctx); err != nil {
			return err
		}
		err := next(ctx, call)
		m.hold(err)
		return err
	}
	return m
}

func (m metered) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := m.limiter.Write(ctx); err != nil {
		return err
	}
	return m.fencer.Claim(ctx, seen, next, gate)
}

func (m metered) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := m.limiter.Write(ctx); err != nil {
		return err
	}
	return m.fencer.Prove(ctx, seen, next, gate)
}

func (m metered) hold(err error) {
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Code == "throttled" {
		m.limiter.Hold(e.After)
	}
}

func (m metered) After(call provider.Call) *provider.Snapshot {
	follower, _ := m.Adapter.(provider.Follower)
	return follower.After(call)
}

// fleet is forty zones of one credential, each with a failover pair at www.
type fleet struct {
	*world
	zones []*memory.Zone

	mu    sync.Mutex
	calls []time.Duration // of any zone, from the last reset on
	fault func() memory.Fault
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t, memory.Options{Class: memory.Rename})}
	f.retry = patient
	limiter := provider.NewLimits().Of("cloudflare", provider.Settings{Secrets: map[string]provider.Secret{"api_token": provider.NewSecret("x")}})
	var zones []Zone
	for i := range 40 {
		name := record.Name(fmt.Sprintf("z%02d.example.", i))
		zone := memory.NewZone(name, memory.Options{Class: memory.Rename, Now: f.clock.Boot})
		if err := zone.EditByHand(memory.Put("www."+string(name), "A", time.Minute, values[0])); err != nil {
			t.Fatal(err)
		}
		zone.Faults(func(memory.Op, int) memory.Fault {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.calls = append(f.calls, f.clock.Boot())
			if f.fault != nil {
				return f.fault()
			}
			return memory.Fault{}
		})
		f.zones = append(f.zones, zone)
		zones = append(zones, Zone{Name: name, Adapter: meter(zone.Adapter("node-1"), limiter)})
	}
	f.startWith(f.only(), zones...)
	f.only().write.options.Report = nil
	f.runs(t)
	return f
}

// submit hands over the same work for every zone.
func (f *fleet) submit(usable string) {
	for _, zone := range f.zones {
		key := record.Key{Zone: zone.Name(), Name: "www." + zone.Name(), Type: record.A}
		spec := &steer.Spec{Key: key, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute}
		in := steer.Input{Spec: spec, Now: f.clock.Boot()}
		for _, value := range values[:2] {
			spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
			judged := steer.Judged{Usable: steer.No, Since: f.clock.Boot()}
			if value == usable {
				judged.Usable = steer.Yes
			}
			in.Judged = append(in.Judged, judged)
		}
		f.only().write.Submit(engine.Work{Zone: zone.Name(), Inputs: []steer.Input{in}})
	}
}

// until waits until every zone answers with a value, and is how long that took.
func (f *fleet) until(t *testing.T, value string, most time.Duration) time.Duration {
	t.Helper()
	began := f.clock.Boot()
	for f.clock.Boot()-began <= most {
		synctest.Wait()
		left := slices.DeleteFunc(slices.Clone(f.zones), func(z *memory.Zone) bool {
			return slices.Equal(z.Live(record.Key{Zone: z.Name(), Name: "www." + z.Name(), Type: record.A}), []string{value})
		})
		if len(left) == 0 {
			return f.clock.Boot() - began
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("not all zones answer with %s after %s", value, most)
	return 0
}

func (f *fleet) reset(fault func() memory.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fault = nil, fault
}

func (f *fleet) made() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// TestCase68FortyFailoversInOneBudget fails forty zones of one credential over at
// once, the credential being allowed 1200 calls in five minutes. They are done in
// the time that the rate gives, and no window has more calls than it allows.
func TestCase68FortyFailoversInOneBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.submit(values[1]) // the first claims
		time.Sleep(5 * time.Minute)
		f.reset(nil)
		for _, value := range []string{values[0], values[1], values[0]} {
			f.submit(value)
			// A list, two writes and a list for each: 160 calls, 60 of them at once.
			if took := f.until(t, value, time.Minute); took > 40*time.Second {
				t.Errorf("the forty took %s", took)
			}
			time.Sleep(30 * time.Second)
		}
		calls := f.made()
		for i := range calls {
			n := 0
			for _, at := range calls[i:] {
				if at-calls[i] < 5*time.Minute {
					n++
				}
			}
			if n > 1200 {
				t.Fatalf("%d calls in five minutes", n)
			}
		}
	})
}

// TestCase68NoCallDuringRetryAfter has the API refuse a call with 429 and
// Retry-After: 300 in the middle of forty failovers: no zone of the credential
// sends anything before that is over, and then all are done.
func TestCase68NoCallDuringRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.submit(values[1])
		time.Sleep(5 * time.Minute)
		n, refused := 0, time.Duration(0)
		f.reset(func() memory.Fault {
			if n++; n == 30 {
				refused = f.clock.Boot()
				return memory.Fault{Kind: memory.Throttled, After: 5 * time.Minute}
			}
			return memory.Fault{}
		})
		f.submit(values[0])
		f.until(t, values[0], 8*time.Minute)
		made := f.made()
		f.mu.Lock()
		defer f.mu.Unlock()
		after := 0
		for _, at := range made {
			if at > refused && at < refused+5*time.Minute {
				t.Fatalf("a call %s after the API asked for none in 5m", at-refused)
			}
			if at >= refused+5*time.Minute {
				after++
			}
		}
		if refused == 0 || after == 0 {
			t.Errorf("refused at %s, %d calls after it", refused, after)
		}
	})
}

// TestCase69OneBadChangeBlocksNoOther switches ten record sets, of which the
// fourth can never be written (a CNAME stands in its place) and the seventh was
// emptied of the value to be paused by somebody else just before. Nine are done,
// the error names the fourth alone, and the next round sends only that.
func TestCase69OneBadChangeBlocksNoOther(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w := newWorld(t, memory.Options{Class: class}, values[0], values[1])
		work := w.want(values[1])
		var keys []record.Key
		for i := range 9 {
			spec := *w.spec
			spec.Key.Name = record.Name(fmt.Sprintf("a%d.example.com.", i+1))
			w.hand(t, memory.Put(string(spec.Key.Name), "A", time.Minute, values[0]), memory.Put(string(spec.Key.Name), "A", time.Minute, values[1]))
			in := work.Inputs[0]
			in.Spec = &spec
			keys = append(keys, spec.Key)
			work.Inputs = append(work.Inputs, in)
		}
		work.Inputs = append(work.Inputs[1:], work.Inputs[0]) // by key
		keys = append(keys, www)
		bad, gone := keys[3], keys[6]
		s := w.shimmed()
		s.write = func(ctx context.Context, call provider.Call, next func(context.Context, provider.Call) error) error {
			if call.Key == bad {
				return provider.Failf(provider.Permanent, "write "+call.Key.String(), "81053", "a CNAME of that name exists")
			}
			if call.Key == gone {
				_ = w.zone.EditByHand(memory.Delete(string(gone.Name), "A", values[0])) // the first time
			}
			return next(ctx, call)
		}
		report := w.round(work)
		if report.Err == nil || !strings.Contains(report.Err.Error(), bad.String()) {
			t.Errorf("got %v", report.Err)
		}
		for _, key := range keys {
			if key != bad && strings.Contains(fmt.Sprint(report.Err), key.String()) {
				t.Errorf("%s is in the error: %v", key, report.Err)
			}
			if live := w.zone.Live(key); key != bad && !slices.Equal(live, values[1:2]) {
				t.Errorf("%s answers with %v", key, live)
			}
		}
		sent := len(s.sent())
		if report := w.round(work); report.Err == nil {
			t.Error("the next round found nothing wrong")
		}
		for _, call := range s.sent()[sent:] {
			if call.Key != bad {
				t.Errorf("the next round wrote %s", call.Key)
			}
		}
	}, memory.Classes()...)
}

// TestCase70WriteTimedOutButHappened creates a value whose reply is lost, or which
// is lost itself: the list says which. It is sent twice at most, there is one record
// of it, and the round ends well.
func TestCase70WriteTimedOutButHappened(t *testing.T) {
	for _, kind := range []memory.Kind{memory.LostReply, memory.LostRequest} {
		t.Run(string(kind), func(t *testing.T) {
			forClasses(t, func(t *testing.T, class memory.Class) {
				w := newWorld(t, slow(class), values[0])
				time.Sleep(20 * time.Second) // nothing is in doubt
				creates := 0
				w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
					if op == memory.OpAdd {
						if creates++; creates == 1 {
							return memory.Fault{Kind: kind}
						}
					}
					return memory.Fault{}
				})
				if report := w.round(w.want(values[:2]...)); report.Err != nil || !report.Verified {
					t.Errorf("got %+v", report)
				}
				want := 1
				if kind == memory.LostRequest {
					want = 2
				}
				if creates != want {
					t.Errorf("sent %d times, want %d", creates, want)
				}
				n := 0
				for _, r := range w.zone.Records() {
					if r.Name == string(www.Name) && r.Value == values[1] {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%d records of the value", n)
				}
				w.check(t)
			}, memory.Classes()...)
		})
	}
}
