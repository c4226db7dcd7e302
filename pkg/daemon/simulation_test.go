package daemon

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/steer"
)

// fleetSetting is what one schedule is played in.
type fleetSetting struct {
	class    memory.Class
	lock     config.Lock
	nodes    int
	shared   bool // an etcd beside a lock in the zone
	vantages int  // how many nodes must say down; 0 lets each judge for itself
	policy   steer.Policy
	behind   time.Duration // how much of the past lists show
	cooldown bool
	mass     bool
	canary   bool
	paces    []int // of the clocks of the nodes, and of etcd, in percent
}

func drawFleet(t *rapid.T) fleetSetting {
	s := fleetSetting{
		class:    rapid.SampledFrom(memory.Classes()).Draw(t, "class"),
		lock:     config.LockEtcd,
		nodes:    rapid.SampledFrom([]int{2, 2, 2, 3, 3, 4, 5}).Draw(t, "nodes"),
		policy:   rapid.SampledFrom([]steer.Policy{steer.All, steer.All, steer.Priority}).Draw(t, "policy"),
		behind:   rapid.SampledFrom([]time.Duration{0, fleetLag}).Draw(t, "behind"),
		cooldown: rapid.Bool().Draw(t, "cooldown"),
		mass:     rapid.Bool().Draw(t, "mass"),
		canary:   rapid.Bool().Draw(t, "canary"),
		paces:    rapid.SliceOfN(rapid.IntRange(-1, 1), 6, 6).Draw(t, "paces"),
	}
	if s.class.Fenced() && rapid.Bool().Draw(t, "lock in the zone") {
		s.lock, s.shared = config.LockZone, rapid.Bool().Draw(t, "shared")
	}
	if s.lock == config.LockEtcd || s.shared {
		s.vantages = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "vantages")
	}
	return s
}

// hazard is one thing that happens to a fleet.
type hazard struct {
	what    string
	leads   bool // it happens to the leader, else to another node
	node    int
	value   string
	edit    string
	waits   time.Duration // before it
	length  time.Duration
	faults  []memory.Kind // of the writes that come meanwhile, in order
	lists   []memory.Kind // and of the lists
	deliver bool          // what is under way comes at its end
}

// hazards are what can happen, the more often the more of it there is.
var hazards = []string{
	"value fails", "value fails", "value fails", "value flaps", "all fail", "two fail", "node blind",
	"kill", "kill", "disk lost", "end", "stop", "stop at the gate", "suspend", "wall clock", "cut from the provider", "cut from etcd", "slow etcd",
	"empty list", "by hand", "by hand", "drain", "force-down", "force-up", "pin", "freeze", "approve", "nothing",
}

var (
	writeFaults = []memory.Kind{memory.None, memory.None, memory.LostReply, memory.LostRequest, memory.Late, memory.Throttled}
	listFaults  = []memory.Kind{memory.None, memory.None, memory.None, memory.Short, memory.Empty, memory.Throttled}
	handEdits   = []string{"delete", "retime", "disable", "enable", "foreign", "stamp"}
)

func drawHazard(t *rapid.T) hazard {
	return hazard{
		what:    rapid.SampledFrom(hazards).Draw(t, "what"),
		leads:   rapid.IntRange(0, 2).Draw(t, "other") > 0,
		node:    rapid.IntRange(0, 4).Draw(t, "node"),
		value:   rapid.SampledFrom(fleetValues).Draw(t, "value"),
		edit:    rapid.SampledFrom(handEdits).Draw(t, "edit"),
		waits:   time.Duration(rapid.IntRange(0, 6000).Draw(t, "waits")) * time.Millisecond,
		length:  time.Duration(rapid.IntRange(3000, 30000).Draw(t, "length")) * time.Millisecond,
		faults:  rapid.SliceOfN(rapid.SampledFrom(writeFaults), 0, 3).Draw(t, "faults"),
		lists:   rapid.SliceOfN(rapid.SampledFrom(listFaults), 0, 3).Draw(t, "lists"),
		deliver: rapid.Bool().Draw(t, "deliver"),
	}
}

// tally counts what schedules were made of, for people.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *tally) String() string {
	var text strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		_, _ = fmt.Fprintf(&text, "\n%9d %s", c.counts[what], what)
	}
	return text.String()
}

// TestSimulation plays random schedules against whole daemons in virtual time: two to
// five of them around one zone, with their probes, engines, leases, clocks, disks, and
// what they share; the rules that are never broken are checked at every write as it is
// sent, at every probe, and over every version of the zone after every step. It plays
// the same 100 each time, or as many others as SIDESTEP_SCHEDULES says. SIMULATION.md has
// what is played and how to do it again.
func TestSimulation(t *testing.T) {
	if text := os.Getenv("SIDESTEP_SCHEDULES"); text != "" {
		setFlag(t, "rapid.checks", text)
	} else if flag.Lookup("rapid.seed").Value.String() == "0" {
		setFlag(t, "rapid.seed", "1")
	}
	c := tally{counts: map[string]int{"violations": 0}}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawFleet(rt)
		script := rapid.SliceOfN(rapid.Custom(drawHazard), 1, 3).Draw(rt, "script")
		var err error
		synctest.Test(t, func(t *testing.T) {
			err = newFleet(t, s, &c).play(script)
		})
		if err != nil {
			c.add("violations", 1)
			rt.Fatal(err)
		}
	})
	t.Log(c.String())
}

// setFlag gives a flag of package rapid a value until the test ends.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatalf("set -%s: %v", name, err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

func (f *fleet) play(script []hazard) error {
	defer f.end()
	f.tally.add("schedules", 1)
	time.Sleep(20 * time.Second)
	for i, h := range script {
		f.tally.add("steps", 1)
		f.tally.add("fault: "+h.what, 1)
		time.Sleep(h.waits)
		f.misbehave(h)
		mend := f.strike(h)
		time.Sleep(h.length)
		mend()
		f.zone.Faults(nil)
		if h.deliver {
			f.arrive()
		}
		synctest.Wait()
		if err := f.judge.check(); err != nil {
			return fmt.Errorf("after step %d, %s of %d nodes: %w", i, h.what, len(f.nodes), err)
		}
	}
	if err := f.rest(); err != nil {
		return err
	}
	f.count()
	return f.judge.check()
}

// arrive lets what is under way come.
func (f *fleet) arrive() {
	for len(f.zone.Open()) > 0 {
		f.tally.add("fault: request that came late", 1)
		_ = f.zone.Deliver(0) // a refusal is as good as an effect
	}
}

// misbehave makes the provider do so for a while.
func (f *fleet) misbehave(h hazard) {
	var mu sync.Mutex
	faults, lists := h.faults, h.lists
	f.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		mu.Lock()
		defer mu.Unlock()
		list := &lists
		if op.Write() {
			list = &faults
		}
		if len(*list) == 0 {
			return memory.Fault{}
		}
		kind := (*list)[0]
		*list = (*list)[1:]
		if kind != memory.None {
			f.tally.add("fault: provider: "+string(kind), 1)
		}
		return memory.Fault{Kind: kind}
	})
}

// strike lets a hazard begin; mend ends it.
func (f *fleet) strike(h hazard) (mend func()) {
	n := f.leader()
	if !h.leads {
		n = f.nodes[(slices.Index(f.nodes, n)+1+h.node)%len(f.nodes)]
	}
	switch h.what {
	case "value fails":
		return f.fails(h.value)
	case "two fail":
		return f.fails(fleetValues[:2]...)
	case "all fail":
		return f.fails(fleetValues...)
	case "value flaps":
		mend := f.fails(h.value)
		time.Sleep(fleetFall * fleetInterval)
		mend()
	case "node blind":
		f.set(func() { n.blind = true })
		return func() { f.set(func() { n.blind = false }) }
	case "empty list":
		f.set(func() { f.empty = true })
		return func() { f.set(func() { f.empty = false }) }
	case "by hand":
		f.byHand(h)
	case "drain", "force-down", "force-up":
		n.say(h.what, h.value)
	case "pin":
		n.say("pin", www.Name.Unrooted(), h.value)
	case "freeze":
		n.say("freeze", "all")
	case "approve":
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = n.run.Approve(ctx, control.ApproveRequest{Target: "all"}, "ops")
	default:
		return f.hit(n, h)
	}
	return func() {}
}

// hit lets a hazard of one node begin.
func (f *fleet) hit(n *fleetNode, h hazard) (mend func()) {
	switch h.what {
	case "kill", "disk lost":
		n.kill(h.what == "disk lost")
		return n.begin
	case "end":
		n.end()
		return n.begin
	case "stop", "stop at the gate":
		f.judge.happened(func(j *judge) { j.stopped = true })
		if h.what == "stop" {
			n.freeze()
			return n.thaw
		}
		var once sync.Once
		n.line.Set(func(l *memory.Line) { l.Opened = func() { once.Do(n.freeze) } })
		undo := f.fails(h.value) // so that there is something to write
		return func() { undo(); once.Do(func() {}); n.thaw() }
	case "suspend":
		f.judge.happened(func(j *judge) { j.stopped = true })
		n.clock.Suspend(h.length)
	case "wall clock":
		n.clock.StepWall(h.length * 60 * time.Duration(1-2*(h.node%2)))
	case "cut from the provider":
		n.cut(true)
		return func() { n.cut(false) }
	case "cut from etcd", "slow etcd":
		if f.model == nil {
			break
		}
		f.judge.happened(func(j *judge) { j.cutOff = true })
		if h.what == "slow etcd" {
			n.etcd.Slow(h.length/100, h.length/80)
			return func() { n.etcd.Slow(3*time.Millisecond, 4*time.Millisecond) }
		}
		n.etcd.Cut(true)
		return func() { n.etcd.Cut(false) }
	}
	return func() {}
}

// fails lets values answer nobody.
func (f *fleet) fails(values ...string) (mend func()) {
	to := func(down bool) {
		f.set(func() {
			for _, value := range values {
				f.down[value] = down
			}
		})
	}
	to(true)
	return func() { to(false) }
}

// byHand is an operator in the provider's console.
func (f *fleet) byHand(h hazard) {
	name := string(www.Name)
	edit := map[string]memory.Edit{
		"delete":  memory.Delete(name, "A", h.value),
		"retime":  memory.Retime(name, "A", h.value, 5*time.Minute),
		"disable": memory.Disable(name, "A", h.value),
		"enable":  memory.Enable(name, "A", h.value),
		"foreign": memory.Put(name, "A", time.Minute, "198.51.100.7"),
		"stamp":   memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=1 holder=copy at=1 epoch=0 seq=1 nonce=0123456789abcdef"),
	}[h.edit]
	if h.edit == "retime" && f.setting.class == memory.Append || f.zone.EditByHand(edit) != nil {
		return // there was nothing to edit
	}
	f.tally.add("fault: by hand: "+h.edit, 1)
	f.judge.happened(func(j *judge) {
		j.byHand = true
		j.edited[h.value] = j.edited[h.value] || h.edit == "delete"
	})
}

// rest ends all hazards, and waits until one node leads and the zone is as it is wanted.
func (f *fleet) rest() error {
	f.arrive()
	f.takeBack()
	var live []string
	leaders := 0
	for range 100 {
		time.Sleep(5 * time.Second)
		if live, leaders = f.zone.Live(www), f.leaders(); leaders == 1 && f.asWanted(live) {
			return nil
		}
	}
	return fmt.Errorf("at rest %d nodes lead, and the zone answers with %v: %s", leaders, live, f.says())
}

// takeBack takes all words back, at every node.
func (f *fleet) takeBack() {
	words := f.judge.takenBack() // from the first clear on, nothing is relied on
	for _, w := range words {
		for _, n := range f.nodes {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_, _ = n.run.ClearOverride(ctx, control.ClearRequest{Target: w.target}, "ops")
			cancel()
			f.judge.takenBack()
		}
	}
}

func (f *fleet) leaders() (n int) {
	for _, node := range f.nodes {
		if node.leads() {
			n++
		}
	}
	return n
}

// asWanted compares what the zone answers with. After edits by hand a guard or a person
// may have to say what is wanted.
func (f *fleet) asWanted(live []string) bool {
	switch {
	case f.judge.byHand:
		return len(live) > 0 || !f.setting.class.Fenced()
	case f.setting.policy == steer.All:
		return slices.Equal(live, fleetValues)
	}
	return slices.Equal(live, fleetValues[:1])
}

// says is what the nodes say of themselves.
func (f *fleet) says() string {
	var list []string
	for _, n := range f.nodes {
		if s, err := n.run.Status(context.Background(), ""); err == nil {
			list = append(list, fmt.Sprintf("%s: %s %s, %s, %s, blocked %v, %q", n.process(), s.Leader.State, s.Leader.Detail, s.Zones[0].Error, s.Records[0].Reason, s.Records[0].Blocked, s.Notices))
		}
	}
	return strings.Join(list, "\n")
}

// count tells what the schedule came to.
func (f *fleet) count() {
	holder := ""
	for _, v := range f.zone.History()[f.judge.from:] {
		switch v.Cause.Op {
		case memory.OpAdd, memory.OpTakeAway:
			f.tally.add("writes that took effect", 1)
			if holder != v.Cause.Node {
				f.tally.add("take-overs", 1)
				holder = v.Cause.Node
			}
		}
	}
}
