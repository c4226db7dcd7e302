package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/provider/memory"
)

// jolt is one thing that happens to a crew.
type jolt struct {
	what   string
	leads  bool          // it happens to the leader, else to the other one
	waits  time.Duration // before it
	length time.Duration
	usable [][]string    // what is wanted meanwhile, one after the other
	every  time.Duration // and for how long each
	late   bool          // a write of the leader stays under way when it is given up
	skip   int           // after so many that do not
	when   int           // and comes so late, in percent of how late it may
	trip   [2]int        // of a slow etcd, as in setting
}

// The jolts, by lock. A stop at the gate is one between the last question and the
// sending of a call. What is cut off reaches nothing.
var (
	jolts     = []string{"kill", "end", "stop", "stop at the gate", "cut from the provider", "clock", "nothing"}
	etcdJolts = append([]string{"cut from etcd", "cut from etcd", "cut from etcd", "slow etcd", "key deleted", "key deleted while cut off"}, jolts...)
	fileJolts = append([]string{"file replaced", "file replaced while stopped"}, jolts...)
)

func drawJolt(kinds []string) *rapid.Generator[jolt] {
	return rapid.Custom(func(t *rapid.T) jolt {
		return jolt{
			what:   rapid.SampledFrom(kinds).Draw(t, "what"),
			leads:  rapid.IntRange(0, 3).Draw(t, "other") > 0,
			waits:  time.Duration(rapid.IntRange(0, 15000).Draw(t, "waits")) * time.Millisecond,
			length: time.Duration(rapid.IntRange(1, 70).Draw(t, "length")) * time.Second,
			usable: rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 2, rapid.ID[string]), 2, 3).Draw(t, "usable"),
			every:  rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 10 * time.Second}).Draw(t, "every"),
			late:   rapid.Bool().Draw(t, "late"),
			skip:   rapid.IntRange(0, 2).Draw(t, "skip"),
			when:   rapid.SampledFrom([]int{0, 50, 100, 100}).Draw(t, "when"),
			trip:   drawTrip(t),
		}
	})
}

func drawTrip(t *rapid.T) [2]int {
	return [2]int{rapid.IntRange(0, 10).Draw(t, "there"), rapid.IntRange(0, 10).Draw(t, "back")}
}

func drawSetting(t *rapid.T, guard string) setting {
	pace := rapid.SampledFrom([]int{-1, 0, 1})
	return setting{
		class:  rapid.SampledFrom(guards[guard]).Draw(t, "class"),
		signed: guard == "signed",
		behind: rapid.SampledFrom([]time.Duration{0, crewLag}).Draw(t, "behind"),
		paces:  [3]int{pace.Draw(t, "first"), pace.Draw(t, "second"), pace.Draw(t, "etcd")},
		trip:   drawTrip(t),
		seed:   rapid.Uint64().Draw(t, "seed"),
	}
}

// guards are the classes of providers, by what keeps a call of a leader before from
// taking effect: a fence, the end of its signature, or only how late it can be.
var guards = map[string][]memory.Class{
	"fenced": {memory.Rename, memory.Exact, memory.Prerequisites},
	"signed": {memory.Status},
	"late":   {memory.Status, memory.Append, memory.Whole},
}

// lockTally counts what schedules were made of, for people.
type lockTally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *lockTally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what] += n
}

func (c *lockTally) String() string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		list = append(list, fmt.Sprintf("%s %d", what, c.counts[what]))
	}
	return strings.Join(list, ", ")
}

// TestLockInEtcd plays random schedules of two nodes that share an etcd: the leader or
// the other one is killed, stopped, cut off from the provider or from etcd, etcd is
// slow, its key is deleted, clocks run apart as far as they may, and calls come as late
// as they can. The lease is the real one. Whatever happens: no call goes out that could
// end in another's time; at a provider that compares, no write of a leader before takes
// effect after one of the next; elsewhere none after the first take-away of the next,
// but for the one call of a process that stood still between the gate and the sending
// where no signature ends; no answer is emptied and nothing is lost; and the zone comes
// to rest as it is wanted, with one leader.
func TestLockInEtcd(t *testing.T) {
	playLocks(t, etcdJolts, func(c *crew, s setting) { c.underEtcd(s) })
}

// TestLockInAFile does it with two processes on one host and one state directory.
func TestLockInAFile(t *testing.T) {
	base, n := t.TempDir(), 0
	playLocks(t, fileJolts, func(c *crew, s setting) {
		n++
		c.underFile(filepath.Join(base, strconv.Itoa(n)), s)
	})
}

func playLocks(t *testing.T, kinds []string, under func(*crew, setting)) {
	t.Helper()
	for _, guard := range slices.Sorted(maps.Keys(guards)) {
		t.Run(guard, func(t *testing.T) {
			kinds := kinds
			if guard != "fenced" { // nothing is promised elsewhere: it is as if the lease had lied
				kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return strings.HasPrefix(kind, "key deleted") })
			}
			c := lockTally{counts: map[string]int{}}
			rapid.Check(t, func(rt *rapid.T) {
				s := drawSetting(rt, guard)
				script := rapid.SliceOfN(drawJolt(kinds), 1, 4).Draw(rt, "script")
				var err error
				synctest.Test(t, func(t *testing.T) {
					r := &trial{crew: newCrew(t, s), setting: s, tally: &c, strays: map[string]int{}}
					under(r.crew, s)
					err = r.play(script)
				})
				if err != nil {
					rt.Fatal(err)
				}
			})
			t.Log(c.String())
		})
	}
}

// trial is a crew to which a script happens.
type trial struct {
	*crew
	setting setting
	tally   *lockTally

	usable []string    // wanted now
	when   int         // of the late call
	cut    []time.Time // when turns ended since somebody deleted a key
	ended  []string    // processes that ended in order

	replaced []time.Time // when the lock file was, by hand

	strays map[string]int // calls in another's time, by what excuses them
}

func (r *trial) play(script []jolt) error {
	defer r.end()
	r.tally.add("schedules", 1)
	r.want(values[:1])
	r.sleep(time.Minute)
	for _, j := range script {
		r.tally.add(j.what, 1)
		r.sleep(j.waits)
		r.strike(j)
	}
	if err := r.rest(); err != nil {
		return err
	}
	return r.judge()
}

// want says what every node finds usable from now on.
func (r *trial) want(usable []string) {
	r.usable = usable
	r.submit(r.world.want(usable...))
}

// sleep lets time go by, and calls that are late arrive at their time.
func (r *trial) sleep(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		next := time.Until(end)
		for i, open := range r.zone.Open() {
			due := r.due(open) - r.clock.Boot()
			if due > 0 {
				next = min(next, due)
				continue
			}
			err := r.zone.Deliver(i)
			r.tally.add("calls that came late", 1)
			if err != nil {
				r.tally.add("of these refused", 1)
			}
			next = 0
			break
		}
		time.Sleep(next)
		synctest.Wait()
	}
}

// due is when a call that is under way comes: before it may not any more.
func (r *trial) due(open memory.OpenCall) time.Duration {
	last := open.Sent + r.late()
	if r.signed > 0 {
		for _, s := range r.sendings() {
			if s.by == open.Node && !s.left.After(r.moment(open.Sent)) {
				last = min(open.Sent+r.late(), s.at.Sub(r.began)+time.Hour+r.signed)
			}
		}
	}
	return open.Sent + (last-open.Sent)*time.Duration(r.when)/100 - time.Millisecond
}

func (r *trial) late() time.Duration { return r.peers[0].line.Promises().Late }

// sendings are the calls that the gate let out so far.
func (c *crew) sendings() []sending {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]sending, len(c.sent))
	for i, s := range c.sent {
		list[i] = *s
	}
	return list
}

// strike lets a jolt happen and lasts until it is over.
func (r *trial) strike(j jolt) {
	n := r.leader()
	if n == nil {
		n = r.peers[0]
	}
	if j.late {
		r.when = j.when
		n.line.Set(func(l *memory.Line) { l.Late, l.Skip = true, j.skip })
	}
	if !j.leads {
		n = r.peers[(slices.Index(r.peers, n)+1)%len(r.peers)]
	}
	mend := r.hit(n, j)
	end := time.Now().Add(j.length)
	for i := 0; time.Now().Before(end); i++ {
		r.want(j.usable[i%len(j.usable)])
		r.sleep(min(j.every, time.Until(end)))
	}
	mend()
	n.line.Set(func(l *memory.Line) { l.Late = false })
}

// hit lets a jolt begin; mend ends it.
func (r *trial) hit(n *peer, j jolt) (mend func()) {
	switch j.what {
	case "kill":
		n.kill()
		return n.begin
	case "end":
		r.ended = append(r.ended, n.process())
		n.end()
		return n.begin
	case "stop":
		n.freeze()
		return n.thaw
	case "stop at the gate":
		n.mu.Lock()
		n.trap = true
		n.mu.Unlock()
		return n.thaw
	case "cut from the provider":
		n.line.Set(func(l *memory.Line) { l.Cut = true })
		return func() { n.line.Set(func(l *memory.Line) { l.Cut = false }) }
	case "clock":
		n.clock.StepWall(j.length * 60 * time.Duration(1-2*(j.when%3)))
	case "cut from etcd":
		n.etcd.Cut(true)
		return func() { n.etcd.Cut(false) }
	case "slow etcd":
		n.travel(j.trip)
		return func() { n.travel(r.trip) }
	case "key deleted while cut off": // from etcd
		n.etcd.Cut(true)
		r.cut = append(r.cut, time.Now())
		r.model.DeleteFirst()
		return func() { n.etcd.Cut(false) }
	case "key deleted":
		r.cut = append(r.cut, time.Now())
		r.model.DeleteFirst()
	case "file replaced while stopped":
		n.freeze()
		r.replaced = append(r.replaced, time.Now())
		r.replaceFile()
		return n.thaw
	case "file replaced":
		r.replaced = append(r.replaced, time.Now())
		r.replaceFile()
	}
	return func() {}
}

// asTold does what an error says after two writers under one name: a claim was under
// way when somebody replaced the lock file.
func (r *trial) asTold() {
	r.mu.Lock()
	rival, two := errors.AsType[*TwoWritersError](r.failed)
	r.mu.Unlock()
	if n := r.leader(); two && rival.Namesake && len(r.replaced) > 0 && n != nil {
		r.tally.add("two writers, by hand", 1)
		n.write.Do(context.Background(), r.world.want(r.usable...), Orders{TakeOver: true})
	}
}

// rest waits until one node leads and the zone is as it is wanted.
func (r *trial) rest() error {
	r.zone.Faults(nil)
	last := r.usable
	for range 20 {
		r.want(last)
		r.sleep(30 * time.Second)
		if slices.Equal(r.zone.Live(www), slices.Sorted(slices.Values(last))) && len(r.zone.Open()) == 0 {
			break
		}
		r.asTold()
	}
	leaders := 0
	for _, n := range r.peers {
		if n.leads() {
			leaders++
		}
	}
	live := r.zone.Live(www)
	if leaders != 1 || !slices.Equal(live, slices.Sorted(slices.Values(last))) {
		return fmt.Errorf("at rest %d nodes lead, and the zone answers with %v, want %v: %w", leaders, live, last, r.failed)
	}
	return nil
}
