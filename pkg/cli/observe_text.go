package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/observe"
)

// observePrinter prints samples as they come.
type observePrinter struct {
	a      *app
	setup  *observeSetup
	flags  observeFlags
	heads  []string
	widths []int
	last   []string // the cells of the row before, without what counts down
	at     time.Time
	same   []time.Time // of the samples since that row that showed the same
}

func (a *app) observePrinter(setup *observeSetup, f observeFlags) *observePrinter {
	p := &observePrinter{a: a, setup: setup, flags: f, heads: []string{"AUTHORITATIVE", "RESOLVER"}}
	if setup.Request != nil {
		p.heads = append(p.heads, "KEPT CONNECTION", "NEW CONNECTION")
	}
	return p
}

// sample prints one row, and a line for each event that it brought.
func (p *observePrinter) sample(line *observe.Timeline, s observe.Sample, events []observe.Event) error {
	if p.a.json {
		return p.json(line, s, events)
	}
	if len(line.Samples) == 1 {
		p.begin(s)
		defer p.late(s)
	}
	shown, plain := p.cells(s)
	if len(events) == 0 && slices.Equal(plain, p.last) {
		p.same = append(p.same, s.At)
		text := p.sameFor() + ": " + strings.Join(shown, "  ")
		p.a.progress("%s", text[:min(len(text), progressWidth)])
		return nil
	}
	p.unfold()
	p.row(s.At, shown, p.marks(plain))
	p.last, p.at = plain, s.At
	for _, e := range events {
		fmt.Fprintf(p.a.io.Out, "%s * %s\n", e.At.Local().Format("15:04:05.000"), e)
	}
	return nil
}

// unfold says how many rows like the last one were left out.
func (p *observePrinter) unfold() {
	p.a.progressDone()
	if len(p.same) > 0 {
		fmt.Fprintf(p.a.io.Out, "%-*s  %s (%s)\n", len(p.clock()), "", p.sameFor(), plural(len(p.same), "sample", "samples"))
	}
	p.same = nil
}

func (p *observePrinter) sameFor() string {
	finest := time.Second
	if p.flags.every < time.Second {
		finest /= 10
	}
	return fmt.Sprintf("same for %s", p.same[len(p.same)-1].Sub(p.at).Round(finest))
}

// late says what the first row waited for.
func (p *observePrinter) late(s observe.Sample) {
	if what, took := s.Slowest(); s.Took > p.flags.every && !p.flags.once {
		fmt.Fprintf(p.a.io.Out, "%s   the first row waited for this: %s took %s\n", s.At.Add(s.Took).Local().Format("15:04:05.000"), what, tookWords(took))
	}
}

// begin prints what is looked at, and the heading. The columns are as wide as
// the first row needs, and some more for what may come.
func (p *observePrinter) begin(s observe.Sample) {
	for _, line := range p.setup.lines(p.flags) {
		fmt.Fprintln(p.a.io.Out, line)
	}
	fmt.Fprintln(p.a.io.Out)
	shown, _ := p.cells(s)
	for i, head := range p.heads {
		p.widths = append(p.widths, max(len(head), len(shown[i])+4, 20))
	}
	p.print("TIME", p.heads, nil)
}

// row prints one, and the heading again above one that needs wider columns.
func (p *observePrinter) row(at time.Time, cells []string, changed []bool) {
	wider := false
	for i, cell := range cells {
		if len(cell) > p.widths[i] {
			p.widths[i], wider = len(cell), wider || i+1 < len(cells) // nothing stands behind the last
		}
	}
	if wider {
		p.print("TIME", p.heads, nil)
	}
	p.print(at.Local().Format(p.clock()), cells, changed)
}

// clock is the layout of times: as fine as the samples.
func (p *observePrinter) clock() string {
	if p.flags.every < time.Second {
		return "15:04:05.0"
	}
	return "15:04:05"
}

func (p *observePrinter) print(first string, cells []string, changed []bool) {
	out := fmt.Sprintf("%-*s", len(p.clock()), first)
	for i, cell := range cells {
		mark := " "
		if i < len(changed) && changed[i] {
			mark = "*"
		}
		out += fmt.Sprintf(" %s%-*s", mark, p.widths[i], cell)
	}
	fmt.Fprintln(p.a.io.Out, strings.TrimRight(out, " "))
}

// marks tells which cells differ from the row before.
func (p *observePrinter) marks(plain []string) []bool {
	changed := make([]bool, len(plain))
	for i := range plain {
		changed[i] = i < len(p.last) && plain[i] != p.last[i]
	}
	return changed
}

// cells words a sample: as shown, and by what a change shows, which is no number
// that counts, and of the kept connection which one it is.
func (p *observePrinter) cells(s observe.Sample) (shown, plain []string) {
	zone, count := authoritativeCell(s)
	shown, plain = []string{count}, []string{zone}
	add := func(clock observe.Clock, text, said string) {
		if d := s.LateFor(clock, ""); d > 0 {
			text, said = text+lateWords(d), said+" late"
		}
		shown, plain = append(shown, text), append(plain, said)
	}
	add(observe.Resolver, saidFor(s.Resolver), s.Resolver.Said())
	if s.Kept == nil {
		return shown, plain
	}
	words, timed := make([]string, len(s.New)), make([]string, len(s.New))
	for i, r := range s.New {
		words[i], timed[i] = r.Says(), timedReply(r)
	}
	add(observe.Kept, timedReply(*s.Kept), s.Kept.Says()+s.Kept.Opened.String())
	add(observe.New, strings.Join(timed, ", "), strings.Join(words, ", "))
	return shown, plain
}

// lateWords is that a clock shows what it said before.
func lateWords(d time.Duration) string {
	return fmt.Sprintf(" (late %s)", d.Round(100*time.Millisecond))
}

// authoritativeCell adds up what the servers say: each answer once, with the
// number of servers that give it.
func authoritativeCell(s observe.Sample) (plain, shown string) {
	if len(s.Servers) == 0 {
		return "none known", "none known"
	}
	times, late := map[string]int{}, map[string]time.Duration{}
	var order []observe.View
	for _, v := range s.Servers {
		said := v.Said()
		if times[said]++; times[said] == 1 {
			order = append(order, v)
		}
		late[said] = max(late[said], s.LateFor(observe.Authoritative, v.Server.String()))
	}
	slices.SortStableFunc(order, func(a, b observe.View) int { return times[b.Said()] - times[a.Said()] })
	var plains, showns []string
	for _, v := range order {
		said := v.Said()
		text := fmt.Sprintf("(%d/%d)", times[said], len(s.Servers))
		plain, shown := said+text, saidFor(v)+" "+text
		if late[said] > 0 {
			plain, shown = plain+" late", shown+lateWords(late[said])
		}
		plains, showns = append(plains, plain), append(showns, shown)
	}
	return strings.Join(plains, "; "), strings.Join(showns, "; ")
}

// saidFor is what a server says and for how long that may be kept.
func saidFor(v observe.View) string {
	switch {
	case !v.Outcome.Told():
		return v.Said()
	case v.Untold:
		return v.Said() + " for an unknown time"
	}
	return fmt.Sprintf("%s %ds", v.Said(), int(v.TTL.Seconds()))
}

func timedReply(r observe.Reply) string {
	if !r.Reached() {
		return r.Says()
	}
	return r.Says() + " " + tookWords(r.Took)
}

// end prints each clock as it was seen last, and where to look.
func (p *observePrinter) end(line *observe.Timeline) {
	if p.a.json {
		return
	}
	p.unfold()
	s := line.Samples[len(line.Samples)-1]
	rows := [][]string{{"SEEN LAST", "ANSWER", "KEPT FOR", "TIME", "DETAIL"}}
	for _, v := range append(slices.Clone(s.Servers), s.Resolver) {
		rows = append(rows, viewRow(v))
	}
	rows[len(rows)-1][0] = "resolver " + rows[len(rows)-1][0]
	if s.Kept != nil {
		rows = append(rows, replyRow("kept connection", *s.Kept, s.At))
	}
	for _, r := range s.New {
		rows = append(rows, replyRow("new connection", r, s.At))
	}
	fmt.Fprintln(p.a.io.Out)
	p.a.table(rows)
	for _, why := range s.Refused {
		fmt.Fprintln(p.a.io.Out, why)
	}
	fmt.Fprintf(p.a.io.Out, "\n%s, %s\n", plural(len(line.Samples), "sample", "samples"), plural(len(line.Events), "change", "changes"))
	found := line.Findings()
	if len(found) == 0 {
		fmt.Fprintln(p.a.io.Out, "no row of the decision table fits what was seen last")
		return
	}
	for _, f := range found {
		fmt.Fprintf(p.a.io.Out, "%s\n  seen: %s\n  look at: %s\n", f.Seen, f.Facts, f.Look)
	}
}

func viewRow(v observe.View) []string {
	keep := ""
	if v.Outcome.Told() {
		keep = v.TTL.String()
	}
	detail := v.Detail
	if v.Outcome.Negative() {
		detail = "held as long as the SOA of the zone says"
	}
	if v.Untold {
		keep, detail = "unknown", "it came without an SOA, which would tell how long caches keep it"
	}
	for _, alias := range v.Aliases {
		detail = strings.TrimSpace(detail + " alias of " + alias.Unrooted())
	}
	return []string{v.Server.String(), v.Said(), keep, tookWords(v.Took), detail}
}

func replyRow(name string, r observe.Reply, at time.Time) []string {
	detail := r.Detail
	if r.Reached() {
		detail = fmt.Sprintf("%s, status %d", r.Protocol, r.Status)
		if r.Requests > 1 {
			detail += fmt.Sprintf(", request %d on it, open for %s", r.Requests, at.Sub(r.Opened).Round(time.Second))
		}
		if r.Missing != "" {
			detail += "; no identity: " + r.Missing
		}
	}
	if r.Ended != nil {
		detail += "; the one before was " + r.Ended.String()
	}
	return []string{name, r.Says(), "", tookWords(r.Took), detail}
}

func tookWords(d time.Duration) string {
	if d >= 10*time.Millisecond {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fms", milliseconds(d))
}
