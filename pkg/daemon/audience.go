package daemon

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/store"
)

// How many may listen at once, and how many events wait for one who does not keep up
// before it is cut off.
const (
	mostListeners = 16
	mostWaiting   = 256
)

// audience is who listens to what happens. Nobody in it can make the loop wait.
type audience struct {
	mu        sync.Mutex
	listeners map[chan control.StreamEvent]bool
	over      bool
}

// Events gives what happens from now on, until ctx or the daemon ends, or the events are
// not taken in time.
func (d *Daemon) Events(ctx context.Context) (<-chan control.StreamEvent, error) {
	a := &d.audience
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		return nil, errStopped
	case len(a.listeners) >= mostListeners:
		return nil, &control.Error{Message: "too many listen to events already", Hint: "end one of the pages, or ask for status now and then", Exit: control.ExitFailure}
	}
	if a.listeners == nil {
		a.listeners = map[chan control.StreamEvent]bool{}
	}
	events := make(chan control.StreamEvent, mostWaiting)
	a.listeners[events] = true
	context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.leave(events)
	})
	return events, nil
}

// leave is called with the lock held.
func (a *audience) leave(events chan control.StreamEvent) {
	if a.listeners[events] {
		delete(a.listeners, events)
		close(events)
	}
}

// end sends everybody away, and lets nobody in any more.
func (a *audience) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for events := range a.listeners {
		a.leave(events)
	}
}

// tell gives an event to everybody. It is made only where somebody listens.
func (a *audience) tell(made func() control.StreamEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.listeners) == 0 {
		return
	}
	event := made()
	for events := range a.listeners {
		select {
		case events <- event:
		default:
			a.leave(events)
		}
	}
}

// changed says that a status asked for now may be another.
func (a *audience) changed(at time.Time) {
	a.tell(func() control.StreamEvent {
		return control.StreamEvent{Name: "status", Data: head(at, "")}
	})
}

// wrote tells what is written into the journal, as history has it.
func (a *audience) wrote(now time.Time, entries []store.Entry) {
	for _, entry := range entries {
		a.tell(func() control.StreamEvent {
			return control.StreamEvent{Name: "journal", Data: lineOf(now, entry)}
		})
	}
}

func head(at time.Time, kind string) json.RawMessage {
	line, _ := json.Marshal(struct { // a time and a word: it cannot fail
		At   time.Time `json:"at"`
		Kind string    `json:"kind,omitempty"`
	}{at.UTC(), kind})
	return line
}

// lineOf is an entry as the journal has it.
func lineOf(now time.Time, entry store.Entry) json.RawMessage {
	line := head(now, entry.Kind)
	if fields, err := json.Marshal(entry.Fields); err == nil && len(fields) > 2 && fields[0] == '{' {
		line = append(append(line[:len(line)-1], ','), fields[1:]...)
	}
	return whole(store.Line{Kind: entry.Kind, Raw: line})
}
