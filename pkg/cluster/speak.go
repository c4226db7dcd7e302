package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

// inShard is about how many targets share a key: a change writes them all, and
// each key costs some 100 bytes beside.
const inShard = 16

// sayAll begins anew with all that this node says, in the place of what it said
// before.
func (s *session) sayAll(ctx context.Context) error {
	s.mu.Lock()
	clear(s.pending)
	s.mu.Unlock()
	all := s.opts.Whole()
	s.mu.Lock()
	s.blind = all.Blind
	s.mu.Unlock()
	s.size = max(s.opts.Targets(), len(all.Observations))/inShard + 1
	err := s.within(ctx, "share with other nodes", func(ctx context.Context) error {
		_, err := s.client.Delete(ctx, s.verdicts(s.opts.Node), clientv3.WithPrefix())
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range all.Observations {
		s.put(o)
	}
	return s.write(ctx)
}

// collect takes what was said since.
func (s *session) collect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reconfigured {
		return errReconfigured
	}
	for _, o := range s.pending {
		s.put(o)
	}
	clear(s.pending)
	return nil
}

// put changes a shard; it is written later.
func (s *session) put(o Observation) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.Target.ID()))
	key := fmt.Sprintf("%s%04d", s.verdicts(s.opts.Node), int(h.Sum32()%uint32(max(s.size, 1)))) //nolint:gosec // a small number
	if s.shards[key] == nil {
		s.shards[key] = map[check.Target]Observation{}
	}
	if o.Verdict == health.Unknown {
		delete(s.shards[key], o.Target)
	} else {
		s.shards[key][o.Target] = o
	}
	if !slices.Contains(s.dirty, key) {
		s.dirty = append(s.dirty, key)
	}
}

// inTxn is how many keys one request writes: etcd takes 128 by default.
const inTxn = 32

// write writes shards, the oldest first, as far as our share of the bytes goes.
// Without a name of our own there is nowhere to.
func (s *session) write(ctx context.Context) error {
	for s.nameless == nil && len(s.dirty) > 0 {
		var ops []clientv3.Op
		for len(s.dirty) > 0 && len(ops) < inTxn {
			key := s.dirty[0]
			value, err := json.Marshal(s.encode(key))
			if err != nil {
				return err
			}
			if !s.limit.AllowN(time.Now(), min(len(key)+len(value), burst)) {
				break
			}
			ops = append(ops, clientv3.OpPut(key, string(value), clientv3.WithLease(s.lease)))
			s.dirty = s.dirty[1:]
		}
		if len(ops) == 0 {
			return nil
		}
		err := s.within(ctx, "tell other nodes", func(ctx context.Context) error {
			_, err := s.client.Txn(ctx).Then(ops...).Commit()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) encode(key string) shard {
	list := slices.Collect(maps.Values(s.shards[key]))
	sortObservations(list)
	out := shard{Version: wireVersion, Said: make([]said, len(list))}
	for i, o := range list {
		out.Said[i] = wordOf(o)
	}
	return out
}

func sortObservations(list []Observation) {
	slices.SortFunc(list, func(a, b Observation) int { return cmp.Compare(a.Target.ID(), b.Target.ID()) })
}

func sorted(nodes map[string]Node) []Node {
	return slices.SortedFunc(maps.Values(nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
}
