package memory

import (
	"context"
	"errors"
	"sync"

	"sidestep/pkg/provider"
)

// Line is one process's way to a zone, which can be cut, stand still with the process,
// and end with it. Its fields are changed by Set. It may be used from many goroutines.
type Line struct {
	provider.Adapter

	Zone *Zone
	Dead bool // the process is gone: nothing of it is sent any more
	Cut  bool // nothing comes through
	Late bool // the next write stays under way when it is given up
	Skip int  // after so many that do not

	Opened func()       // what happens once the gate let a call out, before it is sent; nil for nothing
	Leaves func() error // and as it is sent

	mu   sync.Mutex
	held chan struct{} // the process is stopped until this is closed; nil while it runs
}

// Whole is the adapter that takes this way: a provider.Fencer where the zone has one.
func (l *Line) Whole() provider.Adapter {
	if fencer, ok := l.Adapter.(provider.Fencer); ok {
		return FencedLine{l, fencer}
	}
	return l
}

// Set changes the way from now on.
func (l *Line) Set(change func(*Line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// Freeze stops the process as SIGSTOP does.
func (l *Line) Freeze() { l.Set(func(l *Line) { l.held = make(chan struct{}) }) }

// Thaw lets it go on.
func (l *Line) Thaw() {
	l.Set(func(l *Line) {
		if l.held != nil {
			close(l.held)
		}
		l.held = nil
	})
}

// Runs waits until the process runs, whatever its contexts say: nobody is there to
// notice.
func (l *Line) Runs() {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		<-held
	}
}

// pass lets a request through, or not.
func (l *Line) pass() error {
	l.Runs()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Dead:
		return errors.New("killed")
	case l.Cut:
		return provider.Failf(provider.Retryable, "send", "unreachable", "no route to the provider")
	}
	return nil
}

// gate asks the caller's, and may stop between that and the sending.
func (l *Line) gate(of provider.Gate) provider.Gate {
	return func() error {
		if err := of(); err != nil {
			return err
		}
		if l.Opened != nil {
			l.Opened()
		}
		if err := l.pass(); err != nil || l.Leaves == nil {
			return err
		}
		return l.Leaves()
	}
}

// write arms the fault that was ordered for the next write.
func (l *Line) write() error {
	if err := l.pass(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Late {
		return nil
	}
	if l.Skip > 0 {
		l.Skip--
		return nil
	}
	l.Late = false
	var once sync.Once
	l.Zone.Faults(func(op Op, _ int) (f Fault) {
		if op.Write() {
			once.Do(func() { f.Kind = Late })
		}
		return f
	})
	return nil
}

// List lists the zone.
func (l *Line) List(ctx context.Context) (*provider.Snapshot, error) {
	if err := l.pass(); err != nil {
		return nil, err
	}
	return l.Adapter.List(ctx)
}

// Add puts values in.
func (l *Line) Add(ctx context.Context, call provider.Call) error {
	if err := l.write(); err != nil {
		return err
	}
	call.Gate = l.gate(call.Gate)
	return l.Adapter.Add(ctx, call)
}

// TakeAway takes values out.
func (l *Line) TakeAway(ctx context.Context, call provider.Call) error {
	if err := l.write(); err != nil {
		return err
	}
	call.Gate = l.gate(call.Gate)
	return l.Adapter.TakeAway(ctx, call)
}

// FencedLine is a Line to a zone that compares and swaps.
type FencedLine struct {
	*Line

	Fencer provider.Fencer
}

// Claim replaces the stamps.
func (f FencedLine) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Fencer.Claim(ctx, seen, next, f.gate(gate))
}

// Prove sends what has to be refused.
func (f FencedLine) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := f.pass(); err != nil {
		return err
	}
	return f.Fencer.Prove(ctx, seen, next, f.gate(gate))
}

// Stamps reads the stamps alone.
func (f FencedLine) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	if err := f.pass(); err != nil {
		return nil, err
	}
	return f.Fencer.(provider.StampReader).Stamps(ctx)
}

// After is the list after a write that was accepted.
func (f FencedLine) After(call provider.Call) *provider.Snapshot {
	return f.Fencer.(provider.Follower).After(call)
}
