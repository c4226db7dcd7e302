package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// Two answers of a name that rest on one target have one fault.
func TestADoubtIsToldOnce(t *testing.T) {
	target := control.ExplainedTarget{
		Target:  control.Target{ID: "web@192.0.2.9", Detail: "no route", Last: &control.Last{Result: "unknown"}},
		Results: &control.Results{},
	}
	answer := control.ExplainedAnswer{Targets: []control.ExplainedTarget{target}}
	x := explainer{new(strings.Builder), control.Explanation{}}
	got := x.doubts(control.ExplainedRecord{Answers: []control.ExplainedAnswer{answer, answer}})
	if want := []string{"the fault is OURS, not that of web@192.0.2.9: no route"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A node that cannot tell does not deny what the other vantages find.
func TestADoubtBesideOtherVantages(t *testing.T) {
	target := control.ExplainedTarget{
		Target: control.Target{ID: "web@192.0.2.9", Detail: "not counted: the canary fails", Counted: &control.Counted{Verdict: "down"}, Vantages: []control.Vantage{
			{Name: "eu", Own: true, Blind: true, Verdict: "unknown"},
			{Name: "us", Verdict: "down", Phase: "connect", Cause: "refused"},
			{Name: "asia", Verdict: "up", Silent: true},
		}, Last: &control.Last{Result: "unknown"}},
		Results: &control.Results{},
	}
	x := explainer{new(strings.Builder), control.Explanation{}}
	want := "THIS NODE cannot tell of web@192.0.2.9 (not counted: the canary fails), so that its own word does not count; others can: us down connect/refused"
	if got := x.doubt(target); !slices.Equal(got, []string{want}) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	target.Vantages[1].Verdict = "unknown"
	if got := x.doubt(target); !strings.HasSuffix(got[0], "; no other vantage can tell either") {
		t.Errorf("got %q", got)
	}
}

// A zone that was not listed yet, and a record set that is not planned yet, are
// neither an outage nor in order.
func TestExplainOfWhatIsNotKnown(t *testing.T) {
	later := time.Now().Add(time.Minute)
	for want, r := range map[string]control.Record{
		"what it answers with is not known": {Reason: "the zone was not listed yet"},
		"answers with 192.0.2.1":            {Reason: "its targets are not judged", Listed: true, Live: []string{"192.0.2.1"}},
	} {
		explained := control.ExplainedRecord{Record: r, Answers: []control.ExplainedAnswer{{Answer: control.Answer{Value: "192.0.2.2", State: "unknown"}}}}
		if r.Listed {
			explained.Answers, explained.JudgeUntil = nil, &later
		}
		out := new(strings.Builder)
		x := explainer{out, control.Explanation{Daemon: true}}
		x.record(explained)
		for _, line := range []string{want, "not known what it wants: " + r.Reason, "not known: " + r.Reason} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%q is not in\n%s", line, out)
			}
		}
		for _, line := range []string{"with nothing", "nothing else", "as wanted", "none blocks", "not live"} {
			if strings.Contains(out.String(), line) {
				t.Errorf("%q is in\n%s", line, out)
			}
		}
	}
}

// Nothing is called as wanted by a list that may be out of date.
func TestExplainByAnOldList(t *testing.T) {
	now := time.Now()
	for _, r := range []control.ExplainedRecord{
		{ListedAt: &now, WrittenAt: &now, Record: control.Record{Listed: true}},
		{ListedAt: &now, ZoneError: "list: refused", Record: control.Record{Listed: true}},
	} {
		out := new(strings.Builder)
		x := explainer{out, control.Explanation{Daemon: true, At: now}}
		x.record(r)
		if text := out.String(); strings.Contains(text, "as wanted") || !strings.Contains(text, "as listed "+timeWords(now, now)) ||
			strings.Contains(text, "too soon to show the write at") != (r.WrittenAt != nil) {
			t.Errorf("got\n%s", text)
		}
	}
	line := unchanged(control.Foreseen{Zone: "example.com.", Live: []string{"192.0.2.1"}, Error: "list: refused"})
	if !strings.Contains(line, "may be out of date") || !strings.Contains(line, "list: refused") {
		t.Errorf("got %q", line)
	}
}
