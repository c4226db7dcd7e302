package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Override takes an operator's word. Like an approval, one that cannot be stored
// is refused. The other nodes are told first, of what this one would take.
func (d *Daemon) Override(ctx context.Context, request control.OverrideRequest, by string) (control.Overruled, error) {
	word, err := wordOf(request, by, d.clock.Wall())
	if err != nil {
		return control.Overruled{}, wrongWord(request.Kind, request.Target, err, "")
	}
	if request.DryRun {
		d.listFirst(ctx)
	}
	var answer control.Overruled
	err = errStopped
	d.ask(func(e *engine.Engine) { answer, word, err = d.foreseeOverride(e, request, word) })
	if err != nil || request.DryRun {
		return answer, err
	}
	revision, unshared := int64(0), error(nil)
	if d.nodes != nil {
		revision, unshared = d.shareWord(ctx, word)
	}
	err = errStopped
	d.ask(func(e *engine.Engine) {
		d.lookSoonAtAll()
		err = d.override(e, request, word, d.nodes != nil && unshared == nil)
		d.keptHere(&answer, unshared)
	})
	if err == nil && d.nodes != nil && unshared == nil {
		d.awaitLeader(ctx, &answer, revision)
	}
	return answer, err
}

// ClearOverride takes operators' words back, in the same way.
func (d *Daemon) ClearOverride(ctx context.Context, request control.ClearRequest, by string) (control.Overruled, error) {
	if request.DryRun {
		d.listFirst(ctx)
	}
	var answer control.Overruled
	var ended []override.Override
	err := errStopped
	d.ask(func(e *engine.Engine) { answer, ended, err = d.foreseeClear(e, request, by) })
	if err != nil || request.DryRun {
		return answer, err
	}
	now := d.clock.Wall()
	ends := endsOf(ended, now, by)
	revision, unshared := int64(0), error(nil)
	if d.nodes != nil {
		revision, unshared = d.shareEnds(ctx, ends)
	}
	err = errStopped
	d.ask(func(e *engine.Engine) {
		before := d.ends
		if d.nodes != nil {
			d.ends = cluster.Remember(d.ends, ends, nil, now) // before they are saved with the rest
		}
		d.lookSoonAtAll()
		answer.Idle, err = d.clearOverride(e, request, by, ended, d.nodes != nil && unshared == nil)
		if err != nil && holdsAny(e.View(d.now()), ended) {
			d.ends = before
		}
		d.keptHere(&answer, unshared)
		if why := d.cutOff(); answer.Idle != "" && why != nil {
			answer.Here = fmt.Sprintf("what persons said at the other nodes is not known here: %v", why)
		}
	})
	if err == nil && revision > 0 && unshared == nil {
		d.awaitLeader(ctx, &answer, revision)
	}
	return answer, err
}

// Overrides lists operators' words.
func (d *Daemon) Overrides(context.Context) (control.Overrides, error) {
	answer := control.Overrides{Daemon: true}
	if !d.ask(func(e *engine.Engine) { answer.Overrides = describeOverrides(e.View(d.now())) }) {
		return control.Overrides{}, errStopped
	}
	return answer, nil
}

// foreseeOverride belongs to the loop. What comes of a word is foreseen by the engine
// that knows the zone: without a daemon that is another one, made of what was saved.
// The word is given as it would be kept.
func (d *Daemon) foreseeOverride(e *engine.Engine, request control.OverrideRequest, word override.Override) (control.Overruled, override.Override, error) {
	word.Target = d.overrideTarget(e, word.Kind, word.Target)
	word.Said = d.saidAfter(e, word)
	foreseen, err := d.foresight(e).Foresee(d.now(), engine.Override{Override: word})
	if err != nil {
		return control.Overruled{}, word, wrongWord(request.Kind, request.Target, err, d.nearTarget(word.Kind, err))
	}
	word = foreseen.Override
	answer := d.overruled(foreseen, request.DryRun)
	o := describeOverride(engine.OverrideView{Override: word, Begun: word.Begun(d.clock.Wall())})
	answer.Override = &o
	d.noteIdleZones(&answer)
	return answer, word, nil
}

// override belongs to the loop.
func (d *Daemon) override(e *engine.Engine, request control.OverrideRequest, word override.Override, shared bool) error {
	if shared && slices.ContainsFunc(wordsOf(e.View(d.now())), func(o override.Override) bool { return sameWord(o, word) }) {
		return nil // it was heard from etcd meanwhile
	}
	effects, err := d.say(fmt.Sprintf("%s %q", request.Kind, request.Target), engine.Override{Override: word}, shared)
	if effects.Err != nil {
		return wrongWord(request.Kind, request.Target, effects.Err, "")
	}
	if err == nil {
		d.ends = cluster.Remember(d.ends, nil, []override.Override{word}, d.clock.Wall())
	}
	return err
}

// clearing is what a request asks the engine for. It belongs to the loop.
func (d *Daemon) clearing(e *engine.Engine, request control.ClearRequest, by string) engine.Clear {
	kind := override.Kind(request.Kind)
	return engine.Clear{Target: d.overrideTarget(e, kind, request.Target), Kind: kind, By: by}
}

// foreseeClear belongs to the loop. With the answer come the words that would end.
func (d *Daemon) foreseeClear(e *engine.Engine, request control.ClearRequest, by string) (control.Overruled, []override.Override, error) {
	if kind := override.Kind(request.Kind); kind != "" && !slices.Contains(override.Kinds, kind) {
		return control.Overruled{}, nil, wrongWord("clear", request.Target, fmt.Errorf("expected one of %s, got %q", override.Join(override.Kinds), kind), "")
	}
	foreseen, err := d.foresight(e).Foresee(d.now(), d.clearing(e, request, by))
	if err != nil {
		return control.Overruled{}, nil, wrongWord("clear", request.Target, err, "")
	}
	answer := d.overruled(foreseen, request.DryRun)
	if len(foreseen.Replaced) > 0 {
		d.noteIdleZones(&answer)
		answer.Left = foreseen.Left
	}
	return answer, foreseen.Replaced, nil
}

// clearOverride belongs to the loop. It says why nothing changed, in words, when
// nothing was there to be taken back.
func (d *Daemon) clearOverride(e *engine.Engine, request control.ClearRequest, by string, ended []override.Override, shared bool) (idle string, err error) {
	if len(ended) > 0 && !holdsAny(e.View(d.now()), ended) {
		return "", nil // their end was heard from etcd meanwhile
	}
	clearing := d.clearing(e, request, by)
	effects, err := d.say(fmt.Sprintf("clear %q", request.Target), clearing, shared)
	if effects.Err != nil {
		err = wrongWord("clear", request.Target, effects.Err, d.nearTarget(clearing.Kind, effects.Err))
	}
	return effects.Idle, err
}

// holdsAny reports whether any of these words still holds.
func holdsAny(view engine.View, words []override.Override) bool {
	return slices.ContainsFunc(wordsOf(view), func(o override.Override) bool { return slices.ContainsFunc(words, o.Same) })
}

// say lets the engine take a person's word, if that can be kept: by other nodes as
// well, or by this one.
func (d *Daemon) say(what string, event engine.Event, shared bool) (engine.Effects, error) {
	if shared {
		return d.step(event), nil
	}
	if !d.leader.keeps() {
		return engine.Effects{}, &control.Error{
			Message: fmt.Sprintf("%s: this node is not the leader and stores nothing: %s", what, d.leader.status(d.now()).Detail),
			Hint:    "say it to the leader", Exit: control.ExitNotLeader,
		}
	}
	if err := d.save(); err != nil {
		return engine.Effects{}, notStored(what, "refused, because it could not be stored", err)
	}
	effects := d.step(event)
	if effects.Err == nil && d.unsaved != nil {
		return effects, notStored(what, "it holds until a restart, because it could not be stored", d.unsaved)
	}
	return effects, nil
}

// farthest is how far ahead an override can begin.
const farthest = 10 * 365 * 24 * time.Hour

// wordOf makes an override of a request. Its times are by this machine's clock.
func wordOf(request control.OverrideRequest, by string, now time.Time) (override.Override, error) {
	o := override.Override{
		Kind: override.Kind(request.Kind), Target: request.Target, Values: request.Values,
		By: by, Reason: request.Reason, Said: now, From: now,
	}
	hold, err := override.ParseFor(request.For)
	if err != nil {
		return o, fmt.Errorf("for how long: %w", err)
	}
	if request.At != nil {
		o.From = request.At.UTC()
		if o.From.Sub(now) > farthest {
			return o, fmt.Errorf("it is meant to begin at %s, and it is %s: expected ten years from now at most",
				o.From.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
		if o.From.Before(now) {
			return o, fmt.Errorf("it is meant to begin at %s, and it is %s: leave the time out to begin now",
				o.From.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
	}
	if hold > 0 {
		o.Until = o.From.Add(hold)
	}
	return o, nil
}

func wrongWord(what, target string, err error, near string) error {
	hint := ""
	if near != "" {
		hint = "perhaps " + near
	}
	if what == "" {
		what = "override"
	}
	return &control.Error{Message: fmt.Sprintf("%s %q: %v", what, target, err), Hint: hint, Exit: control.ExitUsage}
}

func notStored(what, outcome string, err error) error {
	return &control.Error{
		Message: fmt.Sprintf("%s: %s: %v", what, outcome, err),
		Hint:    "make room or make the state directory writable, and say it again", Exit: control.ExitFailure,
	}
}

// overrideTarget completes a short name of the config, unless it means something
// as it is.
func (d *Daemon) overrideTarget(e *engine.Engine, kind override.Kind, text string) string {
	if e.Knows(kind, text) {
		return text
	}
	return d.approveTarget(text)
}

// nearTarget is what may have been meant by a target that is unknown; empty when
// nothing is near.
func (d *Daemon) nearTarget(kind override.Kind, err error) string {
	unknown, is := errors.AsType[*engine.UnknownTargetError](err)
	if !is {
		return ""
	}
	return config.Nearest(unknown.Target, OverrideTargets(d.config, kind))
}

// OverrideTargets lists what an override of a kind can be of in a config, for
// people; of none, of any kind.
func OverrideTargets(c *config.Config, kind override.Kind) []string {
	things := kind.Takes()
	if kind == "" {
		things = []override.Thing{override.All, override.Zone, override.Set, override.Address, override.Target, override.Site, override.Scenario}
	}
	found := map[string]bool{}
	for _, thing := range things {
		switch thing {
		case override.All:
			found["all"] = true
		case override.Zone:
			for _, z := range c.Zones {
				found[z.Name.Unrooted()] = true
			}
		case override.Set, override.Address, override.Target, override.Site, override.Scenario:
			addTargets(found, c, thing)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func addTargets(found map[string]bool, c *config.Config, thing override.Thing) {
	switch thing {
	case override.Site:
		for _, s := range c.Sites {
			found[s.Name] = true
		}
	case override.Scenario:
		for _, s := range c.Scenarios {
			found[s.Name] = true
		}
	case override.Set:
		for _, spec := range c.Records {
			found[spec.Key.Name.Unrooted()] = true
		}
	case override.Address, override.Target:
		for _, spec := range c.Records {
			addAnswers(found, spec, thing)
		}
	case override.All, override.Zone:
	}
}

func addAnswers(found map[string]bool, spec *steer.Spec, thing override.Thing) {
	for i := range spec.Len() {
		a := spec.At(i)
		if thing == override.Address {
			found[record.Name(a.Value).Unrooted()] = true
			continue
		}
		for _, name := range spec.Checks {
			found[name+"@"+a.Probe] = true
		}
	}
}

// overruled says what was foreseen.
func (d *Daemon) overruled(f engine.Foreseen, dryRun bool) control.Overruled {
	answer := control.Overruled{Replaced: []control.Override{}, DryRun: dryRun, Daemon: !d.options.Once, Records: []control.Foreseen{}}
	if d.nodes != nil {
		answer.Leader = d.leaderElsewhere()
	}
	for _, o := range f.Replaced {
		answer.Replaced = append(answer.Replaced, describeOverride(engine.OverrideView{Override: o, Begun: o.Begun(d.clock.Wall())}))
	}
	var codes []int
	for _, s := range f.Sets {
		r := describeForesight(s)
		d.delay(&r, s)
		d.countWrites(&r, s)
		answer.Records = append(answer.Records, r)
		// What begins later may find other things than there are now, and that
		// something is stopped is what a freeze asks for.
		if f.Override.Begun(d.clock.Wall()) && f.Override.Kind != override.Freeze {
			codes = append(codes, foresightExit(s))
		}
	}
	answer.Exit = control.Worst(codes...)
	return answer
}

// countWrites adds what guard max_writes counts.
func (d *Daemon) countWrites(r *control.Foreseen, f engine.Foresight) {
	limit := d.config.Guard.MaxWrites
	if !f.Known || limit.Count <= 0 {
		return
	}
	r.Writes = &control.Writes{Most: limit.Count, Window: limit.Window.String(), Ends: []time.Time{}}
	for _, at := range f.Written {
		r.Writes.Ends = append(r.Writes.Ends, at.Add(limit.Window))
	}
}

func describeForesight(f engine.Foresight) control.Foreseen {
	r := control.Foreseen{
		Name: string(f.Key.Name), Type: string(f.Key.Type), Variant: f.Key.Variant, Known: f.Known,
		Zone: string(f.Key.Zone), Error: f.Err,
		In: []string{}, Out: []string{}, Live: []string{}, Down: []string{}, Stays: []control.Stay{}, Blocked: []control.Blocked{},
	}
	if !f.Known {
		return r
	}
	at := f.At
	r.At, r.Reason, r.Live = &at, f.After.Wanted.Reason, list(f.After.Wanted.Live)
	for _, c := range f.After.Changes {
		switch c.Action {
		case record.Create, record.Resume:
			r.In = append(r.In, c.Value)
		case record.Pause:
			r.Out = append(r.Out, c.Value)
		case record.Swap:
			r.In, r.Out = append(r.In, c.Value), append(r.Out, c.From)
		case record.SetTTL, record.SetWeight:
		}
	}
	r.Down = list(f.Down)
	for _, value := range f.Stays {
		r.Stays = append(r.Stays, control.Stay{Value: value, Reason: f.After.Wanted.Why(value), Pinned: f.After.Wanted.Pinned})
	}
	if stopped(f.After) {
		r.Blocked = blocked(f.Blocked)
	}
	return r
}

func stopped(s plan.Set) bool { return len(s.Open()) < len(s.Changes) }

// foresightExit is 5 where the zone could not be listed or written, also where the
// last list leaves nothing to write, 3 where an answer cannot go out, or a guard stops
// what would be written, and 6 where that is a freeze.
func foresightExit(f engine.Foresight) int {
	stop := slices.ContainsFunc(f.After.Changes, func(c plan.Change) bool { return c.Guard == plan.GuardFreeze })
	switch {
	case f.Err != "":
		return control.ExitProvider
	case !f.Known:
		return control.ExitDone
	case len(f.Stays) > 0:
		return control.ExitGuard
	case stop:
		return control.ExitFrozen
	case stopped(f.After):
		return control.ExitGuard
	}
	return control.ExitDone
}

func describeOverrides(view engine.View) []control.Override {
	list := []control.Override{}
	for _, o := range view.Words {
		list = append(list, describeOverride(o))
	}
	return list
}

func describeOverride(o engine.OverrideView) control.Override {
	out := control.Override{
		Target: o.Target, Kind: string(o.Kind), Value: joined(o.Values), By: o.By, Reason: o.Reason,
		From: o.From, Thing: string(o.Thing), State: "in force",
	}
	if !o.Forever() {
		until := o.Until
		out.Until = &until
	}
	switch {
	case o.Inert != "":
		out.State, out.Detail = "no effect", o.Inert
	case !o.Begun:
		out.State = "to come"
	case len(o.Stays) > 0:
		out.Detail = staysWords(o.Stays)
	}
	return out
}
