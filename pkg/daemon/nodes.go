package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
)

// joinNodes makes this node's place among those that share an etcd; nil without
// one.
func (d *Daemon) joinNodes(way cluster.Etcd) *cluster.Cluster {
	return cluster.New(cluster.Options{
		Etcd: way, Prefix: d.config.Etcd.Prefix, Node: d.config.Node.Name, Vantage: d.config.Node.Vantage,
		Config: digest(d.config), Release: d.options.Version,
		Heard: func(r cluster.Report) { d.tell(observed(r)) },
		Left:  func(vantage string) { d.tell(engine.Gone{Vantage: vantage}) },
		Local: func() (words []override.Override) {
			d.ask(func(e *engine.Engine) { words = wordsOf(e.View(d.now())) })
			return words
		},
		Whole: func() (r cluster.Report) {
			d.ask(func(e *engine.Engine) { r = reported(e.Observed(d.now())) })
			return r
		},
		Targets: func() (n int) {
			d.ask(func(*engine.Engine) { n = len(d.config.Judged()) })
			return n
		},
		Overrides: d.takeWords,
		Trouble: func(err error) {
			d.errors.note("share with other nodes", err)
			d.ask(func(*engine.Engine) { d.apart = err })
		},
		Clock: d.clock, Logger: d.log,
	})
}

// joinWithin is how long a command waits for the other nodes: a process before it
// that was killed may have to be outwaited.
const joinWithin = 5 * cluster.Beat

// joinOnce is among the nodes for as long as one command lasts. Who is to write must
// know what persons said at other nodes.
func (d *Daemon) joinOnce(ctx context.Context, leads bool) (leave func(), err error) {
	if d.nodes == nil {
		return func() {}, nil
	}
	d.progress("joining the other nodes, %s at most", joinWithin)
	sharing := newParts(ctx)
	sharing.start("nodes", d.nodes.Run)
	select {
	case <-d.told:
	case <-ctx.Done():
	case <-time.After(joinWithin):
		d.ask(func(*engine.Engine) { err = d.apart })
		if !leads {
			d.log.Warn("not among the other nodes: what they see and what persons said there is not known", "error", err)
			return sharing.end, nil
		}
		sharing.end()
		return nil, &control.Error{
			Message: fmt.Sprintf("nothing was written: what persons said at the other nodes cannot be known: %v", err),
			Hint:    "see that etcd answers: sidestep status", Exit: control.ExitProvider,
		}
	}
	return sharing.end, nil
}

func observed(r cluster.Report) engine.Observed {
	out := engine.Observed{Vantage: r.Vantage, At: r.At, Blind: r.Blind, Whole: r.Whole}
	for _, o := range r.Observations {
		out.Observations = append(out.Observations, engine.Observation(o))
	}
	return out
}

func reported(o engine.Observed) cluster.Report {
	out := cluster.Report{Vantage: o.Vantage, At: o.At, Blind: o.Blind, Whole: o.Whole}
	for _, one := range o.Observations {
		out.Observations = append(out.Observations, cluster.Observation(one))
	}
	return out
}

func wordsOf(view engine.View) []override.Override {
	var words []override.Override
	for _, o := range view.Words {
		words = append(words, o.Override)
	}
	return words
}

// elsewhere is who takes a word back that a person took back at another node,
// which journals the name.
const elsewhere = "somebody at another node"

// takeWords brings this node's words of persons to what all nodes share. What ends
// by the time does so at every node by itself.
func (d *Daemon) takeWords(shared []override.Override) {
	defer func() {
		if !isClosed(d.told) {
			close(d.told)
		}
	}()
	d.ask(func(e *engine.Engine) {
		mine, now := wordsOf(e.View(d.now())), d.clock.Wall()
		shared := slices.DeleteFunc(slices.Clone(shared), func(o override.Override) bool { return o.Over(now) })
		for _, o := range mine {
			if !slices.ContainsFunc(shared, o.Same) {
				d.step(engine.Clear{Target: o.Target, Kind: o.Kind, By: elsewhere})
			}
		}
		for _, o := range shared {
			if slices.ContainsFunc(mine, func(m override.Override) bool { return sameWord(m, o) }) {
				continue
			}
			effects := d.step(engine.Override{Override: o})
			d.errors.note(fmt.Sprintf("take up the %s of %s from another node", o.Kind, o.Shown()), effects.Err)
		}
	})
}

// sameWord reports whether two nodes have the same word of a person: times are the
// same instant, in whatever zone.
func sameWord(a, b override.Override) bool {
	return a.Same(b) && a.By == b.By && a.Reason == b.Reason && slices.Equal(a.Values, b.Values) &&
		a.Said.Equal(b.Said) && a.From.Equal(b.From) && a.Until.Equal(b.Until)
}

// shareWord lets every node know of a person's word, before this one acts on it.
func (d *Daemon) shareWord(ctx context.Context, o override.Override) error {
	if err := d.nodes.Put(ctx, o); err != nil {
		return notShared(fmt.Sprintf("%s %q", o.Kind, o.Shown()), err)
	}
	return nil
}

// shareEnd lets every node know that words were taken back.
func (d *Daemon) shareEnd(ctx context.Context, words []override.Override) error {
	for _, o := range words {
		if err := d.nodes.Clear(ctx, o.Target, o.Kind); err != nil {
			return notShared(fmt.Sprintf("clear %q", o.Shown()), err)
		}
	}
	return nil
}

func notShared(what string, err error) error {
	return &control.Error{
		Message: fmt.Sprintf("%s: refused, because the other nodes cannot be told: %v", what, err),
		Hint:    "say it again when etcd answers: sidestep status", Exit: control.ExitFailure,
	}
}

// digest tells configs apart by what they steer, and how. What may differ from node
// to node is left out.
func digest(c *config.Config) string {
	common := *c
	common.Node, common.State, common.Control = config.Config{}.Node, config.Config{}.State, config.Config{}.Control
	sum := sha256.Sum256(common.Show())
	return hex.EncodeToString(sum[:4])
}

// nodeNotices are what people should know of the other nodes.
func (d *Daemon) nodeNotices() []string {
	if d.nodes == nil {
		return nil
	}
	var notices, others []string
	if d.apart != nil {
		notices = append(notices, d.apart.Error())
	}
	mine := digest(d.config)
	for _, n := range d.nodes.Nodes() {
		if n.Mute != "" && n.Name != d.config.Node.Name {
			notices = append(notices, fmt.Sprintf("what node %s says counts for nothing: %s", n.Name, n.Mute))
		}
		if n.Config != "" && n.Config != mine {
			others = append(others, fmt.Sprintf("%s (%s)", n.Name, n.Config))
		}
	}
	if len(others) > 0 {
		notices = append(notices, fmt.Sprintf("the config of this node (%s) is another than that of %s: they may want different answers; give all nodes one config but for node, state and control",
			mine, strings.Join(others, ", ")))
	}
	return notices
}

// describeNodes belongs to the loop.
func (d *Daemon) describeNodes() []control.Node {
	list := []control.Node{}
	if d.nodes == nil {
		return list
	}
	now := d.now()
	for _, n := range d.nodes.Nodes() {
		node := control.Node{
			Name: n.Name, Vantage: n.Vantage, Host: n.Host, Release: n.Release, Config: n.Config, Since: n.Since,
			Own: n.Name == d.config.Node.Name, Blind: n.Blind, Mute: n.Mute,
		}
		if n.Heard > 0 {
			at := now.Wall.Add(n.Heard - now.Boot).Round(time.Millisecond)
			node.Heard, node.Silent = &at, now.Boot-n.Heard > engine.SilentAfter
		}
		list = append(list, node)
	}
	return list
}
