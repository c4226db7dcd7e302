package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/file"
	"sidestep/pkg/provider/memory"
)

// awayLease is one whose keeper is away while that is so, and else is won.
type awayLease struct{ away atomic.Bool }

func (l *awayLease) Acquire(context.Context) (lease.Held, error) {
	if l.away.Load() {
		return nil, errors.New("acquire the lease: etcd at 192.0.2.1:2379: connection refused")
	}
	return &awayHeld{lostHeld{lost: make(chan struct{})}, l}, nil
}

type awayHeld struct {
	lostHeld

	of *awayLease
}

// Keep loses the lease when its keeper is away.
func (h *awayHeld) Keep(ctx context.Context) {
	for wait(ctx, time.Second) {
		if h.of.away.Load() {
			close(h.lost)
			return
		}
	}
}

// mustVacant sees that a node tells of the alarm, in status, log and journal, or of
// its end.
func (r *running) mustVacant(want bool, reason string) {
	r.w.Helper()
	s := r.status()
	notice := ""
	for _, n := range s.Notices {
		if strings.Contains(n, "no leader for ") {
			notice = n
		}
	}
	if !want {
		if notice != "" || len(r.w.log.with("no leader")) > 0 {
			r.w.Errorf("%s raises an alarm: %+v, %q, %q", s.Node, s.Leader, notice, r.w.log.with("no leader"))
		}
		return
	}
	if s.Leader.State != "none" || s.Leader.Since == nil || !strings.Contains(s.Leader.Detail, reason) || !strings.Contains(notice, reason) {
		r.w.Errorf("%s: status says %+v, and the notice is %q; expected none, and %q", s.Node, s.Leader, notice, reason)
	}
	if lines := r.w.log.with("ERROR no leader"); len(lines) != 1 || !strings.Contains(lines[0], reason) {
		r.w.Errorf("%s: the log says %q", s.Node, lines)
	}
}

// mustRecover sees that the end of an alarm is told as often as its begin.
func (r *running) mustRecover(journaled ...string) {
	r.w.Helper()
	if s := r.status(); s.Leader.State == "none" || s.Leader.Since != nil || strings.Contains(strings.Join(s.Notices, "; "), "no leader") {
		r.w.Errorf("%s: afterwards status says %+v, %q", s.Node, s.Leader, s.Notices)
	}
	if n := len(r.w.log.with("INFO there is a leader again")); n != 1 {
		r.w.Errorf("%d lines tell of the end", n)
	}
	var what []string
	for _, line := range r.w.journal("leader") {
		if line["since"] != nil {
			what = append(what, line["what"].(string))
		}
	}
	if strings.Join(what, " ") != strings.Join(journaled, " ") {
		r.w.Errorf("the journal has %q, expected %q", what, journaled)
	}
}

// runAway runs a daemon that leads, and whose keeper of the lease has just gone away.
func (w *world) runAway() (*running, *awayLease) {
	w.Helper()
	w.config.Leader.Lease = 30 * time.Second
	d, err := New(w.options())
	if err != nil {
		w.Fatal(err)
	}
	l := &awayLease{}
	d.leader.lease, d.options.Config.Leader.Lock = l, config.LockEtcd
	r := w.start(d)
	time.Sleep(settled)
	l.away.Store(true)
	return r, l
}

// TestCase82NoLeader: the keeper of the lease is away for ten minutes. Once that lasts
// longer than the lease and the safety period, it is an alarm; and its end is told.
func TestCase82NoLeader(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		r, l := w.runAway()
		time.Sleep(40 * time.Second)
		r.mustVacant(false, "")
		time.Sleep(12 * time.Second)
		r.mustVacant(true, "connection refused")
		since := *r.status().Leader.Since
		time.Sleep(10 * time.Minute)
		r.mustVacant(true, "connection refused")
		if again := *r.status().Leader.Since; again.Sub(since).Abs() > time.Millisecond {
			t.Errorf("it began at %v, and a while ago it began at %v", again, since)
		}
		if n := len(w.log.with("ERROR still no leader")); n != 3 {
			t.Errorf("%d lines more in ten minutes, expected each after twice the time", n)
		}
		l.away.Store(false)
		time.Sleep(settled)
		r.mustRecover("none", "led")
	})
}

// The same with a lock in the zone: both nodes lose the provider, the one that led and
// the one that stood by. A standby that sees nothing knows of no leader any more.
func TestCase82NoLeaderOfAZone(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v := pair(t)
		var cut atomic.Bool
		away := func(o *Options) { o.Registry = cutOff(o.Registry, &cut) }
		nodes := []*running{w.run(away), nil}
		time.Sleep(settled)
		nodes[1] = v.run(away)
		nodes[1].w = v
		time.Sleep(settled)
		cut.Store(true)
		time.Sleep(100 * time.Second)
		for _, n := range nodes {
			n.mustVacant(false, "")
		}
		time.Sleep(time.Minute)
		for _, n := range nodes {
			n.mustVacant(true, "no route to host")
		}
		cut.Store(false)
		time.Sleep(settled)
		for _, n := range nodes {
			n.mustRecover("none", "led")
		}
	})
}

// A node whose key may read and not write finds a zone that nobody leads, cannot lead
// it, and says why.
func TestCase82NoLeaderWhereTheStampIsNotTaken(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := pair(t)
		w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
			if op == memory.OpList || op == memory.OpStamps {
				return memory.Fault{}
			}
			return memory.Fault{Kind: memory.Refused}
		})
		d := w.run()
		time.Sleep(3 * time.Minute)
		d.mustVacant(true, "this node's stamp is not taken: ")
	})
}

// With a lock file nobody leads when that cannot be made any more. While it cannot, this
// process writes nothing into the directory, and so the journal has the end alone.
func TestCase82NoLeaderWithoutALockFile(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		path := filepath.Join(w.config.State.Dir, file.Name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		for os.Mkdir(path, 0o700) != nil { // the daemon made the file anew in between
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		time.Sleep(15 * time.Second)
		d.mustVacant(false, "")
		time.Sleep(time.Minute)
		d.mustVacant(true, "leader.lock: is a directory")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		d.mustRecover("led")
	})
}

// Who never leads by its own wish does not miss a leader.
func TestAShadowMissesNoLeader(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(func(o *Options) { o.ReadOnly = true })
		time.Sleep(time.Hour)
		d.mustVacant(false, "")
	})
}

// While a process stood still it heard of nobody: that is no vacancy. And status goes by
// what is known now: somebody who leads again is not missed for some seconds more.
func TestTimeThatStoodStillIsNoVacancy(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		virtual := clock.Bubble()
		w.clock = virtual
		r, l := w.runAway()
		time.Sleep(10 * time.Second)
		virtual.Suspend(10 * time.Minute)
		r.mustVacant(false, "")
		time.Sleep(20 * time.Second)
		r.mustVacant(false, "")
		time.Sleep(30 * time.Second)
		r.mustVacant(true, "connection refused")
		l.away.Store(false)
		for r.status().Leader.State != "leader" {
			time.Sleep(100 * time.Millisecond)
		}
		r.mustRecover("none", "led")
	})
}
