package cluster

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/override"
)

// How long etcd keeps what is over, and every node the ends that it knows. What has a
// time is over for every node a day after that, however far their clocks are apart
// within reason. An end of a word without one is kept long enough for nodes that come
// and go; how many there are is bounded besides, and of more the oldest go.
const (
	keepOver = 24 * time.Hour
	keepEnds = 30 * 24 * time.Hour
	maxEnds  = 1000
)

// gone reports whether nobody needs the end any more.
func (e End) gone(now time.Time) bool {
	return e.Override.Over(now.Add(-keepOver)) || e.Override.Forever() && now.Sub(e.At) > keepEnds
}

// Remember is what a node keeps of the ends that it knew and of those that it heard:
// of each word the latest, unless one of the words was said after it, and no longer
// and no more than etcd does. The oldest come first.
func Remember(known, heard []End, words []override.Override, now time.Time) []End {
	latest := map[string]End{}
	for _, e := range slices.Concat(known, heard) {
		name := wordKey(e.Override.Kind, e.Override.Target)
		if old, found := latest[name]; !found || e.At.After(old.At) {
			latest[name] = e
		}
	}
	for _, o := range words {
		name := wordKey(o.Kind, o.Target)
		if e, found := latest[name]; found && o.Said.After(e.At) {
			delete(latest, name)
		}
	}
	maps.DeleteFunc(latest, func(_ string, e End) bool { return e.gone(now) })
	ends := make([]End, 0, len(latest))
	for _, name := range sortedNames(latest) {
		ends = append(ends, latest[name])
	}
	slices.SortStableFunc(ends, func(a, b End) int { return a.At.Compare(b.At) })
	return ends[max(len(ends)-maxEnds, 0):]
}

// bringEnds writes the ends that this node knows and etcd does not have. One that
// etcd was rid of, and that this node had shared, has no word there to contradict.
func (s *session) bringEnds(ctx context.Context, known Known, now time.Time) error {
	var ends []word
	for _, e := range known.Ends {
		there := s.words[wordKey(e.Override.Kind, e.Override.Target)]
		swept := there.revision == 0 && !e.At.After(s.forgotten.Until) && !e.At.After(known.Shared)
		if w := endWord(e); !swept && !e.gone(now) && s.lacks(w) {
			ends = append(ends, w)
		}
	}
	for some := range slices.Chunk(ends, inTxn) {
		if err := s.bringSome(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// forgotten is the value of the key that says which ends etcd is rid of. A word that
// a node kept and etcd does not have was either never there, or has ended: it has
// where it was said before Until, and the node had shared it. An etcd that is new
// has no such key, and learns every word from the nodes.
type forgotten struct {
	Version int       `json:"version"`
	Until   time.Time `json:"until"` // the latest of the ends that are gone

	revision int64
	unread   bool
}

func (c *Cluster) forgottenKey() string { return c.opts.Prefix + "forgotten/ends" }

// takeForgotten takes the key, or that it is gone: by hand, or with all that is there.
func (s *session) takeForgotten(kv *mvccpb.KeyValue, gone bool) {
	if gone {
		s.forgotten = forgotten{}
		return
	}
	f, err := read(kv.Value, func(f forgotten) int { return f.Version })
	if err != nil {
		s.opts.Logger.Warn("which ends of persons' words are gone from etcd cannot be read: none is taken away by this node", "key", string(kv.Key), "error", err)
		f = forgotten{}
	}
	f.revision, f.unread = kv.ModRevision, err != nil
	s.forgotten = f
}

// sweep takes away what is over for good, some keys at a time. Two nodes may do it at
// once: who is slower does nothing.
func (s *session) sweep(ctx context.Context) error {
	names, until := s.over(s.opts.Clock.Wall())
	if len(names) == 0 || s.forgotten.unread {
		return nil
	}
	key := s.forgottenKey()
	ifs := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", s.forgotten.revision)}
	var ops []clientv3.Op
	for _, name := range names {
		word := s.opts.Prefix + "overrides/" + name
		ifs = append(ifs, clientv3.Compare(clientv3.ModRevision(word), "=", s.words[name].revision))
		ops = append(ops, clientv3.OpDelete(word))
	}
	if until.After(s.forgotten.Until) {
		value, err := json.Marshal(forgotten{Version: wireVersion, Until: until})
		if err != nil {
			return err
		}
		ops = append(ops, clientv3.OpPut(key, string(value)))
	}
	return s.within(ctx, "clear away old words", func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).If(ifs...).Then(ops...).Commit()
		return err
	})
}

// over lists the oldest keys that nobody needs any more, and the latest end among
// them that a node could still contradict.
func (s *session) over(now time.Time) (names []string, until time.Time) {
	var ends []string
	for _, name := range sortedNames(s.words) {
		if w := s.words[name]; w.Cleared != nil && !w.unread {
			ends = append(ends, name)
		}
	}
	slices.SortStableFunc(ends, func(a, b string) int { return s.words[a].said().Compare(s.words[b].said()) })
	tooMany := ends[:max(len(ends)-maxEnds, 0)]
	for _, name := range sortedNames(s.words) {
		w := s.words[name]
		switch {
		case w.unread || len(names) == inTxn:
		case w.Override.Over(now.Add(-keepOver)):
			names = append(names, name)
		case w.Cleared != nil && (w.Override.Forever() && now.Sub(w.Cleared.At) > keepEnds || slices.Contains(tooMany, name)):
			names = append(names, name)
			if w.Cleared.At.After(until) {
				until = w.Cleared.At
			}
		}
	}
	return names, until
}
