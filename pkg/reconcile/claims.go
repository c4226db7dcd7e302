package reconcile

import (
	"fmt"

	"sidestep/pkg/lease"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Claim is the stamp that is written before the first change of a plan, or where the
// stamp is the lease, as soon as a daemon looks at the zone.
type Claim struct {
	Name     record.Name // of the TXT record
	From     string      // the node whose stamp is replaced; empty where there is none
	Released bool        // it let go of the zone
	Lease    bool        // the stamp is the lease
}

// claims is the stamp that this node would write first, as far as a list tells; nil
// where the stamp is its own already, is another's who may be alive, or nothing is to
// be written.
func (w *worker) claims(stamps []provider.Stamp, p plan.Plan) *Claim {
	if _, ok := w.adapter().(provider.Fencer); !ok || w.lease == nil && !p.Pending() || w.rival(stamps, false) != nil {
		return nil
	}
	claim := Claim{Name: w.zone.Name.Below(provider.StampLabel), Released: true, Lease: w.lease != nil}
	for _, s := range stamps {
		switch {
		case s.Nonce == "", w.lease != nil && !s.Released && s.Holder != w.options.Node, !s.Released && s.Holder == w.options.Node:
			return nil
		}
		claim.From, claim.Released = s.Holder, claim.Released && s.Released
	}
	return &claim
}

// rival is the error of a zone whose stamps say that another node writes it, which the
// lock does not keep from that. A stamp of our own name is that of a process before
// this one; but when this one held the zone, and it replaced one of this process, a
// second node of that name is alive.
func (w *worker) rival(stamps []provider.Stamp, held bool) *TwoWritersError {
	if w.lease != nil {
		return nil
	}
	own, now := w.options.Leader.Term(), w.options.Clock.Wall()
	for _, s := range stamps {
		namesake := s.Holder == w.options.Node
		switch {
		case s.Released, s.Holder == "", now.Sub(s.At) > FreshStamp, namesake && (!held || w.past[s.Nonce]),
			w.options.Handover && !w.beyond(own, s, held):
			continue
		}
		return &TwoWritersError{Holder: s.Holder, At: s.At, Namesake: namesake, By: LedBy(own, s)}
	}
	return nil
}

// beyond reports whether the lock that nodes share does not reach who wrote a stamp.
// One who is known among them led by it before it was built anew; but not in the time
// of this leadership.
func (w *worker) beyond(own lease.Term, s provider.Stamp, held bool) bool {
	if own.Cluster == 0 { // this process does not lead, and what its store is called is not known
		return s.Cluster == 0 && s.Epoch == 0 && !w.known(s.Holder)
	}
	return !SharesLock(own, s) && (held || !w.known(s.Holder))
}

func (w *worker) known(node string) bool {
	return node == w.options.Node || w.options.Known != nil && w.options.Known(node)
}

// heldNow reports whether this process held the zone's stamp since it leads.
func (w *worker) heldNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held && !w.anew
}

// SharesLock reports whether a stamp is of a leader by the same store and in the same
// group as that leadership: what their epochs say of each other holds. A stamp from
// before there were groups is of every group.
func SharesLock(own lease.Term, s provider.Stamp) bool {
	return s.Cluster != 0 && s.Cluster == own.Cluster && (s.Group == 0 || s.Group == own.Group)
}

// LedBy says how the writer of a stamp leads, as far as that is another way than ours.
func LedBy(own lease.Term, s provider.Stamp) string {
	switch {
	case s.Cluster == 0 && own.Cluster == 0:
		return ""
	case s.Cluster == 0:
		return "by lock: file or zone, and by no etcd"
	case own.Cluster == 0:
		return fmt.Sprintf("by an etcd (cluster id %x)", s.Cluster)
	case s.Cluster == own.Cluster:
		return "by another etcd.prefix of this etcd"
	default:
		return fmt.Sprintf("by another etcd (cluster id %x, this one's is %x)", s.Cluster, own.Cluster)
	}
}
