package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/plan"
	"sidestep/pkg/steer"
)

// TestLines is what people see of a plan: every action, a reason for each, and
// the refusals of the guards at the end.
func TestLines(t *testing.T) {
	web, api, alias := spec("www", 5), spec("api", 2), aliases("cdn", 2)
	web.TTL = 30 * time.Second
	api.Policy, api.MaxLive, api.AskFirst = steer.Priority, 1, true
	z := zone(
		seen(web.Key, "192.0.2.1 live 30s", "192.0.2.2 paused", "192.0.2.4 live 5m", "192.0.2.5 held", "198.51.100.7 live"),
		seen(api.Key, "192.0.2.1 live", "192.0.2.2 live"),
		seen(alias.Key, "a.example.net. live"),
	)
	p := diff(z, judge(web, "NYYYY"), judge(api, "YY"), judge(alias, "NY"))
	p.Check(plan.Limits{}, z)
	want := `zone example.com.: 6 to change, plan ` + p.Checksum() + `
  - api.example.com. A pause 192.0.2.2 [stopped by guard adopt]  (web@192.0.2.2 up; lower in rank than what is live)
  ~ cdn.example.com. CNAME swap b.example.net.  (in place of a.example.net.: web@192.0.2.1 down: connect/refused)
  + www.example.com. A create 192.0.2.3  (web@192.0.2.3 up)
  + www.example.com. A resume 192.0.2.2  (web@192.0.2.2 up)
  - www.example.com. A pause 192.0.2.1  (web@192.0.2.1 down: connect/refused)
  ~ www.example.com. A ttl 192.0.2.4  (the TTL is 300s, the config says 30s)
  blocked by guard adopt: the first plan for api.example.com. A takes out 192.0.2.2, which is usable; if that is meant: sidestep approve api.example.com
  blocked by guard held: 192.0.2.5 at www.example.com. A was paused by somebody else; to resume it: sidestep approve 192.0.2.5
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// In sync does not mean that all is well: a record set of which nothing is usable
// is named, with what is done about it.
func TestLinesWhereNothingIsUsable(t *testing.T) {
	web, api := spec("www", 2), spec("api", 1)
	z := zone(seen(web.Key, "192.0.2.1 live", "192.0.2.2 paused"), seen(api.Key, "192.0.2.1 live"))
	got := diff(z, judge(web, "NN"), judge(api, "Y")).String()
	want := `zone example.com.: in sync, nothing to change
  www.example.com. A: nothing is usable: the last live set is kept
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A value that the provider would not pause is told of before it has to be: of what
// the config names, and while it is live.
func TestLinesOfWhatCannotBePaused(t *testing.T) {
	s := spec("www", 2)
	set := seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused", "198.51.100.7 live")
	for i := range set.Answers {
		set.Answers[i].Stuck = "its remark is too long"
	}
	got := diff(zone(set), judge(s, "YN")).String()
	if want := "  warning: www.example.com. A 192.0.2.1 cannot be paused: its remark is too long\n"; !strings.Contains(got, want) || strings.Count(got, "cannot be paused") != 1 {
		t.Errorf("expected once %q, got\n%s", want, got)
	}
}

func TestLinesInSync(t *testing.T) {
	s := spec("www", 1)
	p := diff(zone(seen(s.Key, "192.0.2.1 live")), judge(s, "Y"))
	if got, want := p.String(), "zone example.com.: in sync, nothing to change\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A set that waits for a person says what for, also where nothing is to be changed.
func TestLinesOfWhatWaits(t *testing.T) {
	s := spec("www", 2)
	in := judge(s, "YN")
	z := zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused"))
	wanted := steer.Decide(in, z.Sets[0])
	wanted.Waiting = "site dc1 was out for 2h"
	got := plan.Diff([]steer.Wanted{wanted}, z).String()
	if want := "waits for you: site dc1 was out for 2h; if that is meant: sidestep approve www.example.com"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}
