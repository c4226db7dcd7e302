package scenario

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// definition is a random one without rings, and its inputs.
type definition struct {
	sites     []Site
	scenarios []Scenario
	targets   map[string][]string
	inputs    []string
}

func drawDefinition(t *rapid.T) definition {
	d := definition{targets: map[string][]string{"web": {"192.0.2.1", "192.0.2.2"}, "ssh": {"192.0.2.1", "192.0.2.3"}}}
	for name, addresses := range d.targets {
		for _, address := range addresses {
			d.inputs = append(d.inputs, name+"@"+address)
		}
	}
	slices.Sort(d.inputs)
	var terms []Term
	for check, addresses := range d.targets {
		terms = append(terms, Term{Kind: CheckUp, Name: check})
		for _, address := range addresses {
			terms = append(terms, Term{Kind: TargetUp, Name: check, Of: address})
		}
	}
	slices.SortFunc(terms, func(a, b Term) int { return slices.Compare([]byte(a.Plain()), []byte(b.Plain())) })
	for i := range rapid.IntRange(0, 2).Draw(t, "sites") {
		site := Site{Name: fmt.Sprintf("dc%d", i)}
		for j := range rapid.IntRange(1, 3).Draw(t, "signals") {
			check := rapid.SampledFrom([]string{"ssh", "web"}).Draw(t, "check")
			signal := Signal{Name: []string{"wan", "zoo", "internet"}[j], Check: check, Targets: d.targets[check]}
			signal.Need = rapid.IntRange(1, len(signal.Targets)).Draw(t, "need")
			site.Signals = append(site.Signals, signal)
			terms = append(terms, Term{Kind: SignalHolds, Name: site.Name, Of: signal.Name})
		}
		d.sites = append(d.sites, site)
		d.inputs = append(d.inputs, site.Name+".maintenance")
		terms = append(terms, Term{Kind: SiteOK, Name: site.Name}, Term{Kind: Maintenance, Name: site.Name})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "scenarios") {
		s := Scenario{Name: fmt.Sprintf("s%d", i)}
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			var group Group
			for range rapid.IntRange(1, 3).Draw(t, "terms") {
				term := rapid.SampledFrom(terms).Draw(t, "term")
				term.Not = rapid.Bool().Draw(t, "not")
				group = append(group, term)
			}
			s.Any = append(s.Any, group)
		}
		d.scenarios = append(d.scenarios, s)
		terms = append(terms, Term{Kind: Holds, Name: s.Name})
	}
	return d
}

// naive works every value out from the inputs, from the words of the rules.
func (d definition) naive(inputs map[string]Truth) map[string]Truth {
	values := map[string]Truth{}
	for _, name := range d.inputs {
		values[name] = inputs[name]
	}
	for check, addresses := range d.targets {
		values[check] = True
		for _, address := range addresses {
			values[check] = values[check].And(values[check+"@"+address])
		}
	}
	for _, site := range d.sites {
		values[site.Name] = values[site.Name+".maintenance"].Not()
		for _, signal := range site.Signals {
			worst, best := 0, 0
			for _, address := range signal.Targets {
				v := values[signal.Check+"@"+address]
				if v == True {
					worst++
				}
				if v != False {
					best++
				}
			}
			v := agreed(Of(worst >= signal.Need), Of(best >= signal.Need))
			values[site.Name+"."+signal.Name] = v
			values[site.Name] = values[site.Name].And(v)
		}
	}
	for _, s := range d.scenarios {
		values[s.Name] = False
		for _, group := range s.Any {
			all := True
			for _, term := range group {
				all = all.And(turn(values[term.Plain()], term.Not))
			}
			values[s.Name] = values[s.Name].Or(all)
		}
	}
	return values
}

// TestNetFollowsTheRules changes random inputs of random definitions, and holds
// every value, and the list of what moved, against all of it worked out anew.
func TestNetFollowsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDefinition(t)
		n := Compile(d.sites, d.scenarios, d.targets)
		inputs, before := map[string]Truth{}, d.naive(nil)
		for range rapid.IntRange(0, 8).Draw(t, "rounds") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				name := rapid.SampledFrom(d.inputs).Draw(t, "input")
				inputs[name] = rapid.SampledFrom(truths).Draw(t, "value")
				n.Set(n.Find(name), inputs[name])
			}
			moved := slices.Clone(n.Settle())
			want := d.naive(inputs)
			for text, value := range want {
				at := n.Find(text)
				if at >= 0 && n.Value(at) != value {
					t.Fatalf("%s is %s, want %s; inputs %v of %+v", text, n.Value(at), value, inputs, d)
				}
				if at >= 0 && slices.Contains(moved, at) != (value != before[text]) {
					t.Fatalf("%s was %s and is %s: moved %v", text, before[text], value, slices.Contains(moved, at))
				}
			}
			before = want
		}
	})
}

// TestKnowingMoreNeverTurnsAnAnswer: when an unknown input becomes known, what
// was known stays as it was.
func TestKnowingMoreNeverTurnsAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDefinition(t)
		n := Compile(d.sites, d.scenarios, d.targets)
		for _, name := range d.inputs {
			n.Set(n.Find(name), rapid.SampledFrom(truths).Draw(t, name))
		}
		n.Settle()
		before := map[string]Truth{}
		for text, at := range n.byText {
			before[text] = n.Value(at)
		}
		for _, name := range d.inputs {
			if at := n.Find(name); at >= 0 && n.Value(at) == Unknown && rapid.Bool().Draw(t, "told") {
				n.Set(at, Of(rapid.Bool().Draw(t, "now")))
			}
		}
		n.Settle()
		for text, value := range before {
			if now := n.Value(n.Find(text)); value != Unknown && now != value {
				t.Fatalf("%s was %s and is %s, because more is known", text, value, now)
			}
		}
	})
}

var twoSites = []Site{
	{Name: "dc1", Signals: []Signal{
		{Name: "wan", Check: "ping", Targets: []string{"203.0.113.1", "203.0.113.2"}, Need: 1},
		{Name: "access", Check: "web", Targets: []string{"203.0.113.10"}, Need: 1},
	}},
	{Name: "dc2", Signals: []Signal{{Name: "access", Check: "web", Targets: []string{"203.0.113.20"}, Need: 1}}},
}

func site(name string) Term { return Term{Kind: SiteOK, Name: name} }
func not(t Term) Term       { t.Not = true; return t }

var disaster = []Scenario{{Name: "disaster", Any: []Group{{not(site("dc1")), not(site("dc2"))}}}}

// set gives inputs values, and names what moved by its text.
func set(t *testing.T, n *Net, values map[string]Truth) []string {
	t.Helper()
	for text, value := range values {
		at := n.Find(text)
		if at < 0 {
			t.Fatalf("there is no %s", text)
		}
		n.Set(at, value)
	}
	var moved []string
	for _, at := range n.Settle() {
		for text, node := range n.byText {
			if node == at {
				moved = append(moved, text)
			}
		}
	}
	slices.Sort(moved)
	return moved
}

func allUp() map[string]Truth {
	return map[string]Truth{
		"dc1.maintenance": False, "dc2.maintenance": False, "ping@203.0.113.1": True, "ping@203.0.113.2": True,
		"web@203.0.113.10": True, "web@203.0.113.20": True,
	}
}

// TestOnlyWhatHangsOnAChangeMoves: a target that falls where another is enough
// changes nothing beyond itself.
func TestOnlyWhatHangsOnAChangeMoves(t *testing.T) {
	n := Compile(twoSites, disaster, nil)
	set(t, n, allUp())
	if got := set(t, n, map[string]Truth{"ping@203.0.113.1": False}); !slices.Equal(got, []string{"ping@203.0.113.1"}) {
		t.Errorf("one of two: moved %v", got)
	}
	got := set(t, n, map[string]Truth{"ping@203.0.113.2": Unknown})
	if want := []string{"dc1", "dc1.wan", "ping@203.0.113.2"}; !slices.Equal(got, want) {
		t.Errorf("the other is unknown: moved %v, want %v", got, want)
	}
	got = set(t, n, map[string]Truth{"dc2.maintenance": True})
	if want := []string{"dc2", "dc2.maintenance", "disaster"}; !slices.Equal(got, want) || n.Value(n.Find("disaster")) != Unknown {
		t.Errorf("maintenance: moved %v, want %v; disaster %s", got, want, n.Value(n.Find("disaster")))
	}
	got = set(t, n, map[string]Truth{"ping@203.0.113.2": False})
	if n.Value(n.Find("disaster")) != True {
		t.Errorf("moved %v, disaster %s", got, n.Value(n.Find("disaster")))
	}
}

// TestForceHidesWhatIsObserved and ends without a trace.
func TestForceHidesWhatIsObserved(t *testing.T) {
	n := Compile(twoSites, disaster, nil)
	set(t, n, allUp())
	at := n.Find("disaster")
	n.Force(at, True)
	n.Force(at, True)
	if moved := n.Settle(); len(moved) != 1 || n.Value(at) != True || n.Observed(at) != False {
		t.Errorf("moved %v, value %s, observed %s", moved, n.Value(at), n.Observed(at))
	}
	set(t, n, map[string]Truth{"web@203.0.113.10": False, "web@203.0.113.20": False})
	if n.Observed(at) != True {
		t.Errorf("observed %s while forced", n.Observed(at))
	}
	set(t, n, map[string]Truth{"web@203.0.113.20": True})
	n.Free(at)
	n.Free(at)
	if n.Settle(); n.Value(at) != False {
		t.Errorf("free: %s", n.Value(at))
	}
	n.Force(n.Find("dc1"), True)
	n.Force(n.Find("web@203.0.113.20"), False)
	if n.Settle(); n.Value(n.Find("dc1")) != True || n.Value(n.Find("dc2")) != False {
		t.Errorf("a site and an input: %s, %s", n.Value(n.Find("dc1")), n.Value(n.Find("dc2")))
	}
}

// TestStrangersAreUnknown: what names nothing, a check without targets, and a
// scenario of a ring.
func TestStrangersAreUnknown(t *testing.T) {
	ring := []Scenario{
		{Name: "a", Any: []Group{{{Kind: Holds, Name: "b"}}}}, {Name: "b", Any: []Group{{{Kind: Holds, Name: "a"}}}},
		{Name: "c", Any: []Group{{{Kind: CheckUp, Name: "idle"}, {Kind: TargetUp, Name: "web", Of: "192.0.2.9"}, site("nowhere")}}},
	}
	n := Compile(nil, ring, nil)
	for _, text := range []string{"a", "b", "c", "idle", "web@192.0.2.9", "nowhere", "never heard of"} {
		if got := n.Value(n.Find(text)); got != Unknown {
			t.Errorf("%s is %s", text, got)
		}
	}
	n.Set(-1, True)
	n.Force(-1, True)
	n.Free(-1)
	if moved := n.Settle(); len(moved) != 0 || n.Observed(-1) != Unknown || n.Below(-1) != nil {
		t.Errorf("a node that is not there moved: %v", moved)
	}
}

func TestBelow(t *testing.T) {
	scenarios := append(slices.Clone(disaster), Scenario{Name: "calm", Any: []Group{{not(Term{Kind: Holds, Name: "disaster"}), site("dc2")}}})
	n := Compile(twoSites, scenarios, nil)
	for name, want := range map[string][]string{
		"dc2":      {"dc2.maintenance", "web@203.0.113.20"},
		"dc1.wan":  {"ping@203.0.113.1", "ping@203.0.113.2"},
		"calm":     {"dc1.maintenance", "dc2.maintenance", "ping@203.0.113.1", "ping@203.0.113.2", "web@203.0.113.10", "web@203.0.113.20"},
		"disaster": {"dc1.maintenance", "dc2.maintenance", "ping@203.0.113.1", "ping@203.0.113.2", "web@203.0.113.10", "web@203.0.113.20"},
	} {
		var got []string
		for _, at := range n.Below(n.Find(name)) {
			for text, node := range n.byText {
				if node == at {
					got = append(got, text)
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s rests on %v, want %v", name, got, want)
		}
	}
}

// TestSettleWithoutAChangeCostsNothing, and neither does one that only goes back
// and forth.
func TestSettleWithoutAChangeCostsNothing(t *testing.T) {
	n := Compile(twoSites, disaster, nil)
	set(t, n, allUp())
	at := n.Find("web@203.0.113.10")
	allocs := testing.AllocsPerRun(100, func() {
		n.Set(at, True)
		n.Settle()
		n.Set(at, False)
		n.Set(at, True)
		if moved := n.Settle(); len(moved) != 0 {
			t.Errorf("moved %v", moved)
		}
		n.Set(at, False)
		n.Settle()
		n.Set(at, True)
		n.Settle()
	})
	if allocs != 0 {
		t.Errorf("%.0f allocations", allocs)
	}
}
