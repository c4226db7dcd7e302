package provider

import (
	"cmp"
	"context"
	"time"

	"sidestep/pkg/record"
)

// Adapter edits one zone. Its methods are called by one goroutine at a time
// for writes, and may be called by several for List; each honours the
// context's deadline over everything it does, and makes at most one attempt
// that can change the answer. A mark beside the answer, which tells whose doing
// a pause is, is written at most once in the same call.
//
// Every error is an *Error, so that the caller can branch on its class. An
// error of a write that does not say Permanent, Retryable, Conflict or
// FencedOut is Ambiguous: the write may still happen, at any later moment
// within Promises.Late.
type Adapter interface {
	// Promises says what the zone's provider can do. It does not change during
	// the life of the adapter, except that Fenced may turn false when Prove
	// finds that the provider does not compare.
	Promises() Promises

	// List reads the whole zone, the stamp before the data where the two are
	// read apart. A list that failed, was cut short, or came back empty where
	// the API says that there are records is an error and never a Snapshot.
	List(ctx context.Context) (*Snapshot, error)

	// Add puts values into the answer: call.Away is empty.
	Add(ctx context.Context, call Call) error

	// TakeAway takes values out of the answer, each kept in a form that List
	// shows as paused. Where Promises.Together holds, call.Add may ride along in
	// the same all-or-nothing call; elsewhere it is empty, and where
	// Promises.OneByOne holds call.Away has exactly one change.
	// Where one request cannot do both, it makes only the copy; asked for the
	// same again, once a list shows that copy, it takes the value out.
	TakeAway(ctx context.Context, call Call) error
}

// Fencer is an Adapter whose provider compares and swaps. Its Add and TakeAway
// replace the stamps of call.Seen by call.Next in the same atomic call, and
// fail with class FencedOut when the zone's stamps are no longer those.
type Fencer interface {
	Adapter

	// Claim replaces every stamp that seen lists, or none for a first claim,
	// by next, and changes nothing else. Of several claimants of one view
	// exactly one succeeds; the others get FencedOut.
	Claim(ctx context.Context, seen *Snapshot, next Stamp, gate Gate) error

	// Prove sends one call that a provider which compares must refuse, and
	// whose acceptance would change nothing but our own stamp. It returns nil
	// when the call was refused, and ErrNotFenced when it was accepted.
	Prove(ctx context.Context, seen *Snapshot, next Stamp, gate Gate) error
}

// StampReader is a Fencer that can read the stamps alone, at a fraction of what a
// list costs: what nodes look at between their lists, whose lease the stamp is.
type StampReader interface {
	// Stamps reads the stamps. Its Snapshot has them and nothing else, and only
	// Claim may rest on it.
	Stamps(ctx context.Context) (*Snapshot, error)
}

// Confirmer is an Adapter whose provider can tell when an accepted write has
// reached its name servers.
type Confirmer interface {
	// Confirm blocks until the last accepted write is everywhere, or ctx ends.
	Confirm(ctx context.Context) error
}

// Server is an Adapter that has its own name server, which lives as long as
// Serve does. The daemon runs it; one-shot commands do not.
type Server interface {
	// Serve answers queries until ctx ends, and returns nil then.
	Serve(ctx context.Context) error
}

// Listener is a Server that says where, so that nobody asks there while nothing
// serves.
type Listener interface {
	// Listens is the ADDR:PORT of Serve; empty when it serves nothing.
	Listens() string
}

// Checker is an Adapter that sees on this host, asking nobody, whether its options
// can work. Nothing waits for it to: what it misses may come to be there later.
type Checker interface {
	// Check says what is wrong with which option, and what to do.
	Check() error
}

// Renewer is an Adapter whose credential may come from outside the config, such as
// files that all programs of its vendor share.
type Renewer interface {
	// Renew looks for the credential again, asking nobody. Where that fails, which is
	// its error, the one before stays in use. It may be called at any time.
	Renew() error
}

// Authoritative is an Adapter that knows an address at which the zone's
// answers can be asked for over the DNS.
type Authoritative interface {
	// Servers lists ADDR:PORT; empty when there is none right now.
	Servers() []string
}

// Follower is an Adapter that knows the zone after its own accepted write
// without another list: what was listed, plus the call. It makes a switch cost
// one list, its writes and one list that verifies them.
type Follower interface {
	// After is the zone after the write of call, which was the last one that this
	// adapter sent and was accepted; nil when only a list can tell. The snapshot
	// carries what later writes need (ids, the new stamp) as a listed one does.
	After(call Call) *Snapshot
}

// Inspector is an Adapter that can ask its API, writing nothing, whether the
// credential is good for what will be asked of it.
type Inspector interface {
	// Inspect tells what the API says of the credential and of the zone, a line
	// each, for people. Its error is what stands in the way: a credential that
	// expired or may not edit, a zone that is not there.
	Inspect(ctx context.Context) ([]string, error)
}

// Releaser is an Adapter that can take itself out of a zone.
type Releaser interface {
	// Remains lists what sidestep left in a zone beside paused values, a line each
	// for people: the stamp, parked copies of values that are live, marks on live
	// records. A parked copy that is all there is of a value is none of it.
	Remains(seen *Snapshot) []string

	// Release removes one thing, or several in one atomic call, of what Remains
	// lists, the stamp last, and changes no answer; done reports that the call
	// left nothing. It is fenced where the provider compares. A caller lists and
	// asks again until nothing remains.
	Release(ctx context.Context, seen *Snapshot, gate Gate) (done bool, err error)
}

// Gate is asked last, after a call was built and signed: its error means that
// the lease may end before the call does, and that the call must not be sent.
// Adapters return the gate's error as it is, unwrapped into no class.
type Gate func() error

// Call is one write to one record set.
type Call struct {
	Key       record.Key
	Seen      *Snapshot       // the list that the call rests on
	Add       []record.Change // creates and resumes, sorted by value
	Away      []record.Change // everything else, sorted by value
	Survivors []string        // values that are live in Seen, and must be live when the call takes effect: wanted ones, or those beside which another makes room for them
	Empty     bool            // the set may be left without a live value: asked for by on_all_down: none, and by nothing else
	Next      Stamp           // Fencer only: the stamp that the call leaves behind, its nonce never used before
	Loose     bool            // Fencer only: do without comparing the zone's serial, which a busy zone never holds still
	Gate      Gate            // nil asks nobody
}

// Promises is what one zone's provider can do and what its API is known to be
// late with. status and validate print it.
type Promises struct {
	Pause    Pause
	Atomic   bool // one call changes live and parked together, or nothing
	Together bool // Atomic, and name servers see an add and a take-away of one call at one moment
	OneByOne bool // one take-away a call: the API has no transaction
	Fenced   bool // the provider refuses a write whose stamp is out of date
	Whole    bool // each write carries the complete set, so that no late call can empty it
	Weights  bool // each value has one
	Variants bool // several sets of one name and type stand side by side, told apart by Key.Variant
	Single   bool // single-valued types can be switched in place

	MaxChanges int // how many changes one call may have, its survivors not counted; 0 sets no limit

	Late    time.Duration // how long after we gave a call up it may still take effect
	Signed  time.Duration // how long after it was signed a call is still taken; 0 for ever
	Lag     time.Duration // how long a list may show the past
	Call    time.Duration // the deadline of one call, everything in it
	List    time.Duration // the deadline of one list, where a zone may take longer than a call; 0 is that of a call
	MinTTL  time.Duration // smallest TTL that is kept as given
	MaxTTL  time.Duration // largest one; 0 is that of the DNS (RFC 2181 section 8)
	Publish time.Duration // how long an accepted write takes to the name servers, as the vendor says; 0 unknown
}

// Listing is the deadline of one list.
func (p Promises) Listing() time.Duration { return cmp.Or(p.List, p.Call) }

// Quiet is how long after the last call that could be open nothing of it can
// appear any more: lateness and lag together.
func (p Promises) Quiet() time.Duration { return p.Late + p.Lag }

// Pause is the form in which a value is kept outside the answer.
type Pause string

// The forms of a pause.
const (
	PauseNative Pause = "native" // the provider's own status flag
	PauseRename Pause = "rename" // the same record under another name
	PauseParked Pause = "parked" // a readable TXT copy below the name
)

// Snapshot is one complete, consistent list of a zone.
type Snapshot struct {
	Zone        record.Name
	Sets        []record.Set // every A, AAAA and CNAME set, live or paused, sorted (record.SortSets)
	Stamps      []Stamp      // usually none or one; all of them when somebody copied it
	Owners      []Owner      // names that another tool's TXT registry claims
	Delegations []record.Name
	Fixed       []Fixed  // sets without values of their own, which no call can switch
	ID          string   // the provider's own name for this one zone, where it may have others of the same name; else empty
	Version     string   // what the provider calls the state of the zone (a serial), else empty
	Records     int      // how many records the list had, of any type
	Skipped     []string // records that could not be read, a line each; never one that the config could name silently
	Native      any      // opaque to all but the adapter that listed it
}

// Fixed is a set that answers and has no values that could be switched.
type Fixed struct {
	Key  record.Key
	What string // what it is, for people: "an alias of lb.example.net."
}

// Owner is a name that another tool's ownership record claims.
type Owner struct {
	Name  record.Name
	Owner string // the tool and its owner id, for people
}

// Set is the snapshot's set under a key, empty when the zone has none.
func (s *Snapshot) Set(key record.Key) record.Set { return record.FindSet(s.Sets, key) }
