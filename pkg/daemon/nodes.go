package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
		Overrides: d.takeWords, Leads: d.writesSome, First: d.holdsLease, Stands: d.stands, Wrote: d.tellWrites, Approve: d.approveShared,
		Trouble: d.inTrouble,
		Waits: func(wait time.Duration, because string) {
			if d.options.Once {
				d.progress("joining the other nodes, waiting %s: %s", wait, because)
				return
			}
			d.log.Info("waiting before joining the other nodes", "for", wait.String(), "because", because)
		},
		Clock: d.clock, Logger: d.log,
	})
}

// holdsLease reports whether this process holds the lease in etcd, which only one of
// all nodes has.
func (d *Daemon) holdsLease() bool {
	return d.options.Config.Leader.Lock == config.LockEtcd && d.leader.leads()
}

// knownNode reports whether a node was heard among those that share an etcd.
func (d *Daemon) knownNode(name string) bool { return d.nodes != nil && d.nodes.Known(name) }

// inTrouble takes why this node is not among the others; nil when it is again. A
// command says it once, with what it could not do.
func (d *Daemon) inTrouble(err error) {
	d.ask(func(*engine.Engine) { d.apart = err })
	if !d.options.Once {
		d.errors.note("share with other nodes", err)
		return
	}
	if err == nil {
		return
	}
	select {
	case d.failed <- struct{}{}:
	default:
	}
}

// cutOff is why this node does not know what persons say at others now; nil when it
// does. A node that is among the others and speaks for nobody hears all the same. It
// belongs to the loop.
func (d *Daemon) cutOff() error {
	if namesake, is := errors.AsType[*cluster.NamesakeError](d.apart); is && namesake.Hears {
		return nil
	}
	return d.apart
}

// deafAfter is how long a leader writes without being in touch with the etcd where
// persons say what holds for every node.
const deafAfter = 15 * time.Second

// deaf is why a leader must not write, although its lease holds: a freeze may have been
// said that it has not heard.
func (d *Daemon) deaf() error {
	heard := d.nodes.Heard()
	silent := d.clock.Boot() - heard
	if heard == 0 || silent <= deafAfter {
		return nil
	}
	return fmt.Errorf("what persons said at the other nodes is not known for %s: nothing is written before this node hears them again", silent.Round(time.Second))
}

// joinWithin is how long a command waits for the other nodes: a process before it
// that was killed may have to be outwaited. An etcd that does not answer is asked
// twice at most, and not again when that took longer than notAgain.
const (
	joinWithin = 5 * cluster.Beat
	notAgain   = 2 * time.Second
)

// joinOnce is among the nodes for as long as one command lasts. Who is to write must
// know what persons said at other nodes; for all others d.apart is why that is not
// known.
func (d *Daemon) joinOnce(ctx context.Context, leads bool) (leave func(), err error) {
	if d.nodes == nil {
		return func() {}, nil
	}
	d.progress("joining the other nodes, %s at most", joinWithin)
	sharing := newParts(ctx)
	sharing.start("nodes", d.nodes.Run)
	if d.joined(ctx) || ctx.Err() != nil {
		return sharing.end, nil
	}
	d.ask(func(*engine.Engine) { err = d.apart })
	if err == nil {
		err = fmt.Errorf("share with other nodes: not among them within %s", joinWithin)
		d.ask(func(*engine.Engine) { d.apart = err })
	}
	if !leads {
		return sharing.end, nil
	}
	sharing.end()
	return nil, &control.Error{
		Message: fmt.Sprintf("nothing was written, since it is not known what persons said at the other nodes: %v", err), Exit: control.ExitProvider,
	}
}

// joined waits until this node is among the others; false when that is given up.
func (d *Daemon) joined(ctx context.Context) bool {
	end := time.NewTimer(joinWithin)
	defer end.Stop()
	began := time.Now()
	for tries := 1; ; tries++ {
		select {
		case <-d.told:
			return true
		case <-ctx.Done():
			return false
		case <-end.C:
			return false
		case <-d.failed:
			if tries == 2 || time.Since(began) > notAgain {
				return false
			}
		}
	}
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

// digest tells configs apart by what they steer, and how.
func digest(c *config.Config) string {
	sum := sha256.Sum256(c.Common().Show())
	return hex.EncodeToString(sum[:4])
}

// nodeNotices are what people should know of the other nodes.
func (d *Daemon) nodeNotices() []string {
	if d.peers == nil {
		return nil
	}
	var notices, others []string
	if d.apart != nil {
		notices = append(notices, d.apart.Error())
		notices = append(notices, d.untoldNotices()...)
	}
	mine := digest(d.config)
	for _, n := range d.peers() {
		if n.Mute != "" && n.Name != d.config.Node.Name {
			notices = append(notices, fmt.Sprintf("what node %s sees counts for itself alone: %s", n.Name, n.Mute))
		}
		if n.Config != "" && n.Config != mine && !n.Gone {
			others = append(others, fmt.Sprintf("%s (%s)", n.Name, n.Config))
		}
	}
	if len(others) > 0 {
		notices = append(notices, fmt.Sprintf("the config of this node (%s) is another than that of %s: they may want different answers; give all nodes one config, but for what may differ: node, state, control, canary, the source of checks, secrets, and how each reaches etcd and the providers",
			mine, strings.Join(others, ", ")))
	}
	return append(notices, d.sightNotices()...)
}

// describeNodes belongs to the loop.
func (d *Daemon) describeNodes() []control.Node {
	list := []control.Node{}
	if d.peers == nil {
		return list
	}
	now := d.now()
	for _, n := range d.peers() {
		node := control.Node{
			Name: n.Name, Vantage: n.Vantage, Host: n.Host, Release: n.Release, Config: n.Config, Since: n.Since,
			Own: n.Name == d.config.Node.Name, Blind: n.Blind, Mute: n.Mute,
		}
		if n.Heard > 0 {
			at := now.Wall.Add(n.Heard - now.Boot).Round(time.Millisecond)
			node.Heard, node.Silent = &at, n.Gone || now.Boot-n.Heard > engine.SilentAfter
		}
		list = append(list, node)
	}
	return list
}
