package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/override"
)

// End is a word that a person took back.
type End struct {
	Override override.Override `json:"override"` // as it was
	At       time.Time         `json:"at"`       // words about the same that were said later hold
	By       string            `json:"by"`
}

// Known is what a node knows of what persons said.
type Known struct {
	Words  []override.Override
	Ends   []End     // which etcd may not have, or not any more: see Remember
	Shared time.Time // of what was said until then etcd had everything, at some time
}

// shared is the word under a key, with the revision at which it was written; 0 of
// a key that is not there.
type shared struct {
	word

	revision int64
	unread   bool // a newer sidestep wrote it, or nobody knows what it is
}

func (c *Cluster) wordsAt(kind override.Kind, target string) string {
	return c.opts.Prefix + "overrides/" + wordKey(kind, target)
}

// bring writes the words that this node knows, and the ends, that etcd does not have:
// said before there was one, while it was away, or since the backup from which it was
// restored. Of two about one thing the later holds. Nothing ends because it is absent,
// but for what etcd was rid of before this node came: see forgotten.
func (s *session) bring(ctx context.Context, joins bool) error {
	s.mu.Lock()
	s.owed = false
	s.mu.Unlock()
	now := s.opts.Clock.Wall()
	known := s.opts.Local()
	if err := s.bringEnds(ctx, known, now); err != nil {
		return err
	}
	for _, o := range known.Words {
		if o.Over(now) {
			continue
		}
		there := s.words[wordKey(o.Kind, o.Target)]
		if joins && there.revision == 0 && !o.Said.After(s.forgotten.Until) && !o.Said.After(known.Shared) {
			s.lapsed = append(s.lapsed, End{Override: o, At: s.forgotten.Until, By: "somebody at another node, while this one was away"})
			continue
		}
		if w := (word{Version: wireVersion, Override: o}); s.lacks(w) {
			if err := s.bringSome(ctx, w); err != nil {
				return err
			}
		}
	}
	s.opts.Shared(now)
	return nil
}

// lacks reports whether etcd should have a word, or an end: it has none about the
// same, or an earlier one. Nothing goes before what nobody here can read.
func (s *session) lacks(w word) bool {
	there := s.words[wordKey(w.Override.Kind, w.Override.Target)]
	return !there.unread && (there.revision == 0 || w.after(there.word))
}

// bringSome writes words and ends, unless somebody wrote about one of them meanwhile:
// that is heard by the watch, and the others are brought the next time.
func (s *session) bringSome(ctx context.Context, words ...word) error {
	var ifs []clientv3.Cmp
	var puts []clientv3.Op
	for _, w := range words {
		value, err := json.Marshal(w)
		if err != nil {
			return err
		}
		name := wordKey(w.Override.Kind, w.Override.Target)
		key := s.opts.Prefix + "overrides/" + name
		ifs = append(ifs, clientv3.Compare(clientv3.ModRevision(key), "=", s.words[name].revision))
		puts = append(puts, clientv3.OpPut(key, string(value)))
	}
	return s.within(ctx, "share what persons said", func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).If(ifs...).Then(puts...).Commit()
		return err
	})
}

// takeWord takes what a person said at some node.
func (s *session) takeWord(name string, kv *mvccpb.KeyValue, gone bool) {
	s.newWords, s.taken = true, max(s.taken, kv.ModRevision)
	if gone {
		delete(s.words, name) // by hand: no word ends by that
		return
	}
	w, err := read(kv.Value, func(w word) int { return w.Version })
	if err == nil {
		err = w.Override.Validate()
	}
	if err == nil && wordKey(w.Override.Kind, w.Override.Target) != name {
		err = errors.New("it is about something else than its key")
	}
	s.words[name] = shared{word: w, revision: kv.ModRevision, unread: err != nil}
	if err == nil {
		return
	}
	s.opts.Logger.Warn("what a person said at another node cannot be read; a freeze is obeyed, anything else counts for nothing here", "key", string(kv.Key), "error", err)
	if freeze, is := unreadFreeze(name, err); is {
		s.words[name] = shared{word: word{Override: freeze}, revision: kv.ModRevision, unread: true}
	}
}

// unreadFreeze is what a freeze comes to whose words nobody understands: in doubt
// the zone stays as it is.
func unreadFreeze(name string, err error) (override.Override, bool) {
	kind, escaped, _ := strings.Cut(name, "/")
	target, bad := url.PathUnescape(escaped)
	if override.Kind(kind) != override.Freeze || bad != nil {
		return override.Override{}, false
	}
	reason := "its words in etcd cannot be read"
	if errors.Is(err, errVersion) {
		reason += ": a newer sidestep wrote them"
	}
	long := time.Unix(0, 0).UTC()
	return override.Override{Kind: override.Freeze, Target: target, By: "somebody at another node", Reason: reason, Said: long, From: long}, true
}

// said lists the words that hold and those that were taken back, by target and kind.
func (s *session) said() (words []override.Override, ends []End) {
	for _, name := range sortedNames(s.words) {
		switch w := s.words[name]; {
		case w.unread && w.Override.Kind != override.Freeze:
		case w.Cleared != nil:
			ends = append(ends, End{Override: w.Override, At: w.Cleared.At, By: w.Cleared.By})
		default:
			words = append(words, w.Override)
		}
	}
	slices.SortStableFunc(words, func(a, b override.Override) int { return cmp.Compare(a.Target, b.Target) })
	return words, append(ends, s.lapsed...)
}

// Words reads what persons said and took back, whatever Run does now: all that was
// there when it was called, and perhaps more.
func (c *Cluster) Words(ctx context.Context) (words []override.Override, ends []End, err error) {
	const what = "read what persons said"
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return nil, nil, c.opts.Etcd.Explain(what, err)
	}
	s := &session{Cluster: c, words: map[string]shared{}}
	err = c.within(ctx, what, func(ctx context.Context) error {
		below := c.opts.Prefix + "overrides/"
		got, err := client.Get(ctx, below, clientv3.WithPrefix())
		if err != nil {
			return err
		}
		for _, kv := range got.Kvs {
			s.takeWord(strings.TrimPrefix(string(kv.Key), below), kv, false)
		}
		return nil
	})
	words, ends = s.said()
	return words, ends, err
}

// Put shares what a person said, as of the revision that it gives. Every node hears
// it, this one too. On an error nobody may have heard.
func (c *Cluster) Put(ctx context.Context, o override.Override) (revision int64, err error) {
	return c.putWord(ctx, word{Version: wireVersion, Override: o})
}

// Clear takes a word back, at every node. On an error nobody may have heard.
func (c *Cluster) Clear(ctx context.Context, e End) (revision int64, err error) {
	return c.putWord(ctx, endWord(e))
}

func (c *Cluster) putWord(ctx context.Context, w word) (revision int64, err error) {
	value, err := json.Marshal(w)
	if err != nil {
		return 0, fmt.Errorf("share what a person said: %w", err)
	}
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return 0, c.opts.Etcd.Explain("share what a person said", err)
	}
	err = c.within(ctx, "share what a person said", func(ctx context.Context) error {
		put, err := client.Put(ctx, c.wordsAt(w.Override.Kind, w.Override.Target), string(value))
		if err == nil {
			revision = put.Header.Revision
		}
		return err
	})
	c.mu.Lock()
	c.owed = c.owed || err != nil
	c.mu.Unlock()
	return revision, err
}

// Taken waits until a node that leads says that it has taken all words up to a
// revision, and names it; empty when ctx ends first.
func (c *Cluster) Taken(ctx context.Context, revision int64) (leader string) {
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return ""
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for change := range client.Watch(ctx, c.opts.Prefix+"nodes/", clientv3.WithPrefix(), clientv3.WithRev(revision+1)) {
		for _, event := range change.Events {
			if event.Type == clientv3.EventTypeDelete {
				continue
			}
			b, err := read(event.Kv.Value, func(b beat) int { return b.Version })
			if err == nil && b.Leads && b.Words >= revision {
				return b.Node
			}
		}
		if change.Err() != nil {
			return ""
		}
	}
	return ""
}
