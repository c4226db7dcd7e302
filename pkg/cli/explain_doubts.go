package cli

import (
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/control"
)

// doubts says what makes a target look down, or not be judged, that is not its
// own doing. What concerns the whole node is among the notices.
func (x *explainer) doubts(r control.ExplainedRecord) []string {
	var list []string
	for _, a := range r.Answers {
		for _, t := range a.Targets {
			for _, doubt := range x.doubt(t) {
				if !slices.Contains(list, doubt) { // two answers can rest on one target
					list = append(list, doubt)
				}
			}
		}
	}
	return list
}

func (x *explainer) doubt(t control.ExplainedTarget) []string {
	switch r := t.Results; {
	case t.Last == nil || r == nil:
		return nil
	case t.Last.Result == "unknown" && t.Counted != nil:
		return []string{fmt.Sprintf("THIS NODE cannot tell of %s (%s), so that its own word does not count; %s", t.ID, t.Detail, othersSay(t.Vantages))}
	case t.Last.Result == "unknown":
		return []string{fmt.Sprintf("the fault is OURS, not that of %s: %s", t.ID, t.Detail)}
	case t.Verdict != "up" && r.Unknown > 0 && r.Unknown >= r.Fail:
		return []string{fmt.Sprintf("%d of the %d results of %s that did not pass were OUR OWN FAULT", r.Unknown, r.Unknown+r.Fail, t.ID)}
	case silent(t):
		return []string{fmt.Sprintf("%s was not probed since %s", t.ID, x.when(t.Last.At))}
	}
	return nil
}

// othersSay is what the other vantages find of a target, which this node cannot tell.
func othersSay(list []control.Vantage) string {
	var says []string
	for _, v := range list {
		if v.Own || v.Silent || v.Blind || v.Verdict == "unknown" || v.Verdict == "" {
			continue
		}
		text := v.Name + " " + v.Verdict
		if v.Phase != "" {
			text += " " + v.Phase + "/" + v.Cause
		}
		says = append(says, text)
	}
	if len(says) == 0 {
		return "no other vantage can tell either"
	}
	return "others can: " + strings.Join(says, ", ")
}
