package config

import (
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// Config is a whole config file, validated, with every default filled in. It is
// read-only once made and may be shared.
type Config struct {
	File      string // as it was given to Load or Parse
	Node      Node
	State     State
	Control   Control
	Leader    Leader
	Etcd      Etcd
	Reconcile Reconcile
	Canary    Canary
	Guard     Guard
	Adopt     Adopt
	Zones     []Zone                 // in the order of the file, each name once
	Checks    map[string]*check.Spec // by name
	TLSFiles  map[string]TLSFiles    // of HTTP and TCP checks, by name
	Sites     []scenario.Site        // sorted by name
	Scenarios []scenario.Scenario    // in the order of the file, without rings
	Records   []*steer.Spec          // in the order of the file, each key once
	Vantages  Vantages
	Notify    []Notify // in the order of the file, each URL once
	Ping      Ping
	Sources   Sources
	Warnings  []Warning // sorted by position
}

// Node says who this sidestep is.
type Node struct {
	Name    string // the host name unless given; goes into the zone's stamp
	Vantage string // where it looks from; the node's name unless given
}

// State is where the daemon keeps what it has to remember.
type State struct {
	Dir    string        // absolute
	MaxAge time.Duration // older verdicts are forgotten at a start; 0 takes none up
}

// Control is how commands and people reach the daemon.
type Control struct {
	Socket string  // absolute path of the unix socket, at most 107 bytes
	Listen string  // ADDR:PORT of the API over TCP; empty for off
	Tokens []Token // who may use it, each name once
	TLS    TLS
}

// Token is what a client of the API over TCP shows.
type Token struct {
	Name  string
	Role  string // read, operate
	Token provider.Secret
}

// TLS is what the API over TCP shows its clients; empty where it speaks none.
type TLS struct {
	Files     TLSFiles
	Cert, Key []byte // in PEM; empty where no secrets were read
}

// Lock is what keeps two sidesteps from writing at once.
type Lock string

// The locks of this version.
const (
	LockFile Lock = "file" // a lock file in State.Dir: one host
	LockZone Lock = "zone" // the stamp in each zone: any number of hosts
	LockEtcd Lock = "etcd" // a lease in Config.Etcd
	LockNone Lock = "none" // none at all; only with Leader.IAmAlone
)

// Leader is how the one node that may write is chosen.
type Leader struct {
	Lock     Lock
	IAmAlone bool // the operator's word that no other sidestep writes

	// Of LockZone; 0 is the default, which depends on the zone's provider.
	Heartbeat time.Duration // how often a leader renews its stamp
	Takeover  time.Duration // a stamp unchanged for so long is taken over
	Poll      time.Duration // how often a standby looks

	// Of LockEtcd.
	Lease       time.Duration // a leader that is silent for so long is replaced
	Safety      time.Duration // how long a new leader takes nothing away; when SafetyGiven, else it follows from the zone
	SafetyGiven bool
}

// Reconcile is the rhythm of writing.
type Reconcile struct {
	Debounce  time.Duration // from the first change to the write
	Every     time.Duration // the zone is compared again though nothing changed
	RetryBase time.Duration // first pause after an error that may pass
	RetryMax  time.Duration // longest such pause
}

// Canary is what is probed to find out whether this node sees the world at all;
// without Targets there is none.
type Canary struct {
	Targets []CanaryTarget // in the order of the file
	Need    int            // how many of them must answer, 1 to their number
}

// CanaryTarget is one of them. Its Spec is named by what the file says of it,
// ADDR:PORT or the URL; Address is dialled, an address or a name.
type CanaryTarget struct {
	Spec    *check.Spec
	Address string
}

// Guard is what stands between plan and write.
type Guard struct {
	Mass       Mass
	MaxChanges int // record sets in one plan of a zone; 0 is no limit
	MaxWrites  MaxWrites
}

// Mass holds many addresses up that fail together; an AtLeast of 0 holds none.
type Mass struct {
	Percent int           // strictly more of all addresses than this
	AtLeast int           // and at least so many
	Within  time.Duration // going down in this time
	Confirm int           // each needs so many more failures in a row
}

// MaxWrites limits the writes of one record set to Count in any Window; a Count
// of 0 is no limit.
type MaxWrites struct {
	Count  int
	Window time.Duration
}

// Adopt is what happens to the first plan that takes a usable live value out
// of a record set.
type Adopt string

// The ways to adopt.
const (
	AdoptAsk  Adopt = "ask"  // a person approves it
	AdoptAuto Adopt = "auto" // it is written like any other
)

// Zone is one zone and how its provider is reached.
type Zone struct {
	Name     record.Name
	Provider string            // a key of the provider.Registry
	Settings provider.Settings // Limiter, Logger and Client are for the caller to set
	Verify   Verify
	Position Position
}

// Verify is who is asked after a write whether the answer arrived.
type Verify struct {
	Servers []string // ADDR:PORT; empty asks those that the adapter knows
	DNS     bool     // whether anybody is asked over the DNS at all
}

// Sources says where in the file things stand, for messages, and how.
type Sources struct {
	Zones   map[record.Name][]byte // the entry of each zone as YAML, without a secret that stood in it, its paths absolute
	Leader  Position               // of leader.lock; the zero value when the file does not say
	Safety  Position               // of leader.safety
	Checks  map[string]Position
	Records map[record.Key]Position
}

// Zone finds a zone by its canonical name; nil when the config has none such.
func (c *Config) Zone(name record.Name) *Zone {
	for i := range c.Zones {
		if c.Zones[i].Name == name {
			return &c.Zones[i]
		}
	}
	return nil
}
