package daemon

import (
	"context"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
)

// How a node that does not write a zone keeps its list of it near to what is there.
const (
	lookAgain  = 5 * time.Second  // no more than one list in this time for all that asks for one
	lookWithin = 10 * time.Second // what is foreseen waits no longer for a list
	wordActed  = 3 * time.Second  // after the debounce: until the leader has acted on a word
	wroteFor   = time.Minute      // how long after a write the others are told of it
	wroteMost  = 16               // of how many zones with one beat
)

// lists is what a node knows of lists that it wants. It belongs to the loop.
type lists struct {
	wanted map[record.Name]wantedList
	asked  map[record.Name]time.Duration // boot time at which the last list was asked for
	heard  map[string]uint64             // by node and zone: how many writes it told of
	wrote  map[record.Name]written       // by this node
	turn   int                           // of which zones the next beat tells
}

// wantedList is a list that is asked for at one time, and again after another.
type wantedList struct{ due, latest time.Duration }

type written struct {
	count uint64
	at    time.Duration
}

func newLists() lists {
	return lists{
		wanted: map[record.Name]wantedList{}, asked: map[record.Name]time.Duration{},
		heard: map[string]uint64{}, wrote: map[record.Name]written{},
	}
}

// lookSoon wants lists of zones, after some time, that this node does not write: what
// it shows rests on them. It belongs to the loop.
func (d *Daemon) lookSoon(after time.Duration, zones ...record.Name) {
	at := d.clock.Boot() + after
	for _, zone := range zones {
		w, waits := d.lists.wanted[zone]
		if !waits {
			w.due = at
			if last, asked := d.lists.asked[zone]; asked {
				w.due = max(at, last+lookAgain)
			}
		}
		w.latest = max(w.latest, at)
		d.lists.wanted[zone] = w
	}
}

// lookSoonAtAll wants lists once a leader has acted on what a person said. It belongs
// to the loop.
func (d *Daemon) lookSoonAtAll() {
	d.lookSoon(d.config.Reconcile.Debounce+wordActed, zonesOf(d.options.Config)...)
}

// keepFresh asks for the lists that are wanted until ctx ends.
func (d *Daemon) keepFresh(ctx context.Context) error {
	for wait(ctx, time.Second) {
		d.ask(func(*engine.Engine) {
			d.hearWrites()
			d.lookAtWanted()
		})
	}
	return nil
}

// lookAtWanted belongs to the loop.
func (d *Daemon) lookAtWanted() {
	now := d.clock.Boot()
	for zone, w := range d.lists.wanted {
		if now < w.due {
			continue
		}
		delete(d.lists.wanted, zone)
		if d.writesTo(zone) {
			continue // it lists before it writes
		}
		d.lists.asked[zone] = now
		d.writer.Look(zone)
		if w.latest > now {
			d.lookSoon(w.latest-now, zone)
		}
	}
}

// hearWrites wants a list of what another node wrote, when a list shows it. It belongs
// to the loop.
func (d *Daemon) hearWrites() {
	if d.peers == nil {
		return
	}
	for _, n := range d.peers() {
		if n.Name == d.options.Config.Node.Name {
			continue
		}
		for _, w := range n.Wrote {
			zone, key := record.Name(w.Zone), n.Name+" "+w.Zone
			promises, found := d.writer.Promises(zone)
			if !found || d.lists.heard[key] == w.Count {
				continue
			}
			d.lists.heard[key] = w.Count
			d.lookSoon(promises.Lag, zone)
		}
	}
}

// wroteTo counts a write of this node. It belongs to the loop.
func (d *Daemon) wroteTo(zone record.Name) {
	d.lists.wrote[zone] = written{d.lists.wrote[zone].count + 1, d.clock.Boot()}
}

// tellWrites is what the next beat tells of this node's last writes: with many zones, of
// some of them in turn.
func (d *Daemon) tellWrites() (list []cluster.Wrote) {
	d.ask(func(*engine.Engine) {
		now := d.clock.Boot()
		for _, zone := range slices.Sorted(maps.Keys(d.lists.wrote)) {
			if w := d.lists.wrote[zone]; now-w.at < wroteFor {
				list = append(list, cluster.Wrote{Zone: string(zone), Count: w.count})
			}
		}
		if len(list) > wroteMost {
			from := d.lists.turn % len(list)
			list = slices.Concat(list[from:], list[:from])[:wroteMost]
			d.lists.turn += wroteMost
		}
	})
	return list
}

// listFirst lists, before something is foreseen, what this node does not write and did
// not list just now. What cannot be listed is foreseen from the list before.
func (d *Daemon) listFirst(ctx context.Context) {
	if d.options.Once {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	before := map[record.Name]time.Time{}
	d.ask(func(*engine.Engine) {
		now := d.clock.Boot()
		for _, zone := range zonesOf(d.options.Config) {
			if last, asked := d.lists.asked[zone]; d.writesTo(zone) || asked && now-last < lookAgain {
				continue
			}
			d.lists.asked[zone], before[zone] = now, d.ages[zone].listed
			d.writer.Look(zone)
		}
	})
	_ = d.await(ctx, func(*engine.Engine) bool {
		for zone, at := range before {
			if d.ages[zone].listed.Equal(at) {
				return false
			}
		}
		return true
	})
}
