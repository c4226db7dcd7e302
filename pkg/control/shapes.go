package control

import (
	"slices"
	"time"
)

// Plan is the answer of plan and of reconcile.
type Plan struct {
	Zones     []ZonePlan `json:"zones"`
	Undecided []string   `json:"undecided"` // targets that could not be judged
	Waiting   []SiteWait `json:"waiting"`   // sites with answers in these zones that wait after a long outage
}

// SiteWait is a site that waits, and for what, in words with the way on.
type SiteWait struct {
	Site   string `json:"site"`
	Detail string `json:"detail"`
}

// ZonePlan is one zone's plan and, for reconcile, what became of it.
type ZonePlan struct {
	Zone     string       `json:"zone"`
	InSync   bool         `json:"in_sync"`
	Checksum string       `json:"checksum"`
	Changes  []Change     `json:"changes"`
	Blocked  []Blocked    `json:"blocked"`
	Applied  []Change     `json:"applied,omitempty"`
	TookOver string       `json:"took_over,omitempty"` // the node from which reconcile --take-over took the zone
	Unheard  string       `json:"unheard,omitempty"`   // that words said there are not known here, and where to find them
	Verified *bool        `json:"verified,omitempty"`
	Rival    string       `json:"rival,omitempty"` // another node writes the zone as well: who, and what to do
	Stamp    *StampChange `json:"stamp"`           // of plan: sidestep's own record, which is written before all else; null for nothing, as where this node holds it
	Waits    *Wait        `json:"waits"`           // until when what it takes away waits at least, and why; null for nothing
	Detail   string       `json:"detail,omitempty"`
	Error    string       `json:"error,omitempty"`
	Exit     int          `json:"exit"` // what this zone alone would make the command exit with
	Left     []Left       `json:"no_longer_steered"`
	Text     []string     `json:"text,omitempty"` // the plan for people, a line each
}

// StampChange is a stamp that is written. It is no change of what the zone answers: a
// zone is in sync without it.
type StampChange struct {
	Action string `json:"action"` // create, take-over
	Name   string `json:"name"`   // of the TXT record
	From   string `json:"from"`   // the node whose stamp it takes the place of; empty for none
	Reason string `json:"reason"`
}

// Left is a value that sidestep paused and that the config names no longer.
type Left struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Variant string `json:"variant"`
	Value   string `json:"value"`
	Text    string `json:"text"` // for people, with the way back
}

// Change is one change of a plan.
type Change struct {
	Action  string `json:"action"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Variant string `json:"variant"`
	Value   string `json:"value"`
	From    string `json:"from,omitempty"`
	Weight  *int   `json:"weight,omitempty"` // of create and weight, where the policy goes by weights
	Reason  string `json:"reason"`
	Guard   string `json:"guard,omitempty"` // the guard that stops it
}

// Blocked is one refusal of a guard.
type Blocked struct {
	Guard  string `json:"guard"`
	Detail string `json:"detail"`
}

// Status is the answer of status.
type Status struct {
	Node      string     `json:"node"`
	Leader    Leader     `json:"leader"`
	Nodes     []Node     `json:"nodes"` // those that share an etcd; empty without one
	Frozen    *Frozen    `json:"frozen"`
	Zones     []Zone     `json:"zones"`
	Records   []Record   `json:"records"`
	Targets   []Target   `json:"targets"`
	Sites     []Site     `json:"sites"`
	Scenarios []Scenario `json:"scenarios"`
	Overrides []Override `json:"overrides"`
	Notices   []string   `json:"notices"` // what a person should know first
	Writes    []Write    `json:"writes"`  // the latest, newest first
	Schedule  Schedule   `json:"schedule"`
	Config    ConfigInfo `json:"config"`
	Canary    *Canary    `json:"canary"` // null without one
}

// Node is one of several that share an etcd.
type Node struct {
	Name    string     `json:"name"`
	Vantage string     `json:"vantage"` // where it looks from
	Host    string     `json:"host"`
	Release string     `json:"release"` // version of sidestep
	Config  string     `json:"config"`  // digest of what it steers, and how
	Since   time.Time  `json:"since"`   // when its process began, by its own clock
	Own     bool       `json:"own"`     // it is the node that answers
	Heard   *time.Time `json:"heard"`   // when it was heard last, by this node's clock; null when it was not yet
	Silent  bool       `json:"silent"`  // it was not heard for too long, or is gone without a word
	Blind   bool       `json:"blind"`   // its canary fails
	Mute    string     `json:"mute"`    // why what it sees counts for itself alone; empty when it counts here
}

// Schedule is how punctually this node probes. The counters grow from the start
// of the daemon.
type Schedule struct {
	Targets  int     `json:"targets"`
	InFlight int     `json:"in_flight"`
	Waiting  int     `json:"waiting"` // for a place, because all are taken
	Limit    int     `json:"limit"`   // the most probes in flight
	Needed   int     `json:"needed"`  // the most that these targets can want
	Started  uint64  `json:"started"`
	Skipped  uint64  `json:"skipped"` // the last probe of the target was still under way
	Missed   uint64  `json:"missed"`  // this process did not run
	Delayed  uint64  `json:"delayed"` // waited for a place
	Late     uint64  `json:"late"`    // began more than an interval late: unknown when they failed
	Gaps     uint64  `json:"gaps"`    // times that this process stood still
	LagMS    float64 `json:"lag_ms"`  // the latest start of the last 10 to 20 seconds
}

// Leader says who may write: of all zones, or of one that has a lease of its own.
type Leader struct {
	State  string     `json:"state"` // leader, standby, none, two-writers
	Holder string     `json:"holder"`
	Until  *time.Time `json:"until"`           // until when the leader may believe it; null without an end
	Since  *time.Time `json:"since,omitempty"` // of the state none: when this node knew somebody to lead last, or began
	Detail string     `json:"detail,omitempty"`
}

// Frozen is the main switch, when it is off.
type Frozen struct {
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until"`
}

// Zone is one zone and what its provider promises.
type Zone struct {
	Zone      string `json:"zone"`
	Provider  string `json:"provider"`
	Pause     string `json:"pause"` // native, rename, parked
	Atomic    bool   `json:"atomic"`
	Fenced    bool   `json:"fenced"`
	OpenCalls int    `json:"open_calls"`
	Error     string `json:"error"`
	Listed    bool   `json:"listed"`
	Left      []Left `json:"no_longer_steered"`

	Leader    *Leader       `json:"leader,omitempty"` // where each zone has a lease of its own
	ListedAt  *time.Time    `json:"listed_at"`        // of the list that all is told from; null before the first
	WrittenAt *time.Time    `json:"written_since"`    // the last write, while that list may not show it; else null
	Checked   *Verification `json:"verification"`     // what its name servers said after the last write of this process; null before one
	Waits     *Wait         `json:"waits"`            // what it waits for with the next write, or would with what takes an answer away; null for nothing
}

// Wait is what only time can end.
type Wait struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"` // for people
}

// Record is one record set.
type Record struct {
	Name    string         `json:"name"`
	Type    string         `json:"type"`
	Variant string         `json:"variant"`
	Policy  string         `json:"policy"`
	Listed  bool           `json:"listed"` // false: what it answers with is not known, and nothing is planned
	Live    []string       `json:"live"`
	Paused  []string       `json:"paused"`
	Wanted  []string       `json:"wanted"`
	Held    []string       `json:"held"`
	Foreign []string       `json:"foreign"`
	Weights map[string]int `json:"weights"` // of the live values, as the provider has them; empty unless the policy is weighted
	Reason  string         `json:"reason"`
	Blocked []Blocked      `json:"blocked"`
	Pending []Change       `json:"pending"` // what would be written now
	Waiting string         `json:"waiting"` // what a person has to approve, in words
	Answers []Answer       `json:"answers"`

	HoldEnds *time.Time `json:"hold_ends"` // when a failback becomes due; null when none waits for time
}

// Answer is one configured value of a record set.
type Answer struct {
	Value    string `json:"value"`
	Site     string `json:"site"`
	State    string `json:"state"`   // live, paused, missing; unknown where the zone was not listed yet, and where a saved state does not tell
	Verdict  string `json:"verdict"` // up, down, suspected (guard mass), unknown: what its probes say
	Usable   bool   `json:"usable"`
	Override string `json:"override"`
	Mode     string `json:"mode"`   // standby, backup, dr; empty for an ordinary answer
	Rank     int    `json:"rank"`   // from 1 on, by the policy priority, among the answers or among those of dr; else 0
	Weight   *int   `json:"weight"` // what the config says; null unless the policy is weighted
	Reason   string `json:"reason"` // what is known of it, and why that does not settle what becomes of it
}

// Target is one thing probed by one check.
type Target struct {
	ID       string    `json:"id"`
	Check    string    `json:"check"`
	Address  string    `json:"address"`
	Verdict  string    `json:"verdict"` // up, down, suspected (guard mass), unknown: also when nothing was heard for long
	Phase    string    `json:"phase"`
	Cause    string    `json:"cause"`
	Detail   string    `json:"detail"`
	Since    time.Time `json:"since"`
	Passes   int       `json:"passes"`
	Fails    int       `json:"fails"`
	Unknowns int       `json:"unknowns"` // results that were our own fault, since the daemon began
	Waiting  string    `json:"waiting"`  // "canary": failed often enough to be down, and waits for the canary to pass
	Cooldown Cooldown  `json:"cooldown"`
	Last     *Last     `json:"last"`               // its last result; null when there was none yet
	Counted  *Counted  `json:"counted,omitempty"`  // what vantages make of it, where Verdict is this node's word alone; absent without vantages
	Vantages []Vantage `json:"vantages,omitempty"` // what each of them says, in the order of the config
}

// Counted is what several vantages make of a target: the verdict by which is decided.
type Counted struct {
	Verdict string    `json:"verdict"` // up, down, suspected (guard mass), unknown; where they agree on nothing, what it was before
	Since   time.Time `json:"since"`
	Phase   string    `json:"phase"` // of the first that said down, while it is down
	Cause   string    `json:"cause"`
	Down    int       `json:"down"`   // how many must say down
	Detail  string    `json:"detail"` // in words: who says what, and who is silent for how long
}

// Vantage is what one vantage says of a target.
type Vantage struct {
	Name    string     `json:"name"`
	Own     bool       `json:"own"`     // it is that of the node which tells this
	Verdict string     `json:"verdict"` // as it counts: unknown of one that is silent or blind
	Phase   string     `json:"phase"`   // of what it said last
	Cause   string     `json:"cause"`
	Since   *time.Time `json:"since"`  // of what it said last; null where it said nothing
	At      *time.Time `json:"at"`     // when it was heard last, and of this node when its last probe was over; null for never
	Silent  bool       `json:"silent"` // it was not heard for too long
	Blind   bool       `json:"blind"`  // its canary fails
}

// Canary is what tells whether this node sees the world at all.
type Canary struct {
	State    string         `json:"state"` // pass, fail (nothing is written), unknown (not probed often enough yet)
	Answered int            `json:"answered"`
	Need     int            `json:"need"`
	Since    *time.Time     `json:"since"`   // of the state; null before the first round
	Targets  []CanaryTarget `json:"targets"` // in the last round
}

// CanaryTarget is one target of the canary.
type CanaryTarget struct {
	Target string `json:"target"` // ADDR:PORT, or the URL
	Result string `json:"result"` // pass, fail, unknown
	Phase  string `json:"phase"`
	Cause  string `json:"cause"`
	Detail string `json:"detail"`
}

// Cooldown is the life of a target after it went down.
type Cooldown struct {
	State    string     `json:"state"`    // eligible; cooling (nothing is sent until Until); probing; disabled (until approved)
	Until    *time.Time `json:"until"`    // null unless cooling
	Attempts int        `json:"attempts"` // how often it failed after a pause since it went down
}

// Site is one data centre.
type Site struct {
	Name    string           `json:"name"`
	State   string           `json:"state"` // maintenance, no-SIGNAL, unknown, ok
	Signals map[string]*bool `json:"signals"`
	Waiting *string          `json:"waiting"` // approval, fresh; null while it waits for nothing

	Maintenance string `json:"maintenance"` // why it is in maintenance; empty when it is not
	Detail      string `json:"detail"`      // what it waits for, in words, with the way on
}

// Scenario is one condition: it holds when all terms of one group do.
type Scenario struct {
	Name  string   `json:"name"`
	Holds *bool    `json:"holds"` // null while it is not known
	Any   [][]Term `json:"any"`
}

// Term is one term as the config has it.
type Term struct {
	Term    string   `json:"term"`
	Holds   *bool    `json:"holds"`   // its "not" included; null while it is not known
	Detail  string   `json:"detail"`  // what it rests on, in words
	Targets []string `json:"targets"` // ids of those
}

// Override is an operator's word, with a reason and an end.
type Override struct {
	Target string     `json:"target"`
	Kind   string     `json:"kind"`
	Value  string     `json:"value"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	From   time.Time  `json:"from"`
	Until  *time.Time `json:"until"`  // null: forever
	Thing  string     `json:"thing"`  // what the target is: all, zone, record set, address, target, site, scenario
	State  string     `json:"state"`  // "in force", "to come", "no effect"
	Detail string     `json:"detail"` // why it has no effect, or which answers stay all the same, in words
}

// Write is one call to a provider.
type Write struct {
	At      time.Time `json:"at"`
	Zone    string    `json:"zone"`
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Variant string    `json:"variant"`
	Value   string    `json:"value"`
	Action  string    `json:"action"`
	Error   string    `json:"error"`
}

// ConfigInfo says which config the daemon runs on.
type ConfigInfo struct {
	File    string     `json:"file"`
	Loaded  time.Time  `json:"loaded"`  // since when it is in force
	Error   string     `json:"error"`   // why the last reload was refused; the config before stays in force
	Refused *time.Time `json:"refused"` // when it was
}

// Check is the answer of check.
type Check struct {
	Results []CheckResult `json:"results"`
	Canary  *Canary       `json:"canary"` // of the same round; null without one
}

// CheckResult is one probe of one target.
type CheckResult struct {
	Target    string  `json:"target"`
	Check     string  `json:"check"`
	Address   string  `json:"address"`
	Source    string  `json:"source"`
	Asserted  string  `json:"asserted"` // in words: what was asked and expected
	Result    string  `json:"result"`   // pass, fail, unknown
	Share     string  `json:"share"`    // whose fault it was: the target's (remote), this machine's (local); empty for a pass
	Phase     string  `json:"phase"`
	Cause     string  `json:"cause"`
	Detail    string  `json:"detail"`
	LatencyMS float64 `json:"latency_ms"`
	Judges    *Judges `json:"judges,omitempty"` // whose word counts beside this node's, or instead of it; absent where none does
}

// Judges are the vantages that judge a target, of which so many must say down.
type Judges struct {
	Of   []string `json:"of"`
	Down int      `json:"down"`
}

// PlanRequest asks for a plan, or for it to be carried out.
type PlanRequest struct {
	Zones    []string `json:"zones,omitempty"`    // empty means all
	Override []string `json:"override,omitempty"` // guards to switch off; reconcile only
	TakeOver bool     `json:"take_over,omitempty"`
	NoWait   bool     `json:"no_wait,omitempty"` // only add; never wait until nothing is in doubt
}

// ApproveRequest is a person's yes.
type ApproveRequest struct {
	Target string `json:"target"`
	Plan   string `json:"plan,omitempty"`
}

// Approval is the answer to a person's yes.
type Approval struct {
	Approved string `json:"approved"` // the target
	Idle     string `json:"idle"`     // why nothing changes by it now, in words; empty when something waited
	Leader   string `json:"leader"`   // the node that goes on with it, where that is another one; empty for this one, and where none is known
	Noted    string `json:"noted"`    // why it is not known what came of it, and who acts, in words; empty when it is known
	Here     string `json:"here"`     // what it is good for when not every node has it, in words; empty when each has
	Exit     int    `json:"exit"`     // what the command exits with
}

// The exit codes of the product. Of several zones the first of 1, 5, 3, 4, 6,
// 10, 0 that occurred is the command's.
const (
	ExitDone      = 0
	ExitFailure   = 1
	ExitUsage     = 2
	ExitGuard     = 3
	ExitNotLeader = 4
	ExitProvider  = 5
	ExitFrozen    = 6
	ExitPending   = 10
)

// Worst is the exit code of a command from those of its parts.
func Worst(codes ...int) int {
	for _, code := range []int{ExitFailure, ExitUsage, ExitProvider, ExitGuard, ExitNotLeader, ExitFrozen, ExitPending} {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return ExitDone
}
