package engine

import "sidestep/pkg/record"

// Awaited is something that goes on only with a person's yes.
type Awaited struct {
	About   string        // a site, or a record set
	Reason  string        // what it waits for, in words
	Approve string        // what the yes is said to
	Zones   []record.Name // where something rests on it
}

// Awaited lists the sites and the record sets that wait for a person. What a guard
// stops is not among them: that is told of as it is stopped. unsure are the record sets
// of which it is not known: nothing was listed, or not all is judged.
func (e *Engine) Awaited(now Now) (list []Awaited, unsure map[string]bool) {
	e.now = now
	unsure = map[string]bool{}
	for _, s := range e.scenes.sites {
		if s.wait == nil {
			continue
		}
		a := Awaited{About: "site " + s.spec.Name, Reason: s.waitReason(), Approve: s.spec.Name}
		for _, set := range s.sets {
			a.Zones = append(a.Zones, set.spec.Key.Zone)
		}
		list = append(list, a)
	}
	for _, s := range e.sets {
		if !s.spec.Failback.Manual {
			continue
		}
		e.refresh(s.zone)
		p, planned := s.zone.plan.Find(s.spec.Key)
		switch {
		case !planned || !e.judgedAll(s):
			unsure[s.spec.Key.Shown()] = true
		case p.Wanted.Waiting != "" && !s.failback:
			list = append(list, Awaited{
				About: s.spec.Key.Shown(), Reason: "waits for approval of its " + p.Wanted.Waiting,
				Approve: s.spec.Key.Name.Unrooted(), Zones: []record.Name{s.spec.Key.Zone},
			})
		}
	}
	return list, unsure
}
