package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// YesFor is how long a person's yes waits in etcd for the node that carries it out.
// It is short: what waits for a person then may be something else than what the
// person looked at.
const YesFor = 10 * time.Minute

// Yes is a person's yes to what waits for one, said at some node.
type Yes struct {
	Target string
	Plan   string // checksum of the plan that is meant; empty for none
	By     string
}

// Answer is what became of a yes at one node.
type Answer struct {
	Node  string
	Leads bool   // it carries out what it said yes to
	Idle  string // why nothing changes by it now; empty when something waited
	Error string // why it was not taken; empty when it was
	Exit  int    // what a command exits with because of Error
	Later bool   // it is kept until this node leads, or YesFor is over; then nothing is told of it
}

// yesValue is the value of a yes's key, and answerValue that of an answer's.
type yesValue struct {
	Version int       `json:"version"`
	Node    string    `json:"node"` // where it was said
	Target  string    `json:"target"`
	Plan    string    `json:"plan,omitempty"`
	By      string    `json:"by"`
	At      time.Time `json:"at"` // by the clock of that node, for people
}

type answerValue struct {
	Version int    `json:"version"`
	Node    string `json:"node"`
	Leads   bool   `json:"leads"`
	Idle    string `json:"idle,omitempty"`
	Error   string `json:"error,omitempty"`
	Exit    int    `json:"exit,omitempty"`
}

// asked is a yes as this node has it. It outlives a session: no yes is taken twice.
type asked struct {
	yes    Yes
	lease  clientv3.LeaseID // that its keys hang on; 0 while only answers were seen
	live   bool             // it was said while we were there
	done   bool             // a node that leads has answered
	mine   *Answer          // what became of it here
	posted bool             // and everybody can read that
}

func (c *Cluster) yesKey(id string) string       { return c.opts.Prefix + "approvals/" + id }
func (c *Cluster) answersTo(id string) string    { return c.opts.Prefix + "answers/" + id + "/" }
func (c *Cluster) answerKey(id, n string) string { return c.answersTo(id) + n }

// Approve brings a person's yes to every node, this one among them, and collects
// what becomes of it until that is enough, or ctx ends; the latter is no error. On
// an error nobody may have heard.
func (c *Cluster) Approve(ctx context.Context, yes Yes, enough func([]Answer) bool) ([]Answer, error) {
	const what = "share a person's yes"
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return nil, c.opts.Etcd.Explain(what, err)
	}
	id := rand.Text()
	value, err := json.Marshal(yesValue{
		Version: wireVersion, Node: c.opts.Node, Target: yes.Target, Plan: yes.Plan, By: yes.By, At: c.opts.Clock.Wall(),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	revision := int64(0)
	err = c.within(ctx, what, func(ctx context.Context) error {
		granted, err := client.Grant(ctx, int64(YesFor/time.Second))
		if err != nil {
			return err
		}
		put, err := client.Put(ctx, c.yesKey(id), string(value), clientv3.WithLease(granted.ID))
		if err == nil {
			revision = put.Header.Revision
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.collectAnswers(ctx, client, id, revision, enough), nil
}

// collectAnswers needs no session: it has a watch of its own.
func (c *Cluster) collectAnswers(ctx context.Context, client *clientv3.Client, id string, revision int64, enough func([]Answer) bool) []Answer {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var answers []Answer
	for change := range client.Watch(ctx, c.answersTo(id), clientv3.WithPrefix(), clientv3.WithRev(revision+1)) {
		for _, event := range change.Events {
			if event.Type == clientv3.EventTypeDelete {
				continue
			}
			v, err := read(event.Kv.Value, func(v answerValue) int { return v.Version })
			if err != nil {
				c.opts.Logger.Warn("the answer of a node to a person's yes cannot be read", "key", string(event.Kv.Key), "error", err)
				continue
			}
			answers = append(answers, Answer{Node: v.Node, Leads: v.Leads, Idle: v.Idle, Error: v.Error, Exit: v.Exit})
		}
		if change.Err() != nil || enough(answers) {
			break
		}
	}
	return answers
}

// takeYes takes a yes, or its end.
func (s *session) takeYes(id string, kv *mvccpb.KeyValue, gone, live bool) {
	if gone {
		delete(s.yeses, id)
		return
	}
	v, err := read(kv.Value, func(v yesValue) int { return v.Version })
	if err != nil {
		s.opts.Logger.Warn("a person's yes at another node cannot be read, and counts for nothing here", "key", string(kv.Key), "error", err)
		return
	}
	a := s.askedOf(id)
	a.yes = Yes{Target: v.Target, Plan: v.Plan, By: v.By}
	a.lease, a.live = clientv3.LeaseID(kv.Lease), a.live || live
}

// takeAnswer takes what became of a yes at a node. What this node said of it before
// it was started anew counts, too: it had saved what it said yes to.
func (s *session) takeAnswer(name string, kv *mvccpb.KeyValue, gone bool) {
	id, _, _ := strings.Cut(name, "/")
	v, err := read(kv.Value, func(v answerValue) int { return v.Version })
	if gone || err != nil {
		return
	}
	a := s.askedOf(id)
	a.done = a.done || v.Leads
	if v.Node == s.opts.Node && a.mine == nil {
		a.mine, a.posted = &Answer{}, true
	}
}

func (s *session) askedOf(id string) *asked {
	if s.yeses[id] == nil {
		s.yeses[id] = &asked{}
	}
	return s.yeses[id]
}

// answerYeses takes what this node has not taken yet, and tells what became of it.
// One that stood in etcd when this node came, and that a leader has answered, is
// over: what waits here now may be something else.
func (s *session) answerYeses(ctx context.Context) error {
	for _, id := range sortedNames(s.yeses) {
		a := s.yeses[id]
		switch {
		case a.lease == 0 || a.posted:
			continue
		case a.mine == nil && a.done && !a.live:
			a.mine, a.posted = &Answer{}, true
			continue
		case a.mine == nil:
			answer := s.opts.Approve(a.yes)
			if answer.Later {
				a.live = false // who leads may be faster
				continue
			}
			a.mine = &answer
		}
		value, err := json.Marshal(answerValue{
			Version: wireVersion, Node: s.opts.Node, Leads: a.mine.Leads, Idle: a.mine.Idle, Error: a.mine.Error, Exit: a.mine.Exit,
		})
		if err != nil {
			return err
		}
		err = s.within(ctx, "answer a person's yes", func(ctx context.Context) error {
			_, err := s.client.Put(ctx, s.answerKey(id, s.opts.Node), string(value), clientv3.WithLease(a.lease))
			if errors.Is(err, rpctypes.ErrLeaseNotFound) {
				return nil // nobody waits for it any more
			}
			return err
		})
		if err != nil {
			return err
		}
		a.posted = true
	}
	return nil
}

// forgetYeses lets go of those that etcd has no more: their time is over.
func (s *session) forgetYeses(all []*mvccpb.KeyValue) {
	there := map[string]bool{}
	for _, kv := range all {
		there[string(kv.Key)] = true
	}
	for id := range s.yeses {
		if !there[s.yesKey(id)] {
			delete(s.yeses, id)
		}
	}
}
