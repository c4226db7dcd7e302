package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// writeLine is one write as the journal and status show it.
type writeLine struct {
	Zone    string  `json:"zone"`
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Variant string  `json:"variant"`
	Value   string  `json:"value"`
	Action  string  `json:"action"`
	Weight  *int    `json:"weight,omitempty"`
	From    string  `json:"replaces,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Error   string  `json:"error,omitempty"`
	TookMS  float64 `json:"took_ms,omitempty"` // from when the work was taken up to the provider's answer

	at time.Time
}

// keptWrites is how many writes status shows.
const keptWrites = 20

// wrote takes one call to a provider from a zone's worker. A call that fails
// again and again in the same way is told of once; one whose outcome is not
// known always, because it may have changed something.
func (d *Daemon) wrote(w reconcile.Write) {
	d.meterWrite(w)
	var lines []writeLine
	for _, c := range w.Changes {
		line := writeLine{
			Zone: string(w.Zone), Name: string(c.Key.Name), Type: string(c.Key.Type), Variant: c.Key.Variant, Value: c.Value,
			Action: string(c.Action), Weight: weightOf(c), From: c.From, Reason: c.Reason, at: d.clock.Wall(),
			TookMS: inMilliseconds(w.Took),
		}
		if w.Err != nil {
			line.Error = w.Err.Error()
		}
		news := d.troubles.note("write the answer", w.Err, "set", c.Key.String(), "action", string(c.Action), "value", c.Value)
		if w.Err == nil {
			d.log.Info("write", "zone", line.Zone, "name", line.Name, "type", line.Type, "variant", line.Variant, "action", line.Action, "value", line.Value, "reason", line.Reason)
		}
		if w.Err == nil || news || provider.ClassOf(w.Err) == provider.Ambiguous {
			d.journal("write", line)
		}
		lines = append(lines, line)
	}
	for _, removed := range w.Removed {
		line := writeLine{Zone: string(w.Zone), Value: removed, Action: "remove", at: d.clock.Wall()}
		if w.Err != nil {
			line.Error = w.Err.Error()
		}
		d.journal("write", line)
	}
	d.ask(func(*engine.Engine) {
		if w.Err == nil || provider.ClassOf(w.Err) == provider.Ambiguous {
			d.ages[w.Zone] = zoneAge{listed: d.ages[w.Zone].listed, written: d.clock.Wall()}
			d.wroteTo(w.Zone)
		}
		d.announceWrites(lines)
		d.writes = append(d.writes, lines...)
		d.writes = d.writes[max(0, len(d.writes)-keptWrites):]
	})
}

// waits takes what a zone's worker waits for, for a person at a terminal.
func (d *Daemon) waits(w reconcile.Wait) {
	if d.progress != nil {
		d.progress("zone %s: waiting %s: %s", w.Zone, w.For.Round(time.Second), w.Why)
	}
}

// report takes the end of a round from a zone's worker.
func (d *Daemon) report(r reconcile.Report) {
	defer d.ask(func(*engine.Engine) { d.firstReport(r.Zone) })
	if r.Err != nil {
		d.reportFailed(r)
		return
	}
	d.troubles.note("list the zone", nil, "zone", string(r.Zone))
	if r.Look {
		d.ask(func(*engine.Engine) {
			d.sawRival(r.Zone, r.Rival)
			d.listed(r.Zone)
			d.announceTrouble(r.Zone, "", nil)
			d.step(engine.Seen{Zone: *r.Seen, Others: d.othersWrote(r.Zone)})
		})
		return
	}
	d.troubles.note("write the zone", nil, "zone", string(r.Zone))
	d.meter.Round(string(r.Zone), endOf(r))
	d.verified(r)
	d.ask(func(*engine.Engine) {
		d.sawRival(r.Zone, r.Rival)
		d.listed(r.Zone)
		d.announceTrouble(r.Zone, "", nil)
		d.othersWrote(r.Zone)
		d.step(engine.Done{Zone: *r.Seen, Applied: r.Applied})
	})
}

// zoneAge is how old what is known of a zone is.
type zoneAge struct{ listed, written time.Time }

// listed belongs to the loop.
func (d *Daemon) listed(zone record.Name) {
	defer d.audience.changed(d.clock.Wall())
	d.ages[zone] = zoneAge{listed: d.clock.Wall(), written: d.ages[zone].written}
}

// rivalry is a zone that another node writes as well.
type rivalry struct {
	seen *reconcile.TwoWritersError
	told string // the other node, as the log has it; empty for not yet
}

// sawRival takes whether a list showed that another node writes a zone, also where
// nothing is to be written to it. The log has it once, and from when this node
// leads: the first list may come before. It belongs to the loop.
func (d *Daemon) sawRival(zone record.Name, rival *reconcile.TwoWritersError) {
	told := d.rivals[zone].told
	if rival == nil {
		if told != "" {
			d.log.Info("no second writer any more", "zone", string(zone))
		}
		delete(d.rivals, zone)
		return
	}
	if told != rival.Holder && d.leader.leads() && !d.options.Once { // a command has it in its answer
		told = rival.Holder
		d.log.Error("two writers", "zone", string(zone), "error", rival)
		d.journalRival(zone, rival)
		d.announceLeader(zone, "two writers: "+rival.Error())
	}
	d.rivals[zone] = rivalry{rival, told}
}

// journalRival writes down that another node writes a zone.
func (d *Daemon) journalRival(zone record.Name, rival *reconcile.TwoWritersError) {
	d.journal("leader", struct {
		Node   string      `json:"node"`
		What   string      `json:"what"`
		Zone   record.Name `json:"zone"`
		Holder string      `json:"holder"`
		Since  time.Time   `json:"since"` // by the other's clock
		Detail string      `json:"detail"`
	}{d.leader.node, "two-writers", zone, rival.Holder, rival.At, rival.Error()})
}

// reportFailed takes the end of a round that did not come to its own. Newer work
// in its place, the end of this process, and another leader are no failures.
func (d *Daemon) reportFailed(r reconcile.Report) {
	if len(r.Applied) > 0 {
		d.tell(engine.Wrote{Zone: r.Zone, Applied: r.Applied})
	}
	switch {
	case errors.Is(r.Err, reconcile.ErrGaveWay), errors.Is(r.Err, context.Canceled):
		return
	case errors.Is(r.Err, reconcile.ErrNotLeader) && (!d.leader.leads() || d.standsBy(r.Zone)):
		d.meter.Round(string(r.Zone), "not-leader")
		d.wouldWrite(r)
		return
	}
	d.meter.Round(string(r.Zone), "failed")
	what := "write the zone"
	if r.Seen == nil {
		what = "list the zone"
	}
	d.troubles.note(what, r.Err, "zone", string(r.Zone))
	rival, _ := errors.AsType[*reconcile.TwoWritersError](r.Err)
	d.ask(func(*engine.Engine) {
		if rival != nil {
			d.sawRival(r.Zone, rival)
		}
		d.announceTrouble(r.Zone, what, r.Err)
		d.step(engine.Failed{Zone: r.Zone, Err: r.Err.Error()})
	})
}

// wouldWrite logs what this node would write if it might, each plan once: it is
// what the week of a shadow leaves to look at.
func (d *Daemon) wouldWrite(r reconcile.Report) {
	d.log.Debug("nothing written: this node may not", "zone", string(r.Zone), "reason", r.Err)
	if !d.options.ReadOnly {
		return
	}
	sum := r.Plan.Checksum()
	d.ask(func(*engine.Engine) {
		if d.shown[r.Zone] == sum {
			return
		}
		d.shown[r.Zone] = sum
		for _, c := range r.Plan.Changes() {
			d.log.Info("would write", "zone", string(r.Zone), "name", string(c.Key.Name), "type", string(c.Key.Type),
				"action", string(c.Action), "value", c.Value, "reason", c.Reason, "guard", c.Guard)
		}
	})
}

// zonePlan turns a report into the answer of plan and reconcile.
func zonePlan(r reconcile.Report, wrote bool) control.ZonePlan {
	z := control.ZonePlan{
		Zone: string(r.Zone), InSync: r.Err == nil && r.Final.InSync(), Checksum: r.Plan.Checksum(),
		Changes: changes(r.Plan.Changes()), Blocked: blocked(r.Final.Blocked), Detail: r.Detail,
		Exit: exitOf(r, wrote), Left: left(r.Final.Left),
	}
	if r.Plan.Zone == "" {
		z.Checksum = ""
	} else {
		z.Text = r.Plan.Lines()
	}
	if r.Err != nil {
		z.Error = r.Err.Error()
	} else if r.Rival != nil {
		z.Rival = r.Rival.Error()
	}
	if c := r.Claim; c != nil {
		z.Stamp = &control.StampChange{Action: "create", Name: string(c.Name), From: c.From, Reason: claimWords(*c)}
		if c.From != "" {
			z.Stamp.Action = "take-over"
		}
	}
	if wrote {
		z.TookOver = r.TookOver
		z.Applied = changes(r.Applied)
		z.Verified = &r.Verified
	}
	return z
}

// claimWords is why a stamp is written.
func claimWords(c reconcile.Claim) string {
	words := "before the first change, so that the provider refuses what another writer decided by an older list"
	if c.Lease {
		words = "as soon as a daemon runs, since it says who leads"
	}
	if c.From != "" && c.Released {
		words += "; it is released"
	}
	return words
}

// weightOf is the weight that a change gives; nil where it gives none.
func weightOf(c plan.Change) *int {
	if c.Action != record.SetWeight && c.Weight == 0 {
		return nil
	}
	return &c.Weight
}

func changes(list []plan.Change) []control.Change {
	out := []control.Change{}
	for _, c := range list {
		out = append(out, control.Change{
			Action: string(c.Action), Name: string(c.Key.Name), Type: string(c.Key.Type), Variant: c.Key.Variant,
			Value: c.Value, From: c.From, Weight: weightOf(c), Reason: c.Reason, Guard: c.Guard,
		})
	}
	return out
}

func blocked(list []plan.Blocked) []control.Blocked {
	out := []control.Blocked{}
	for _, b := range list {
		out = append(out, control.Blocked{Guard: b.Guard, Detail: b.Detail})
	}
	return out
}

func left(list []plan.Left) []control.Left {
	out := []control.Left{}
	for _, l := range list {
		out = append(out, control.Left{
			Name: string(l.Key.Name), Type: string(l.Key.Type), Variant: l.Key.Variant, Value: l.Value, Text: l.String(),
		})
	}
	return out
}

// newestFirst is what status shows of the writes.
func newestFirst(lines []writeLine) []control.Write {
	out := []control.Write{}
	for _, l := range slices.Backward(lines) {
		out = append(out, control.Write{
			At: l.at, Zone: l.Zone, Name: l.Name, Type: l.Type, Variant: l.Variant, Value: l.Value, Action: l.Action, Error: l.Error,
		})
	}
	return out
}
