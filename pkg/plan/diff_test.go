package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// changes spells what a plan does without its reasons.
func changes(p plan.Plan) string {
	var list []string
	for _, c := range p.Changes() {
		text := string(c.Action) + " " + c.Value
		if c.From != "" {
			text += " for " + c.From
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestDiffTable is the table of the package's doc, row by row.
func TestDiffTable(t *testing.T) {
	for _, c := range []struct {
		row    string
		judged string
		zone   []string
		want   string
	}{
		{"live, missing", "Y", nil, "create 192.0.2.1"},
		{"live, paused by us", "Y", []string{"192.0.2.1 paused"}, "resume 192.0.2.1"},
		{"live, held", "Y", []string{"192.0.2.1 held"}, ""},
		{"live, live", "Y", []string{"192.0.2.1 live"}, ""},
		{"live, live and parked", "Y", []string{"192.0.2.1 live paused"}, ""},
		{"live, live with another TTL", "Y", []string{"192.0.2.1 live 300s"}, "ttl 192.0.2.1"},
		{"live, live with a TTL that the provider decides", "Y", []string{"192.0.2.1 live 300s own-ttl"}, ""},
		{"live, live with the provider's smallest TTL", "Y", []string{"192.0.2.1 live 90s min-90s"}, ""},
		{"live, live above the provider's smallest TTL", "Y", []string{"192.0.2.1 live 300s min-90s"}, "ttl 192.0.2.1"},
		{"live, live with the provider's largest TTL", "Y", []string{"192.0.2.1 live 30s max-30s"}, ""},
		{"live, live below the provider's largest TTL", "Y", []string{"192.0.2.1 live 10s max-30s"}, "ttl 192.0.2.1"},
		{"paused, live", "NY", []string{"192.0.2.1 live", "192.0.2.2 live"}, "pause 192.0.2.1"},
		{"paused, live and parked", "NY", []string{"192.0.2.1 live paused", "192.0.2.2 live"}, "pause 192.0.2.1"},
		{"paused, paused", "NY", []string{"192.0.2.1 paused 300s", "192.0.2.2 live"}, ""},
		{"paused, held", "NY", []string{"192.0.2.1 held", "192.0.2.2 live"}, ""},
		{"paused, missing", "NY", []string{"192.0.2.2 live"}, ""},
		{"foreign", "Y", []string{"192.0.2.1 live", "198.51.100.7 live", "198.51.100.8 paused"}, ""},
		{"nothing is known that could be answered with", "N", []string{"192.0.2.1 paused"}, ""},
		{"adds first, then by action and value", "NYYYN",
			[]string{"192.0.2.1 live", "192.0.2.2 live 1s", "192.0.2.3 paused", "192.0.2.5 live"},
			"create 192.0.2.4, resume 192.0.2.3, pause 192.0.2.1, pause 192.0.2.5, ttl 192.0.2.2"},
	} {
		s := spec("www", len(c.judged))
		s.TTL = time.Minute
		if got := changes(diff(zone(seen(s.Key, c.zone...)), judge(s, c.judged))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.row, got, c.want)
		}
	}
}

// TestDiffWeights: a weighted set gives new values their weight and corrects that
// of live ones, and of no others; another policy touches no weight.
func TestDiffWeights(t *testing.T) {
	s := spec("www", 5)
	s.Policy, s.TTL = steer.Weighted, time.Minute
	for i := range s.Answers {
		s.Answers[i].Weight = 10 * (i + 1)
	}
	z := zone(seen(s.Key, "192.0.2.1 live w10", "192.0.2.2 live w1", "192.0.2.3 paused w1", "192.0.2.4 live w1 300s"))
	want := []string{
		"+ www.example.com. A create 192.0.2.5 with weight 50  (web@192.0.2.5 up)",
		"+ www.example.com. A resume 192.0.2.3  (web@192.0.2.3 up)",
		"- www.example.com. A pause 192.0.2.1  (web@192.0.2.1 down: connect/refused)",
		"~ www.example.com. A ttl 192.0.2.4  (the TTL is 300s, the config says 60s)",
		"~ www.example.com. A weight 192.0.2.2  (the weight is 1, the config says 20)",
		"~ www.example.com. A weight 192.0.2.4  (the weight is 1, the config says 40)",
	}
	var got []string
	for _, c := range diff(z, judge(s, "NYYYY")).Changes() {
		got = append(got, c.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.Policy = steer.All
	if got := changes(diff(z, judge(s, "YYYNY"))); got != "create 192.0.2.5, resume 192.0.2.3, pause 192.0.2.4" {
		t.Errorf("policy all: got %s", got)
	}
}

// TestDiffSingle is the same for a set that can have one value.
func TestDiffSingle(t *testing.T) {
	for _, c := range []struct {
		row    string
		judged string
		zone   []string
		want   string
	}{
		{"nothing there", "YY", nil, "create a.example.net."},
		{"parked", "YY", []string{"a.example.net. paused"}, "resume a.example.net."},
		{"as wanted", "YY", []string{"a.example.net. live", "b.example.net. paused"}, ""},
		{"another TTL", "YY", []string{"a.example.net. live 10s"}, "ttl a.example.net."},
		{"swap", "NY", []string{"a.example.net. live", "b.example.net. paused"}, "swap b.example.net. for a.example.net."},
		{"swap to a new one", "NY", []string{"a.example.net. live"}, "swap b.example.net. for a.example.net."},
		{"two are live by mistake", "NY", []string{"a.example.net. live", "b.example.net. live"}, "pause a.example.net."},
		{"two are live, neither wanted", "NNY", []string{"a.example.net. live", "b.example.net. live"}, "swap c.example.net. for a.example.net."},
		{"foreign", "NY", []string{"x.example.net. live"}, "swap b.example.net. for x.example.net."},
	} {
		s := aliases("www", len(c.judged))
		s.TTL = time.Minute
		if got := changes(diff(zone(seen(s.Key, c.zone...)), judge(s, c.judged))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.row, got, c.want)
		}
	}
}

// TestDiffEmpty: on_all_down: none pauses what the config names, and no more.
func TestDiffEmpty(t *testing.T) {
	several, one := spec("www", 2), aliases("www", 2)
	several.OnAllDown, one.OnAllDown = steer.None, steer.None
	for _, c := range []struct {
		spec *steer.Spec
		zone []string
		want string
	}{
		{several, []string{"192.0.2.1 live", "192.0.2.2 live", "198.51.100.7 live"}, "pause 192.0.2.1, pause 192.0.2.2"},
		{several, []string{"192.0.2.1 paused"}, ""},
		{one, []string{"a.example.net. live"}, "pause a.example.net."},
		{one, []string{"x.example.net. live"}, ""},
		{one, nil, ""},
	} {
		if got := changes(diff(zone(seen(c.spec.Key, c.zone...)), judge(c.spec, "NN"))); got != c.want {
			t.Errorf("%v: got %q, want %q", c.zone, got, c.want)
		}
	}
}

// TestDiffFillsTheChange: what a provider is told of each.
func TestDiffFillsTheChange(t *testing.T) {
	s := spec("www", 3)
	s.TTL = 30 * time.Second
	p := diff(zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused")), judge(s, "NYY"))
	want := []record.Change{
		{Action: record.Create, Key: s.Key, Value: "192.0.2.3", TTL: 30 * time.Second},
		{Action: record.Resume, Key: s.Key, Value: "192.0.2.2", TTL: 30 * time.Second},
		{Action: record.Pause, Key: s.Key, Value: "192.0.2.1", TTL: 30 * time.Second},
	}
	for i, c := range p.Changes() {
		if c.Change != want[i] {
			t.Errorf("got %+v, want %+v", c.Change, want[i])
		}
	}
}

// TestUsableTakeAways: which changes take a usable live value out, as adopt and
// max_writes ask.
func TestUsableTakeAways(t *testing.T) {
	s := spec("www", 3)
	s.Policy, s.MaxLive = steer.Priority, 1
	for _, c := range diff(zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 live", "192.0.2.3 live")), judge(s, "YYN")).Changes() {
		if want := c.Value == "192.0.2.2"; c.Usable != want {
			t.Errorf("%s: usable %v, want %v", c, c.Usable, want)
		}
	}
	one := aliases("www", 2)
	back := diff(zone(seen(one.Key, "b.example.net. live")), judge(one, "YY")).Changes()
	out := diff(zone(seen(one.Key, "a.example.net. live")), judge(one, "NY")).Changes()
	if !back[0].Usable || out[0].Usable {
		t.Errorf("a failback takes a usable value out (%v), a failover does not (%v)", back[0].Usable, out[0].Usable)
	}
}

// What a late call took goes back in, with the TTL that it had, where nothing is to
// be taken away: not in two values where there can be one, not what is there again
// or what the config came to name, and under the guards of the set.
func TestDiffPutsBackWhatALateCallTook(t *testing.T) {
	for _, c := range []struct{ judged, zone, want string }{
		{"YY", "192.0.2.1 live, 192.0.2.2 live", "create 198.51.100.9"},
		{"YY", "192.0.2.1 live", "create 192.0.2.2, create 198.51.100.9"},
		{"NN", "192.0.2.1 live, 192.0.2.2 live", "create 198.51.100.9"},
		{"NY", "192.0.2.1 live, 192.0.2.2 live", "pause 192.0.2.1"},
		{"YY", "192.0.2.1 live, 192.0.2.2 live, 198.51.100.9 live", ""},
	} {
		s := spec("www", 2)
		z := zone(seen(s.Key, strings.Split(c.zone, ", ")...))
		z.Lost = map[record.Key][]record.Answer{s.Key: {{Value: "198.51.100.9", TTL: time.Hour}, {Value: "192.0.2.1"}}}
		p := diff(z, judge(s, c.judged))
		if got := changes(p); got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.judged, c.zone, got, c.want)
		}
		for _, change := range p.Changes() {
			if change.Value == "198.51.100.9" && (change.TTL != time.Hour || change.Reason == "" || change.Usable) {
				t.Errorf("put back as %+v", change)
			}
		}
		p.Check(plan.Limits{Frozen: map[record.Key]string{{Zone: zoneName}: "frozen"}}, z)
		if p.Pending() {
			t.Errorf("%s of %s: written while frozen: %s", c.judged, c.zone, changes(p))
		}
	}
	s := aliases("www", 1)
	z := zone(seen(s.Key, "a.example.net. live"))
	z.Lost = map[record.Key][]record.Answer{s.Key: {{Value: "x.example.net."}}}
	if p := diff(z, judge(s, "Y")); !p.InSync() {
		t.Errorf("beside the one value: %s", changes(p))
	}
}

func TestDiffShowsForeignAndHeld(t *testing.T) {
	s := spec("www", 3)
	p := diff(zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 held", "192.0.2.3 live held", "198.51.100.7 live", "198.51.100.8 held", "198.51.100.9 paused")), judge(s, "YYY"))
	if got := strings.Join(p.Sets[0].Foreign, " "); got != "198.51.100.7" {
		t.Errorf("foreign: got %s", got)
	}
	if got := strings.Join(p.Sets[0].Held, " "); got != "192.0.2.2" {
		t.Errorf("held: got %s", got)
	}
}

// TestDiffWalksSortedLists: sets that the zone does not have, that the config
// does not name, and in any order.
func TestDiffWalksSortedLists(t *testing.T) {
	a, b, c := spec("a", 1), spec("b", 1), spec("c", 1)
	z := zone(
		seen(key("0", record.A), "192.0.2.9 live"), seen(key("aa", record.A), "192.0.2.9 live"),
		seen(b.Key, "192.0.2.1 live"), seen(key("b", record.AAAA), "2001:db8::1 live"), seen(key("z", record.A), "192.0.2.9 live"),
	)
	for _, order := range [][]*steer.Spec{{a, b, c}, {c, b, a}, {b, c, a}} {
		var inputs []steer.Input
		for _, s := range order {
			inputs = append(inputs, judge(s, "Y"))
		}
		p := diff(z, inputs...)
		var got []string
		for _, s := range p.Sets {
			got = append(got, string(s.Key().Name)+" "+strings.Join(s.Seen.Live(), ","))
		}
		if text := strings.Join(got, "|"); text != "a.example.com. |b.example.com. 192.0.2.1|c.example.com. " {
			t.Errorf("got %s", text)
		}
		if found, ok := p.Find(c.Key); !ok || found.Key() != c.Key {
			t.Errorf("find c: got %v, %v", found.Key(), ok)
		}
		if _, ok := p.Find(key("d", record.A)); ok {
			t.Error("found a set that the plan does not have")
		}
	}
}

// TestCase91LeftoversAreShown: what sidestep paused, and the config names no
// longer or not any more at this name. What it names, what somebody else
// paused, and what is live is none of it.
func TestCase91LeftoversAreShown(t *testing.T) {
	s, unready := spec("www", 2), spec("zzz", 1)
	z := zone(
		seen(key("old", record.A), "192.0.2.1 live", "192.0.2.2 paused", "192.0.2.3 held"),
		seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused", "192.0.2.7 paused", "192.0.2.8 live paused"),
		seen(key("www", record.AAAA), "2001:db8::1 paused"),
		seen(unready.Key, "192.0.2.1 paused"),
	)
	p := diff(z, judge(s, "YN"))
	sum := p.Checksum()
	p.Leave([]*steer.Spec{s, unready}, z)
	want := []plan.Left{{Key: key("old", record.A), Value: "192.0.2.2"}, {Key: s.Key, Value: "192.0.2.7"}, {Key: key("www", record.AAAA), Value: "2001:db8::1"}}
	if diff := cmp.Diff(want, p.Left); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !p.InSync() || p.Pending() || p.Checksum() != sum {
		t.Error("what is only shown counts as a change")
	}
	const line = "  no longer steered: old.example.com. A 192.0.2.2 is paused by sidestep and stays so; name it in the config again to bring it back"
	if lines := p.Lines(); len(lines) != 4 || lines[1] != line {
		t.Errorf("got %q", lines)
	}
}

func TestDiffLeavesWhatItIsGiven(t *testing.T) {
	a, b := spec("a", 1), spec("b", 1)
	z := zone()
	wanted := []steer.Wanted{steer.Decide(judge(b, "Y"), record.Set{}), steer.Decide(judge(a, "Y"), record.Set{})}
	plan.Diff(wanted, z)
	if wanted[0].Spec != b || wanted[1].Spec != a {
		t.Error("the caller's list was sorted")
	}
}

func TestPlanStates(t *testing.T) {
	s := spec("www", 1)
	inSync := diff(zone(seen(s.Key, "192.0.2.1 live")), judge(s, "Y"))
	open := diff(zone(), judge(s, "Y"))
	stopped := diff(zone(), judge(s, "Y"))
	stopped.Check(plan.Limits{}, plan.Zone{Name: zoneName, Owners: map[record.Name]string{s.Key.Name: "external-dns"}})
	held := diff(zone(seen(s.Key, "192.0.2.1 held")), judge(s, "Y"))
	held.Check(plan.Limits{}, zone())
	for _, c := range []struct {
		name            string
		plan            plan.Plan
		inSync, pending bool
	}{{"in sync", inSync, true, false}, {"open", open, false, true}, {"stopped", stopped, false, false}, {"held", held, false, false}} {
		if c.plan.InSync() != c.inSync || c.plan.Pending() != c.pending {
			t.Errorf("%s: in sync %v, pending %v; want %v, %v", c.name, c.plan.InSync(), c.plan.Pending(), c.inSync, c.pending)
		}
	}
}

// TestChecksumIsStable: people copy checksums from one command to the next, so
// that two versions of the program have to agree on them.
func TestChecksumIsStable(t *testing.T) {
	s, one := spec("www", 2), aliases("alias", 2)
	s.TTL = time.Minute
	inputs := []steer.Input{judge(s, "NY"), judge(one, "NY")}
	z := zone(seen(s.Key, "192.0.2.1 live"), seen(one.Key, "a.example.net. live"))
	p := diff(z, inputs...)
	if got, want := p.Checksum(), "0dc1c29a8eae"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (plan.Plan{Zone: zoneName}).Checksum(), "45157f0118bd"; got != want {
		t.Errorf("of an empty plan: got %s, want %s", got, want)
	}
	guarded := diff(z, inputs...)
	guarded.Check(plan.Limits{MaxChanges: 1}, z)
	if guarded.Checksum() != p.Checksum() {
		t.Error("a guard changes the checksum")
	}
	reasons := diff(z, inputs...)
	reasons.Sets[0].Changes[0].Reason = "another"
	if reasons.Checksum() != p.Checksum() {
		t.Error("a reason changes the checksum")
	}
	for name, change := range map[string]func(*plan.Change){
		"action": func(c *plan.Change) { c.Action = record.Create },
		"key":    func(c *plan.Change) { c.Key.Variant = "telecom" },
		"value":  func(c *plan.Change) { c.Value = "192.0.2.9" },
		"from":   func(c *plan.Change) { c.From = "192.0.2.9" },
		"ttl":    func(c *plan.Change) { c.TTL = time.Hour },
		"weight": func(c *plan.Change) { c.Weight = 7 },
	} {
		other := diff(z, inputs...)
		change(&other.Sets[0].Changes[0])
		if other.Checksum() == p.Checksum() {
			t.Errorf("a change of %s does not change the checksum", name)
		}
	}
	other := diff(z, inputs...)
	other.Zone = "example.net."
	if other.Checksum() == p.Checksum() {
		t.Error("another zone has the same checksum")
	}
}
