package daemon

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
	"sidestep/pkg/steer"
)

// Status describes everything, or the record sets of one name and what they
// rest on.
func (d *Daemon) Status(_ context.Context, name string) (control.Status, error) {
	var status control.Status
	err := errStopped
	d.ask(func(e *engine.Engine) { status, err = d.statusOf(e, name) })
	return status, err
}

// statusOf belongs to the loop.
func (d *Daemon) statusOf(e *engine.Engine, name string) (control.Status, error) {
	if name == "" {
		return d.describe(e, ""), nil
	}
	only, err := d.knownName(name)
	if err != nil {
		return control.Status{}, &control.Error{Message: err.Error(), Exit: control.ExitUsage}
	}
	return d.describe(e, only), nil
}

// knownName is a name of the config in force, absolute or short. It belongs to
// the loop.
func (d *Daemon) knownName(text string) (record.Name, error) {
	for _, spec := range d.config.Records {
		name, err := record.ParseNameIn(text, spec.Key.Zone)
		if err == nil && name == spec.Key.Name {
			return name, nil
		}
	}
	return "", fmt.Errorf("status %q: the config has no record set of that name%s; all of them: sidestep status", text, meant(d.config, text))
}

func (d *Daemon) describe(e *engine.Engine, only record.Name) control.Status {
	if d.lookedFor > 0 { // what is known now is what is shown, and not what it was some seconds ago
		d.lookForLeaders()
	}
	view := e.View(d.now())
	status := control.Status{
		Node: d.config.Node.Name, Leader: d.leaderStatus(), Nodes: d.describeNodes(),
		Zones: []control.Zone{}, Records: []control.Record{}, Targets: []control.Target{},
		Sites: []control.Site{}, Frozen: frozen(view), Overrides: describeOverrides(view), Notices: d.notices(view),
		Writes:   newestFirst(d.writes),
		Schedule: describeSchedule(d.schedule.Stats()),
		Canary:   describeCanary(view.Canary),
		Config:   d.configInfo(),
	}
	rests, specs := map[string]bool{}, []*steer.Spec(nil)
	if only == "" { // there may be ten thousand
		status.Records = slices.Grow(status.Records, len(view.Sets))
		status.Targets = slices.Grow(status.Targets, len(view.Targets))
	}
	for _, s := range view.Sets {
		if only != "" && s.Spec.Key.Name != only {
			continue
		}
		status.Records = append(status.Records, describeSet(s, view))
		if only == "" {
			continue
		}
		specs = append(specs, s.Spec)
		for i := range s.Spec.Len() {
			for _, c := range s.Spec.Checks {
				rests[c+"@"+s.Spec.At(i).Probe] = true
			}
		}
	}
	around := scenesOf(view, specs...)
	around.rests(rests)
	for _, t := range view.Targets {
		if only == "" || rests[t.Target.ID()] {
			status.Targets = append(status.Targets, describeTarget(t))
		}
	}
	status.Sites, status.Scenarios = around.describeSites(), around.describeScenarios()
	for _, z := range view.Zones {
		status.Zones = append(status.Zones, d.describeZone(z))
	}
	return status
}

// leaderStatus is the lease's, unless another node writes one of the zones: a
// lease of this host does not bind it. It belongs to the loop.
func (d *Daemon) leaderStatus() control.Leader {
	status := d.vacated("", d.leader.status(d.now()))
	if d.leader.zoned && status.State == "leader" {
		return d.zonesLeader()
	}
	for _, zone := range slices.Sorted(maps.Keys(d.rivals)) {
		if status.State == "leader" {
			rival := d.rivals[zone].seen
			status.State, status.Holder = "two-writers", rival.Holder
			status.Detail = fmt.Sprintf("zone %s: %v", zone, rival)
		}
	}
	return status
}

// viewNotices are those that the engine's state asks for.
func viewNotices(view engine.View) []string {
	notices := []string{}
	if view.Blind != "" {
		notices = append(notices, "nothing is written: "+view.Blind)
	}
	if view.Mass != "" {
		notices = append(notices, "guard mass: "+view.Mass)
	}
	if view.Clock != "" {
		notices = append(notices, view.Clock)
	}
	if view.Lost {
		notices = append(notices, "the saved state was corrupt and overrides may be lost with it: nothing is resumed until you looked and said: sidestep approve all")
	}
	notices = append(notices, vantageNotices(view)...)
	notices = append(notices, overrideNotices(view)...)
	if all := len(view.Targets); all > 1 && noneUp(view.Targets) {
		notices = append(notices, fmt.Sprintf("not one of the %d targets that this node probes is up: it may be this machine or its network", all))
	}
	return notices
}

// noneUp reports that what is judged is down, all of it.
func noneUp(targets []engine.TargetView) bool {
	down := false
	for _, t := range targets {
		verdict, _, _ := t.Counts()
		if verdict == health.Up {
			return false
		}
		down = down || verdict == health.Down
	}
	return down
}

func (d *Daemon) notices(view engine.View) []string {
	notices := d.butTheStamp(viewNotices(view))
	if d.options.ReadOnly {
		notices = append(notices, "read-only: everything but the write")
	}
	if d.unsaved != nil {
		notices = append(notices, "the state cannot be saved, and a restart will not know of what happens now: "+d.unsaved.Error())
	}
	if d.refused != nil {
		notices = append(notices, fmt.Sprintf("the reload at %s was refused, and the config of %s is in force: %v",
			d.refusedAt.Format(time.RFC3339), d.loaded.Format(time.RFC3339), d.refused))
	}
	if why := d.unheld.Load(); why != nil {
		notices = append(notices, fmt.Sprintf("nothing is served over TCP: %v", *why))
	}
	notices = append(notices, d.vacancyNotices()...)
	notices = append(notices, d.nodeNotices()...)
	return append(notices, d.lateness(d.schedule.Stats())...)
}

// lateness is what people should know of probes that start late.
func (d *Daemon) lateness(s schedule.Stats) []string {
	var notices []string
	if s.Needed > s.Limit {
		notices = append(notices, fmt.Sprintf("%d probes may be under way at once and %d are needed when targets hang: those would be probed late; raise the limit on open files (LimitNOFILE)",
			s.Limit, s.Needed))
	}
	shortest := time.Duration(math.MaxInt64)
	for _, spec := range d.config.Checks {
		shortest = min(shortest, spec.Interval)
	}
	if s.Lag > shortest {
		notices = append(notices, fmt.Sprintf("probes begin up to %s late, and those later than their interval do not count as failures: this machine is overloaded",
			s.Lag.Round(time.Millisecond)))
	}
	return notices
}

func describeSchedule(s schedule.Stats) control.Schedule {
	return control.Schedule{
		Targets: s.Targets, InFlight: s.InFlight, Waiting: s.Waiting, Limit: s.Limit, Needed: s.Needed,
		Started: s.Started, Skipped: s.Skipped, Missed: s.Missed, Delayed: s.Delayed, Late: s.Late, Gaps: s.Gaps,
		LagMS: float64(s.Lag.Microseconds()) / 1000,
	}
}

// configInfo belongs to the loop.
func (d *Daemon) configInfo() control.ConfigInfo {
	info := control.ConfigInfo{File: d.config.File, Loaded: d.loaded}
	if d.refused != nil {
		at := d.refusedAt
		info.Error, info.Refused = d.refused.Error(), &at
	}
	return info
}

func (d *Daemon) describeZone(z engine.ZoneView) control.Zone {
	promises, _ := d.writer.Promises(z.Name)
	listed, written := d.ageOf(z.Name)
	var checked *control.Verification
	if v, done := d.checked[z.Name]; done {
		checked = &v
	}
	return control.Zone{
		Checked: checked,
		Zone:    string(z.Name), Provider: d.providerOf(z.Name), Pause: string(promises.Pause),
		Atomic: promises.Atomic, Fenced: promises.Fenced,
		OpenCalls: d.writer.OpenCalls(z.Name), Error: d.troubleOf(z), Listed: z.Listed,
		Left: left(z.Plan.Left), ListedAt: listed, WrittenAt: written, Waits: d.waitOf(z.Name), Leader: d.zoneLeader(z.Name),
	}
}

// ageOf is when a zone was listed, and when it was written if that list may not
// show it; nil for never.
func (d *Daemon) ageOf(zone record.Name) (listed, written *time.Time) {
	age, known := d.ages[zone]
	if !known {
		return nil, nil // as where nothing but a saved state is told
	}
	if !age.listed.IsZero() {
		listed = &age.listed
	}
	promises, _ := d.writer.Promises(zone)
	if !age.written.IsZero() && age.written.Add(promises.Lag).After(age.listed) {
		written = &age.written
	}
	return listed, written
}

// troubleOf is what is wrong with a zone, also where nothing is to be written to it
// now, and when an API that is out of order is asked again.
func (d *Daemon) troubleOf(z engine.ZoneView) string {
	if err := d.writer.Strange(z.Name); z.Err == "" && err != nil && !d.leader.zoned {
		return err.Error()
	}
	failures, next := d.writer.Trouble(z.Name)
	if z.Err == "" || failures == 0 {
		return z.Err
	}
	at := "now"
	if wait := next - d.clock.Boot(); wait > 0 {
		at = "at " + d.clock.Wall().Add(wait).UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s; the API failed %d times in a row, next try %s", z.Err, failures, at)
}

func (d *Daemon) providerOf(name record.Name) string {
	i := slices.IndexFunc(d.config.Zones, func(z config.Zone) bool { return z.Name == name })
	if i < 0 {
		return ""
	}
	return d.config.Zones[i].Provider
}

func describeTarget(t engine.TargetView) control.Target {
	waiting := ""
	if t.Waits {
		waiting = "canary"
	}
	out := control.Target{
		ID: t.Target.ID(), Check: t.Target.Check, Address: t.Target.Address, Verdict: string(t.Shown),
		Phase: string(t.Phase), Cause: string(t.Cause), Detail: t.Detail, Since: t.Since,
		Passes: t.Passes, Fails: t.Fails, Unknowns: t.Tally.Unknowns, Waiting: waiting,
		Cooldown: describeCooldown(t.Cooldown),
	}
	if last := t.Tally.Last; last.Outcome != "" {
		out.Last = &control.Last{
			At: last.At, Result: string(last.Outcome), Source: last.Source,
			LatencyMS: float64(last.Latency) / float64(time.Millisecond),
		}
	}
	if t.Vantages != nil {
		out.Counted, out.Vantages = describeVantages(*t.Vantages)
	}
	return out
}

func describeCooldown(v engine.CooldownView) control.Cooldown {
	out := control.Cooldown{State: string(v.State), Attempts: v.Attempts}
	if !v.Until.IsZero() {
		out.Until = &v.Until
	}
	return out
}

func describeSet(s engine.SetView, view engine.View) control.Record {
	key := s.Spec.Key
	r := control.Record{
		Name: string(key.Name), Type: string(key.Type), Variant: key.Variant, Policy: string(s.Spec.Policy), Listed: s.Listed,
		Live: []string{}, Paused: []string{}, Wanted: list(s.Plan.Wanted.Live),
		Held: list(s.Plan.Held), Foreign: list(s.Plan.Foreign), Weights: s.Spec.Weights(*s.Plan.Seen),
		Reason: reasonOf(s), Blocked: blockedAt(view, s), Answers: []control.Answer{},
		Pending: changes(s.Plan.Open()), Waiting: s.Plan.Wanted.Waiting,
	}
	if !s.Due.IsZero() {
		r.HoldEnds = &s.Due
	}
	for _, a := range s.Plan.Seen.Answers {
		switch {
		case a.Live && s.Spec.Names(a.Value):
			r.Live = append(r.Live, a.Value)
		case a.Paused && s.Spec.Names(a.Value):
			r.Paused = append(r.Paused, a.Value)
		}
	}
	for i, judged := range s.Judged {
		a := describeAnswer(s.Spec.At(i), judged, *s.Plan.Seen)
		if !s.Listed {
			a.State = "unknown"
		}
		a.Verdict, a.Override = string(s.Seen[i]), string(s.Ruled[i])
		a.Rank, a.Weight = rankOf(s.Spec, i), configuredWeight(s.Spec, i)
		if s.Listed && s.Ready {
			a.Reason = s.Plan.Wanted.Why(a.Value)
		}
		r.Answers = append(r.Answers, a)
	}
	return r
}

// rankOf is an answer's place in its chain, from 1 on; 0 where there is none.
func rankOf(spec *steer.Spec, i int) int {
	switch {
	case spec.Policy != steer.Priority:
		return 0
	case i >= len(spec.Answers):
		return i - len(spec.Answers) + 1
	}
	return i + 1
}

func configuredWeight(spec *steer.Spec, i int) *int {
	if spec.Policy != steer.Weighted {
		return nil
	}
	weight := spec.At(i).Weight
	return &weight
}

func reasonOf(s engine.SetView) string {
	switch {
	case !s.Listed:
		return "the zone was not listed yet"
	case !s.Ready:
		return "not planned before its targets are judged"
	}
	return s.Plan.Wanted.Reason
}

func blockedAt(view engine.View, s engine.SetView) []control.Blocked {
	var here []plan.Blocked
	for _, z := range view.Zones {
		for _, b := range z.Plan.Blocked {
			if b.Key == s.Spec.Key || b.Key == (record.Key{Zone: s.Spec.Key.Zone}) {
				here = append(here, b)
			}
		}
	}
	return blocked(here)
}

func describeAnswer(a steer.Answer, judged steer.Judged, seen record.Set) control.Answer {
	out := control.Answer{
		Value: a.Value, Site: a.Site, State: "missing", Mode: string(a.Mode),
		Usable: judged.Usable == steer.Yes, Reason: judged.Why,
	}
	if at, found := seen.Find(a.Value); found {
		switch {
		case at.Live:
			out.State = "live"
		case at.Paused || at.Held:
			out.State = "paused"
		}
	}
	return out
}

// list makes an empty list where there is none: JSON says [] and not null.
func list(values []string) []string { return append([]string{}, values...) }
