package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
)

// noAnswer is how a target is down where the timeline does not say it.
var noAnswer = found{outcome: check.Fail, phase: check.PhaseConnect, cause: check.CauseTimeout}

var phases = []string{
	string(check.PhaseResolve), string(check.PhaseConnect), string(check.PhaseTLS), string(check.PhaseSend),
	string(check.PhaseHeaders), string(check.PhaseBody), string(check.PhaseAssert),
}

var causes = []string{
	string(check.CauseRefused), string(check.CauseTimeout), string(check.CauseReset), string(check.CauseUnreachable),
	string(check.CauseCertificate), string(check.CauseAuth), string(check.CauseStatus), string(check.CauseMismatch),
	string(check.CauseTooLarge), string(check.CauseLoss), string(check.CauseLocal),
}

// result is up, down or unknown TARGET [PHASE/CAUSE] [from VANTAGE]: what the probes
// of a target find from now on, at every node or at that of one vantage.
func (p *parser) result(verb string, words []string) (action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("expected a target, got nothing; a target is an address, CHECK@ADDRESS or SITE.SIGNAL")
	}
	targets, err := p.names.targets(words[0])
	if err != nil {
		return nil, err
	}
	finds := noAnswer
	switch verb {
	case "up":
		finds = found{outcome: check.Pass}
	case "unknown":
		finds = found{check.Unknown, check.PhaseConnect, check.CauseLocal}
	}
	rest := words[1:]
	if len(rest) > 0 && rest[0] != "from" && verb != "up" {
		if finds.phase, finds.cause, err = parseWhere(rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	vantage, targets, rest, err := p.from(rest, targets)
	if err != nil {
		return nil, err
	}
	if err := nothing(rest); err != nil {
		return nil, err
	}
	return func(w *world) error {
		for _, n := range w.nodes() {
			if vantage != "" && vantage != n.decides.Vantage {
				continue
			}
			for _, id := range targets {
				if t := n.targets[id]; t != nil {
					t.finds, t.times = finds, 0
				}
			}
		}
		return nil
	}, nil
}

func parseWhere(text string) (check.Phase, check.Cause, error) {
	phase, cause, both := strings.Cut(text, "/")
	if !both {
		return "", "", fmt.Errorf("expected PHASE/CAUSE such as %s/%s, got %s; a comment begins with #", noAnswer.phase, noAnswer.cause, shown(text))
	}
	if !slices.Contains(phases, phase) {
		return "", "", fmt.Errorf("expected PHASE/CAUSE, got the phase %s; %s", shown(phase), near(phase, phases))
	}
	if !slices.Contains(causes, cause) {
		return "", "", fmt.Errorf("expected PHASE/CAUSE, got the cause %s; %s", shown(cause), near(cause, causes))
	}
	return check.Phase(phase), check.Cause(cause), nil
}

// provider is provider fail|ok ZONE.
func (p *parser) provider(_ string, words []string) (action, error) {
	fails, rest, err := oneOf(words, "fail", "ok")
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("expected a zone, got nothing; known: %s", strings.Join(p.names.zoneNames(), ", "))
	}
	name, err := p.names.zone(rest[0])
	if err != nil {
		return nil, err
	}
	return func(w *world) error {
		w.zones[name].setFailing(fails)
		return nil
	}, nothing(rest[1:])
}

// canary is canary fail|ok: none of its targets answers, or all do.
func (p *parser) canary(_ string, words []string) (action, error) {
	fails, rest, err := oneOf(words, "fail", "ok")
	if err != nil {
		return nil, err
	}
	if !p.names.hasCanary {
		return nil, fmt.Errorf("the config has no canary; add canary: {targets: […]}, or remove the line")
	}
	return func(w *world) error {
		w.canary.fails = fails
		return nil
	}, nothing(rest)
}

// lease is lease lost|won: whether this node may write.
func (p *parser) lease(_ string, words []string) (action, error) {
	lost, rest, err := oneOf(words, "lost", "won")
	if err != nil {
		return nil, err
	}
	return func(w *world) error {
		w.leads = !lost
		return nil
	}, nothing(rest)
}

// restart is restart [DOWNTIME]: the process ends now, and another begins after
// the downtime with what the first one saved.
func (p *parser) restart(_ string, words []string) (action, error) {
	downtime := time.Duration(0)
	if len(words) > 0 {
		var err error
		if downtime, err = ParseTime(words[0]); err != nil {
			return nil, fmt.Errorf("downtime: %w", err)
		}
		words = words[1:]
	}
	return func(w *world) error { return w.stop(downtime) }, nothing(words)
}

// approve is approve TARGET [--plan CHECKSUM].
func (p *parser) approve(_ string, words []string) (action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("expected what is approved, got nothing: a record set's name, an address, a zone, or all")
	}
	ev := engine.Approve{Target: p.names.complete(words[0]), By: "timeline"}
	rest := words[1:]
	if err := p.names.approvable(words[0], len(rest) > 0); err != nil {
		return nil, err
	}
	if len(rest) > 0 && rest[0] == "--plan" {
		if len(rest) == 1 {
			return nil, fmt.Errorf("expected a checksum after --plan, got nothing")
		}
		ev.Plan, rest = rest[1], rest[2:]
	}
	return func(w *world) error { return w.say(ev) }, nothing(rest)
}
