package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
)

// yieldAfter is how long a node is blind until it leaves the lead to one that sees:
// three rounds of the canary beyond the two that tell it, so that nodes which lose the
// world together all know of it before one of them gives way to another.
const yieldAfter = 3 * CanaryEvery

// letGoWithin bounds how long a leader that gives way finishes what it has in hand:
// longer than any list and call take.
const letGoWithin = time.Minute

// noteSight keeps since when this node is blind. It belongs to the loop.
func (d *Daemon) noteSight(now engine.Now) {
	switch {
	case !d.engine.Blind():
		d.blind = 0
	case d.blind == 0:
		d.blind = max(now.Boot, 1)
	}
}

// stands reports whether this node would lead and could write: it waits for the lease,
// or has it, and its canary passes.
func (d *Daemon) stands() bool {
	if d.options.Once || d.leader.lease == nil || !d.leader.keeps() {
		return false
	}
	held, why := d.leader.get()
	_, waits := errors.AsType[*lease.HeldError](why)
	sees := false
	d.ask(func(e *engine.Engine) { sees = e.Sighted() && !e.Blind() })
	return sees && (held != nil || waits)
}

// successor is a node that sees and would lead in the place of another, who leads now
// before those who wait; false when none is heard.
func (d *Daemon) successor(now engine.Now, of string) (cluster.Node, bool) {
	var best cluster.Node
	if d.peers == nil || d.leader.lease == nil {
		return best, false
	}
	for _, n := range d.peers() {
		if n.Name == of || !n.Stands || n.Blind || n.Heard == 0 || now.Boot-n.Heard > engine.SilentAfter {
			continue
		}
		if best.Name == "" || n.Leads {
			best = n
		}
	}
	return best, best.Name != ""
}

// givesWay is why this node leaves the lead to another: it is blind for too long, and
// one is heard that sees. Who sees gives way to nobody, so that the lead never comes
// back by itself, and where nobody sees it stays where it is. nil when this node
// leads, or waits for its turn.
func (d *Daemon) givesWay() (why error) {
	d.ask(func(*engine.Engine) {
		now := d.now()
		if d.blind == 0 || now.Boot-d.blind < yieldAfter {
			return
		}
		other, found := d.successor(now, d.options.Config.Node.Name)
		if !found {
			return
		}
		const until = "it waits for the lead again when its canary passes, or when no node is heard that sees"
		if other.Leads {
			why = &lease.HeldError{
				Holder: fmt.Sprintf("%s (process %d on %s)", other.Name, other.PID, other.Host),
				Hint:   "this node is blind, its canary fails; " + until,
			}
			return
		}
		why = fmt.Errorf("this node is blind, its canary fails, and leaves the lead to node %s, which sees; %s", other.Name, until)
	})
	return why
}

// watchSight gives the lease up once this node gives way, in order: the call in hand is
// finished and the stamps are released before another node's turn comes. It lasts
// until the lease is lost or ctx ends.
func (d *Daemon) watchSight(ctx context.Context, held lease.Held) {
	whileHeld(ctx, held, retryLease, func() bool {
		why := d.givesWay()
		if why == nil {
			return true
		}
		d.log.Warn("giving up the lead", "reason", why)
		within, cancel := context.WithTimeout(ctx, letGoWithin)
		defer cancel()
		d.errors.note("release the stamps", d.writer.LetGo(within))
		d.stepDown(ctx, held.Term(), why)
		return false
	})
}

// standAside leaves the queue for the lease while this node gives way, and reports
// whether it does.
func (d *Daemon) standAside(ctx context.Context, wanted lease.Lease) bool {
	queue, is := wanted.(lease.Queue)
	if !is {
		return false
	}
	why := d.givesWay()
	if why == nil {
		return false
	}
	queue.Leave(ctx)
	d.leader.set(nil, why)
	return true
}

// sightNotices say that a node leads and is blind, so that nobody writes. They belong
// to the loop.
func (d *Daemon) sightNotices() []string {
	if d.peers == nil {
		return nil
	}
	var notices []string
	now := d.now()
	for _, n := range d.peers() {
		own := n.Name == d.options.Config.Node.Name
		leads, blind := n.Leads, n.Blind
		if own {
			leads, blind = d.writesSome(), d.blind > 0
		}
		if !leads || !blind || !own && now.Boot-n.Heard > engine.SilentAfter {
			continue
		}
		text := fmt.Sprintf("node %s leads and is blind: its canary fails, and as long as that is so nobody writes; %s", n.Name, d.nextLeader(now, n.Name))
		notices = append(notices, text)
	}
	return notices
}

// nextLeader says what becomes of the lead of a blind node.
func (d *Daemon) nextLeader(now engine.Now, of string) string {
	if d.leader.lease == nil {
		return "with this leader.lock it keeps the lead: look at its network, or stop sidestep there, and another node takes over"
	}
	if other, found := d.successor(now, of); found {
		return fmt.Sprintf("once that lasts %s it gives the lead up, since node %s sees", yieldAfter, other.Name)
	}
	return "no other node is heard that sees and waits for the lead, so it stays there; look at the network of the nodes"
}
