package scenario

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Site is one data centre, as the config describes it. It is read-only once
// made.
type Site struct {
	Name        string
	Signals     []Signal // each name once
	Maintenance string   // why it is out, though healthy; empty when it is not
	Return      Return
}

// Signal is one dimension of a site's reach: wan, lan, access, internet, or any
// other name but "maintenance".
type Signal struct {
	Name    string
	Check   string
	Targets []string // canonical addresses, each once
	Need    int      // how many of them must be up, 1 to their number
}

// Return is how a site comes back after a long outage.
type Return struct {
	AfterOutage time.Duration // outages longer than this
	Mode        ReturnMode    // empty means Auto
	Check       string        // Fresh: the check that proves current data
}

// ReturnMode is what a site waits for when it comes back.
type ReturnMode string

// The ways back.
const (
	Auto    ReturnMode = "auto"    // it waits for nothing
	Approve ReturnMode = "approve" // a person's yes
	Fresh   ReturnMode = "fresh"   // a check that passes, or a person's yes
)

// Waits reports whether there is anything to wait for after a long outage.
func (r Return) Waits() bool { return r.Mode == Approve || r.Mode == Fresh }

// Scenario is a boolean condition: it holds when one of its groups does.
type Scenario struct {
	Name string
	Any  []Group // at least one
}

// Terms lists the terms of all groups, as they are written; of no scenario, none.
func (s *Scenario) Terms() []Term {
	var terms []Term
	if s == nil {
		return nil
	}
	for _, group := range s.Any {
		terms = append(terms, group...)
	}
	return terms
}

// Group holds when all of its terms do, of which it has at least one.
type Group []Term

// Kind is what a term is about.
type Kind uint8

// The kinds of terms.
const (
	SiteOK      Kind = iota + 1 // SITE: its state is ok
	SignalHolds                 // SITE.SIGNAL
	Maintenance                 // SITE.maintenance
	TargetUp                    // CHECK@ADDRESS
	CheckUp                     // CHECK: all its targets are up
	Holds                       // SCENARIO
)

// Term is one condition of a group.
type Term struct {
	Not  bool
	Kind Kind
	Name string // of the site, the check or the scenario
	Of   string // the signal, or the address
}

// MaintenanceWord is what stands for a signal in SITE.maintenance.
const MaintenanceWord = "maintenance"

// Plain is the term without its "not", as it is written in a config.
func (t Term) Plain() string {
	switch t.Kind {
	case SignalHolds:
		return t.Name + "." + t.Of
	case Maintenance:
		return t.Name + "." + MaintenanceWord
	case TargetUp:
		return t.Name + "@" + t.Of
	case SiteOK, CheckUp, Holds:
	}
	return t.Name
}

// String is the term as it is written in a config.
func (t Term) String() string {
	if t.Not {
		return "not " + t.Plain()
	}
	return t.Plain()
}

// Positive is the term without its "not".
func (t Term) Positive() Term {
	t.Not = false
	return t
}

// SortSignals puts signals into the order in which a site's state looks at
// them: internet, access, wan, lan, then others by name.
func SortSignals(signals []Signal) {
	slices.SortFunc(signals, func(a, b Signal) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), strings.Compare(a.Name, b.Name))
	})
}

var ranks = [...]string{"internet", "access", "wan", "lan"}

func rank(signal string) int {
	if i := slices.Index(ranks[:], signal); i >= 0 {
		return i
	}
	return len(ranks)
}

// The states of a site; "no-NAME" is another, for each signal.
const (
	StateOK          = "ok"
	StateUnknown     = "unknown"
	StateMaintenance = "maintenance"
)

// State is the state of a site: maintenance, no-NAME of the first false signal
// in the order of SortSignals, unknown when none is false and one is unknown,
// or ok. value gives the value of each signal by its name.
func (s Site) State(maintenance bool, value func(signal string) Truth) string {
	if maintenance {
		return StateMaintenance
	}
	signals := slices.Clone(s.Signals)
	SortSignals(signals)
	state := StateOK
	for _, signal := range signals {
		switch value(signal.Name) {
		case False:
			return "no-" + signal.Name
		case Unknown:
			state = StateUnknown
		case True:
		}
	}
	return state
}

// Rings lists the scenarios that rest on themselves, as rings: the first name
// again at the end. Every ring of scenarios contains a name of one that is
// listed; no scenario is in two of them.
func Rings(scenarios []Scenario) [][]string {
	r := ringFinder{byName: map[string]Scenario{}, state: map[string]int{}}
	for _, s := range scenarios {
		r.byName[s.Name] = s
	}
	for _, s := range scenarios {
		r.visit(s.Name)
	}
	return r.rings
}

type ringFinder struct {
	byName map[string]Scenario
	state  map[string]int // 1 while it is on the path, 2 once it is done
	path   []string
	rings  [][]string
}

func (r *ringFinder) visit(name string) {
	switch r.state[name] {
	case 1:
		at := slices.Index(r.path, name)
		ring := append(slices.Clone(r.path[at:]), name)
		if !slices.ContainsFunc(ring, r.listed) {
			r.rings = append(r.rings, ring)
		}
		return
	case 2:
		return
	}
	r.state[name] = 1
	r.path = append(r.path, name)
	for _, group := range r.byName[name].Any {
		for _, term := range group {
			if term.Kind == Holds {
				r.visit(term.Name)
			}
		}
	}
	r.path = r.path[:len(r.path)-1]
	r.state[name] = 2
}

func (r *ringFinder) listed(name string) bool {
	return slices.ContainsFunc(r.rings, func(ring []string) bool { return slices.Contains(ring, name) })
}
