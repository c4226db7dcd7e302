package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Detection is how long faults of one kind took to be seen.
type Detection struct {
	Fault     Fault
	FastInter time.Duration
	Faults    int
	Seen      int             // those that a DOWN event came for
	Took      []time.Duration // from the fault to the event, sorted
	Ideal     []time.Duration // what the target's slots allow at best, sorted
	Excess    []time.Duration // the one less the other, fault by fault, sorted
}

// verdicts notes when the log of a daemon says that a target is down.
type verdicts struct {
	mu   sync.Mutex
	rest []byte
	down map[string]time.Time // by address
}

func (v *verdicts) Write(p []byte) (int, error) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rest = append(v.rest, p...)
	for {
		line, rest, found := bytes.Cut(v.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		v.rest = rest
		var entry struct{ Message, Target, To string }
		if json.Unmarshal(line, &entry) != nil || entry.Message != "verdict" || entry.To != "down" {
			continue
		}
		if _, address, found := strings.Cut(entry.Target, "@"); found {
			v.down[address] = now
		}
	}
}

func (v *verdicts) of(i int) (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, found := v.down[Address(i).String()]
	return at, found
}

// fall is the failures in a row that make a target down, as World.write has it.
const fall = 3

// strike is one fault.
type strike struct {
	target int
	at     time.Time
	next   time.Duration // from the fault to the target's next slot
}

// detect breaks single targets of a world of 200 each 2 s at random moments and
// waits until the daemon says that they are down.
func (b *bench) detect(ctx context.Context, fault Fault, fastInter time.Duration, faults int) (Detection, error) {
	w := World{Kind: HTTP, Targets: 200, Interval: 2 * time.Second, FastInter: fastInter, Port: b.port}
	d := Detection{Fault: fault, FastInter: fastInter, Faults: faults}
	log := &verdicts{down: map[string]time.Time{}}
	if _, err := b.remote.Mark(); err != nil {
		return d, err
	}
	p, err := b.startDaemon(ctx, w, log)
	if err != nil {
		return d, err
	}
	defer p.stop()
	if _, err := b.warm(ctx, p, w); err != nil {
		return d, err
	}
	strikes, err := b.strike(ctx, p, w, fault, faults)
	if err != nil {
		return d, err
	}
	defer func() {
		for _, s := range strikes {
			_ = b.remote.Set("", s.target)
		}
	}()
	if err := p.wait(ctx, (fall+1)*w.Interval+w.Timeout()); err != nil {
		return d, err
	}
	for _, s := range strikes {
		if at, seen := log.of(s.target); seen {
			d.add(at.Sub(s.at), s.ideal(w, fault))
		}
	}
	slices.Sort(d.Took)
	slices.Sort(d.Ideal)
	slices.Sort(d.Excess)
	return d, nil
}

func (d *Detection) add(took, ideal time.Duration) {
	d.Seen++
	d.Took, d.Ideal, d.Excess = append(d.Took, took), append(d.Ideal, ideal), append(d.Excess, took-ideal)
}

// ideal is the earliest moment at which anybody with these slots can know.
func (s strike) ideal(w World, fault Fault) time.Duration {
	ideal := s.next
	again := w.Interval
	if w.FastInter > 0 {
		again = w.FastInter
	}
	if fault == Hang {
		ideal += w.Timeout()
		again = max(again, w.Timeout())
	}
	return ideal + (fall-1)*again
}

// strike sets the faults, each on a target of its own. Their moments within the
// interval are random, one in each of so many equal parts of it: the median then
// says something about the daemon and not about luck.
func (b *bench) strike(ctx context.Context, p *process, w World, fault Fault, faults int) ([]strike, error) {
	var strikes []strike
	part := float64(w.Interval) / float64(faults)
	struck := map[int]bool{}
	for _, n := range rand.Perm(faults) {
		if err := p.wait(ctx, rand.N(w.Interval/4)); err != nil {
			return strikes, err
		}
		arrivals, now, err := b.remote.dump()
		if err != nil {
			return strikes, err
		}
		wanted := time.Duration((float64(n) + rand.Float64()) * part)
		i, next := nearestSlot(arrivals, now, w, wanted, struck)
		at := time.Now()
		if err := b.remote.Set(fault, i); err != nil {
			return strikes, err
		}
		struck[i] = true
		strikes = append(strikes, strike{i, at, next})
	}
	return strikes, nil
}

// nearestSlot picks the target, of those not struck yet, that is next probed
// most nearly so long from now.
func nearestSlot(arrivals []Arrival, now time.Duration, w World, wanted time.Duration, struck map[int]bool) (target int, next time.Duration) {
	last := map[int]time.Duration{}
	for _, a := range arrivals {
		last[int(a.Index)] = a.At
	}
	target = -1
	for i, at := range last {
		until := w.Interval - (now-at)%w.Interval
		if !struck[i] && (target < 0 || (until-wanted).Abs() < (next-wanted).Abs()) {
			target, next = i, until
		}
	}
	return target, next
}
