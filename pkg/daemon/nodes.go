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
)

// joinNodes makes this node's place among those that share an etcd; nil without
// one.
func (d *Daemon) joinNodes(way cluster.Etcd) *cluster.Cluster {
	return cluster.New(cluster.Options{
		Etcd: way, Prefix: d.config.Etcd.Prefix, Node: d.config.Node.Name, Vantage: d.config.Node.Vantage,
		Config: digest(d.config), Release: d.options.Version,
		Heard: func(r cluster.Report) { d.tell(observed(r)) },
		Left:  func(vantage string) { d.tell(engine.Gone{Vantage: vantage}) },
		Local: func() (known cluster.Known) {
			d.ask(func(e *engine.Engine) {
				known = cluster.Known{Words: wordsOf(e.View(d.now())), Ends: slices.Clone(d.ends), Shared: d.shared}
			})
			return known
		},
		Shared: func(at time.Time) { d.ask(func(*engine.Engine) { d.shared = at }) },
		Whole: func() (r cluster.Report) {
			d.ask(func(e *engine.Engine) { r = reported(e.Observed(d.now())) })
			return r
		},
		Targets: func() (n int) {
			d.ask(func(*engine.Engine) { n = len(d.config.Judged()) })
			return n
		},
		Overrides: d.takeWords, Leads: d.writesSome, Approve: d.approveShared,
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

// onlyHere says that a person's word holds at this node alone, and what to do;
// empty where it does not, or where that is enough. It belongs to the loop.
func (d *Daemon) onlyHere(unshared error) string {
	leader := d.leaderStatus()
	switch {
	case unshared != nil:
		return "it holds at this node only: " + unshared.Error()
	case d.nodes == nil && leader.State == "standby" && d.leader.keeps():
		return fmt.Sprintf("it holds at this node only, and %s leads: say it there too", leader.Holder)
	}
	return ""
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
