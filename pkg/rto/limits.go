package rto

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// limits says what the numbers do not cover: first what this config adds, then
// what is so with every DNS failover.
func limits(c Config, z Zone, spec *steer.Spec) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if !stepsAside(spec) {
		add("the last answer: nothing else can take its place, so that it stays when it dies (on_all_down %s)", spec.OnAllDown)
	}
	judges := c.judges(spec)
	if len(judges) == 0 {
		add("the verdict: nothing is probed for this name, it moves by a person's word or another name's scenario")
	}
	if slices.ContainsFunc(judges, func(j judge) bool { return j.when }) {
		add("scenarios that turn when something comes up, or when a person says so: only what falls is counted")
	}
	if i := slices.IndexFunc(judges, func(j judge) bool { return j.of > 1 }); i >= 0 {
		j := judges[i]
		add("vantages that are silent: they count as unknown after 30s, and with fewer than %d left nothing of %s goes down", j.down, j.spec.Name)
	}
	if c.Mass.AtLeast > 1 && len(judges) > 0 {
		slow := slices.MaxFunc(judges, func(a, b judge) int { return int(a.spec.Interval - b.spec.Interval) })
		add("many at once: where %d addresses or sites fail together, guard mass waits for %d more failures of each: %s more", c.Mass.AtLeast, c.Mass.Confirm,
			slow.spec.Interval*time.Duration(c.Mass.Confirm))
	}
	if c.Canary > 0 {
		add("an outage of this machine's own network: while the canary fails nothing is written")
	}
	if c.Takeover > 0 {
		add("the death of the leader in the same moment: another node takes over within %s, and then writes", Short(c.Takeover))
	}
	if z.Quiet > 0 {
		add("a start, or a call without an answer, just before: this provider compares nothing, so that for %s after it values are added and none is taken out", Short(z.Quiet))
	}
	if c.Writes.Count > 0 {
		add("a set that goes back and forth: after %d writes in %s what is back waits (guard max_writes)", c.Writes.Count, c.Writes.Window)
	}
	add("an API that fails: a write is tried again until it is accepted")
	add("kept connections: clients stay at the old address until they connect anew")
	add("resolvers and clients that keep answers beyond their TTL, and those that cached an NXDOMAIN before the name was there")
	return lines
}

// stepsAside reports whether the set has something to answer with instead when
// one of its answers dies.
func stepsAside(spec *steer.Spec) bool {
	regular := 0
	for _, a := range spec.Answers {
		if a.Mode != steer.Standby {
			regular++
		}
	}
	return regular > 1 || len(spec.DR.Answers) > 0 || spec.OnAllDown == steer.Fallback || spec.OnAllDown == steer.None
}

// waits says when, and for whose word, an answer waits on its way back beside all
// that is counted.
func (c Config) waits(spec *steer.Spec) []string {
	var lines []string
	if spec.Policy == steer.Priority && spec.Failback.Manual {
		lines = append(lines, fmt.Sprintf("failback is manual: sidestep approve %s", spec.Key.Name.Unrooted()))
	}
	for _, s := range c.Sites {
		if !s.Return.Waits() || !slices.ContainsFunc(spec.Answers, func(a steer.Answer) bool { return a.Site == s.Name }) {
			continue
		}
		word := "sidestep approve " + s.Name
		if s.Return.Mode == scenario.Fresh {
			word = fmt.Sprintf("check %s to pass, or for %s", s.Return.Check, word)
		}
		lines = append(lines, fmt.Sprintf("after an outage longer than %s site %s waits for %s", s.Return.AfterOutage, s.Name, word))
	}
	for _, name := range spec.Checks {
		if spec := c.Checks[name]; spec != nil {
			if causes := disabling(spec); causes != "" {
				lines = append(lines, fmt.Sprintf("after a failure of %s by %s the address waits for: sidestep approve ADDRESS", name, causes))
			}
		}
	}
	return lines
}

func disabling(spec *check.Spec) string {
	var causes []string
	for cause, counts := range spec.Causes {
		if counts == check.CountDisable {
			causes = append(causes, string(cause))
		}
	}
	slices.Sort(causes)
	return strings.Join(causes, " or ")
}
