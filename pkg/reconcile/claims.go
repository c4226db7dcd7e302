package reconcile

import (
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

// rival is the error of a zone whose stamps say that another node writes it, unless
// the lock says whose the zone is. A stamp of our own name is that of a process before
// this one; but when this one held the zone, namesakes, and it replaced one of this
// process, a second node of that name is alive.
func (w *worker) rival(stamps []provider.Stamp, namesakes bool) *TwoWritersError {
	if w.options.Handover || w.lease != nil {
		return nil
	}
	now := w.options.Clock.Wall()
	for _, s := range stamps {
		namesake := s.Holder == w.options.Node
		if s.Released || s.Holder == "" || now.Sub(s.At) > freshStamp || namesake && (!namesakes || w.past[s.Nonce]) {
			continue
		}
		return &TwoWritersError{Holder: s.Holder, At: s.At, Namesake: namesake}
	}
	return nil
}
