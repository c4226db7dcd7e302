package daemon

import (
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
)

// describeVantages is what vantages make of a target, and what each of them says.
func describeVantages(v engine.VantagesView) (*control.Counted, []control.Vantage) {
	counted := &control.Counted{
		Verdict: string(v.Verdict), Since: v.Since, Phase: string(v.Phase), Cause: string(v.Cause), Down: v.Down, Detail: v.Words,
	}
	list := make([]control.Vantage, 0, len(v.Says))
	for _, s := range v.Says {
		list = append(list, control.Vantage{
			Name: s.Name, Own: s.Own, Verdict: string(s.Verdict), Phase: string(s.Phase), Cause: string(s.Cause),
			Since: orNull(s.Since), At: orNull(s.At), Silent: s.Silent, Blind: s.Blind,
		})
	}
	return counted, list
}

// orNull is a time, nil for none.
func orNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// vantageNotices say which other nodes do not take part.
func vantageNotices(view engine.View) []string {
	var silent, blind []string
	for _, v := range view.Vantages {
		switch {
		case v.Silent && v.At.IsZero():
			silent = append(silent, v.Name+" (never heard)")
		case v.Silent:
			silent = append(silent, fmt.Sprintf("%s (for %s)", v.Name, view.Now.Sub(v.At).Round(time.Second)))
		case v.Blind:
			blind = append(blind, v.Name)
		}
	}
	var notices []string
	if len(silent) > 0 {
		notices = append(notices, fmt.Sprintf("silent: %s: what these vantages said counts as unknown, neither as up nor as down; look at their nodes, and at what connects them with this one", strings.Join(silent, ", ")))
	}
	if len(blind) > 0 {
		notices = append(notices, fmt.Sprintf("blind: %s: the canary of these vantages fails, and what they say counts as unknown; look at the network of their nodes", strings.Join(blind, ", ")))
	}
	return notices
}
