package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// refusals spells what guards say: "guard: detail".
func refusals(p plan.Plan) string {
	var list []string
	for _, b := range p.Blocked {
		list = append(list, b.Guard+": "+b.Detail)
	}
	return strings.Join(list, "\n")
}

// failover is a plan that resumes 192.0.2.2 and pauses 192.0.2.1, which is down.
func failover(t *testing.T) (plan.Plan, *steer.Spec, plan.Zone) {
	t.Helper()
	s := spec("www", 2)
	z := zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused"))
	p := diff(z, judge(s, "NY"))
	if got := changes(p); got != "resume 192.0.2.2, pause 192.0.2.1" {
		t.Fatalf("the plan is %s", got)
	}
	return p, s, z
}

// failback is a plan that resumes 192.0.2.1 and pauses 192.0.2.2, both usable.
func failback(ask bool) (plan.Plan, *steer.Spec, plan.Zone) {
	s := spec("www", 2)
	s.Policy, s.MaxLive, s.AskFirst = steer.Priority, 1, ask
	z := zone(seen(s.Key, "192.0.2.1 held", "192.0.2.2 live"))
	in := judge(s, "YY")
	in.Resume = []string{"192.0.2.1"}
	return diff(z, in), s, z
}

// checkGuard holds a plan against limits and expects one refusal that stops all
// of it, or none.
func checkGuard(t *testing.T, name string, p plan.Plan, l plan.Limits, z plan.Zone, want string) {
	t.Helper()
	p.Sets = slices.Clone(p.Sets)
	for i := range p.Sets {
		p.Sets[i].Changes = slices.Clone(p.Sets[i].Changes)
	}
	p.Check(l, z)
	if got := refusals(p); got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
	guard, _, _ := strings.Cut(want, ":")
	for _, c := range p.Changes() {
		if c.Guard != guard {
			t.Errorf("%s: %s %s is stopped by %q, want %q", name, c.Action, c.Value, c.Guard, guard)
		}
	}
}

func TestGuardDelegation(t *testing.T) {
	p, _, z := failover(t)
	refused := func(cut string) string {
		return "delegation: www.example.com. A lies below the delegation of " + cut + ", so its answers come from other servers; steer it in that zone"
	}
	for cut, want := range map[record.Name]string{
		"www.example.com.": refused("www.example.com."), "example.com.": "", "ww.example.com.": "", "w.www.example.com.": "", "om.": "",
	} {
		z.Delegations = []record.Name{cut}
		checkGuard(t, string(cut), p, plan.Limits{}, z, want)
	}
	z.Delegations = []record.Name{"www.example.com."}
	checkGuard(t, "switched off", p, plan.Limits{Override: map[string]bool{plan.GuardDelegation: true}}, z, "")
}

func TestGuardOwned(t *testing.T) {
	p, s, z := failover(t)
	z.Owners = map[record.Name]string{"www.example.com.": "external-dns (default)"}
	const want = "owned: www.example.com. A is claimed by external-dns (default); make that tool let go of it, or: sidestep approve www.example.com"
	checkGuard(t, "claimed", p, plan.Limits{}, z, want)
	checkGuard(t, "approved", p, plan.Limits{Owned: map[record.Key]bool{s.Key: true}}, z, "")
	checkGuard(t, "another approved", p, plan.Limits{Owned: map[record.Key]bool{key("api", record.A): true}}, z, want)
	checkGuard(t, "switched off", p, plan.Limits{Override: map[string]bool{plan.GuardOwned: true}}, z, "")
	z.Owners = map[record.Name]string{"api.example.com.": "external-dns (default)"}
	checkGuard(t, "another claimed", p, plan.Limits{}, z, "")
}

func TestGuardForeign(t *testing.T) {
	s := aliases("www", 2)
	z := zone(seen(s.Key, "x.example.net. live"))
	checkGuard(t, "foreign", diff(z, judge(s, "YY")), plan.Limits{}, z,
		"foreign: www.example.com. CNAME has the value x.example.net., which the config does not name; name it or remove it")

	z.Fixed = map[record.Key]string{s.Key: "an alias of lb.example.net."}
	checkGuard(t, "fixed", diff(z, judge(s, "YY")), plan.Limits{}, z,
		"foreign: www.example.com. CNAME is an alias of lb.example.net., which has no values that could be switched; steer another name, or replace it by hand")

	beside := func(name string, set record.Set) string {
		return "foreign: www.example.com. has the " + name + " value " + set.Live()[0] +
			" as well, and a CNAME stands alone (RFC 1034 section 3.6.2); remove one of them"
	}
	address := seen(key("www", record.A), "192.0.2.7 live")
	z = zone(address, seen(key("wwww", record.A), "192.0.2.8 live"))
	checkGuard(t, "a CNAME beside an address", diff(z, judge(s, "YY")), plan.Limits{}, z, beside("A", address))

	variant := key("www", record.CNAME)
	variant.Variant = "telecom"
	alias := seen(variant, "x.example.net. live")
	two := spec("www", 2)
	z = zone(alias, seen(two.Key, "192.0.2.1 live"))
	checkGuard(t, "an address beside a CNAME", diff(z, judge(two, "NY")), plan.Limits{}, z, beside("CNAME", alias))

	z = zone(seen(variant, "x.example.net. paused"), seen(two.Key, "192.0.2.1 live"), seen(key("www", record.AAAA), "2001:db8::1 live"))
	checkGuard(t, "beside a paused CNAME, and the other family", diff(z, judge(two, "NY")), plan.Limits{}, z, "")
}

// TestStoppedValuesStopNothingElse: a held value, and one that is not resumed
// after a lost state, are refused by themselves.
func TestStoppedValuesStopNothingElse(t *testing.T) {
	s := spec("www", 3)
	z := zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 held", "192.0.2.3 live"))
	p := diff(z, judge(s, "NYY"))
	p.Check(plan.Limits{}, z)
	if got, want := refusals(p), "held: 192.0.2.2 at www.example.com. A was paused by somebody else; to resume it: sidestep approve 192.0.2.2"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := changes(p); got != "pause 192.0.2.1" || !p.Pending() {
		t.Errorf("got %s, pending %v", got, p.Pending())
	}

	in := judge(s, "NYY")
	in.Lost = true
	z = zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 paused", "192.0.2.3 live"))
	p = diff(z, in)
	p.Check(plan.Limits{}, z)
	if got, want := refusals(p), "state: the state was corrupt and overrides may be lost with it, so 192.0.2.2 at www.example.com. A is not resumed; look, then: sidestep approve all"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	one := aliases("www", 2)
	z = zone(seen(one.Key, "a.example.net. live", "b.example.net. held"))
	p = diff(z, judge(one, "NY"))
	p.Check(plan.Limits{}, z)
	if got := refusals(p); !strings.HasSuffix(got, "to resume it: sidestep approve b.example.net") {
		t.Errorf("a name is approved without its dot: %s", got)
	}
}

func TestGuardAdopt(t *testing.T) {
	const want = "adopt: the first plan for www.example.com. A takes out 192.0.2.2, which is usable; if that is meant: sidestep approve www.example.com"
	p, s, z := failback(true)
	checkGuard(t, "first plan", p, plan.Limits{}, z, want)
	checkGuard(t, "approved", p, plan.Limits{Adopted: map[record.Key]bool{s.Key: true}}, z, "")
	checkGuard(t, "switched off", p, plan.Limits{Override: map[string]bool{plan.GuardAdopt: true}}, z, "")
	p, _, z = failback(false)
	checkGuard(t, "adopt: auto", p, plan.Limits{}, z, "")
	p, s, z = failover(t)
	s.AskFirst = true
	checkGuard(t, "takes out what is not usable", p, plan.Limits{}, z, "")

	one := aliases("www", 2)
	one.AskFirst = true
	z = zone(seen(one.Key, "b.example.net. live"))
	checkGuard(t, "swap", diff(z, judge(one, "YY")), plan.Limits{}, z,
		"adopt: the first plan for www.example.com. CNAME takes out b.example.net., which is usable; if that is meant: sidestep approve www.example.com")
}

// TestMarkedValueProvesAdoption: a configured value that we paused, and nothing
// else.
func TestMarkedValueProvesAdoption(t *testing.T) {
	s := spec("www", 3)
	s.Policy, s.MaxLive, s.AskFirst = steer.Priority, 1, true
	for words, refused := range map[string]bool{"192.0.2.3 paused": false, "192.0.2.3 held": true, "198.51.100.7 paused": true, "192.0.2.3 live": true} {
		z := zone(seen(s.Key, "192.0.2.1 live", "192.0.2.2 live", words))
		p := diff(z, judge(s, "YYY"))
		p.Check(plan.Limits{}, z)
		if got := len(p.Blocked) > 0; got != refused {
			t.Errorf("beside %s: refused %v, want %v", words, got, refused)
		}
	}
}

func TestGuardMaxWrites(t *testing.T) {
	const want = "max_writes: www.example.com. A was written 2 times in the last 10m0s, and max_writes is 2; " +
		"it goes on when the first of them is older than that, or: sidestep reconcile --override-guard max_writes"
	p, s, z := failback(false)
	limits := func(count int, ago ...time.Duration) plan.Limits {
		l := plan.Limits{MaxWrites: plan.Writes{Count: count, Window: 10 * time.Minute}, Now: time.Hour, Written: map[record.Key][]time.Duration{}}
		for _, d := range ago {
			l.Written[s.Key] = append(l.Written[s.Key], time.Hour-d)
		}
		return l
	}
	checkGuard(t, "two of two", p, limits(2, 9*time.Minute, 0), z, want)
	checkGuard(t, "one has left the window", p, limits(2, 10*time.Minute, 0), z, "")
	checkGuard(t, "about to leave it", p, limits(2, 10*time.Minute-1, 0), z, want)
	checkGuard(t, "one of two", p, limits(2, 0), z, "")
	checkGuard(t, "off", p, limits(0, 0, 0, 0), z, "")
	off := limits(2, 1, 0)
	off.Override = map[string]bool{plan.GuardMaxWrites: true}
	checkGuard(t, "switched off", p, off, z, "")
	p, _, z = failover(t)
	checkGuard(t, "an outage never waits", p, limits(2, 1, 0), z, "")
	z = zone(seen(s.Key, "192.0.2.1 paused"))
	checkGuard(t, "a set without an answer is one", diff(z, judge(s, "YY")), limits(2, 1, 0), z, "")
	one := aliases("www", 2)
	z = zone(seen(one.Key, "a.example.net. live"))
	l := limits(2)
	l.Written[one.Key] = []time.Duration{time.Hour, time.Hour}
	checkGuard(t, "nor a swap away from it", diff(z, judge(one, "NY")), l, z, "")
}

func TestGuardMaxChanges(t *testing.T) {
	a, b, c := spec("a", 2), spec("b", 2), spec("c", 2)
	z := zone(seen(a.Key, "192.0.2.1 live"), seen(b.Key, "192.0.2.1 live"), seen(c.Key, "192.0.2.1 live"))
	z.Owners = map[record.Name]string{"c.example.com.": "external-dns"}
	p := diff(z, judge(a, "YY"), judge(b, "YY"), judge(c, "YY"))
	check := func(name string, l plan.Limits, want string) {
		t.Helper()
		l.Owned = map[record.Key]bool{c.Key: true}
		checkGuard(t, name, p, l, z, want)
	}
	want := "max_changes: the plan changes 3 record sets, and max_changes is 2; to let it through once: sidestep approve example.com --plan " + p.Checksum()
	check("too many", plan.Limits{MaxChanges: 2}, want)
	check("approved", plan.Limits{MaxChanges: 2, Plan: p.Checksum()}, "")
	check("another was approved", plan.Limits{MaxChanges: 2, Plan: "0123456789ab"}, want)
	check("just as many", plan.Limits{MaxChanges: 3}, "")
	check("off", plan.Limits{}, "")
	check("switched off", plan.Limits{MaxChanges: 2, Override: map[string]bool{plan.GuardMaxChanges: true}}, "")

	// A record set that another guard stops does not count, and keeps its guard.
	p.Check(plan.Limits{MaxChanges: 1}, z)
	if got := refusals(p); !strings.Contains(got, "owned: c.example.com.") || !strings.Contains(got, "the plan changes 2 record sets, and max_changes is 1") {
		t.Errorf("got %s", got)
	}
	for _, s := range p.Sets {
		want := plan.GuardMaxChanges
		if s.Key() == c.Key {
			want = plan.GuardOwned
		}
		if s.Changes[0].Guard != want {
			t.Errorf("%s: stopped by %s, want %s", s.Key(), s.Changes[0].Guard, want)
		}
	}
	if last := p.Blocked[len(p.Blocked)-1]; last.Key != (record.Key{Zone: zoneName}) {
		t.Errorf("the whole plan is refused, and the refusal is about %+v", last.Key)
	}
}

// TestGravestGuardFirst: one refusal of a record set is enough.
func TestGravestGuardFirst(t *testing.T) {
	p, s, z := failback(true)
	z.Delegations = []record.Name{"www.example.com."}
	z.Owners = map[record.Name]string{"www.example.com.": "external-dns"}
	l := plan.Limits{
		MaxWrites: plan.Writes{Count: 1, Window: time.Hour}, Now: time.Hour, Written: map[record.Key][]time.Duration{s.Key: {time.Hour}},
		Override: map[string]bool{},
	}
	for _, guard := range []string{plan.GuardDelegation, plan.GuardOwned, plan.GuardAdopt, plan.GuardMaxWrites} {
		p, _, _ = failback(true)
		p.Check(l, z)
		if len(p.Blocked) != 1 || p.Blocked[0].Guard != guard {
			t.Errorf("got %s, want %s", refusals(p), guard)
		}
		l.Override[guard] = true
	}
}

// TestCheckLeavesWhatIsInSync: without a change no guard has anything to refuse.
func TestCheckLeavesWhatIsInSync(t *testing.T) {
	s := spec("www", 1)
	z := zone(seen(s.Key, "192.0.2.1 live"))
	z.Owners = map[record.Name]string{"www.example.com.": "external-dns"}
	z.Delegations = []record.Name{"www.example.com."}
	p := diff(z, judge(s, "Y"))
	p.Check(plan.Limits{MaxChanges: 1}, z)
	if !p.InSync() {
		t.Errorf("got %s", refusals(p))
	}
}

// TestGuardCanary: a blind node writes nothing, whatever the other guards say, and
// does not know that anything is in sync.
func TestGuardCanary(t *testing.T) {
	const why = "the canary fails"
	p, _, z := failover(t)
	checkGuard(t, "blind", p, plan.Limits{Blind: why}, z, "canary: "+why)
	checkGuard(t, "cannot be switched off", p, plan.Limits{Blind: why, Override: map[string]bool{plan.GuardCanary: true}}, z, "canary: "+why)

	z.Owners = map[record.Name]string{"www.example.com.": "external-dns"}
	p.Check(plan.Limits{Blind: why}, z)
	if len(p.Blocked) != 2 || p.Blocked[0].Guard != plan.GuardCanary || p.Sets[0].Changes[0].Guard != plan.GuardOwned {
		t.Errorf("beside another guard: got %s", refusals(p))
	}

	s := spec("www", 1)
	z = zone(seen(s.Key, "192.0.2.1 live"))
	p = diff(z, judge(s, "Y"))
	p.Check(plan.Limits{Blind: why}, z)
	if p.InSync() || p.Pending() {
		t.Errorf("without a change: in sync %v, pending %v", p.InSync(), p.Pending())
	}
}

// TestCase36WeightedSiblingsAreNoOneSet: two sets of one name and type, told apart
// by their identifiers blue (weight 90, 192.0.2.1) and green (weight 10,
// 192.0.2.2). A config that names no identifier touches neither of them; one that
// names blue changes blue alone, and leaves its weight as it is.
func TestCase36WeightedSiblingsAreNoOneSet(t *testing.T) {
	blue, green := key("w", record.A), key("w", record.A)
	blue.Variant, green.Variant = "blue", "green"
	z := zone(
		seen(blue, "192.0.2.1 live w90", "192.0.2.3 live w90"),
		seen(green, "192.0.2.2 live w10"),
	)
	plain := spec("w", 2)
	p := diff(z, judge(plain, "NY"))
	p.Check(plan.Limits{}, z)
	if p.Pending() || !p.Stopped(plan.GuardForeign, plain.Key) {
		t.Errorf("without an identifier: pending %v\n%s", p.Pending(), p)
	}
	if want := `"blue" is one of them`; !strings.Contains(p.String(), want) {
		t.Errorf("expected %q in\n%s", want, p)
	}

	own := spec("w", 3)
	own.Key = blue
	p = diff(z, judge(own, "NNY"))
	p.Check(plan.Limits{}, z)
	if got := changes(p); got != "pause 192.0.2.1" || !p.Pending() {
		t.Errorf("blue alone: got %s\n%s", got, p)
	}
	for _, c := range p.Changes() {
		if c.Key != blue || c.Weight != 0 {
			t.Errorf("got %+v", c.Change)
		}
	}
}
