package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
)

const (
	// Beat is how often a node says that it is there, when its options say nothing.
	Beat = 2 * time.Second

	// BytesPerSecond is the most that a node writes to etcd in the long run, keys and
	// values; what the protocol adds comes on top.
	BytesPerSecond = 14_000

	burst        = 24 << 10         // of bytes, after a quiet time: a start
	leaseTTL     = 15 * time.Second // of a node's keys, when its process is gone
	answerWithin = 3 * time.Second  // for one request
	rejoinAfter  = time.Second
	stoodStill   = 10 * time.Second // what is found in the sockets afterwards is old
)

// Observation is the verdict of one vantage on one target, by its own thresholds.
type Observation struct {
	Target  check.Target
	Verdict health.Verdict // Up, Down, or Unknown: nothing any more
	Phase   check.Phase    // where and why it failed, while it is down
	Cause   check.Cause
	Since   time.Time // wall time of the node that says it
}

// Report is what was heard of a vantage, or is said by one.
type Report struct {
	Vantage      string
	At           time.Duration // boot time of this node at which the other was there for certain
	Blind        bool          // its canary fails
	Whole        bool          // of targets that are not here it says nothing
	Observations []Observation
}

// Node is what is known of a node, for people.
type Node struct {
	Name, Vantage, Host, Release, Config string
	PID                                  int
	Since                                time.Time     // when its process began, by its own clock
	Heard                                time.Duration // boot time of the last beat; 0 when none came yet
	Blind                                bool
	Gone                                 bool    // its keys are, and it did not say that it ends
	Leads                                bool    // it writes, by its own word
	Stands                               bool    // it waits for the lead, or has it, and sees
	Wrote                                []Wrote // some zones that it wrote a short while ago
	Mute                                 string  // why what it sees counts for itself alone; empty when it counts here
}

// Wrote is how often a node wrote a zone since its process began.
type Wrote struct {
	Zone  string `json:"zone"`
	Count uint64 `json:"count"`
}

// Etcd is the way to an etcd. It is closed by whoever made it.
type Etcd interface {
	// Client is asked for at each attempt to join.
	Client() (*clientv3.Client, error)
	// Explain says in one line what was asked, what came instead and what to do.
	Explain(what string, err error) error
}

// Options are what a Cluster works with. All but Logger and Clock are needed. The
// functions are called by Run, one at a time.
type Options struct {
	Etcd Etcd

	Prefix  string // in front of every key
	Node    string // who we are
	Vantage string // and where we look from
	Config  string // digest of what we steer and how, to be compared with others'
	Release string // version of sidestep

	Heard     func(Report)                                // what another vantage says
	Left      func(vantage string)                        // its node is gone
	Overrides func(words []override.Override, ends []End) // all that persons said and took back, at every change
	Local     func() Known                                // what this node knows that persons said
	Shared    func(at time.Time)                          // etcd has what this node knew then
	Whole     func() Report                               // all that this node says
	Targets   func() int                                  // of how many targets it may come to say something
	Leads     func() bool                                 // whether this node writes
	First     func() bool                                 // whether, of two processes with this node's name, this one has it: it holds the one lease that there is; nil is no
	Stands    func() bool                                 // whether it waits for the lead, or has it, and sees; nil is no
	Wrote     func() []Wrote                              // zones that this node wrote a short while ago, a few at a time; nil is none
	Approve   func(Yes) Answer                            // a person's yes, said at any node; the name and Leads of the answer are left to this package
	Waits     func(d time.Duration, because string)       // what a join waits for
	Trouble   func(error)                                 // what stands in the way; nil when nothing does any more

	Beat   time.Duration // 0 means Beat
	Clock  clock.Clock   // nil means clock.System
	Logger *slog.Logger  // nil logs nothing
}

// Cluster is one node's place among the others. Its methods may be called from many
// goroutines; Run once.
type Cluster struct {
	opts     Options
	instance string
	host     string
	began    time.Time
	limit    *rate.Limiter
	wake     chan struct{} // holds one token while there is something to say

	mu           sync.Mutex
	pending      map[check.Target]Observation // said by us and not written yet
	blind        bool
	nodes        map[string]Node
	known        map[string]bool // names of nodes that were there at some time
	digest       string
	reconfigured bool          // since the session began
	owed         bool          // a word, or its end, could not be shared when it was said
	heardAt      time.Duration // boot time at which Run was in touch last; 0 for never

	yeses map[string]*asked // by id; Run's alone
	seen  int64             // revision up to which this process has taken all changes; 0 before the first; Run's alone
	lost  map[string]Node   // that are gone without a word; Run's alone
}

// New makes a Cluster. Nothing is dialled before Run.
func New(o Options) *Cluster {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Beat == 0 {
		o.Beat = Beat
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/") + "/shared/"
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Cluster{
		opts: o, instance: rand.Text(), host: host, began: o.Clock.Wall(), digest: o.Config,
		limit: rate.NewLimiter(BytesPerSecond, burst), wake: make(chan struct{}, 1),
		pending: map[check.Target]Observation{}, nodes: map[string]Node{}, known: map[string]bool{},
		yeses: map[string]*asked{}, lost: map[string]Node{},
	}
}

// Say publishes what has changed of what this node sees; it waits for nothing.
func (c *Cluster) Say(r Report) {
	c.mu.Lock()
	for _, o := range r.Observations {
		c.pending[o.Target] = o
	}
	c.blind = r.Blind
	c.mu.Unlock()
	c.nudge()
}

// Reconfigured says that this node steers something else by now: its targets may
// be others.
func (c *Cluster) Reconfigured(digest string) {
	c.mu.Lock()
	c.digest, c.reconfigured = digest, true
	c.mu.Unlock()
	c.nudge()
}

func (c *Cluster) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Nodes are those that are known, this one too, for people.
func (c *Cluster) Nodes() []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sorted(c.nodes)
}

// Known reports whether a node of that name was among these at some time, since this
// one is.
func (c *Cluster) Known(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[name]
}

// Heard is the boot time since which what persons say may not be known here: Run was
// in touch with etcd then. It is 0 before the first time.
func (c *Cluster) Heard() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heardAt
}

func (c *Cluster) hears(at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heardAt = max(c.heardAt, at)
}

// Run shares until ctx ends, joins again after every error, and leaves in order.
func (c *Cluster) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.session(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errReconfigured) || errors.Is(err, errNameFree) {
			continue
		}
		c.opts.Trouble(err)
		c.opts.Logger.Debug("not among the nodes any more", "error", err)
		sleep(ctx, rejoinAfter)
	}
	return nil
}

// errStoodStill ends a session whose process did not run for a while.
var errStoodStill = errors.New("share with other nodes: this process stood still; what came meanwhile is old, joining anew")

// errReconfigured ends a session in order: what this node says is another now.
var errReconfigured = errors.New("share with other nodes: the config has changed, joining anew")

// errNameFree ends a session of a process whose name another one had.
var errNameFree = errors.New("share with other nodes: this node's name is free again, joining anew")

// errWatch says that etcd does not tell of changes any more.
var errWatch = errors.New("share with other nodes: etcd ended the watch; joining anew")

// session joins, shares, and leaves.
func (c *Cluster) session(ctx context.Context) error {
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return c.opts.Etcd.Explain("share with other nodes", err)
	}
	s := &session{Cluster: c, client: client, shards: map[string]map[check.Target]Observation{}, heard: map[string]*peer{}}
	defer s.leave(ctx)
	err = s.join(ctx)
	if namesake, is := errors.AsType[*NamesakeError](err); is && namesake.Hears { // and no key of our own is needed for that
		s.leave(ctx)
		s.lease, s.mute, s.nameless = 0, namesake, namesake
	} else if err != nil {
		return err
	}
	c.opts.Trouble(s.mute)
	return s.share(ctx)
}

// sleep waits; sooner when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// within runs one request with its deadline, and explains its error.
func (c *Cluster) within(ctx context.Context, what string, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := request(ctx); err != nil {
		return c.opts.Etcd.Explain(what, err)
	}
	return nil
}

// NamesakeError says that another process has this node's name or speaks for its
// vantage.
type NamesakeError struct {
	What  string // "node.name mon-1" or "node.vantage eu-west"
	Other string // who has it
	Hears bool   // this process hears the other nodes all the same
}

// Error names the other one and the way out.
func (e *NamesakeError) Error() string {
	key, _, _ := strings.Cut(e.What, " ")
	return fmt.Sprintf("share with other nodes: %s is taken by %s; give each node its own %s; until then what this node sees counts for itself alone", e.What, e.Other, key)
}
