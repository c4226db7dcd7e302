package reconcile

import (
	"slices"
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// ops notes every request that the zone gets from here on, and lets the plan, if
// there is one, make it go wrong.
func (w *world) ops(plan func(memory.Op, int) memory.Kind) *[]memory.Op {
	list := &[]memory.Op{}
	w.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		*list = append(*list, op)
		if plan == nil {
			return memory.Fault{}
		}
		return memory.Fault{Kind: plan(op, len(*list))}
	})
	return list
}

const (
	list = memory.OpList
	add  = memory.OpAdd
	away = memory.OpTakeAway
)

// held is a world of a failover pair, of which the node holds the stamp already.
func held(t *testing.T, options memory.Options) *world {
	t.Helper()
	w := newWorld(t, options, values[0])
	if report := w.round(w.want(values[0], values[1])); report.Err != nil {
		t.Fatal(report.Err)
	}
	if report := w.round(w.want(values[0])); report.Err != nil {
		t.Fatal(report.Err)
	}
	time.Sleep(options.Lag)
	return w
}

// A failover of one record set, and the way back, cost one list, the writes and
// one list that verifies them; with lists that lag there is one wait, not one
// for each write.
func TestSwitchCostsTwoLists(t *testing.T) {
	want := map[memory.Class][]memory.Op{
		memory.Rename:        {list, add, away, list},
		memory.Exact:         {list, away, list}, // both in one call
		memory.Prerequisites: {list, away, list},
	}
	for class, sequence := range want {
		for _, lag := range []time.Duration{0, 5 * time.Second} {
			t.Run(string(class)+" lag "+lag.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := held(t, memory.Options{Class: class, Lag: lag, Behind: lag})
					for _, value := range []string{values[1], values[0]} {
						got, began := w.ops(nil), w.clock.Boot()
						report := w.round(w.want(value))
						if report.Err != nil || !report.Verified {
							t.Fatalf("got %+v", report)
						}
						if !slices.Equal(*got, sequence) {
							t.Errorf("to %s: sent %v, want %v", value, *got, sequence)
						}
						if waited := w.clock.Boot() - began; waited != lag {
							t.Errorf("to %s: took %s, want %s", value, waited, lag)
						}
						w.mustLive(t, value)
					}
					w.check(t)
				})
			})
		}
	}
}

// A provider whose adapter follows its writes is listed twice for any number of
// record sets.
func TestSwitchOfManySetsCostsTwoLists(t *testing.T) {
	forClasses(t, func(t *testing.T, class memory.Class) {
		w, want, _ := twoSets(t, class)
		work := func(value string) engine.Work {
			work := w.want(value)
			work.Inputs = want(value)
			return work
		}
		if report := w.round(work(values[0])); report.Err != nil {
			t.Fatal(report.Err)
		}
		sequence := []memory.Op{list, add, away, add, away, list}
		if class == memory.Exact {
			sequence = []memory.Op{list, away, away, list}
		}
		got := w.ops(nil)
		if report := w.round(work(values[1])); report.Err != nil || !report.Verified {
			t.Fatalf("got %+v", report)
		}
		if !slices.Equal(*got, sequence) {
			t.Errorf("sent %v, want %v", *got, sequence)
		}
	}, memory.Rename, memory.Exact)
}

// After a write that was refused, or of which nobody knows, nothing is worked
// out: the zone is listed before the next call.
func TestUnclearWriteIsFollowedByAList(t *testing.T) {
	for _, kind := range []memory.Kind{memory.LostReply, memory.LostRequest, memory.Late} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := held(t, memory.Options{Class: memory.Rename})
				got := w.ops(func(op memory.Op, n int) memory.Kind {
					if op == add && n == 2 {
						return kind
					}
					return memory.None
				})
				if report := w.round(w.want(values[1])); report.Err != nil || !report.Verified {
					t.Fatalf("got %+v", report)
				}
				sequence := []memory.Op{list, add, list, add, away, list}
				if kind == memory.LostReply {
					sequence = []memory.Op{list, add, list, away, list}
				}
				if !slices.Equal(*got, sequence) {
					t.Errorf("sent %v, want %v", *got, sequence)
				}
				w.check(t)
			})
		})
	}
}

// An operator who edits between two writes is seen by the provider, which refuses
// the second, and then by a list.
func TestEditBetweenTwoWritesIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := held(t, memory.Options{Class: memory.Rename})
		got := w.ops(nil)
		w.before(3, func() { // after the add, before the take-away
			w.hand(t, memory.Delete(string(www.Name), "A", values[1]))
		})
		if report := w.round(w.want(values[1])); report.Err != nil || !report.Verified {
			t.Fatalf("got %+v", report)
		}
		if want := []memory.Op{list, add, away, list, add, away, list}; !slices.Equal(*got, want) {
			t.Errorf("sent %v, want %v", *got, want)
		}
		w.mustLive(t, values[1])
		w.check(t)
	})
}

// liar is an adapter whose word about its own writes cannot be trusted.
type liar struct {
	fencedShim

	after func(*provider.Snapshot) *provider.Snapshot
}

func (l liar) After(call provider.Call) *provider.Snapshot {
	follower, _ := l.Adapter.(provider.Follower)
	return l.after(follower.After(call))
}

// What does not carry the stamp of the call that was accepted is not believed,
// nor is anything from a provider that was found not to compare.
func TestFollowedZoneIsBelievedForItsStampOnly(t *testing.T) {
	lies := map[string]func(*provider.Snapshot) *provider.Snapshot{
		"knows nothing":    func(*provider.Snapshot) *provider.Snapshot { return nil },
		"panics":           func(*provider.Snapshot) *provider.Snapshot { panic("a bug") },
		"has no stamp":     func(s *provider.Snapshot) *provider.Snapshot { s.Stamps = nil; return s },
		"has another":      func(s *provider.Snapshot) *provider.Snapshot { s.Stamps[0].Nonce = "0"; return s },
		"has two":          func(s *provider.Snapshot) *provider.Snapshot { s.Stamps = append(s.Stamps, s.Stamps[0]); return s },
		"is another zone":  func(s *provider.Snapshot) *provider.Snapshot { s.Zone = "example.org."; return s },
		"does not compare": nil,
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := held(t, memory.Options{Class: memory.Rename, Blind: lie == nil})
				if lie != nil {
					adapter := w.zone.Adapter(w.only().name)
					fencer, _ := adapter.(provider.Fencer)
					w.startWith(w.only(), Zone{Name: zoneName, Adapter: liar{fencedShim{&shim{Adapter: adapter}, fencer}, lie}})
					if report := w.round(w.want(values[0])); report.Err != nil {
						t.Fatal(report.Err)
					}
					if report := w.round(w.want(values[0], values[1])); report.Err != nil { // claims anew
						t.Fatal(report.Err)
					}
					if report := w.round(w.want(values[0])); report.Err != nil {
						t.Fatal(report.Err)
					}
				}
				got := w.ops(nil)
				if report := w.round(w.want(values[1])); report.Err != nil || !report.Verified {
					t.Fatalf("got %+v", report)
				}
				if want := []memory.Op{list, add, list, away, list}; !slices.Equal(*got, want) {
					t.Errorf("sent %v, want %v", *got, want)
				}
			})
		})
	}
}

// A provider that accepts and changes nothing is found out although its adapter
// believes it: the round ends by a list, in which nothing came of it.
func TestRoundEndsByAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := held(t, memory.Options{Class: memory.Rename})
		w.before(4, func() { // before the list that verifies
			w.hand(t, memory.Delete(string(www.Name), "A", values[1]), memory.Put(string(www.Name), "A", time.Minute, values[0]))
		})
		got := w.ops(nil)
		if report := w.round(w.want(values[1])); report.Err != nil || !report.Verified {
			t.Fatalf("got %+v", report)
		}
		if want := []memory.Op{list, add, away, list, add, away, list}; !slices.Equal(*got, want) {
			t.Errorf("sent %v, want %v", *got, want)
		}
		w.mustLive(t, values[1])
	})
}

// Only adds were asked for: what they lead to is listed as well.
func TestOnlyAddsEndByAList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := held(t, memory.Options{Class: memory.Rename})
		got := w.ops(nil)
		report := w.only().round(w.want(values[1]), Orders{OnlyAdd: true})
		if report.Err != nil || report.Verified {
			t.Errorf("got %+v", report)
		}
		if want := []memory.Op{list, add, list}; !slices.Equal(*got, want) {
			t.Errorf("sent %v, want %v", *got, want)
		}
	})
}
