package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/config"
)

// drawn is a random config. What delays decisions stands apart from what makes
// them, so that one can be had without the other.
type drawn struct {
	checks    []string // NAME: {…, interval, fall, rise
	delays    []string // cooldown of each check
	sites     string
	scenarios string
	records   []string
	holds     []string // failback of each record set
	damping   string
	canary    bool
	addresses []string // that record sets rest on
	signals   []string // addresses that signals rest on
	first     string   // an answer of r0
	vantages  string   // of each check; empty where this node judges alone
}

// addresses are few, so that record sets share them.
var addresses = []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}

// drawConfig draws a config in which nothing waits for a person.
func drawConfig(t *rapid.T) drawn {
	d := drawn{canary: rapid.Bool().Draw(t, "canary")}
	for _, name := range []string{"web", "ssh"} {
		d.checks = append(d.checks, fmt.Sprintf("%s: {tcp: {port: 443}, interval: %s, fall: %d, rise: %d", name,
			rapid.SampledFrom([]string{"5s", "10s"}).Draw(t, "interval"), rapid.IntRange(1, 3).Draw(t, "fall"), rapid.IntRange(1, 3).Draw(t, "rise")))
		d.delays = append(d.delays, rapid.SampledFrom([]string{"", ", cooldown: {base: 30s, factor: 2, max: 2m}"}).Draw(t, "cooldown"))
	}
	d.drawSites(t)
	for i := range rapid.IntRange(1, 3).Draw(t, "records") {
		d.drawRecord(t, fmt.Sprintf("r%d", i))
	}
	d.damping = fmt.Sprintf("reconcile: {debounce: %s}\nguard: {mass: %s, max_writes: %s}\n",
		rapid.SampledFrom([]string{"0s", "1s", "20s"}).Draw(t, "debounce"),
		rapid.SampledFrom([]string{"0", "{percent: 50, at_least: 2, within: 1m, confirm: 2}"}).Draw(t, "mass"),
		rapid.SampledFrom([]string{"0", "{count: 1, window: 2m}", "{count: 3, window: 10m}"}).Draw(t, "max_writes"))
	return d
}

func (d *drawn) drawSites(t *rapid.T) {
	if !rapid.Bool().Draw(t, "with sites") {
		return
	}
	d.sites = "sites:\n"
	for i, site := range []string{"dc1", "dc2"} {
		d.sites += fmt.Sprintf("  %s:\n    signals:\n      wan: {check: web, targets: [10.1.%d.1, 10.1.%d.2], need: %s}\n      internet: {check: ssh, targets: [10.1.%d.3]}\n",
			site, i, i, rapid.SampledFrom([]string{"any", "all"}).Draw(t, "need"), i)
		d.signals = append(d.signals, fmt.Sprintf("10.1.%d.1", i), fmt.Sprintf("10.1.%d.2", i), fmt.Sprintf("10.1.%d.3", i))
	}
	term := func() string {
		not := rapid.SampledFrom([]string{"", "", "not "}).Draw(t, "not")
		return not + rapid.SampledFrom([]string{"dc1", "dc2", "dc1.wan", "dc2.internet", "dc1.maintenance"}).Draw(t, "term")
	}
	d.scenarios = fmt.Sprintf("scenarios:\n  calm: {any: [{all: [%s, %s]}, {all: [%s]}]}\n", term(), term(), term())
}

func (d *drawn) drawRecord(t *rapid.T, name string) {
	policy := rapid.SampledFrom([]string{"all", "priority", "priority", "weighted"}).Draw(t, "policy")
	values := rapid.Permutation(addresses).Draw(t, "answers")[:rapid.IntRange(2, 4).Draw(t, "count")]
	d.first = cmp.Or(d.first, values[0])
	var answers []string
	for _, value := range values {
		d.addresses = append(d.addresses, value)
		answer := "{value: " + value
		if d.sites != "" && rapid.Bool().Draw(t, "in a site") {
			answer += ", site: " + rapid.SampledFrom([]string{"dc1", "dc2"}).Draw(t, "site")
		}
		if d.sites != "" && rapid.IntRange(0, 3).Draw(t, "when") == 0 {
			answer += ", when: calm"
		}
		if len(answers) > 0 && rapid.IntRange(0, 4).Draw(t, "backup") == 0 {
			answer += ", mode: backup"
		}
		if policy == "weighted" {
			answer += fmt.Sprintf(", weight: %d", rapid.IntRange(1, 9).Draw(t, "weight"))
		}
		answers = append(answers, answer+"}")
	}
	minLive := rapid.IntRange(0, 2).Draw(t, "min_live")
	line := fmt.Sprintf("name: %s, ttl: 60s, check: %s, policy: %s, answers: [%s], min_live: %d", name,
		rapid.SampledFrom([]string{"web", "ssh", "[web, ssh]"}).Draw(t, "check"), policy, strings.Join(answers, ", "), minLive)
	hold := ""
	if policy == "priority" {
		line += fmt.Sprintf(", max_live: %d", rapid.IntRange(max(1, minLive), 2).Draw(t, "max_live"))
		hold = ", failback: {hold: " + rapid.SampledFrom([]string{"0s", "1m", "5m"}).Draw(t, "hold") + "}"
	}
	line += rapid.SampledFrom([]string{"", ", on_all_down: keep", ", on_all_down: open", ", fallback: [10.0.9.9]"}).Draw(t, "all down")
	if rapid.IntRange(0, 3).Draw(t, "dr") == 0 {
		line += ", dr: {answers: [10.0.8.1, 10.0.8.2]}"
		d.addresses = append(d.addresses, "10.0.8.1", "10.0.8.2")
	}
	d.records, d.holds = append(d.records, line), append(d.holds, hold)
}

// text is the config, with everything that delays decisions or with none of it.
func (d drawn) text(damped bool) string {
	var out strings.Builder
	out.WriteString("zones: [{zone: example.com, provider: route53}]\n")
	if d.vantages != "" {
		out.WriteString("node: {name: n, vantage: eu}\netcd: {endpoints: [\"http://127.0.0.1:2379\"]}\n")
	}
	if d.canary {
		out.WriteString("canary: {targets: [{tcp: \"198.51.100.53:53\"}]}\n")
	}
	if damped {
		out.WriteString(d.damping)
	} else {
		out.WriteString("reconcile: {debounce: 0s}\nguard: {mass: 0, max_writes: 0}\n")
	}
	out.WriteString("checks:\n")
	for i, line := range d.checks {
		if damped {
			line += d.delays[i]
		}
		out.WriteString("  " + line + d.vantages + "}\n")
	}
	out.WriteString(d.sites + d.scenarios + "records:\n")
	for i, line := range d.records {
		hold := ""
		if d.holds[i] != "" {
			hold = ", failback: {hold: 0s}"
		}
		if damped {
			hold = d.holds[i]
		}
		out.WriteString("  - {" + line + hold + "}\n")
	}
	return out.String()
}

func (d drawn) config(t failer, damped bool) *config.Config {
	t.Helper()
	return load(t, d.text(damped))
}

// pauses lie between two moments of a timeline, in seconds.
var pauses = []int{1, 5, 10, 17, 60, 300, 1000, 5000}

// moments draws what happens: at each moment a few events on things that differ.
func (d drawn) moments(t *rapid.T) (at []int, events [][]string) {
	now := 0
	for range rapid.IntRange(1, 12).Draw(t, "moments") {
		now += rapid.SampledFrom(pauses).Draw(t, "pause")
		at, events = append(at, now), append(events, d.events(t))
	}
	return at, events
}

func (d drawn) events(t *rapid.T) []string {
	things := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(d.addresses), d.signals...))))
	var list []string
	for _, thing := range rapid.Permutation(things).Draw(t, "things")[:rapid.IntRange(0, min(4, len(things))).Draw(t, "results")] {
		list = append(list, rapid.SampledFrom([]string{"up ", "up ", "down ", "down ", "unknown "}).Draw(t, "result")+thing)
	}
	switch rapid.IntRange(0, 5).Draw(t, "besides") {
	case 0:
		return append(list, d.override(t))
	case 1:
	default:
		if len(list) > 0 {
			return list
		}
	}
	others := []string{"lease lost", "lease won", "provider fail example.com", "provider ok example.com"}
	if d.canary {
		others = append(others, "canary fail", "canary ok")
	}
	return append(list, rapid.SampledFrom(others).Draw(t, "other"))
}

// override draws an operator's word that ends within longestWord.
func (d drawn) override(t *rapid.T) string {
	targets := slices.Concat(d.addresses, []string{"all", "r0"})
	if d.sites != "" {
		targets = append(targets, "dc1", "dc2")
	}
	end := " --reason test --for " + rapid.SampledFrom([]string{"2s", "1m", "20m"}).Draw(t, "for")
	kind := rapid.SampledFrom([]string{"drain", "force-up", "force-down", "pin", "freeze"}).Draw(t, "kind")
	switch kind {
	case "pin":
		return "override set pin r0 " + d.first + end
	case "freeze":
		return "override set freeze all" + end
	}
	return "override set " + kind + " " + rapid.SampledFrom(targets).Draw(t, "overridden") + end
}

// longestWord is when every override is over that was set, in seconds.
const longestWord = 20 * 60

// timeline writes moments down.
func timeline(at []int, events [][]string) string {
	var out strings.Builder
	for i := range at {
		for _, event := range events[i] {
			fmt.Fprintf(&out, "%ds %s\n", at[i], event)
		}
	}
	return out.String()
}

// peace ends a timeline: whatever was in the way of a write is over, and every
// address and signal is up or down for good.
func (d drawn) peace(t *rapid.T, from int) string {
	out := fmt.Sprintf("%[1]ds lease won\n%[1]ds provider ok example.com\n", from)
	if d.canary {
		out += fmt.Sprintf("%ds canary ok\n", from)
	}
	for _, thing := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(d.addresses), d.signals...)))) {
		out += fmt.Sprintf("%ds %s%s\n", from, rapid.SampledFrom([]string{"up ", "up ", "down "}).Draw(t, "in peace"), thing)
	}
	return out
}

// after plays a timeline until long after its end, and gives the world as it is then.
func after(t failer, c *config.Config, text string, decision func(*world, Decision)) *world {
	t.Helper()
	parsed, err := Parse("timeline", []byte(text), c)
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	w = newWorld(Options{
		Config: c, Timeline: parsed, Until: parsed.End() + time.Hour,
		Decision: func(d Decision) {
			if decision != nil {
				decision(w, d)
			}
		},
	})
	if err := w.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return w
}
