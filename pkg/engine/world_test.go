package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// world is an engine with a clock, a model of its zones and nothing else: no
// socket, no provider, no file.
type world struct {
	config  engine.Config
	engine  *engine.Engine
	now     time.Duration // since the script's beginning
	next    time.Duration // boot time, 0 for none
	zones   map[record.Name]*plan.Zone
	chance  uint64
	work    map[record.Name]engine.Work // handed over and not carried out
	trace   strings.Builder
	witness func(*world, engine.Event, engine.Effects) // told of every step; nil is told nothing
}

// Where the clocks of a script begin.
const bootStart = 1000 * time.Second

var wallStart = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const home = record.Name("example.com.")

func newWorld() *world {
	return &world{
		config: engine.Config{
			Zones: []record.Name{home}, Checks: map[string]*check.Spec{}, Debounce: time.Second,
			MaxWrites: plan.Writes{Count: 6, Window: 10 * time.Minute},
		},
		zones: map[record.Name]*plan.Zone{home: {Name: home, Owners: map[record.Name]string{}}},
		work:  map[record.Name]engine.Work{},
	}
}

func (w *world) clock() engine.Now {
	return engine.Now{Boot: bootStart + w.now, Wall: wallStart.Add(w.now), Chance: w.chance}
}

// output hands over what was traced since the last call, and when time alone
// matters next.
func (w *world) output() string {
	if w.engine != nil {
		if w.next == 0 {
			w.printf("next never")
		} else {
			w.printf("next %s", w.next-bootStart)
		}
	}
	text := w.trace.String()
	w.trace.Reset()
	return text
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.trace, format+"\n", args...) }

func (w *world) say(format string, args ...any) {
	w.printf("%s "+format, append([]any{w.now}, args...)...)
}

// step hands an event to the engine and traces its effects in the order of the
// caller's duties.
func (w *world) step(event engine.Event) {
	effects := w.engine.Step(w.clock(), event)
	w.next = effects.Next
	if effects.Err != nil {
		w.say("error %s", hideSum(effects.Err.Error()))
	}
	for _, o := range effects.Cleared {
		w.say("cleared %s %s", o.Kind, o.Shown())
	}
	if effects.Idle != "" {
		w.say("idle %s", hideSum(effects.Idle))
	}
	for _, e := range effects.Journal {
		w.say("%s", entryText(e))
	}
	if effects.Canary {
		w.say("canary")
	}
	if effects.Save {
		w.say("save")
	}
	for _, h := range effects.Hold {
		w.say("%s", holdText(h))
	}
	for _, zone := range effects.Look {
		w.say("look %s", zone)
	}
	for _, work := range effects.Work {
		w.say("work %s", work.Zone)
		w.planLines(work.Plan(w.seen(work.Zone)))
		w.work[work.Zone] = work
	}
	if w.witness != nil {
		w.witness(w, event, effects)
	}
}

func holdText(h engine.Hold) string {
	switch h.Until {
	case 0:
		return "let go " + h.Target.ID()
	case engine.Never:
		return "hold " + h.Target.ID() + " for good"
	}
	return fmt.Sprintf("hold %s until %s", h.Target.ID(), h.Until-bootStart)
}

func entryText(e engine.Entry) string {
	text := "journal " + e.Kind + " " + e.Target
	if e.From != "" || e.To != "" {
		text += fmt.Sprintf(" %s -> %s", e.From, e.To)
	}
	if e.Cause != "" {
		text += fmt.Sprintf(" %s/%s", e.Phase, e.Cause)
	}
	if e.Detail != "" && e.Kind != "verdict" {
		text += ": " + hideSum(e.Detail)
	}
	if e.By != "" {
		text += " by " + e.By
	}
	return text
}

var checksum = regexp.MustCompile(`\b[0-9a-f]{12}\b`)

// hideSum hides checksums, which nobody can work out by hand.
func hideSum(text string) string { return checksum.ReplaceAllString(text, "*") }

func (w *world) planLines(p plan.Plan) {
	for _, line := range p.Lines() {
		w.printf("  %s", hideSum(line))
	}
}

// seen is a copy of a zone as a list would show it.
func (w *world) seen(name record.Name) plan.Zone {
	zone := *w.zones[name]
	zone.Owners = maps.Clone(zone.Owners)
	zone.Sets = slices.Clone(zone.Sets)
	for i := range zone.Sets {
		zone.Sets[i].Answers = slices.Clone(zone.Sets[i].Answers)
	}
	return zone
}

// advance lets time pass, with a tick whenever the engine asked for one.
func (w *world) advance(d time.Duration) {
	end := w.now + d
	for w.next != 0 && w.next-bootStart <= end {
		w.now = max(w.now, w.next-bootStart)
		before := w.next
		w.step(engine.Tick{})
		if w.next == before {
			w.say("error: the engine asks for the same moment again")
			break
		}
	}
	w.now = end
}

// write carries out the Work of a zone as a reconciler would: against a fresh
// list, only what no guard stops.
func (w *world) write(name record.Name) error {
	work, found := w.work[name]
	if !found {
		return fmt.Errorf("there is no work for %s", name)
	}
	delete(w.work, name)
	p := work.Plan(w.seen(name))
	w.say("write %s", name)
	w.planLines(p)
	applied := openChanges(p)
	for _, c := range applied {
		apply(w.zones[name], c.Change)
	}
	w.step(engine.Done{Zone: w.seen(name), Applied: applied})
	return nil
}

func openChanges(p plan.Plan) []plan.Change {
	var open []plan.Change
	for _, s := range p.Sets {
		open = append(open, s.Open()...)
	}
	return open
}

// apply does one change to a zone. Nothing is ever deleted.
func apply(zone *plan.Zone, c record.Change) {
	i := slices.IndexFunc(zone.Sets, func(s record.Set) bool { return s.Key == c.Key })
	if i < 0 {
		zone.Sets = append(zone.Sets, record.Set{Key: c.Key})
		i = len(zone.Sets) - 1
	}
	set := &zone.Sets[i]
	edit := func(value string, do func(*record.Answer)) {
		j := slices.IndexFunc(set.Answers, func(a record.Answer) bool { return a.Value == value })
		if j < 0 {
			set.Answers = append(set.Answers, record.Answer{Value: value, TTL: 300 * time.Second, Weight: 1})
			j = len(set.Answers) - 1
		}
		do(&set.Answers[j])
	}
	enter := func(a *record.Answer) { a.Live, a.Paused, a.Held = true, false, false }
	leave := func(a *record.Answer) { a.Live, a.Paused = false, true }
	takeTTL := func(a *record.Answer) {
		if c.TTL > 0 {
			a.TTL = c.TTL
		}
	}
	switch c.Action {
	case record.Create, record.Resume:
		edit(c.Value, enter)
		edit(c.Value, takeTTL)
		edit(c.Value, func(a *record.Answer) { a.Weight = max(a.Weight, c.Weight) })
	case record.Pause:
		edit(c.Value, leave)
	case record.Swap:
		edit(c.From, leave)
		edit(c.Value, enter)
		edit(c.Value, takeTTL)
	case record.SetTTL:
		edit(c.Value, takeTTL)
	case record.SetWeight:
		edit(c.Value, func(a *record.Answer) { a.Weight = c.Weight })
	}
	record.SortSets(zone.Sets)
}

// restart ends the engine and begins another one on what the first one left.
func (w *world) restart(downtime, maxAge time.Duration, lost bool) error {
	data, err := json.Marshal(w.engine.State())
	if err != nil {
		return err
	}
	w.now += downtime
	w.work = map[record.Name]engine.Work{}
	w.engine = engine.New(w.config, w.clock())
	if lost {
		w.engine.Lose()
	} else {
		var state engine.State
		if err := json.Unmarshal(data, &state); err != nil {
			return err
		}
		w.engine.Restore(state, downtime <= maxAge, downtime <= maxAge)
	}
	w.step(engine.Tick{})
	return nil
}

// view prints the engine's state for people.
func (w *world) view() {
	v := w.engine.View(w.clock())
	for _, t := range v.Targets {
		w.printf("  target %s %s shown %s passes=%d fails=%d%s%s", t.Target.ID(), t.Verdict, t.Shown, t.Passes, t.Fails, prefixed(" ", causeText(t)), waitText(t)+cooldownText(t.Cooldown))
	}
	for _, s := range v.Sets {
		state := "ready"
		if !s.Ready {
			state = "not ready"
		}
		w.printf("  set %s %s live=%s wanted=%s%s%s%s", s.Spec.Key, state, list(s.Plan.Seen.Live()), list(s.Plan.Wanted.Live),
			prefixed(" held=", strings.Join(s.Plan.Held, ",")), prefixed(" foreign=", strings.Join(s.Plan.Foreign, ",")),
			prefixed(": ", s.Plan.Wanted.Reason))
		for i := range s.Judged {
			a := s.Spec.At(i)
			why := s.Judged[i].Why
			if s.Listed && s.Ready {
				why = s.Plan.Wanted.Why(a.Value)
			}
			if kind := s.Ruled[i]; kind != "" {
				why += fmt.Sprintf(" [%s, seen %s]", kind, s.Seen[i])
			}
			w.printf("    %s %s", a.Value, why)
		}
		for _, value := range s.Spec.Fallback {
			w.printf("    %s %s", value, s.Plan.Wanted.Why(value))
		}
	}
	w.viewScenes(v)
	for _, z := range v.Zones {
		if z.Err != "" {
			w.printf("  zone %s error %s", z.Name, z.Err)
		}
		for _, b := range z.Plan.Blocked {
			w.printf("  %s", hideSum(b.String()))
		}
	}
	if c := v.Canary; c != nil {
		w.printf("  canary %s, %d answered, %d needed", c.State, c.Answered, c.Need)
	}
	if v.Blind != "" {
		w.printf("  blind")
	}
	if v.Clock != "" {
		w.printf("  clock: %s", v.Clock)
	}
	for _, o := range v.Words {
		state := map[bool]string{true: "in force", false: "to come"}[o.Begun]
		if o.Inert != "" {
			state = "no effect: " + o.Inert
		}
		w.printf("  override %s %s: %s", o.Shown(), o.Override, state)
	}
	if v.Lost {
		w.printf("  lost")
	}
}

func causeText(t engine.TargetView) string {
	if t.Cause == "" {
		return ""
	}
	return string(t.Phase) + "/" + string(t.Cause)
}

func waitText(t engine.TargetView) string {
	if t.Waits {
		return " waits for the canary"
	}
	return ""
}

func cooldownText(c engine.CooldownView) string {
	if c.State == health.Eligible {
		return ""
	}
	text := " " + string(c.State)
	if !c.Until.IsZero() {
		text += " until " + c.Until.Sub(wallStart).String()
	}
	return text + fmt.Sprintf(" attempts=%d", c.Attempts)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func list(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ",")
}

// fields reads "key=value" words into a map, the others into a list.
func fields(words []string) (plain []string, named map[string]string) {
	named = map[string]string{}
	for _, word := range words {
		if key, value, found := strings.Cut(word, "="); found {
			named[key] = value
		} else {
			plain = append(plain, word)
		}
	}
	return plain, named
}
