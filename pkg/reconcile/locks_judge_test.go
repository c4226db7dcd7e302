package reconcile

import (
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider/memory"
)

// judge holds what came of it all to the rules.
func (r *trial) judge() error {
	history, turns := r.zone.History(), r.had()
	r.countAll(history, turns)
	if err := r.noCallOutlivesATurn(turns); err != nil {
		return err
	}
	tolerate := []memory.Tolerance{}
	if r.setting.class.Fenced() {
		if err := memory.OneWriter(history); err != nil {
			return err
		}
		if err := r.epochsGrow(history); err != nil {
			return err
		}
	} else {
		if err := r.noStrays(history, turns); err != nil {
			return err
		}
		tolerate = scene{class: r.setting.class, nodes: 1}.tolerated()
		if len(r.strays) > 0 && r.setting.class != memory.Whole {
			tolerate = append(tolerate, memory.Emptied, memory.Overwritten)
		}
		for what, n := range r.strays {
			r.tally.add("in another's time: "+what, n)
		}
	}
	return memory.Check(history, tolerate...)
}

func (r *trial) countAll(history []memory.Version, turns []etcdtest.Turn) {
	leaders := 0
	for _, turn := range turns {
		if turn.Line != "" {
			leaders++
		}
	}
	r.tally.add("take-overs", leaders-1)
	for _, v := range history {
		if v.Cause.Op == memory.OpAdd || v.Cause.Op == memory.OpTakeAway {
			r.tally.add("writes", 1)
		}
	}
	r.tally.add("writes that the gate stopped", r.shut)
	r.tally.add("writes that the provider refused", r.refused)
	r.tally.add("writes whose signature was too old", r.expired)
	r.tally.add("leaders that stepped down before a later one", r.outrank)
}

// lastOf is the last turn of a process that began until a moment, -1 for none.
func lastOf(turns []etcdtest.Turn, process string, at time.Time) int {
	last := -1
	for i, turn := range turns {
		if turn.Line == process && !turn.Since.After(at) {
			last = i
		}
	}
	return last
}

// noCallOutlivesATurn sees that each call that the gate let out could end, within its
// deadline, before the turn of its process did: unless the process itself ended it, or
// somebody deleted the key. A lock file has no end but the process's.
func (r *trial) noCallOutlivesATurn(turns []etcdtest.Turn) error {
	for _, s := range r.sendings() {
		turn := lastOf(turns, s.by, s.at)
		if turn < 0 {
			return fmt.Errorf("%v: %s was let write without the lock", s.at.Sub(r.began), s.by)
		}
		if turn+1 == len(turns) || slices.Contains(r.ended, s.by) || slices.ContainsFunc(r.cut, turns[turn+1].Since.Equal) {
			continue
		}
		end := s.at
		if r.model != nil {
			end = s.at.Add(crewCall)
		}
		if next := turns[turn+1]; next.Since.Before(end) {
			return fmt.Errorf("%v: %s was let send a call that may take until %v, and its turn ended at %v",
				s.at.Sub(r.began), s.by, end.Sub(r.began), next.Since.Sub(r.began))
		}
	}
	return nil
}

// epochsGrow sees that no stamp is followed by one of a leader before.
func (r *trial) epochsGrow(history []memory.Version) error {
	if r.model == nil {
		return nil // each new lock file counts from 1
	}
	newest := uint64(0)
	for i, v := range history {
		for _, s := range v.Stamps() {
			if s.Epoch < newest && v.Cause.Op != "" && s.Holder != "-" { // that of a first claim's text
				return fmt.Errorf("version %d at %v (%s): a stamp of epoch %d after one of %d", i, v.At, v.Cause, s.Epoch, newest)
			}
			newest = max(newest, s.Epoch)
		}
	}
	return nil
}

// noStrays sees that nothing of a leader before takes effect once the first take-away
// of the next is on its way, and counts what may all the same: where no signature ends,
// the one call of a process that stood still between the gate and the sending; and one
// that was under way when somebody replaced the lock file.
func (r *trial) noStrays(history []memory.Version, turns []etcdtest.Turn) error {
	begun := map[int]time.Time{} // by turn: when its first take-away was let out
	sent := map[int]sending{}    // by version
	all := r.sendings()
	for i, v := range history {
		if v.Cause.Op != memory.OpAdd && v.Cause.Op != memory.OpTakeAway {
			continue
		}
		at := slices.IndexFunc(all, func(s sending) bool { return s.by == v.Cause.Node && s.seen == v.Cause.Call.Seen })
		if at < 0 {
			return fmt.Errorf("version %d at %v (%s): no gate let it out", i, v.At, v.Cause)
		}
		sent[i] = all[at]
		turn := lastOf(turns, all[at].by, all[at].at)
		if first, known := begun[turn]; v.Cause.Op == memory.OpTakeAway && (!known || all[at].at.Before(first)) {
			begun[turn] = all[at].at
		}
	}
	for i, s := range sent {
		v, turn := history[i], lastOf(turns, s.by, s.at)
		for later, first := range begun {
			if later <= turn || !r.moment(v.At).After(first) {
				continue
			}
			what := r.stray(s)
			if what == "" {
				return fmt.Errorf("version %d at %v (%s): sent at %v in turn %d (%+v), and takes effect after the first take-away, sent at %v, of turn %d (%+v)",
					i, v.At, v.Cause, s.at.Sub(r.began), turn, turns[turn], first.Sub(r.began), later, turns[later])
			}
			r.strays[what]++
			break
		}
	}
	return nil
}

// moment is when something happened to the zone.
func (r *trial) moment(boot time.Duration) time.Time { return r.began.Add(boot - time.Hour) }

// stray says why a call may take effect in another's time; empty when it may not.
func (r *trial) stray(s sending) string {
	switch underWay := func(at time.Time) bool { return !s.at.After(at) && at.Sub(s.at) <= crewCall }; {
	case s.stopped && (r.signed == 0 || r.model == nil): // a lock file gives no time for signatures to end
		return "stopped between the gate and the sending"
	case slices.ContainsFunc(r.replaced, underWay):
		return "under way when the file was replaced"
	}
	return ""
}
