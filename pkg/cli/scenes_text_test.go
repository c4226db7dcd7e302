package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/control"
)

func yes() *bool { holds := true; return &holds }
func no() *bool  { holds := false; return &holds }

// What a person reads of sites and scenarios in status.
func TestSitesInStatus(t *testing.T) {
	var out strings.Builder
	a := &app{io: IO{Out: &out}}
	a.printSites([]control.Site{
		{Name: "dc1", State: "no-wan", Signals: map[string]*bool{"wan": no(), "lan": nil, "access": yes()}, Detail: "waits for approval"},
		{Name: "dc2", State: "maintenance", Signals: map[string]*bool{"wan": yes()}, Maintenance: "power", Detail: "waits for data"},
	}, []control.Scenario{{Name: "up", Holds: nil, Any: [][]control.Term{
		{{Term: "dc1", Holds: no()}, {Term: "not dc2.wan", Holds: nil}}, {{Term: "web", Holds: yes()}},
	}}})
	const want = `
SITE  STATE        SIGNALS
dc1   no-wan       access yes, lan unknown, wan no  waits for approval
dc2   maintenance  wan yes                          power; waits for data

SCENARIO  HOLDS    TERMS
up        unknown  (dc1) no and (not dc2.wan) unknown, or (web) yes
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	out.Reset()
	if a.printSites(nil, nil); out.String() != "" {
		t.Errorf("without sites: %q", out.String())
	}
}

// And of an answer in explain: its site, and its scenario down to the last term.
func TestScenariosInExplain(t *testing.T) {
	record := control.ExplainedRecord{
		Sites: []control.Site{{Name: "dc1", State: "ok"}, {Name: "dc2", State: "no-lan"}},
		Scenarios: []control.Scenario{
			{Name: "inner", Holds: no(), Any: [][]control.Term{{{Term: "dc2.lan", Holds: no(), Detail: "ssh@192.0.2.2 down: connect/refused; 1 of 1 needed"}}}},
			{Name: "up", Holds: no(), Any: [][]control.Term{
				{{Term: "dc1", Holds: yes(), Detail: "its state is ok"}, {Term: "inner", Holds: no()}},
				{{Term: "not dc1.maintenance", Holds: yes()}, {Term: "web", Holds: nil, Detail: "web@192.0.2.1 not judged yet"}},
			}},
		},
	}
	var out strings.Builder
	x := explainer{out: &out}
	x.around(control.ExplainedAnswer{Answer: control.Answer{Value: "192.0.2.1", Site: "dc1"}, When: "up"}, record)
	x.around(control.ExplainedAnswer{Answer: control.Answer{Value: "192.0.2.2"}}, record)
	const want = `    site        dc1 ok
    scenario    up does not hold
      when      yes      dc1: its state is ok
      and       no       inner
      or when   yes      not dc1.maintenance
      and       unknown  web: web@192.0.2.1 not judged yet
      scenario  inner does not hold
        when    no       dc2.lan: ssh@192.0.2.2 down: connect/refused; 1 of 1 needed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
