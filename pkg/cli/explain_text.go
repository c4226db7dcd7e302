package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
)

// explainer puts an explanation into words. Times are told by the clock of who
// answered.
type explainer struct {
	out io.Writer
	e   control.Explanation
}

func (a *app) printExplanation(e control.Explanation) {
	x := explainer{a.io.Out, e}
	if e.Daemon {
		x.line("node %s, %s, at %s", e.Node, leaderWords(e.Leader, e.At), e.At.Local().Format(time.DateTime))
	} else {
		x.line("no daemon runs here: this is what was saved %s, and nothing was probed", x.when(*e.SavedAt))
	}
	for _, n := range e.Notices {
		x.line("notice: %s", strings.ReplaceAll(n, "\n", "\n  "))
	}
	for _, o := range e.Overrides {
		x.line("override: %s, by %s, %s", overrideWords(o, e.At), o.By, overrideState(o))
	}
	for _, r := range e.Records {
		x.record(r)
	}
}

func (x *explainer) line(format string, args ...any) {
	fmt.Fprintln(x.out, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// field prints one line of a block: what it is about, and what there is to say.
func (x *explainer) field(indent int, label, format string, args ...any) {
	x.line("%s%-*s  %s", strings.Repeat(" ", indent), 14-indent, label, fmt.Sprintf(format, args...))
}

// when is a time of the past for people: how long ago, and by the clock.
func (x *explainer) when(at time.Time) string {
	return since(x.e.At, at) + " ago (" + x.clock(at) + ")"
}

// clock is a time of day, with its day when that is another.
func (x *explainer) clock(at time.Time) string {
	return timeWords(at, x.e.At)
}

// until is a time to come: by the clock, and in how long.
func (x *explainer) until(at time.Time) string {
	return fmt.Sprintf("%s (in %s)", x.clock(at), max(at.Sub(x.e.At), 0).Round(100*time.Millisecond))
}

func (x *explainer) record(r control.ExplainedRecord) {
	answers := "answers"
	if !x.e.Daemon {
		answers = "answered"
	}
	live := strings.Join(r.Live, ", ")
	if len(r.Foreign) > 0 {
		live = strings.TrimPrefix(live+", ", ", ") + strings.Join(r.Foreign, ", ") + " (not in the config)"
	}
	if r.Listed {
		x.line("\n%s %s %s with %s", r.Name, typeWords(r.Type, r.Variant), answers, orElse(live, "nothing"))
	} else {
		x.line("\n%s %s: what it %s with is not known", r.Name, typeWords(r.Type, r.Variant), answers)
	}
	if r.ListedAt != nil && x.dated(r) {
		x.line("  %s", listWords(r.ListedAt, r.WrittenAt, x.e.At))
	}
	x.because(r)
	for _, fault := range x.doubts(r) {
		x.line("  LOOK HERE FIRST: %s", fault)
	}
	for _, a := range r.Answers {
		x.answer(a, r)
	}
	x.line("")
	x.decision(r)
	x.writes(r)
}

// because is the reason of what is wanted. Where no daemon runs that can be
// something else than what the name answers with: it is told apart.
func (x *explainer) because(r control.ExplainedRecord) {
	if known := len(r.Live) > 0; x.e.Daemon || !known || sameValues(r.Live, r.Wanted) {
		x.line("  because %s", r.Reason)
		return
	}
	x.line("  wanted, not written yet: %s", orElse(strings.Join(r.Wanted, ", "), "nothing"))
	x.line("  because %s; to write it now: sidestep reconcile", r.Reason)
}

func sameValues(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func (x *explainer) answer(a control.ExplainedAnswer, r control.ExplainedRecord) {
	state := a.State
	if state == "unknown" && r.Listed {
		state = "not live"
	} else if state == "unknown" {
		state = "not known whether it is live"
	}
	x.line("\n  %s%s  %s: %s", a.Value, roleWords(a.Answer), state, a.Reason)
	x.around(a, r)
	for _, t := range a.Targets {
		x.target(t)
	}
}

func (x *explainer) target(t control.ExplainedTarget) {
	x.vantages(t)
	if t.Counted != nil && !slices.ContainsFunc(t.Vantages, func(v control.Vantage) bool { return v.Own }) {
		x.field(4, "here", "not probed: the word of this node is not asked")
		return
	}
	x.field(4, x.whose(t), "%s %s", t.ID, x.verdict(t))
	if last := t.Last; last != nil {
		text := fmt.Sprintf("%s ago: %s after %.1fms", since(x.e.At, last.At), last.Result, last.LatencyMS)
		if last.Source != "" {
			text += " from " + last.Source
		}
		x.field(4, "last probe", "%s%s", text, lastWords(t))
	}
	x.field(4, "in a row", "%s", inARow(t))
	if text := x.cooldown(t); text != "" {
		x.field(4, "cooldown", "%s", text)
	}
	if t.Results != nil {
		x.results(*t.Results)
	}
}

// whose is the verdict of this node's own probes.
func (x *explainer) whose(t control.ExplainedTarget) string {
	if t.Counted != nil {
		return "here"
	}
	return "verdict"
}

// vantages say what counts of a target that several nodes judge, and who says what.
func (x *explainer) vantages(t control.ExplainedTarget) {
	if t.Counted == nil {
		return
	}
	c := t.Counted
	x.field(4, "verdict", "%s %s for %s, since %s: %s", t.ID, c.Verdict, since(x.e.At, c.Since), x.clock(c.Since), c.Detail)
	for _, v := range t.Vantages {
		x.field(6, v.Name, "%s", x.vantage(v))
	}
}

func (x *explainer) vantage(v control.Vantage) string {
	heard := "never heard"
	if v.At != nil {
		heard = fmt.Sprintf("heard %s ago", since(x.e.At, *v.At))
	}
	switch {
	case v.Silent:
		return "silent, and counts as unknown; " + heard
	case v.Blind:
		return "blind, its canary fails, and counts as unknown; " + heard
	case v.Since == nil || v.Verdict == "unknown":
		return "unknown; " + heard
	}
	text := fmt.Sprintf("%s for %s, since %s", v.Verdict, since(x.e.At, *v.Since), x.clock(*v.Since))
	if v.Phase != "" {
		text += ": " + v.Phase + "/" + v.Cause
	}
	return text + "; " + heard
}

// cooldown says where a target is between going down and coming up; nothing
// while no pause binds it.
func (x *explainer) cooldown(t control.ExplainedTarget) string {
	c := t.Cooldown
	attempts := ""
	if c.Attempts > 0 {
		attempts = fmt.Sprintf(", after %s", plural(c.Attempts, "attempt that failed", "attempts that failed"))
	}
	switch {
	case c.State == "cooling" && c.Until != nil:
		return fmt.Sprintf("left alone until %s%s; the probe then is the first of %s in a row", x.until(*c.Until), attempts, plural(t.Rise, "pass", "passes"))
	case c.State == "probing":
		return "probed at the interval" + attempts + "; a failure begins the next pause, unless nothing else of a record set is usable"
	case c.State == "disabled":
		return "disabled by its last failure, and not probed; to end that: sidestep approve " + t.Address
	}
	return ""
}

// silent reports whether nothing was heard for long of a target that was judged.
func silent(t control.ExplainedTarget) bool { return t.Verdict == "unknown" && t.Judged != "unknown" }

func (x *explainer) verdict(t control.ExplainedTarget) string {
	switch {
	case t.Verdict == "suspected":
		return fmt.Sprintf("suspected for %s, since %s: %s/%s, together with too many others (guard mass); decisions keep %s",
			since(x.e.At, t.Since), x.clock(t.Since), t.Phase, t.Cause, t.Judged)
	case t.Judged == "unknown":
		return "not judged yet"
	case silent(t):
		return fmt.Sprintf("unknown, since nothing was heard of it for long; decisions keep %s, since %s", t.Judged, x.clock(t.Since))
	}
	text := fmt.Sprintf("%s since %s", t.Judged, x.clock(t.Since))
	if x.e.Daemon {
		text = fmt.Sprintf("%s for %s, since %s", t.Judged, since(x.e.At, t.Since), x.clock(t.Since))
	}
	if t.Phase != "" {
		text += ": " + t.Phase + "/" + t.Cause
	}
	return text
}

// lastWords is what was found by a last probe that did not pass. The phase and
// cause of a target are those of its last failure.
func lastWords(t control.ExplainedTarget) string {
	var words []string
	if t.Last.Result == "fail" && t.Phase != "" {
		words = append(words, t.Phase+"/"+t.Cause)
	}
	if t.Detail != "" {
		words = append(words, t.Detail)
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// inARow is how far a target is from its next verdict.
func inARow(t control.ExplainedTarget) string {
	passes, fails := plural(t.Passes, "pass", "passes"), plural(t.Fails, "failure", "failures")
	switch {
	case t.Fails > 0 && t.Judged == "down":
		return fmt.Sprintf("%s; up after %s in a row", fails, plural(t.Rise, "pass", "passes"))
	case t.Fails > 0:
		return fmt.Sprintf("%s of the %d that bring it down", fails, t.Fall)
	case t.Passes > 0 && t.Judged == "up":
		return fmt.Sprintf("%s; down after %s in a row", passes, plural(t.Fall, "failure", "failures"))
	case t.Passes > 0:
		return fmt.Sprintf("%s of the %d that bring it up", passes, t.Rise)
	}
	return fmt.Sprintf("nothing yet; up after %s, down after %s", plural(t.Rise, "pass", "passes"), plural(t.Fall, "failure", "failures"))
}

// results tells the target's failures and our own faults apart.
func (x *explainer) results(r control.Results) {
	x.field(4, "results", "%d since %s: %d pass, %d fail, %d unknown", r.Pass+r.Fail+r.Unknown, x.clock(r.Since), r.Pass, r.Fail, r.Unknown)
	bad := r.Fail + r.Unknown
	if bad == 0 {
		return
	}
	x.field(4, "not passed", "by the target %d (%d%%), by our own fault %d (%d%%)", r.Fail, r.Fail*100/bad, r.Unknown, 100-r.Fail*100/bad)
	left := r.Fail
	for _, f := range r.Failures {
		left -= f.Times
		x.field(6, "target", "%dx %s/%s", f.Times, f.Phase, f.Cause)
	}
	if left > 0 {
		x.field(6, "target", "%dx in other ways", left)
	}
	left = r.Unknown
	for _, f := range r.Faults {
		left -= f.Times
		if f.Detail == "" {
			f.Detail = "faults too many to be told apart"
		}
		x.field(6, "OURS", "%dx %s", f.Times, f.Detail)
	}
	if left > 0 {
		x.field(6, "OURS", "%dx in other ways", left)
	}
}

// decision is the road from the verdicts to a write.
func (x *explainer) decision(r control.ExplainedRecord) {
	o := x.e.Others
	if n := o.Pass + o.Fail + o.Unknown; n > 0 {
		x.field(0, "elsewhere", "of %s of this node: %d pass, %d fail, %d unknown", plural(n, "other target", "other targets"), o.Pass, o.Fail, o.Unknown)
	}
	if unplanned(r) {
		x.field(0, "policy", "%s; not known what it wants: %s", r.Policy, r.Reason)
	} else {
		x.field(0, "policy", "%s wants %s", r.Policy, orElse(strings.Join(r.Wanted, ", "), "nothing else than there is"))
	}
	if r.JudgeUntil != nil {
		x.field(0, "start", "it is planned once all targets are judged, at %s at the latest", x.until(*r.JudgeUntil))
	}
	if r.HoldEnds != nil {
		x.field(0, "hold", "a failback is held back until %s", x.until(*r.HoldEnds))
	}
	if r.Waiting != "" {
		x.field(0, "waiting", "for you: %s; sidestep approve %s", r.Waiting, strings.TrimSuffix(r.Name, "."))
	}
	if len(r.Held) > 0 {
		x.field(0, "held", "by somebody else: %s", strings.Join(r.Held, ", "))
	}
	if !x.e.Daemon {
		return
	}
	if len(r.Blocked) == 0 && !unplanned(r) {
		x.field(0, "guards", "none blocks")
	}
	for _, b := range r.Blocked {
		x.field(0, "guards", "blocked by guard %s: %s", b.Guard, b.Detail)
	}
	x.plan(r)
}

// unplanned reports that nothing can be said of what a record set should be.
func unplanned(r control.ExplainedRecord) bool { return !r.Listed || r.JudgeUntil != nil }

// dated reports whether the zone may differ from the list that all is told from: it
// was written since, cannot be listed, or is another node's to write.
func (x *explainer) dated(r control.ExplainedRecord) bool {
	return r.WrittenAt != nil || r.ZoneError != "" || x.e.Daemon && x.e.Leader.State != "leader"
}

func (x *explainer) plan(r control.ExplainedRecord) {
	for _, c := range r.Pending {
		x.field(0, "plan", "to be written: %s %s  (%s)", c.Action, c.Value, c.Reason)
	}
	switch {
	case unplanned(r):
		x.field(0, "plan", "not known: %s", r.Reason)
	case len(r.Pending) == 0 && len(r.Blocked) == 0 && x.dated(r):
		x.field(0, "plan", "nothing to write by the last list; the zone may differ from it")
	case len(r.Pending) == 0 && len(r.Blocked) == 0:
		x.field(0, "plan", "nothing to write: the zone is as wanted")
	case len(r.Pending) == 0:
		x.field(0, "plan", "nothing that may be written")
	}
	if r.WindowEnds != nil {
		x.field(0, "window", "changes of the zone are gathered (debounce) until %s", x.until(*r.WindowEnds))
	}
	if r.Waits != nil {
		x.field(0, "waits", "until %s: %s", x.until(r.Waits.Until), r.Waits.Why)
	}
	if r.ZoneError != "" {
		x.field(0, "zone", "%s", zoneWords(r.Zone, r.ZoneError))
	}
	if x.e.Leader.State != "leader" {
		x.field(0, "writer", "this node writes nothing: it is %s", leaderWords(x.e.Leader, x.e.At))
	}
}

func (x *explainer) writes(r control.ExplainedRecord) {
	switch j := x.e.Journal; {
	case j.Error != "":
		x.field(0, "written", "not known: %s", j.Error)
	case len(r.Writes) == 0 && j.Since == nil:
		x.field(0, "written", "nothing: the journal is empty")
	case len(r.Writes) == 0:
		x.field(0, "written", "nothing since %s, as far back as the journal was read", x.when(*j.Since))
	}
	x.written(r)
	x.verified(r)
}

func (x *explainer) written(r control.ExplainedRecord) {
	for i, w := range r.Writes {
		x.write(w)
		if i+1 < len(r.Writes) && slices.Equal(w.Evidence, r.Writes[i+1].Evidence) {
			continue // it is told with the write before
		}
		for _, e := range w.Evidence {
			x.field(2, "after", "%s %s", x.clock(e.At), eventWords(e))
		}
	}
}

func (x *explainer) verified(r control.ExplainedRecord) {
	v := r.Verification
	switch {
	case len(r.Writes) == 0:
	case v == nil:
		x.field(0, "verified", "not yet")
	case v.At.Before(r.Writes[0].At):
		x.field(0, "verified", "not since the last write; the zone was before, %s", x.when(v.At))
	case v.Verified:
		x.field(0, "verified", "%s, %s", x.when(v.At), orElse(v.Detail, "at the zone's name servers"))
		x.servers(v.Servers)
	default:
		x.field(0, "verified", "NOT, %s: %s", x.when(v.At), v.Detail)
		x.servers(v.Servers)
		if v.AskedUntil != nil {
			x.field(2, "asked on", "until %s", x.until(*v.AskedUntil))
		}
	}
}

// servers says how long after the write each name server had it.
func (x *explainer) servers(list []control.VerifiedServer) {
	for _, s := range list {
		switch {
		case s.TookMS != nil:
			x.field(2, "after", "%s: %s", delayWords(*s.TookMS), s.Server)
		case s.Verified:
			x.field(2, "unmoved", "%s: it was not seen to have the write before, and has now what it had then", s.Server)
		default:
			x.field(2, "not", "%s", s.Server)
		}
	}
}

// delayWords is how long something took.
func delayWords(ms float64) string {
	took, finest := time.Duration(ms*float64(time.Millisecond)), time.Millisecond
	if took > time.Second {
		finest *= 100
	}
	return took.Round(finest).String()
}

func (x *explainer) write(w control.ExplainedWrite) {
	value := w.Value
	if w.Replaces != "" {
		value += " in place of " + w.Replaces
	}
	outcome := "done"
	if w.Error != "" {
		outcome = "FAILED: " + w.Error
	}
	x.field(0, "written", "%s %s %s, %s", x.when(w.At), w.Action, value, outcome)
	if w.Reason != "" {
		x.field(2, "because", "%s", w.Reason)
	}
}

func eventWords(e control.Event) string {
	switch {
	case e.Kind == "verdict":
		text := fmt.Sprintf("%s %s -> %s", e.Target, e.From, e.To)
		if e.Phase != "" {
			text += ": " + e.Phase + "/" + e.Cause
		}
		return text + prefixed(", ", e.Detail)
	case e.By != "":
		return fmt.Sprintf("%s %s by %s", e.Target, e.Detail, e.By)
	case e.Target == e.Guard: // of this node, and the detail names it
		return e.Detail
	}
	return strings.TrimSpace(e.Target + " " + e.Detail)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// prefixed is a text behind a prefix, or nothing at all.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
