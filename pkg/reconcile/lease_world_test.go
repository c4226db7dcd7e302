package reconcile

import (
	"context"
	"errors"
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
	may   Leader                                   // whether those who begin may write at all; nil lets them
	wrap  func(*wolf, fencedLine) provider.Adapter // makes the adapters of those who begin; nil leaves them as they are
}

// wolf is one node of a pack: a process that can be killed, stopped and cut off.
type wolf struct {
	pack  *pack
	name  string
	life  int // which process of the name it is
	clock *clock.Virtual
	line  *line
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
	n.line = &line{Adapter: p.zone.Adapter(fmt.Sprintf("%s/%d", n.name, n.life)), zone: p.zone}
	var adapter provider.Adapter = fencedLine{n.line, n.line.Adapter.(provider.Fencer)}
	if p.wrap != nil {
		adapter = p.wrap(n, adapter.(fencedLine))
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
	n.line.set(func(l *line) { l.dead = true })
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

// owners are who wrote the stamps, by their nonces: the processes, and not only
// their names.
func owners(history []memory.Version) map[string]string {
	wrote := map[string]string{}
	for _, v := range history {
		for _, s := range stampsIn(v) {
			if _, known := wrote[s.Nonce]; !known && s.Nonce != "" {
				wrote[s.Nonce] = v.Cause.Node
			}
		}
	}
	return wrote
}

func stampsIn(v memory.Version) (stamps []provider.Stamp) {
	for _, r := range v.Records {
		if r.Type == "TXT" && r.Name == "_sidestep.example.com." {
			stamps = append(stamps, provider.ParseStamp(r.Value))
		}
	}
	return stamps
}

// oneWriter sees that whatever an adapter changed in the zone beside the stamp was
// changed by the process whose stamp was there before, and no other process's. A
// text that somebody copied there by hand since the list, and the one that a first
// claim begins with, are nobody's.
func oneWriter(history []memory.Version) error {
	wrote := owners(history)
	for i := 1; i < len(history); i++ {
		v := history[i]
		if v.Cause.Op != memory.OpAdd && v.Cause.Op != memory.OpTakeAway {
			continue
		}
		var of []string
		before := stampsIn(history[i-1])
		for _, s := range before {
			if who := wrote[s.Nonce]; who != "" && s.Holder != "-" {
				of = append(of, who)
			}
		}
		if len(of) != 1 || of[0] != v.Cause.Node {
			return fmt.Errorf("version %d at %v (%s): the stamps before were %v, of %v", i, v.At, v.Cause, before, of)
		}
	}
	return nil
}

// line is a node's way to the provider.
type line struct {
	provider.Adapter
	zone *memory.Zone

	mu   sync.Mutex
	dead bool          // the process is gone
	cut  bool          // nothing comes through
	late bool          // the next write stays under way when it is given up
	skip int           // after so many that do not
	held chan struct{} // the process is stopped until this is closed

	opened func()       // what happens once the gate let a call out, before it is sent; nil for nothing
	leaves func() error // and as it is sent
}

func (l *line) set(change func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// freeze stops the process as SIGSTOP does, and thaw lets it go on.
func (l *line) freeze() { l.set(func(l *line) { l.held = make(chan struct{}) }) }

func (l *line) thaw() {
	l.set(func(l *line) {
		if l.held != nil {
			close(l.held)
		}
		l.held = nil
	})
}

// runs waits until the process runs, whatever its contexts say: nobody is there to
// notice.
func (l *line) runs() {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		<-held
	}
}

// pass lets a request through, or not.
func (l *line) pass() error {
	l.runs()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.dead:
		return errors.New("killed")
	case l.cut:
		return provider.Failf(provider.Retryable, "send", "unreachable", "no route to the provider")
	}
	return nil
}

// gate asks the caller's, and may stop between that and the sending.
func (l *line) gate(of provider.Gate) provider.Gate {
	return func() error {
		if err := of(); err != nil {
			return err
		}
		if l.opened != nil {
			l.opened()
		}
		if err := l.pass(); err != nil || l.leaves == nil {
			return err
		}
		return l.leaves()
	}
}

// write arms the fault that was ordered for the next write.
func (l *line) write() error {
	if err := l.pass(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.late {
		return nil
	}
	if l.skip > 0 {
		l.skip--
		return nil
	}
	l.late = false
	var once sync.Once
	l.zone.Faults(func(op memory.Op, _ int) (f memory.Fault) {
		if op.Write() {
			once.Do(func() { f.Kind = memory.Late })
		}
		return f
	})
	return nil
}

func (l *line) List(ctx context.Context) (*provider.Snapshot, error) {
	if err := l.pass(); err != nil {
		return nil, err
	}
	return l.Adapter.List(ctx)
}

func (l *line) Add(ctx context.Context, call provider.Call) error {
	if err := l.write(); err != nil {
		return err
	}
	call.Gate = l.gate(call.Gate)
	return l.Adapter.Add(ctx, call)
}

func (l *line) TakeAway(ctx context.Context, call provider.Call) error {
	if err := l.write(); err != nil {
		return err
	}
	call.Gate = l.gate(call.Gate)
	return l.Adapter.TakeAway(ctx, call)
}

type fencedLine struct {
	*line

	fencer provider.Fencer
}

func (f fencedLine) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.fencer.Claim(ctx, seen, next, f.gate(gate))
}

func (f fencedLine) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := f.pass(); err != nil {
		return err
	}
	return f.fencer.Prove(ctx, seen, next, f.gate(gate))
}

func (f fencedLine) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	if err := f.pass(); err != nil {
		return nil, err
	}
	return f.fencer.(provider.StampReader).Stamps(ctx)
}

func (f fencedLine) After(call provider.Call) *provider.Snapshot {
	return f.fencer.(provider.Follower).After(call)
}
