package memory

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Class is the kind of provider that a zone behaves like.
type Class string

// The six classes, as the package comment describes them.
const (
	Status        Class = "status"
	Rename        Class = "rename"
	Exact         Class = "exact"
	Prerequisites Class = "prerequisites"
	Whole         Class = "whole"
	Append        Class = "append"
)

// Classes lists all six.
func Classes() []Class {
	return []Class{Status, Rename, Exact, Prerequisites, Whole, Append}
}

// Fenced reports whether the class compares and swaps.
func (c Class) Fenced() bool { return c == Rename || c == Exact || c == Prerequisites }

// setwise reports whether the class keeps sets, which share one TTL, and not
// records.
func (c Class) setwise() bool { return c == Exact || c == Prerequisites || c == Whole }

// Options says what a zone is like. Only Class has to be given.
type Options struct {
	Class Class

	// Late, Lag and Call are what the adapter promises. Lists lag only as far as
	// Behind or a fault says, and a call is late only by a fault. Call is 10 s
	// when it is 0.
	Late, Lag, Call time.Duration

	// Now is the time since some start, and makes Behind and the end of Late
	// work. Nil is a time that stands still.
	Now func() time.Duration

	// Behind makes every list show the zone as it was this long ago. It should
	// not be more than Lag.
	Behind time.Duration

	// Most is how many values of a set may be live at once, as a plan of the
	// provider says; 0 is any number. A call that would make it more is refused.
	Most int

	// Blind makes a fenced class accept what it must refuse, as emulators do:
	// conditions are not compared. Only Prove can tell.
	Blind bool
}

// Zone is the truth behind any number of adapters. Its methods may be called
// at any time, also from within its own hooks.
type Zone struct {
	name    record.Name
	options Options

	mu      sync.Mutex
	now     state
	history []Version
	open    []pending
	calls   int
	faults  func(Op, int) Fault
	between func()
}

// Version is one state of the zone and what brought it about.
type Version struct {
	At      time.Duration
	Cause   Cause
	Records []Record // never to be changed

	state state
	zone  *Zone
}

// Cause is what changed the zone.
type Cause struct {
	Op   Op             // empty: by hand
	Node string         // whose adapter, empty: by hand
	Call *provider.Call // the write, nil for a claim and by hand
	Late bool           // delivered after it was given up
}

// String is "add by node-1", with what it was about.
func (c Cause) String() string {
	if c.Op == "" {
		return "by hand"
	}
	text := fmt.Sprintf("%s by %s", c.Op, c.Node)
	if c.Late {
		text = "late " + text
	}
	if c.Call != nil {
		text += fmt.Sprintf(" to %s: +%v -%v", c.Call.Key, c.Call.Add, c.Call.Away)
	}
	return text
}

// NewZone makes an empty zone.
func NewZone(zone record.Name, options Options) *Zone {
	z := &Zone{name: zone, options: options}
	z.now.serial = 1
	z.now.blind = options.Blind
	z.remember(Cause{})
	return z
}

// Name is the zone's.
func (z *Zone) Name() record.Name { return z.name }

// Adapter is a node's way to the zone. It is a provider.Fencer, and a
// provider.Follower, exactly when the class is fenced, and keeps nothing that a
// list would not show.
func (z *Zone) Adapter(node string) provider.Adapter {
	a := &adapter{zone: z, node: node, class: classOf(z.options.Class)}
	if z.options.Class.Fenced() {
		return &fencer{a}
	}
	return a
}

// Faults sets the plan that is asked, with what is called and how many calls
// there were before, what goes wrong with a call. Nil ends all faults.
func (z *Zone) Faults(plan func(op Op, n int) Fault) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.faults = plan
}

// Between sets what happens before each call reaches the zone, its own reads
// included: where a test edits by hand or delivers what is open. Nil ends it.
func (z *Zone) Between(hook func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.between = hook
}

// History lists every state that the zone was in, the empty one first.
func (z *Zone) History() []Version {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.history)
}

// Records lists what the zone has now, as it would be typed.
func (z *Zone) Records() []Record {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Clone(z.now.records)
}

// Live lists what resolvers are answered with for a key, those of its line.
// Wildcards answer for themselves only.
func (z *Zone) Live(key record.Key) []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.now.live(key)
}

func (s state) live(key record.Key) []string {
	var values []string
	for _, r := range s.set(key) {
		if !r.Disabled {
			values = append(values, r.value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func (z *Zone) stampName() record.Name { return z.name.Below(provider.StampLabel) }

func (z *Zone) stampKey() record.Key {
	return record.Key{Zone: z.name, Name: z.stampName(), Type: record.TXT}
}

// time is the time that the caller injected. The lock may be held.
func (z *Zone) time() time.Duration {
	if z.options.Now == nil {
		return 0
	}
	return z.options.Now()
}

// apply makes a change happen, whole or not at all. The lock is held.
func (z *Zone) apply(cause Cause, change func(*state) error) error {
	next := z.now
	if err := change(&next); err != nil {
		return err
	}
	if err := z.settle(&next); err != nil {
		return err
	}
	if err := z.fits(cause, next); err != nil {
		return err
	}
	next.serial++
	next.grows = false
	z.now = next
	z.remember(cause)
	return nil
}

// fits holds the set of a call against Options.Most. The lock is held.
func (z *Zone) fits(cause Cause, next state) error {
	most, call := z.options.Most, cause.Call
	if most == 0 || call == nil {
		return nil
	}
	live := len(next.live(call.Key))
	if live <= most || live <= len(z.now.live(call.Key)) {
		return nil
	}
	e := provider.Failf(provider.Permanent, fmt.Sprintf("%s to %s", cause.Op, call.Key), "full", "expected %d live values at most, got %d", most, live)
	e.Full, e.Hint = true, "upgrade the plan"
	return e
}

// identity is what two records of one set may not share.
type identity struct {
	name        record.Name
	kind, value string
}

// settle makes a changed zone obey what servers of its class see to: one TTL
// for a set, or no two records alike.
func (z *Zone) settle(s *state) error {
	if z.options.Class.setwise() {
		s.levelTTLs()
		return nil
	}
	if z.options.Class != Rename {
		return nil
	}
	seen := map[identity]bool{}
	for _, r := range s.records {
		id := identity{r.name, r.Type, r.value}
		if r.name != "" && seen[id] {
			return provider.Failf(provider.Conflict, "write", "identical", "a record like %s exists", r)
		}
		seen[id] = true
	}
	return nil
}

// levelTTLs gives each set the TTL of the record that came last, and drops
// what is twice in a set.
func (s *state) levelTTLs() {
	type set struct {
		name record.Name
		kind string
	}
	last := map[set]time.Duration{}
	for _, r := range s.records {
		last[set{r.name, r.Type}] = r.TTL
	}
	kept := make([]Record, 0, len(s.records))
	at := map[identity]int{}
	for _, r := range s.records {
		if r.name == "" {
			kept = append(kept, r)
			continue
		}
		r.TTL = last[set{r.name, r.Type}]
		id := identity{r.name, r.Type, r.value}
		if i, twice := at[id]; twice {
			kept[i] = r
			continue
		}
		at[id] = len(kept)
		kept = append(kept, r)
	}
	s.records = kept
}

// remember adds the present state to the history. The lock is held.
func (z *Zone) remember(cause Cause) {
	z.history = append(z.history, Version{At: z.time(), Cause: cause, Records: z.now.records, state: z.now, zone: z})
}

// listed is the state that a list shows now. The lock is held.
func (z *Zone) listed(fault Fault) state {
	last := len(z.history) - 1
	horizon := z.time() - z.options.Behind
	for z.options.Behind > 0 && last > 0 && z.history[last].At > horizon {
		last--
	}
	return z.history[max(0, last-fault.Versions)].state
}
