package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/check"
)

// session is one stay among the nodes, from joining to the first error. It belongs
// to Run's goroutine.
type session struct {
	*Cluster

	client   *clientv3.Client
	lease    clientv3.LeaseID
	me       int64 // revision of our own node's key as we wrote it last
	count    uint64
	mute     error // why we say nothing; nil when we speak
	nameless error // another process has our name: we hear, and have no keys; nil when the name is ours

	shards map[string]map[check.Target]Observation // by key: what we wrote
	dirty  []string                                // keys that are to be written, the oldest first
	size   int                                     // how many shards there are

	heard    map[string]*peer  // every node, by name
	words    map[string]shared // what persons said, by the end of its key
	newWords bool
	taken    int64 // revision of the newest word that this node was told of

	forgotten forgotten // which ends etcd is rid of
	lapsed    []End     // of words that this node kept, and that ended before it came
}

func (s *session) nodeKey(name string) string { return s.opts.Prefix + "nodes/" + name }
func (s *session) verdicts(name string) string {
	return s.opts.Prefix + "verdicts/" + name + "/"
}

// join writes who we are and reads what there is.
func (s *session) join(ctx context.Context) error {
	err := s.within(ctx, "share with other nodes", func(ctx context.Context) error {
		granted, err := s.client.Grant(ctx, int64(leaseTTL/time.Second))
		if err == nil {
			s.lease = granted.ID
		}
		return err
	})
	if err != nil {
		return err
	}
	found, err := s.get(ctx, s.nodeKey(s.opts.Node))
	if err != nil {
		return err
	}
	if err := s.waitForNamesake(ctx, found); err != nil {
		return err
	}
	return s.beat(ctx)
}

// waitForNamesake lets the key of a process before this one be, and finds the one
// that is alive.
func (s *session) waitForNamesake(ctx context.Context, found *mvccpb.KeyValue) error {
	if found == nil {
		return nil
	}
	before, err := read(found.Value, func(b beat) int { return b.Version })
	if err != nil {
		return fmt.Errorf("share with other nodes: the key %s: %w", found.Key, err)
	}
	if before.Instance == s.instance || s.first() {
		s.me = found.ModRevision
		return nil
	}
	wait := 5 * s.opts.Beat / 2
	s.opts.Waits(wait, fmt.Sprintf("node %s was %s; whether that one is gone shows within this time", s.opts.Node, before.process()))
	sleep(ctx, wait)
	again, err := s.get(ctx, string(found.Key))
	switch {
	case err != nil:
		return err
	case again == nil:
		return nil
	case again.ModRevision != found.ModRevision:
		return &NamesakeError{What: "node.name " + s.opts.Node, Other: before.process(), Hears: true}
	}
	s.me = found.ModRevision
	return nil
}

// first reports whether this process has the better right to its name.
func (s *session) first() bool { return s.opts.First != nil && s.opts.First() }

// askForName ends a stay without a name when there is one to be had.
func (s *session) askForName(ctx context.Context) error {
	s.count++
	found, err := s.get(ctx, s.nodeKey(s.opts.Node))
	if err == nil && (found == nil || s.first()) {
		return errNameFree
	}
	return err
}

func (s *session) get(ctx context.Context, key string) (*mvccpb.KeyValue, error) {
	var found *mvccpb.KeyValue
	err := s.within(ctx, "share with other nodes", func(ctx context.Context) error {
		got, err := s.client.Get(ctx, key)
		if err == nil && len(got.Kvs) > 0 {
			found = got.Kvs[0]
		}
		return err
	})
	return found, err
}

// beat says that we are there, and keeps our keys alive.
func (s *session) beat(ctx context.Context) error {
	s.count++
	s.mu.Lock()
	blind, digest := s.blind, s.digest
	s.mu.Unlock()
	stands := s.opts.Stands != nil && s.opts.Stands()
	var wrote []Wrote
	if s.opts.Wrote != nil {
		wrote = s.opts.Wrote()
	}
	value, err := json.Marshal(beat{
		Version: wireVersion, Node: s.opts.Node, Vantage: s.opts.Vantage, Host: s.host, PID: os.Getpid(), Instance: s.instance,
		Since: s.began, Config: digest, Release: s.opts.Release, Blind: blind, Leads: s.opts.Leads(), Stands: stands, Wrote: wrote, Words: s.taken, Count: s.count,
	})
	if err != nil {
		return err
	}
	key := s.nodeKey(s.opts.Node)
	var ours []clientv3.Cmp
	if !s.first() { // who is writes over whatever is there
		ours = append(ours, clientv3.Compare(clientv3.ModRevision(key), "=", s.me))
	}
	taken := false
	err = s.within(ctx, "say that this node is there", func(ctx context.Context) error {
		if _, err := s.client.KeepAliveOnce(ctx, s.lease); err != nil {
			return err
		}
		done, err := s.client.Txn(ctx).If(ours...).
			Then(clientv3.OpPut(key, string(value), clientv3.WithLease(s.lease))).Commit()
		if err != nil {
			return err
		}
		taken = !done.Succeeded
		s.me = done.Header.Revision
		return nil
	})
	s.limit.AllowN(time.Now(), len(key)+len(value))
	if err == nil && taken {
		return &NamesakeError{What: "node.name " + s.opts.Node, Other: "another process, which wrote its key just now"}
	}
	return err
}

// bringEvery is after how many beats this node sees whether etcd has all its words,
// and what is over there; sooner when one could not be shared when it was said.
const bringEvery = 5

// share listens and speaks until something ends it.
func (s *session) share(ctx context.Context) error {
	revision, err := s.readAll(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.reconfigured = false
	s.mu.Unlock()
	if s.nameless == nil {
		if err := s.sayAll(ctx); err != nil {
			return err
		}
	}
	watching, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	changes := s.client.Watch(watching, s.opts.Prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1))
	beats := time.NewTicker(s.opts.Beat)
	defer beats.Stop()
	rest := time.NewTicker(s.opts.Beat / 8) // for what had to wait for its share of the bytes
	defer rest.Stop()
	for last := s.opts.Clock.Boot(); ; last = s.opts.Clock.Boot() {
		select {
		case <-ctx.Done():
			return nil
		case change, open := <-changes:
			if s.opts.Clock.Boot()-last > stoodStill {
				return errStoodStill
			}
			if err := s.changed(ctx, change, open); err != nil {
				return err
			}
			if err := s.answerYeses(ctx); err != nil {
				return err
			}
			continue
		case <-s.wake:
			if err := s.collect(); err != nil {
				return err
			}
		case <-beats.C:
			if err := s.turn(ctx); err != nil {
				return err
			}
		case <-rest.C:
			if len(s.dirty) == 0 {
				continue
			}
		}
		if err := s.write(ctx); err != nil {
			return err
		}
	}
}

// turn does what is done with every beat.
func (s *session) turn(ctx context.Context) error {
	began := s.opts.Clock.Boot()
	there := s.beat
	if s.nameless != nil {
		there = s.askForName
	}
	if err := there(ctx); err != nil {
		return err
	}
	s.hears(began)
	if err := s.answerYeses(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	owed := s.owed
	s.mu.Unlock()
	if !owed && s.count%bringEvery != 0 {
		return nil
	}
	if err := s.bring(ctx, false); err != nil {
		return err
	}
	return s.sweep(ctx)
}

// changed takes what etcd tells of a change.
func (s *session) changed(ctx context.Context, change clientv3.WatchResponse, open bool) error {
	if err := change.Err(); err != nil {
		return s.opts.Etcd.Explain("hear from other nodes", err)
	}
	if !open {
		return errWatch
	}
	for _, event := range change.Events {
		s.take(event.Kv, event.Type == clientv3.EventTypeDelete, true)
		s.seen = event.Kv.ModRevision
	}
	words := s.newWords
	s.deliver()
	if words && s.nameless == nil && s.opts.Leads() {
		return s.beat(ctx) // at once: a person waits to hear that who leads has taken it
	}
	return nil
}

// leave takes our keys away, so that nobody has to wait for their end.
func (s *session) leave(ctx context.Context) {
	if s.lease == 0 {
		return
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	if ctx.Err() != nil {
		s.farewell(leaving)
	}
	if _, err := s.client.Revoke(leaving, s.lease); err != nil {
		s.opts.Logger.Debug("our keys stay in etcd until their lease ends", "error", err)
	}
}

// readAll reads what every node wrote, and what persons said, at one revision.
func (s *session) readAll(ctx context.Context) (revision int64, err error) {
	began := s.opts.Clock.Boot()
	var all *clientv3.GetResponse
	err = s.within(ctx, "hear from other nodes", func(ctx context.Context) (err error) {
		all, err = s.client.Get(ctx, s.opts.Prefix, clientv3.WithPrefix())
		return err
	})
	if err != nil {
		return 0, err
	}
	s.words, s.forgotten, s.lapsed = map[string]shared{}, forgotten{}, nil
	since := s.there()
	for _, kv := range all.Kvs {
		s.take(kv, false, since > 0 && kv.ModRevision > since)
	}
	s.seen = all.Header.Revision
	s.forgetYeses(all.Kvs)
	for _, p := range s.heard {
		p.beaten, p.news, p.whole = false, nil, true // what stood there proves nothing
	}
	s.newWords = false
	if err := s.bring(ctx, true); err != nil {
		return 0, err
	}
	s.opts.Overrides(s.said())
	s.hears(began)
	s.publishNodes()
	return all.Header.Revision, s.answerYeses(ctx)
}

// there is the revision after which what is found was said while this node was there:
// it joins anew, and was away for no longer than its keys last. 0 for one that came.
func (s *session) there() int64 {
	if heard := s.Heard(); heard > 0 && s.opts.Clock.Boot()-heard <= leaseTTL {
		return s.seen
	}
	return 0
}

// take sorts one key by what it is about. It is live when it came while we were there.
func (s *session) take(kv *mvccpb.KeyValue, gone, live bool) {
	rest, ours := strings.CutPrefix(string(kv.Key), s.opts.Prefix)
	kind, name, found := strings.Cut(rest, "/")
	if !ours || !found {
		return
	}
	switch kind {
	case "nodes":
		s.takeNode(name, kv, gone)
	case "verdicts":
		if node, _, found := strings.Cut(name, "/"); found && node != s.opts.Node {
			s.takeVerdicts(node, kv, gone)
		}
	case "overrides":
		s.takeWord(name, kv, gone)
	case "forgotten":
		s.takeForgotten(kv, gone)
	case "approvals":
		s.takeYes(name, kv, gone, live)
	case "answers":
		s.takeAnswer(name, kv, gone)
	}
}

// speaker is who speaks for a vantage: the node that came first.
func (s *session) speaker(vantage string) string {
	best, since := "", int64(0)
	for _, name := range sortedNames(s.heard) {
		if p := s.heard[name]; p.is.Vantage == vantage && (best == "" || p.created < since) {
			best, since = name, p.created
		}
	}
	return best
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
