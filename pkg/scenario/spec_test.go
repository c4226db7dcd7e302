package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSiteStates: maintenance, then the first false signal in the order
// internet, access, wan, lan, others by name, then unknown, then ok.
func TestSiteStates(t *testing.T) {
	var s Site
	for _, name := range []string{"zoo", "lan", "access", "backup", "internet", "wan"} {
		s.Signals = append(s.Signals, Signal{Name: name})
	}
	for _, c := range []struct{ down, unknown, want string }{
		{"", "", "ok"},
		{"", "zoo", "unknown"},
		{"internet access wan lan backup zoo", "", "no-internet"},
		{"access wan lan backup zoo", "internet", "no-access"},
		{"wan lan backup zoo", "", "no-wan"},
		{"lan backup zoo", "", "no-lan"},
		{"backup zoo", "wan", "no-backup"},
		{"zoo", "", "no-zoo"},
	} {
		value := func(name string) Truth {
			switch {
			case slices.Contains(strings.Fields(c.down), name):
				return False
			case slices.Contains(strings.Fields(c.unknown), name):
				return Unknown
			}
			return True
		}
		if got := s.State(false, value); got != c.want {
			t.Errorf("down %q, unknown %q: got %s, want %s", c.down, c.unknown, got, c.want)
		}
		if got := s.State(true, value); got != "maintenance" {
			t.Errorf("in maintenance: got %s", got)
		}
	}
}

func TestTermsAreWrittenAsInAConfig(t *testing.T) {
	for _, c := range []struct {
		term Term
		want string
	}{
		{Term{Kind: SiteOK, Name: "dc1"}, "dc1"},
		{Term{Kind: SignalHolds, Name: "dc1", Of: "wan"}, "dc1.wan"},
		{Term{Not: true, Kind: Maintenance, Name: "dc1"}, "not dc1.maintenance"},
		{Term{Kind: TargetUp, Name: "web", Of: "2001:db8::1"}, "web@2001:db8::1"},
		{Term{Not: true, Kind: CheckUp, Name: "web"}, "not web"},
		{Term{Kind: Holds, Name: "disaster"}, "disaster"},
	} {
		if got := c.term.String(); got != c.want || c.term.Positive().Not {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if (Return{}).Waits() || (Return{Mode: Auto}).Waits() || !(Return{Mode: Approve}).Waits() || !(Return{Mode: Fresh}).Waits() {
		t.Error("what waits is wrong")
	}
}

func TestRings(t *testing.T) {
	define := func(text string) (list []Scenario) {
		for line := range strings.SplitSeq(text, "; ") {
			name, rest, _ := strings.Cut(line, ":")
			s := Scenario{Name: name, Any: []Group{{{Kind: CheckUp, Name: "web"}}}}
			for word := range strings.FieldsSeq(rest) {
				s.Any = append(s.Any, Group{{Not: true, Kind: Holds, Name: word}})
			}
			list = append(list, s)
		}
		return list
	}
	for _, c := range []struct{ define, want string }{
		{"a: b c; b: c; c:", "[]"},
		{"a: a", "[[a a]]"},
		{"a: b; b: c; c: a; d: b", "[[a b c a]]"},
		{"d: b; a: b; b: c; c: a", "[[b c a b]]"},
		{"a: b; b: a c; c: d; d: c; e: stranger", "[[a b a] [c d c]]"},
	} {
		if got := fmt.Sprint(Rings(define(c.define))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.define, got, c.want)
		}
	}
}
