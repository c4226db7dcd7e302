package metrics

import "time"

// Snapshot is a daemon at one moment. Its strings are names of the config, or words
// of the lists in table.go.
type Snapshot struct {
	Loop   Loop // all the others are of no meaning when it does not answer
	Config Config
	State  State
	Probes Probes

	Checks  []Check
	Targets []Target // empty where there are more than SeriesMost
	Guards  []string // of this node, that hold: canary, clock, mass
	Canary  string   // pass, fail or unknown; empty without one
	Sites   []Site
	Zones   []Zone
	Sets    []Set // empty where there are more than SeriesMost

	TargetsOmitted, SetsOmitted int // that have no series of their own

	Overrides map[string]Override // by kind
	Frozen    bool                // nothing at all is written
	Limits    map[string]Limit    // by provider
	Nodes     map[string]int      // those that share an etcd, by state; nil without one
	Receivers map[string]Receiver // who is told, by kind and host
}

// Receiver are those who are told of one kind at one host. The counters grow from the
// start.
type Receiver struct {
	Delivered, Dropped uint64        // messages
	Failed             uint64        // tries
	Waiting            int           // messages
	Oldest             time.Duration // that the oldest of them waits; 0 for none
}

// Loop is the loop that decides everything.
type Loop struct {
	Answers  bool
	LastTurn time.Time // when it did something last, before this scrape
}

// Config is the config in force.
type Config struct {
	Loaded  time.Time
	Refused bool // the last reload was
}

// State is what is saved.
type State struct {
	Unsaved bool // the last save failed
	Lost    bool // it was corrupt, and nothing is resumed before a person looked
}

// Probes is how punctual they are. The counters grow from the start.
type Probes struct {
	InFlight, Limit                int
	Late, Skipped, Missed, Delayed uint64
	Standstills                    uint64        // times that this process stood still
	Lag                            time.Duration // the latest start of the last 10 to 20 seconds
}

// Check is one check, with its targets added up.
type Check struct {
	Name      string
	Verdicts  map[string]int // targets by verdict
	Cooldowns map[string]int // targets by state of their cooldown
}

// Target is one target.
type Target struct {
	Check, Address string
	Up             bool
}

// Site is one site.
type Site struct {
	Name    string
	OK      bool
	Waiting bool // for a person, or a fresh check, after a long outage
}

// Zone is one zone.
type Zone struct {
	Name       string
	Listed     time.Time // zero before the first list
	Error      bool      // it could not be listed or written last
	Leads      bool      // this node may write it
	Lease      time.Duration
	Leased     bool          // Lease is what is left of it; else the lease has no end
	Leaderless time.Duration // for how long nobody is known to lead it, once that is an alarm
	Rival      bool          // another node writes it as well
	OpenCalls  int
	Pending    int            // changes that are to be written and that nothing stops
	Blocked    map[string]int // refusals by guard
	Sets       map[string]int // record sets by how many of their answers are usable: all, some, none
}

// Set is one record set.
type Set struct {
	Zone, Name, Type, Variant string
	Usable                    int
	Live                      int
	Listed                    bool // else Live is not known
}

// Override are the overrides of one kind that are in force.
type Override struct {
	Count  int
	Oldest time.Duration // since it began; 0 for none
}

// Limit is what the calls to one provider go through.
type Limit struct {
	Calls        uint64
	Waited, Held time.Duration
}
