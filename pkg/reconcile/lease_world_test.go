package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/zone"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// leaseTimes are the defaults of the product.
var leaseTimes = zone.Times{Heartbeat: 30 * time.Second, Takeover: 2 * time.Minute, Poll: 10 * time.Second, Lag: 5 * time.Second, Call: 10 * time.Second}

// pack is several nodes around one zone whose stamp is the lease, in virtual time.
type pack struct {
	*world
	t     testing.TB
	times zone.Times
	wolf  []*wolf
	may   Leader                                          // whether those who begin may write at all; nil lets them
	wrap  func(*wolf, memory.FencedLine) provider.Adapter // makes the adapters of those who begin; nil leaves them as they are
}

// wolf is one node of a pack: a process that can be killed, stopped and cut off.
type wolf struct {
	pack  *pack
	name  string
	life  int // which process of the name it is
	clock *clock.Virtual
	line  *memory.Line
	write *Reconciler
	stop  context.CancelFunc
	done  chan struct{}
	gone  bool

	mu    sync.Mutex
	leads []Lead
}

// told is what was told of its leadership.
func (n *wolf) told() []Lead {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.leads)
}

func (n *wolf) hear(l Lead) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leads = append(n.leads, l)
}

// newPack makes a zone of a class in which www answers with the first value.
func newPack(t testing.TB, options memory.Options, nodes int) *pack {
	options.Lag, options.Call, options.Late = leaseTimes.Lag, leaseTimes.Call, time.Minute
	p := &pack{world: newWorld(t, options, values[0]), t: t, times: leaseTimes}
	p.add(nodes)
	return p
}

// add starts so many nodes.
func (p *pack) add(nodes int) {
	for range nodes {
		n := &wolf{pack: p, name: fmt.Sprintf("mon-%d", len(p.wolf)+1), clock: clock.Bubble()}
		p.wolf = append(p.wolf, n)
		n.begin()
	}
	synctest.Wait()
}

// begin starts a process of the node, which knows nothing.
func (n *wolf) begin() {
	n.life++
	p := n.pack
	n.line = &memory.Line{Adapter: p.zone.Adapter(fmt.Sprintf("%s/%d", n.name, n.life)), Zone: p.zone}
	adapter := n.line.Whole()
	if p.wrap != nil {
		adapter = p.wrap(n, adapter.(memory.FencedLine))
	}
	var may Leader = open{}
	if p.may != nil {
		may = p.may
	}
	n.write = New(Options{
		Zones: []Zone{{Name: zoneName, Adapter: adapter, Lease: p.times}},
		Node:  n.name, Clock: n.clock, Leader: may,
		Retry: provider.Backoff{Base: time.Second, Max: 30 * time.Second, Attempts: 3},
		Led:   n.hear,
	})
	n.write.Lead(newMemoNotes(), false)
	ctx, stop := context.WithCancel(context.Background())
	n.stop, n.done, n.gone = stop, make(chan struct{}), false
	done, write := n.done, n.write
	go func() {
		defer close(done)
		write.Run(ctx)
	}()
}

// open lets every call through: the process may write.
type open struct{}

func (open) Gate(time.Duration) error { return nil }
func (open) Term() lease.Term         { return lease.Term{Epoch: 1} }

// kill ends the process without another call.
func (n *wolf) kill() {
	n.gone = true
	n.line.Set(func(l *memory.Line) { l.Dead = true })
	n.stop()
	<-n.done
}

// end ends it in order.
func (n *wolf) end() {
	n.stop()
	<-n.done
	if err := n.write.Release(context.Background()); err != nil {
		n.pack.t.Log(err)
	}
	n.gone = true
}

// end ends all processes.
func (p *pack) end() {
	for _, n := range p.wolf {
		if !n.gone {
			n.kill()
		}
	}
}

// leading reports whether the process says that it leads.
func (n *wolf) leading() bool {
	l, _ := n.write.Leadership(zoneName)
	return !n.gone && l.Leads
}

// leader is the one node that says so; nil when none does.
func (p *pack) leader() *wolf {
	for _, n := range p.wolf {
		if n.leading() {
			return n
		}
	}
	return nil
}
