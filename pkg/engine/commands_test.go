package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// do carries out one command of a script. Names are inside example.com unless
// they end in a dot; a type may be left out and is A then.
//
// What is to be steered, in force with the next start or reload:
//
//	config debounce=1s every=5m max_changes=2 max_writes=6/10m zones=example.com.,example.net.
//	config canary=dns,page need=1     # canary=none: there is none
//	config mass=50/3/2m/2             # percent, at_least, within, confirm; mass=none: off
//	config pauses=off                 # cooldowns are left out
//	config chance=7                   # pauses are shortened by chance, 0 (at first) not at all
//	config built=2026-01-02T12:00:10Z # a clock that shows less is wrong
//	check web interval=10s fall=3 rise=2 cooldown=30s/2/2m causes=auth:disable,local:fail
//	set www A policy=priority check=web answers=192.0.2.1,192.0.2.2 max_live=1 min_live=1
//	    on_all_down=fallback fallback=192.0.2.9 failback=manual hold=5m ttl=60s adopt=ask
//	    dr=192.0.2.40,192.0.2.41 when=fire if_none=yes
//	    # an answer may say more: 192.0.2.1|PROBE+site:dc1+when:dc1-usable+standby+weight:10
//	set www A [telecom] …             # a variant; everywhere where a name and a type stand
//	unset www A
//	site dc1 wan=ping:203.0.113.1;203.0.113.2/any access=web:203.0.113.10 maintenance=reason return=approve/30m
//	    # return=fresh:CHECK/30m; a signal's need is any when it is not said
//	scenario dc1-usable dc1.wan dc1.access !dc1.maintenance | dc1.lan
//
// What the world does:
//
//	zone www A: 192.0.2.1 live ttl=60s weight=10, 192.0.2.2 paused, 192.0.2.3 held
//	seen www A: 192.0.2.1 live        # the same, and then the zone is listed
//	look [ZONE]                       # the zone is listed
//	owner www external-dns/default    # another tool claims the name
//	delegate sub                      # the name has name servers of its own
//	start
//	result web@192.0.2.1 SSF?T web@192.0.2.2 SSSSS every=10s
//	                                  # one probe of each at a time: S passes, F is refused, T times out, ? is our own fault,
//	                                  # C has a certificate that is not valid now, A is refused
//	                                  # for want of credentials; took=2s: it began so long ago;
//	                                  # ago=1s: it is heard of so late
//	canary SF [began=1s]              # a round of the canary is over, which began so long ago; one letter for each target
//	advance 10s                       # time passes, with the ticks that the engine asked for
//	write [ZONE]                      # the reconciler carries out the newest work
//	done [ZONE]                       # older work came to its end, and wrote nothing
//	fail ZONE WORDS [after=1]         # the reconciler could not, after so many changes; it keeps the work
//	approve TARGET [plan=shown]       # plan=shown stands for the checksum that view has now
//	override drain 192.0.2.1 for=30m [at=1h] [reason=new_kernel]
//	override pin www.example.com. 192.0.2.1,192.0.2.2 for=forever
//	clear 192.0.2.1 [kind=drain]
//	restart [downtime=30s] [lost] [max_age=15m]
//	retake                            # what was stored is taken up again, as when this node becomes the leader
//	reload
//	view
func (w *world) do(command string) error {
	verb, rest, _ := strings.Cut(command, " ")
	words, named := fields(strings.Fields(rest))
	switch verb {
	case "config":
		return w.doConfig(named)
	case "check":
		return w.doCheck(words, named)
	case "set":
		return w.doSet(words, named)
	case "site":
		return w.doSite(words, named)
	case "scenario":
		w.doScenario(words)
	case "unset":
		w.config.Sets = slices.DeleteFunc(slices.Clone(w.config.Sets), func(s *steer.Spec) bool { return s.Key == keyOf(words) })
	case "zone":
		return w.doZone(rest)
	case "seen":
		if err := w.doZone(rest); err != nil {
			return err
		}
		w.step(engine.Seen{Zone: w.seen(home)})
	case "look":
		w.step(engine.Seen{Zone: w.seen(zoneOf(words))})
	case "owner":
		w.zones[home].Owners[keyOf(words).Name] = words[1]
	case "delegate":
		w.zones[home].Delegations = append(w.zones[home].Delegations, keyOf(words).Name)
	case "start":
		w.engine = engine.New(w.config, w.clock())
		w.step(engine.Tick{})
	case "result":
		return w.doResult(words, named)
	case "canary":
		return w.doCanary(words, named)
	case "advance":
		d, err := time.ParseDuration(words[0])
		w.advance(d)
		return err
	case "write":
		return w.write(zoneOf(words))
	case "done":
		w.step(engine.Done{Zone: w.seen(zoneOf(words))})
	case "fail":
		return w.doFail(words, named)
	case "approve":
		w.doApprove(words, named)
	case "override":
		return w.doOverride(words, named)
	case "clear":
		w.step(engine.Clear{Target: words[0], Kind: override.Kind(named["kind"]), By: "ann"})
	case "restart":
		return w.doRestart(words, named)
	case "retake":
		w.engine.Restore(w.engine.State(), false, false)
		w.step(engine.Tick{})
	case "reload":
		w.step(engine.Configure{Config: w.config})
	case "view":
		w.view()
	default:
		return fmt.Errorf("unknown command %q", verb)
	}
	return nil
}

// keyOf reads "www A".
func keyOf(words []string) record.Key {
	name, err := record.ParseNameIn(words[0], home)
	if err != nil {
		name, err = record.ParseName(words[0])
	}
	key := record.Key{Zone: home, Name: name, Type: record.A}
	for _, zone := range []record.Name{"example.net."} {
		if name.In(zone) {
			key.Zone = zone
		}
	}
	if len(words) > 1 && err == nil {
		if t, err := record.ParseType(words[1]); err == nil {
			key.Type = t
		}
	}
	if last := words[len(words)-1]; len(words) > 1 && strings.HasPrefix(last, "[") {
		key.Variant = strings.Trim(last, "[]")
	}
	return key
}

func zoneOf(words []string) record.Name {
	if len(words) == 0 {
		return home
	}
	return record.Name(words[0])
}

// reader reads named words and keeps the first error.
type reader struct {
	named map[string]string
	err   error
}

func (r *reader) duration(key string, otherwise time.Duration) time.Duration {
	text, found := r.named[key]
	if !found {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	r.note(err)
	return d
}

func (r *reader) number(key string, otherwise int) int {
	text, found := r.named[key]
	if !found {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	r.note(err)
	return n
}

func (r *reader) list(key string) []string {
	if r.named[key] == "" {
		return nil
	}
	return strings.Split(r.named[key], ",")
}

// mass reads "50/3/2m/2", or "none".
func (r *reader) mass(text string) engine.Mass {
	if text == "none" {
		return engine.Mass{}
	}
	var m engine.Mass
	var within string
	_, err := fmt.Sscanf(strings.ReplaceAll(text, "/", " "), "%d %d %s %d", &m.Percent, &m.AtLeast, &within, &m.Confirm)
	r.note(err)
	m.Within, err = time.ParseDuration(within)
	r.note(err)
	return m
}

// cooldown reads "30s/2/2m".
func (r *reader) cooldown(key string) *check.Cooldown {
	if r.named[key] == "" {
		return nil
	}
	var base, longest string
	c := &check.Cooldown{}
	_, err := fmt.Sscanf(strings.ReplaceAll(r.named[key], "/", " "), "%s %d %s", &base, &c.Factor, &longest)
	r.note(err)
	for text, to := range map[string]*time.Duration{base: &c.Base, longest: &c.Max} {
		*to, err = time.ParseDuration(text)
		r.note(err)
	}
	return c
}

func (r *reader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (w *world) doConfig(named map[string]string) error {
	r := &reader{named: named}
	w.config.Debounce = r.duration("debounce", w.config.Debounce)
	w.config.Every = r.duration("every", w.config.Every)
	w.config.Pace = r.duration("pace", w.config.Pace)
	w.config.MaxChanges = r.number("max_changes", w.config.MaxChanges)
	w.config.NoCooldown = w.config.NoCooldown || named["pauses"] == "off"
	if text := named["mass"]; text != "" {
		w.config.Mass = r.mass(text)
	}
	w.chance = uint64(r.number("chance", int(w.chance)))
	if targets := r.list("canary"); targets != nil {
		w.config.Canary = engine.CanarySpec{Targets: targets, Need: r.number("need", 1)}
	}
	if named["canary"] == "none" {
		w.config.Canary = engine.CanarySpec{}
	}
	if named["built"] != "" {
		built, err := time.Parse(time.RFC3339, named["built"])
		r.note(err)
		w.config.Built = built
	}
	if count, window, found := strings.Cut(named["max_writes"], "/"); found {
		n, err := strconv.Atoi(count)
		r.note(err)
		d, err := time.ParseDuration(window)
		r.note(err)
		w.config.MaxWrites = plan.Writes{Count: n, Window: d}
	}
	if zones := r.list("zones"); zones != nil {
		w.config.Zones = nil
		for _, text := range zones {
			name := record.Name(text)
			w.config.Zones = append(w.config.Zones, name)
			if w.zones[name] == nil {
				w.zones[name] = &plan.Zone{Name: name, Owners: map[record.Name]string{}}
			}
		}
	}
	return r.err
}

func (w *world) doCheck(words []string, named map[string]string) error {
	r := &reader{named: named}
	spec := &check.Spec{
		Name: words[0], Kind: check.KindTCP, TCP: &check.TCP{Port: 80},
		Interval: r.duration("interval", 10*time.Second), Timeout: r.duration("timeout", 5*time.Second),
		Fall: r.number("fall", 3), Rise: r.number("rise", 3), Cooldown: r.cooldown("cooldown"),
	}
	for _, text := range r.list("causes") {
		if spec.Causes == nil {
			spec.Causes = check.Causes{}
		}
		cause, counts, _ := strings.Cut(text, ":")
		spec.Causes[check.Cause(cause)] = check.Counts(counts)
	}
	checks := map[string]*check.Spec{spec.Name: spec}
	for name, other := range w.config.Checks {
		if name != spec.Name {
			checks[name] = other
		}
	}
	w.config.Checks = checks
	return r.err
}

func (w *world) doSet(words []string, named map[string]string) error {
	r := &reader{named: named}
	spec := &steer.Spec{
		Key: keyOf(words), Policy: steer.Policy(named["policy"]), TTL: r.duration("ttl", 0),
		MinLive: r.number("min_live", 1), OnAllDown: steer.OnAllDown(named["on_all_down"]),
		Checks: r.list("check"), AskFirst: named["adopt"] == "ask",
	}
	if spec.Policy == steer.Priority {
		spec.MaxLive = r.number("max_live", 1)
		spec.Failback = steer.Failback{Manual: named["failback"] == "manual", Hold: r.duration("hold", 5*time.Minute)}
	}
	if spec.OnAllDown == "" {
		spec.OnAllDown = steer.Keep
	}
	for _, text := range r.list("answers") {
		answer, err := parseAnswer(spec.Key.Type, text)
		r.note(err)
		spec.Answers = append(spec.Answers, answer)
	}
	for _, text := range r.list("dr") {
		answer, err := parseAnswer(spec.Key.Type, text)
		r.note(err)
		answer.Mode = steer.Reserve
		spec.DR.Answers = append(spec.DR.Answers, answer)
	}
	spec.DR.When = named["when"]
	spec.DR.IfNone = len(spec.DR.Answers) > 0 && (named["if_none"] == "yes" || named["when"] == "" && named["if_none"] == "")
	for _, text := range r.list("fallback") {
		value, err := record.ParseValue(spec.Key.Type, text)
		r.note(err)
		spec.Fallback = append(spec.Fallback, value)
	}
	w.config.Sets = append(slices.DeleteFunc(slices.Clone(w.config.Sets), func(s *steer.Spec) bool { return s.Key == spec.Key }), spec)
	return r.err
}

// doZone replaces what the model of the zone has under one key.
func (w *world) doZone(text string) error {
	head, values, found := strings.Cut(text, ":")
	if !found {
		return fmt.Errorf("expected NAME TYPE: VALUES, got %q", text)
	}
	set := record.Set{Key: keyOf(strings.Fields(head))}
	for value := range strings.SplitSeq(values, ",") {
		words, named := fields(strings.Fields(value))
		if len(words) == 0 {
			continue
		}
		canonical, err := record.ParseValue(set.Key.Type, words[0])
		if err != nil {
			return err
		}
		r := &reader{named: named}
		set.Answers = append(set.Answers, record.Answer{
			Value: canonical, TTL: r.duration("ttl", 60*time.Second), Weight: r.number("weight", 1),
			Live: slices.Contains(words, "live"), Paused: slices.Contains(words, "paused"), Held: slices.Contains(words, "held"),
		})
		if r.err != nil {
			return r.err
		}
	}
	zone := w.zones[set.Key.Zone]
	zone.Sets = slices.DeleteFunc(zone.Sets, func(s record.Set) bool { return s.Key == set.Key })
	if len(set.Answers) > 0 {
		zone.Sets = append(zone.Sets, set)
	}
	record.SortSets(zone.Sets)
	return nil
}

// doResult lets targets be probed side by side, and time pass between probes.
func (w *world) doResult(words []string, named map[string]string) error {
	r := &reader{named: named}
	every := r.duration("every", 10*time.Second)
	for i := range len(words[1]) {
		if i > 0 {
			w.advance(every)
		}
		var results []check.Result
		for j := 0; j < len(words); j += 2 {
			if len(words[j+1]) != len(words[1]) {
				return fmt.Errorf("%s has %d results, %s has %d", words[j], len(words[j+1]), words[0], len(words[1]))
			}
			result := w.result(words[j], words[j+1][i])
			result.Start -= r.duration("took", 0) + r.duration("ago", 0)
			result.End -= r.duration("ago", 0)
			results = append(results, result)
		}
		w.step(engine.Results{Results: results})
	}
	return r.err
}

func (w *world) doCanary(words []string, named map[string]string) error {
	r := &reader{named: named}
	round := engine.Canary{Start: w.clock().Boot - r.duration("began", 0)}
	if len(words[0]) != len(w.config.Canary.Targets) {
		return fmt.Errorf("the canary has %d targets, got %s", len(w.config.Canary.Targets), words[0])
	}
	for i, name := range w.config.Canary.Targets {
		round.Results = append(round.Results, w.result(name+"@198.51.100.1", words[0][i]))
	}
	w.step(round)
	return r.err
}

func (w *world) result(target string, letter byte) check.Result {
	name, address, _ := strings.Cut(target, "@")
	r := check.Result{Target: check.Target{Check: name, Address: address}, Start: bootStart + w.now, End: bootStart + w.now}
	switch letter {
	case 'S':
		r.Outcome = check.Pass
	case 'F':
		r.Outcome, r.Phase, r.Cause = check.Fail, check.PhaseConnect, check.CauseRefused
		r.Detail = "connection refused"
	case 'A':
		r.Outcome, r.Phase, r.Cause = check.Fail, check.PhaseHeaders, check.CauseAuth
		r.Detail = "status 401"
	case 'C':
		r.Outcome, r.Phase, r.Cause, r.Clock = check.Fail, check.PhaseTLS, check.CauseCertificate, true
		r.Detail = "certificate has expired"
	case 'T':
		r.Outcome, r.Phase, r.Cause = check.Fail, check.PhaseHeaders, check.CauseTimeout
		r.Detail = "no answer"
	default:
		r.Outcome, r.Phase, r.Cause = check.Unknown, check.PhaseConnect, check.CauseLocal
		r.Detail = "no route"
	}
	return r
}

func (w *world) doFail(words []string, named map[string]string) error {
	r := &reader{named: named}
	zone := zoneOf(words)
	if n := r.number("after", 0); n > 0 {
		open := openChanges(w.work[zone].Plan(w.seen(zone)))
		wrote := engine.Wrote{Zone: zone, Applied: open[:min(n, len(open))]}
		for _, c := range wrote.Applied {
			apply(w.zones[zone], c.Change)
		}
		w.step(wrote)
	}
	w.step(engine.Failed{Zone: zone, Err: strings.Join(words[1:], " ")})
	return r.err
}

func (w *world) doApprove(words []string, named map[string]string) {
	ev := engine.Approve{Target: words[0], Plan: named["plan"], By: "ann"}
	if ev.Plan == "shown" {
		for _, z := range w.engine.View(w.clock()).Zones {
			if z.Name.Unrooted() == strings.TrimSuffix(words[0], ".") {
				ev.Plan = z.Plan.Checksum()
			}
		}
	}
	w.step(ev)
}

func (w *world) doOverride(words []string, named map[string]string) error {
	r := &reader{named: named}
	now := w.clock().Wall
	o := override.Override{Kind: override.Kind(words[0]), Target: words[1], By: "ann", Reason: "test", Said: now}
	if named["reason"] != "" {
		o.Reason = strings.ReplaceAll(named["reason"], "_", " ")
	}
	if len(words) > 2 {
		o.Values = strings.Split(words[2], ",")
	}
	o.From = now.Add(r.duration("at", 0))
	hold, err := override.ParseFor(named["for"])
	r.note(err)
	if hold > 0 {
		o.Until = o.From.Add(hold)
	}
	w.step(engine.Override{Override: o})
	return r.err
}

func (w *world) doRestart(words []string, named map[string]string) error {
	r := &reader{named: named}
	downtime, maxAge := r.duration("downtime", time.Second), r.duration("max_age", 15*time.Minute)
	if r.err != nil {
		return r.err
	}
	return w.restart(downtime, maxAge, slices.Contains(words, "lost"))
}
