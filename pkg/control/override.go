package control

import (
	"context"
	"net/http"
	"time"
)

// OverrideRequest is an operator's word.
type OverrideRequest struct {
	Kind   string     `json:"kind"`   // drain, force-up, force-down, pin, freeze
	Target string     `json:"target"` // what it is of
	Values []string   `json:"values,omitempty"`
	For    string     `json:"for"` // how long: "30m", "2d", "forever"
	Reason string     `json:"reason"`
	At     *time.Time `json:"at,omitempty"`      // when it begins; null for now
	DryRun bool       `json:"dry_run,omitempty"` // say what would happen, and keep nothing
}

// ClearRequest takes operators' words about a target back.
type ClearRequest struct {
	Target string `json:"target"`
	Kind   string `json:"kind,omitempty"`    // empty for every kind
	DryRun bool   `json:"dry_run,omitempty"` // say what would happen, and keep everything
}

// Overruled is the answer to both.
type Overruled struct {
	Override *Override  `json:"override"` // what was set; null for a clear
	Replaced []Override `json:"replaced"` // what it took the place of, or what was cleared
	DryRun   bool       `json:"dry_run"`
	Daemon   bool       `json:"daemon"` // false: no daemon runs, and nothing is written before one does or reconcile is called
	Records  []Foreseen `json:"records"`
	Leader   string     `json:"leader"`         // the node that writes, where that is another one; empty for this one, and where none is known
	Here     string     `json:"here,omitempty"` // why it holds at this node only, and what to do
	Noted    string     `json:"noted"`          // why nobody acts on it yet, in words; empty when somebody does
	Idle     string     `json:"idle"`           // why nothing changes by it, in words
	Left     string     `json:"left"`           // what a clear of all did not take back, in words; empty when nothing is left
	Exit     int        `json:"exit"`           // what the command exits with
}

// Foreseen is what becomes of one record set by an operator's word, as things
// are now.
type Foreseen struct {
	Name    string     `json:"name"`
	Type    string     `json:"type"`
	Variant string     `json:"variant"`
	Known   bool       `json:"known"` // false: its zone was not listed yet, or its targets are not judged; then the rest is empty
	At      *time.Time `json:"at"`    // when the first of it is written at the earliest
	Waits   *Wait      `json:"waits"` // what keeps what goes out for longer than that, or all of it until then; null for nothing
	In      []string   `json:"in"`
	Out     []string   `json:"out"`
	Live    []string   `json:"live"` // once that is written
	Stays   []Stay     `json:"stays"`
	Blocked []Blocked  `json:"blocked"` // by what it is stopped
	Reason  string     `json:"reason"`
	Zone    string     `json:"zone"`
	Down    []string   `json:"down"`   // put in by the word, although the probes say they are down
	Noted   string     `json:"noted"`  // why nobody acts on it in this zone yet, in words; then At is null
	Error   string     `json:"error"`  // why the zone could not be listed or written last; empty where it could
	Writes  *Writes    `json:"writes"` // what guard max_writes counts; null where it is off, and where nothing is known
}

// Writes is how much of what guard max_writes allows a record set is used up.
type Writes struct {
	Most   int         `json:"most"`   // in any window
	Window string      `json:"window"` // as in the config, such as 10m0s
	Ends   []time.Time `json:"ends"`   // when each write of the latest window counts no more, the soonest first
}

// Stay is an answer that was meant to go out and cannot.
type Stay struct {
	Value  string `json:"value"`
	Reason string `json:"reason"`
	Pinned bool   `json:"pinned"` // the record set is pinned to it
}

// Overrides is the answer of override list.
type Overrides struct {
	Overrides []Override `json:"overrides"`
	Daemon    bool       `json:"daemon"`   // false: no daemon runs, and this is what is saved
	SavedAt   *time.Time `json:"saved_at"` // when it was; null with a daemon
	Shared    bool       `json:"shared"`   // without a daemon: with what was said at the other nodes of an etcd
	Unshared  string     `json:"unshared"` // without a daemon: why that could not be asked, in words
}

// Override says an operator's word.
func (c *Client) Override(ctx context.Context, request OverrideRequest) (Overruled, error) {
	return c.overrule(ctx, "/api/v1/override", request)
}

// ClearOverride takes operators' words back.
func (c *Client) ClearOverride(ctx context.Context, request ClearRequest) (Overruled, error) {
	return c.overrule(ctx, "/api/v1/override/clear", request)
}

func (c *Client) overrule(ctx context.Context, path string, request any) (Overruled, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	var answer Overruled
	err := c.call(ctx, http.MethodPost, path, request, &answer)
	return answer, err
}

// Overrides asks for the overrides that there are.
func (c *Client) Overrides(ctx context.Context) (Overrides, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	var answer Overrides
	err := c.call(ctx, http.MethodGet, "/api/v1/overrides", nil, &answer)
	return answer, err
}
