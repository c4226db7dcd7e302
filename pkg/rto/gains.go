package rto

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/steer"
)

// Below these nothing is proposed.
const (
	leastTTL      = 30 * time.Second // many resolvers keep answers as long in any case
	leastInterval = 2 * time.Second
	leastTimeout  = time.Second
	leastDebounce = time.Second
	leastFall     = 2
	mostGains     = 5
)

// proposal is another config, and what it costs.
type proposal struct {
	gain   Gain
	config Config
	spec   *steer.Spec
}

// gains works the way out out anew for each setting that could be cheaper, of the
// check that decides how slow the record set is.
func gains(c Config, z Zone, spec *steer.Spec, now Estimate) []Gain {
	var list []Gain
	for _, p := range c.proposals(z, spec) {
		other, before := estimate(p.config, z, p.spec).Out.Sum(), now.Out.Sum()
		p.gain.Expected, p.gain.Worst = before.Expected-other.Expected, before.Worst-other.Worst
		if p.gain.Worst > 0 && p.gain.Expected >= 0 {
			list = append(list, p.gain)
		}
	}
	slices.SortStableFunc(list, func(a, b Gain) int {
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.Expected, a.Expected))
	})
	return list[:min(len(list), mostGains)]
}

func (c Config) proposals(z Zone, spec *steer.Spec) []proposal {
	var list []proposal
	if judges := c.judges(spec); len(judges) > 0 {
		slowest := slices.MaxFunc(judges, func(a, b judge) int { return cmp.Compare(sum(a.falls()).Worst, sum(b.falls()).Worst) })
		for _, p := range checkProposals(slowest.spec) {
			list = append(list, proposal{p.gain, c.with(judges, p), spec}.named(judges, p))
		}
	}
	if to := max(leastTTL, z.MinTTL); spec.TTL > to {
		other := *spec
		other.TTL = to
		times := fmt.Sprintf("resolvers ask up to %.1f times as often", float64(spec.TTL)/float64(to))
		list = append(list, proposal{Gain{Setting: "ttl", From: spec.TTL.String(), To: to.String(), Price: times}, c, &other})
	}
	if c.Debounce > leastDebounce {
		other := c
		other.Debounce = leastDebounce
		list = append(list, proposal{Gain{Setting: "reconcile.debounce", From: c.Debounce.String(), To: leastDebounce.String(), Price: "changes that come soon after each other are written one by one"}, other, spec})
	}
	return list
}

// with is the config with a proposal for all checks of the judges that are as slow
// by that key: mostly they have it from the defaults.
func (c Config) with(judges []judge, p checkProposal) Config {
	c.Checks = maps.Clone(c.Checks)
	for _, j := range judges {
		if other := *j.spec; p.value(j.spec) == p.gain.From {
			p.change(&other)
			c.Checks[other.Name] = &other
		}
	}
	return c
}

// named names the checks that a proposal is for.
func (q proposal) named(judges []judge, p checkProposal) proposal {
	var names []string
	for _, j := range judges {
		if p.value(j.spec) == p.gain.From && !slices.Contains(names, j.spec.Name) {
			names = append(names, j.spec.Name)
		}
	}
	q.gain.Setting = p.gain.Setting + " of " + strings.Join(names, ", ")
	return q
}

// checkProposal is another value of one key of a check, and what it costs.
type checkProposal struct {
	gain   Gain
	value  func(*check.Spec) string
	change func(*check.Spec)
}

func checkProposals(s *check.Spec) []checkProposal {
	var list []checkProposal
	propose := func(key, to, price string, value func(*check.Spec) string, change func(*check.Spec)) {
		list = append(list, checkProposal{Gain{Setting: key, From: value(s), To: to, Price: price}, value, change})
	}
	if s.Fall > leastFall {
		propose("fall", strconv.Itoa(s.Fall-1), fmt.Sprintf("%d failures in a row are enough, however short", s.Fall-1),
			func(o *check.Spec) string { return strconv.Itoa(o.Fall) }, func(o *check.Spec) { o.Fall-- })
	}
	if half := s.Interval / 2; half >= leastInterval && half > s.Timeout && half > s.FastInter {
		propose("interval", half.String(), "twice as many probes",
			func(o *check.Spec) string { return o.Interval.String() }, func(o *check.Spec) { o.Interval = half })
	}
	if fast := max(leastTimeout, s.Timeout); s.FastInter == 0 && s.Fall > 1 && fast < s.Interval {
		propose("fastinter", fast.String(), "after a first failure the address is asked faster, and a short outage counts sooner",
			fastinter, func(o *check.Spec) { o.FastInter = fast })
	}
	if half := s.Timeout / 2; half >= leastTimeout {
		propose("timeout", half.String(), "an answer that takes longer is a failure",
			func(o *check.Spec) string { return o.Timeout.String() }, func(o *check.Spec) { o.Timeout = half })
	}
	return list
}

func fastinter(s *check.Spec) string {
	if s.FastInter == 0 {
		return "none"
	}
	return s.FastInter.String()
}
