package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// blow is one thing that happens to a pack.
type blow struct {
	what   string
	node   int
	length time.Duration // of a stop or a cut
	usable []string      // what is wanted from then on
	after  time.Duration // from the blow to when that is wanted
	waits  time.Duration // before the blow
}

// The blows. A cut that is short lasts no longer than the heartbeats that a holder
// may lose.
var blows = []string{"kill", "stop", "cut", "short cut", "late", "delete stamp", "copy stamp", "clock", "end", "nothing"}

func drawBlow(t *rapid.T) blow {
	return blow{
		what:   rapid.SampledFrom(blows).Draw(t, "what"),
		node:   rapid.IntRange(0, 2).Draw(t, "node"),
		length: time.Duration(rapid.IntRange(1, 400).Draw(t, "length")) * time.Second,
		usable: rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 3, rapid.ID[string]).Draw(t, "usable"),
		after:  time.Duration(rapid.IntRange(0, 200).Draw(t, "after")) * time.Second,
		waits:  time.Duration(rapid.IntRange(0, 40000).Draw(t, "waits")) * time.Millisecond,
	}
}

// tally counts what the schedules were made of, for people.
type tally struct{ schedules, blows, takeovers, writes, late atomic.Int64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d schedules, %d blows, %d take-overs, %d writes, %d of them late",
		c.schedules.Load(), c.blows.Load(), c.takeovers.Load(), c.writes.Load(), c.late.Load())
}

// TestCase81LeaseInTheZone plays random schedules of kills, stops, cuts, late calls,
// stamps that are deleted or copied by hand, and clocks that are set, with two and
// with three nodes. Whatever happens, no write takes effect but through the stamp of
// who sent it, the name is never empty, no two nodes that run say at once that they
// lead, a node that is gone is followed within the time that is promised, and one
// that loses no more heartbeats than it may keeps the zone.
func TestCase81LeaseInTheZone(t *testing.T) {
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d nodes", nodes), func(t *testing.T) {
			var c tally
			rapid.Check(t, func(rt *rapid.T) {
				class := rapid.SampledFrom([]memory.Class{memory.Rename, memory.Exact, memory.Prerequisites}).Draw(rt, "class")
				behind := rapid.SampledFrom([]time.Duration{0, 3 * time.Second}).Draw(rt, "behind")
				script := rapid.SliceOfN(rapid.Custom(drawBlow), 1, 6).Draw(rt, "script")
				var err error
				synctest.Test(t, func(t *testing.T) {
					h := &hunt{pack: newPack(t, memory.Options{Class: class, Behind: behind}, nodes), tally: &c}
					err = h.play(script)
				})
				if err != nil {
					rt.Fatal(err)
				}
			})
			t.Log(c.String())
		})
	}
}

// hunt is a pack to which a script happens.
type hunt struct {
	*pack
	*tally

	calm    time.Duration // boot time from which no two may say that they lead
	twice   string        // that two did
	stopped *wolf         // who can say nothing
	work    *engine.Work  // what all want
	due     time.Duration // from this boot time on
}

func (h *hunt) play(script []blow) error {
	defer h.end()
	h.schedules.Add(1)
	if err := h.settle("the start"); err != nil {
		return err
	}
	for i, b := range script {
		h.blows.Add(1)
		h.sleep(b.waits)
		what := fmt.Sprintf("blow %d (%s of %s)", i, b.what, h.wolf[b.node%len(h.wolf)].name)
		if err := h.strike(b); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		h.zone.Faults(nil)
		if err := h.settle(what); err != nil {
			return err
		}
	}
	return h.judge()
}

// sleep lets time go by, hears every two seconds which nodes that run say that
// they lead, and lets all nodes want what they are to want by now.
func (h *hunt) sleep(d time.Duration) {
	for end := h.clock.Boot() + d; h.clock.Boot() < end; {
		time.Sleep(min(2*time.Second, end-h.clock.Boot()))
		synctest.Wait()
		if h.work != nil && h.clock.Boot() >= h.due {
			h.submit(*h.work)
			h.work = nil
		}
		var leaders []string
		for _, n := range h.wolf {
			if n != h.stopped && n.leading() {
				leaders = append(leaders, n.name)
			}
		}
		if len(leaders) > 1 && h.clock.Boot() >= h.calm {
			h.twice = fmt.Sprintf("at %s %v say that they lead", h.clock.Boot(), leaders)
		}
	}
}

// submit gives every node the same work, as nodes that see the same world have.
func (h *hunt) submit(work engine.Work) {
	for _, n := range h.wolf {
		if !n.gone {
			n.write.Submit(work)
		}
	}
}

// strike lets a blow happen and lasts until it is over.
func (h *hunt) strike(b blow) error {
	n := h.wolf[b.node%len(h.wolf)]
	before := h.leader()
	switch b.what {
	case "kill":
		n.kill()
	case "end":
		n.end()
	case "stop":
		h.stopped = n
		n.line.Freeze()
	case "cut", "short cut":
		n.line.Set(func(l *memory.Line) { l.Cut = true })
	case "late":
		before.line.Set(func(l *memory.Line) { l.Late = true })
	case "delete stamp", "copy stamp":
		h.byHand(b.what)
	case "clock":
		n.clock.StepWall(b.length * 60 * time.Duration(1-2*(b.node%2)))
	}
	began, was := h.clock.Boot(), h.stampOwner()
	work := h.want(b.usable...)
	h.work, h.due = &work, began+b.after
	switch b.what {
	case "kill", "end":
		if err := h.followed(n, before, began, b); err != nil {
			return err
		}
		n.begin()
	case "stop":
		h.sleepUntil(began + b.length)
		n.line.Thaw()
		time.Sleep(time.Millisecond) // it notices at once
		h.stopped = nil
	case "cut":
		h.sleepUntil(began + b.length)
		n.line.Set(func(l *memory.Line) { l.Cut = false })
	case "short cut":
		h.sleepUntil(began + min(b.length, 2*h.times.Heartbeat))
		n.line.Set(func(l *memory.Line) { l.Cut = false })
		h.sleep(h.times.Poll + time.Second)
		if now := h.stampOwner(); now != was {
			return fmt.Errorf("%s took the zone over from %s, which lived", now, was)
		}
	case "late":
		h.sleepUntil(began + b.length%(time.Minute))
		for len(h.zone.Open()) > 0 {
			h.late.Add(1)
			_ = h.zone.Deliver(0) // a refusal is as good as an effect
		}
	}
	return nil
}

func (h *hunt) sleepUntil(boot time.Duration) { h.sleep(boot - h.clock.Boot()) }

// byHand edits the stamp past everybody; until all have looked, two may believe.
func (h *hunt) byHand(what string) {
	stamps := h.zone.History()[len(h.zone.History())-1].Stamps()
	if len(stamps) == 0 {
		return
	}
	h.calm = h.clock.Boot() + h.times.Heartbeat + h.times.Poll + h.times.Lag
	edit := memory.Delete("_sidestep.example.com.", "TXT", stamps[0].Raw)
	if what == "copy stamp" {
		edit = memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=1 holder=copy at=1 epoch=0 seq=1 nonce=0123456789abcdef")
	}
	h.hand(h.t, edit)
}

// stampOwner is the process whose stamp is in the zone.
func (h *hunt) stampOwner() string {
	history := h.zone.History()
	stamps := history[len(history)-1].Stamps()
	if len(stamps) != 1 {
		return ""
	}
	return memory.Writers(history)[stamps[0].Nonce]
}

// followed waits until another process took the zone of one that ended over, if it
// was its.
func (h *hunt) followed(n, before *wolf, began time.Duration, b blow) error {
	bound := h.times.Worst()
	if b.what == "end" {
		bound = h.times.Poll + h.times.Lag + time.Second
	}
	h.sleep(bound)
	if n != before {
		return nil
	}
	h.takeovers.Add(1)
	for _, v := range h.zone.History() {
		if v.At >= began && v.Cause.Op == memory.OpClaim && v.Cause.Node != fmt.Sprintf("%s/%d", n.name, n.life) {
			return nil
		}
	}
	return fmt.Errorf("%s ended, and nobody took the zone over within %s", n.name, bound)
}

// settle waits until one node leads and the zone is as that node wants it.
func (h *hunt) settle(after string) error {
	for range 100 {
		h.sleep(10 * time.Second)
		if h.leader() != nil && h.clock.Boot() > h.calm {
			break
		}
	}
	h.sleep(h.times.Worst() + 3*time.Minute) // for what is still to be wanted, and its retries
	leaders := 0
	for _, n := range h.wolf {
		if n.leading() {
			leaders++
		}
	}
	if leaders != 1 {
		return fmt.Errorf("long after %s %d nodes lead", after, leaders)
	}
	if h.twice != "" {
		return fmt.Errorf("after %s: %s", after, h.twice)
	}
	return nil
}

// judge holds what came of it all to the rules.
func (h *hunt) judge() error {
	history := h.zone.History()
	if err := memory.OneWriter(history); err != nil {
		return err
	}
	if err := memory.Check(history); err != nil {
		return err
	}
	for _, v := range history {
		if v.Cause.Op == memory.OpAdd || v.Cause.Op == memory.OpTakeAway {
			h.writes.Add(1)
		}
	}
	if len(h.zone.Live(www)) == 0 {
		return fmt.Errorf("the name is empty")
	}
	return nil
}

// A stop between the gate and the sending, longer than it takes to be taken over:
// the call that goes on then is refused, and the node stands by.
func TestStopBetweenGateAndSending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Rename}, 2)
		defer p.end()
		time.Sleep(time.Minute)
		first := p.leader()
		first.write.Submit(p.want(values[0], values[1]))
		p.before(2, func() { first.line.Freeze() }) // after its list
		time.Sleep(5 * time.Minute)
		second := p.leader()
		if second == nil || second == first && !first.leading() {
			t.Fatalf("after five minutes %v leads", second)
		}
		first.line.Thaw()
		time.Sleep(time.Minute)
		if first.leading() || !second.leading() {
			t.Errorf("the first leads: %v, the second: %v", first.leading(), second.leading())
		}
		if err := memory.OneWriter(p.zone.History()); err != nil {
			t.Error(err)
		}
		if lead, _ := first.write.Leadership(zoneName); lead.Holder != second.name {
			t.Errorf("the first says that %q leads", lead.Holder)
		}
		if !slices.ContainsFunc(first.told(), func(l Lead) bool { return l.Was.Leads && !l.Is.Leads }) {
			t.Error("nobody was told that the first lost the zone")
		}
	})
}

// Right after a take-over a list may still show the stamp before it. That is no word
// of another leader, and a failover that is due waits for no more than the lag.
func TestLaggingListAfterATakeOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Rename, Behind: 3 * time.Second}, 2)
		defer p.end()
		time.Sleep(time.Minute)
		first := p.leader()
		second := p.wolf[0]
		if second == first {
			second = p.wolf[1]
		}
		first.kill()
		for !second.leading() {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second) // it has looked at the zone
		second.write.Submit(p.want(values[1]))
		time.Sleep(leaseTimes.Lag + time.Second)
		p.mustLive(t, values[1])
		told := second.told()
		if last := told[len(told)-1]; !last.Is.Leads || slices.ContainsFunc(told, func(l Lead) bool { return l.Was.Leads && !l.Is.Leads }) {
			t.Errorf("told of its leadership: %+v", told)
		}
	})
}

// A provider that turns out not to compare can be no lock: nothing is written, and
// nobody leads, as the first heartbeat finds out, without anything to write.
func TestBlindProviderIsNoLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact, Blind: true}, 1)
		defer p.end()
		time.Sleep(time.Minute)
		n := p.wolf[0]
		var proofs atomic.Int64
		p.zone.Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpProve {
				proofs.Add(1)
			}
			return memory.Fault{}
		})
		for _, want := range [][]string{{values[0]}, {values[1]}} {
			if lead, _ := n.write.Leadership(zoneName); lead.Leads || !errors.Is(lead.Why, provider.ErrNotFenced) {
				t.Errorf("got %+v", lead)
			}
			n.write.Submit(p.want(want...))
			time.Sleep(10 * time.Minute)
			p.mustLive(t, values[0])
		}
		if n := proofs.Load(); n > 0 {
			t.Errorf("%d proofs more", n)
		}
	})
}
