package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// How long, and of how many nodes at most, it is known that they were there, which are
// gone without a word: two nodes of which one died must not look like one.
const (
	lostFor  = 24 * time.Hour
	lostMost = 64
)

// farewell says that this node ends in order, so that nobody misses it.
func (s *session) farewell(ctx context.Context) {
	if s.me == 0 {
		return
	}
	key := s.nodeKey(s.opts.Node)
	value, err := json.Marshal(beat{Version: wireVersion, Node: s.opts.Node, Vantage: s.opts.Vantage, Instance: s.instance, Left: true})
	if err != nil {
		return
	}
	_, err = s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", s.me)).
		Then(clientv3.OpPut(key, string(value), clientv3.WithLease(s.lease))).Commit()
	if err != nil {
		s.opts.Logger.Debug("other nodes will miss this one for a while", "error", err)
	}
}

// lose keeps what is known of a node that is gone without a word.
func (s *session) lose(name string, p *peer) {
	if p == nil || name == s.opts.Node || p.is.Node == "" {
		return
	}
	delete(s.lost, name)
	if p.left {
		return
	}
	n := p.node(name)
	n.Gone, n.Heard = true, p.heard
	s.lost[name] = n
	if len(s.lost) > lostMost {
		oldest := slices.MinFunc(sorted(s.lost), func(a, b Node) int { return cmp.Compare(a.Heard, b.Heard) })
		delete(s.lost, oldest.Name)
	}
}

// addLost adds the nodes that are missed to those that are there.
func (s *session) addLost(nodes map[string]Node) {
	for name, n := range s.lost {
		_, back := nodes[name]
		if back || s.opts.Clock.Boot()-n.Heard > lostFor {
			delete(s.lost, name)
			continue
		}
		nodes[name] = n
	}
}
