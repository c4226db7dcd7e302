package cluster

import (
	"fmt"
	"maps"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
)

// peer is another node, or this one, as its keys say.
type peer struct {
	is      beat
	created int64 // revision at which it came
	heard   time.Duration
	fresh   bool // it was heard since we listen
	whole   bool // all that it says is news
	beaten  bool // it was heard just now
	left    bool // it said that it ends
	news    map[check.Target]Observation
	shards  map[string]map[check.Target]Observation // by key
	rubbish string                                  // what of it cannot be read
}

func (s *session) peer(name string) *peer {
	p := s.heard[name]
	if p == nil {
		p = &peer{shards: map[string]map[check.Target]Observation{}, news: map[check.Target]Observation{}}
		s.heard[name] = p
	}
	return p
}

// takeNode takes a node's beat, or its end.
func (s *session) takeNode(name string, kv *mvccpb.KeyValue, gone bool) {
	if gone {
		p := s.heard[name]
		delete(s.heard, name)
		s.lose(name, p)
		if p != nil && name != s.opts.Node && p.is.Vantage != s.opts.Vantage && s.speaker(p.is.Vantage) == "" {
			s.opts.Left(p.is.Vantage)
		}
		return
	}
	p := s.peer(name)
	is, err := read(kv.Value, func(b beat) int { return b.Version })
	if err != nil {
		p.rubbish = err.Error()
		return
	}
	if p.left = is.Left; is.Left {
		return
	}
	if p.is.Instance != is.Instance {
		p.whole = true
	}
	p.is, p.created, p.heard, p.beaten, p.rubbish = is, kv.CreateRevision, s.opts.Clock.Boot(), true, ""
}

// takeVerdicts takes a shard of a node's verdicts. A target that was in it and is
// not is one of which the node says nothing any more.
func (s *session) takeVerdicts(node string, kv *mvccpb.KeyValue, gone bool) {
	if gone && s.heard[node] == nil {
		return // the rest of a node that has left
	}
	p, key := s.peer(node), string(kv.Key)
	now := map[check.Target]Observation{}
	if !gone {
		list, err := read(kv.Value, func(v shard) int { return v.Version })
		if err != nil {
			p.rubbish = err.Error()
		}
		for _, one := range list.Said {
			o, err := one.observation()
			if err != nil {
				p.rubbish = err.Error()
				continue
			}
			now[o.Target] = o
		}
		p.heard, p.beaten = s.opts.Clock.Boot(), true
	}
	if p.news == nil {
		p.news = map[check.Target]Observation{}
	}
	for target := range p.shards[key] {
		p.news[target] = Observation{Target: target, Verdict: health.Unknown}
	}
	maps.Copy(p.news, now)
	p.shards[key] = now
	if gone {
		delete(p.shards, key)
	}
}

// deliver hands on what came: of each vantage what the node says that speaks for
// it, and of our own vantage nothing.
func (s *session) deliver() {
	for _, name := range sortedNames(s.heard) {
		p := s.heard[name]
		if !p.beaten {
			continue
		}
		p.beaten = false
		if name == s.opts.Node || p.is.Vantage == "" || p.is.Vantage == s.opts.Vantage || s.speaker(p.is.Vantage) != name {
			p.whole = true // should it speak one day
			continue
		}
		r := Report{Vantage: p.is.Vantage, At: p.heard, Blind: p.is.Blind, Whole: p.whole}
		if p.whole {
			for _, key := range sortedNames(p.shards) {
				for _, o := range p.shards[key] {
					r.Observations = append(r.Observations, o)
				}
			}
		} else {
			for _, o := range p.news {
				r.Observations = append(r.Observations, o)
			}
		}
		p.fresh, p.whole = true, false
		clear(p.news)
		sortObservations(r.Observations)
		s.opts.Heard(r)
	}
	if s.newWords {
		s.newWords = false
		s.opts.Overrides(s.said())
	}
	s.publishNodes()
}

// node is what a node says of itself that stays true when it is gone.
func (p *peer) node(name string) Node {
	return Node{
		Name: name, Vantage: p.is.Vantage, Host: p.is.Host, Release: p.is.Release, Config: p.is.Config, PID: p.is.PID, Since: p.is.Since,
	}
}

// publishNodes renews what people are told, and finds out whether we speak.
func (s *session) publishNodes() {
	nodes := map[string]Node{}
	for name, p := range s.heard {
		n := p.node(name)
		n.Blind, n.Leads, n.Stands, n.Wrote, n.Mute = p.is.Blind, p.is.Leads, p.is.Stands, p.is.Wrote, p.rubbish
		if p.fresh || name == s.opts.Node {
			n.Heard = p.heard
		}
		if first := s.speaker(n.Vantage); n.Mute == "" && first != name {
			n.Mute = fmt.Sprintf("node %s speaks for vantage %s; give each node its own node.vantage", first, n.Vantage)
		}
		nodes[name] = n
	}
	s.addLost(nodes)
	s.mu.Lock()
	s.nodes = nodes
	for name := range nodes {
		s.known[name] = true
	}
	s.mu.Unlock()
	var mute error
	if s.nameless != nil {
		mute = s.nameless
	} else if first := s.speaker(s.opts.Vantage); first != "" && first != s.opts.Node {
		mute = &NamesakeError{What: "node.vantage " + s.opts.Vantage, Other: "node " + first, Hears: true}
	}
	if (mute == nil) != (s.mute == nil) {
		s.opts.Trouble(mute)
	}
	s.mute = mute
}
