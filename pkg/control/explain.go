package control

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// ExplainRequest asks why a name answers as it does. Without a Type it is about
// every record set of the name.
type ExplainRequest struct{ Name, Type string }

// Explanation is the answer of explain. Its records are those of status, with
// more on each.
type Explanation struct {
	Node    string            `json:"node"`
	At      time.Time         `json:"at"`
	Daemon  bool              `json:"daemon"`   // false: no daemon runs, and this is what one saved
	SavedAt *time.Time        `json:"saved_at"` // when it was; null with a daemon
	Leader  Leader            `json:"leader"`
	Notices []string          `json:"notices"`
	Records []ExplainedRecord `json:"records"`
	// Overrides are those of the records, or of what they rest on.
	Overrides []Override `json:"overrides"`
	Others    Outcomes   `json:"others"` // the last results of the node's other targets
	Journal   Journal    `json:"journal"`
}

// Journal is what was read of the journal, from which the writes are.
type Journal struct {
	Since *time.Time `json:"since"` // how far back; null when it is empty
	Error string     `json:"error"` // why it could not be read
}

// Outcomes counts targets by their last result.
type Outcomes struct {
	Pass    int `json:"pass"`
	Fail    int `json:"fail"`
	Unknown int `json:"unknown"`
}

// ExplainedRecord is one record set and the road to its answer.
type ExplainedRecord struct {
	Record
	Zone         string            `json:"zone"`
	ListedAt     *time.Time        `json:"listed_at"`     // of the zone, as in Zone
	WrittenAt    *time.Time        `json:"written_since"` // to the zone, as in Zone
	Waits        *Wait             `json:"waits"`         // of the zone, as in Zone
	ZoneError    string            `json:"zone_error"`    // why the zone could not be listed or written last
	Answers      []ExplainedAnswer `json:"answers"`       // instead of those of Record
	Sites        []Site            `json:"sites"`         // where its answers stand, and those of its scenarios
	Scenarios    []Scenario        `json:"scenarios"`     // that it is decided by, those in them included
	JudgeUntil   *time.Time        `json:"judge_until"`   // when it is planned whatever was judged; null once it is
	WindowEnds   *time.Time        `json:"window_ends"`   // of the debounce window; null when none is open
	Writes       []ExplainedWrite  `json:"writes"`        // the latest, newest first
	Verification *Verification     `json:"verification"`
}

// ExplainedAnswer is one configured value and the targets that it rests on.
type ExplainedAnswer struct {
	Answer
	When    string            `json:"when"` // the scenario that has to hold; empty for none
	Targets []ExplainedTarget `json:"targets"`
}

// ExplainedTarget is one target with its thresholds and what was counted.
type ExplainedTarget struct {
	Target
	Judged  string   `json:"judged"` // what decisions go by: the verdict, also while nothing is heard
	Fall    int      `json:"fall"`
	Rise    int      `json:"rise"`
	Results *Results `json:"results"` // null without a daemon
}

// Last is the last result of a target.
type Last struct {
	At        time.Time `json:"at"`
	Result    string    `json:"result"` // pass, fail, unknown
	LatencyMS float64   `json:"latency_ms"`
	Source    string    `json:"source"`
}

// Results is what the results of a target were since a time. The lists have the
// most frequent first and may leave rare ones out.
type Results struct {
	Since    time.Time  `json:"since"`
	Pass     int        `json:"pass"`
	Fail     int        `json:"fail"`    // by the target
	Unknown  int        `json:"unknown"` // by our own fault
	Failures []Failure  `json:"failures"`
	Faults   []OwnFault `json:"faults"`
}

// Failure is one way in which a target failed.
type Failure struct {
	Phase string `json:"phase"`
	Cause string `json:"cause"`
	Times int    `json:"times"`
}

// OwnFault is one way in which a probe failed by a fault of this machine.
type OwnFault struct {
	Detail string `json:"detail"` // with the remedy
	Times  int    `json:"times"`
}

// ExplainedWrite is one write and the events that led to it.
type ExplainedWrite struct {
	Write
	Replaces string  `json:"replaces"` // the value that was swapped out
	Reason   string  `json:"reason"`
	Evidence []Event `json:"evidence"` // oldest first
}

// Event is one line of the journal that a decision rests on.
type Event struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"` // verdict, plan (somebody else changed the zone), guard (a refusal, a person's yes), override
	Target string    `json:"target"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Phase  string    `json:"phase"`
	Cause  string    `json:"cause"`
	Guard  string    `json:"guard"`
	By     string    `json:"by"`
	Detail string    `json:"detail"`
}

// Verification is what the zone's name servers said after a write.
type Verification struct {
	At       time.Time `json:"at"`
	Verified bool      `json:"verified"`
	Detail   string    `json:"detail"`
	// Servers are those that were asked; empty where listing the zone was all.
	Servers []VerifiedServer `json:"servers"`
	// AskedUntil is until when those that lag are asked on by this process; null when
	// none is.
	AskedUntil *time.Time `json:"asked_until"`
}

// VerifiedServer is what one name server said after a write.
type VerifiedServer struct {
	Server   string   `json:"server"`
	Verified bool     `json:"verified"` // it answers as wanted
	TookMS   *float64 `json:"took_ms"`  // so long after the write; null when it does not, or was not seen to move
	Detail   string   `json:"detail"`   // why it does not
}

// Explain asks why a name answers as it does.
func (c *Client) Explain(ctx context.Context, request ExplainRequest) (Explanation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	query := url.Values{"name": {request.Name}, "type": {request.Type}}
	var answer Explanation
	err := c.call(ctx, http.MethodGet, "/api/v1/explain?"+query.Encode(), nil, &answer)
	return answer, err
}
