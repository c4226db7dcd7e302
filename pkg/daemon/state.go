package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/store"
)

// disk is the state directory as far as this process may write to it: while it
// holds it.
type disk struct {
	mu    sync.Mutex
	store *store.Store // nil while nothing may be written
	why   error        // why the holder has no store; nil for all others
}

func (k *disk) open(s *store.Store, why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.store, k.why = s, why
}

func (k *disk) close() { k.open(nil, nil) }

func (k *disk) get() (*store.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store, k.why
}

// lookAtState takes up what the state directory holds, and changes nothing in
// it: another process may hold it. What cannot be read is never fatal:
// the engine then begins anew, and when overrides may have been lost, resumes
// nothing before a person looked.
func (d *Daemon) lookAtState() error {
	dir := d.options.Config.State.Dir
	writes := d.options.Write && !d.options.ReadOnly
	var err error
	if writes {
		err = os.MkdirAll(dir, 0o750)
	}
	var s *store.Store
	var loaded store.Loaded
	if err == nil {
		s, loaded, err = store.Open(dir, store.Options{Now: d.clock.Wall, MaxAge: d.options.Config.State.MaxAge, ReadOnly: true})
	}
	switch {
	case err != nil && writes:
		return fmt.Errorf("open state directory %s: %w; name another with state.dir, or make it writable", dir, err)
	case err != nil:
		d.log.Warn("nothing is known of approvals: the state directory cannot be read", "dir", dir, "error", err)
		return nil
	}
	state, loaded := readState(s, loaded, d.options.Config.State.MaxAge)
	d.takenUp = loaded.SavedAt
	if state != nil {
		d.ends, d.shared, d.kept = state.Ends, state.Shared, state.Notify
		verdicts := loaded.Recent && !d.options.Once // a command judges by its own rounds
		d.engine.Restore(state.State, verdicts, loaded.Recent)
		if d.options.Once {
			d.found, d.fresh = state.State, loaded.Recent
		}
		if loaded.Recent && d.options.Once {
			d.engine.Keep(state.Targets)
			d.watched = state.watched(loaded)
		}
	}
	switch {
	case loaded.Lost():
		d.log.Error("the saved state cannot be used; nothing is resumed before: sidestep approve all", "dir", dir, "reason", loaded.Reason)
		d.engine.Lose()
	case loaded.Status == store.Stale && !d.options.Once:
		d.log.Warn("the saved state is old: verdicts begin anew", "age", loaded.Age.String(), "reason", loaded.Reason)
	}
	return nil
}

// snapshot is what a snapshot holds.
type snapshot struct {
	engine.State
	// Watched is since when nobody has watched some of the targets, where a
	// command saved them as it found them; zero when it was saved by one who
	// watched all. What is known is as old as that, and not as the snapshot.
	Watched time.Time `json:"watched,omitzero"`
	// Ends and Shared are Daemon.ends and Daemon.shared.
	Ends   []cluster.End `json:"ends,omitempty"`
	Shared time.Time     `json:"shared,omitzero"`
	// Notify is what people are to be told, as package notify keeps it.
	Notify json.RawMessage `json:"notify,omitempty"`
	Calm   []calmState     `json:"calm,omitempty"`
}

// watched is when the targets were watched last.
func (s snapshot) watched(loaded store.Loaded) time.Time {
	if s.Watched.IsZero() {
		return loaded.SavedAt
	}
	return s.Watched
}

// aged says how recent the knowledge in a snapshot is that was read well.
func (s snapshot) aged(loaded store.Loaded, maxAge time.Duration) store.Loaded {
	age := loaded.Age + loaded.SavedAt.Sub(s.watched(loaded))
	if loaded.Recent && maxAge > 0 && age > maxAge {
		loaded.Recent, loaded.Status, loaded.Age = false, store.Stale, age
		loaded.Reason = fmt.Sprintf("saved by a command, and nobody watched the targets for %v, more than %v", age.Round(time.Second), maxAge)
	}
	return loaded
}

// readState makes sense of what was loaded, or of the generation before it; nil
// when neither makes any.
func readState(s *store.Store, loaded store.Loaded, maxAge time.Duration) (*snapshot, store.Loaded) {
	for loaded.Payload != nil {
		var state snapshot
		err := json.Unmarshal(loaded.Payload, &state)
		if err == nil {
			err = state.Validate()
		}
		if err == nil {
			state.Saved = loaded.SavedAt
			return &state, state.aged(loaded, maxAge)
		}
		loaded = s.Reject(loaded, err.Error())
	}
	return nil, loaded
}

// openState opens the state directory to write to it, which only who holds it
// does. It is read again, for the process before may have saved since this
// one looked: what persons said is taken up, whichever time the snapshot bears, since
// the wall clock may have been set back meanwhile. Without a directory the daemon
// goes on, and says so; the notes are nil then.
func (d *Daemon) openState() *store.Notes {
	dir := d.options.Config.State.Dir
	s, loaded, err := store.Open(dir, store.Options{Logger: d.log, Now: d.clock.Wall, MaxAge: d.options.Config.State.MaxAge})
	if err == nil && loaded.Unwritable != nil {
		err = loaded.Unwritable
	}
	if err != nil {
		d.log.Error("nothing can be saved; a restart will know nothing of verdicts, holds and approvals", "dir", dir, "error", err)
	}
	if s == nil {
		d.disk.open(nil, err)
		return nil
	}
	state, loaded := readState(s, loaded, d.options.Config.State.MaxAge)
	d.ask(func(e *engine.Engine) {
		another := !loaded.SavedAt.Equal(d.takenUp)
		if state != nil && another {
			heard, ends := wordsOf(e.View(d.now())), d.ends
			e.Restore(state.State, false, false)
			d.ends, d.shared, d.takenUp = state.Ends, state.Shared, loaded.SavedAt
			if d.nodes != nil { // the process before may not have heard of what this one did
				d.hearWords(e, heard, ends)
			}
		}
		if loaded.Lost() {
			e.Lose()
		}
		if state != nil {
			d.takeUpNews(state, another)
		}
	})
	d.disk.open(s, nil)
	return s.Notes()
}

// save writes the state down, if this process may. It belongs to the loop.
func (d *Daemon) save() error {
	d.saved, d.unsaved, d.news = d.clock.Wall(), nil, false
	s, why := d.disk.get()
	if s == nil && why == nil {
		return nil
	}
	if s != nil {
		began := d.clock.Boot()
		why = d.saveTo(s)
		d.saving = d.clock.Boot() - began
	}
	if d.unsaved = why; why != nil {
		d.meter.StateError()
	}
	d.errors.note("save the state", why)
	return why
}

func (d *Daemon) saveTo(s *store.Store) error {
	err := s.SaveBy(func(w io.Writer) error {
		return writeState(w, d.engine, snapshot{Watched: d.watchedSince(), Ends: d.ends, Shared: d.shared, Notify: d.newsToSave(), Calm: d.calmToSave()})
	})
	if err != nil {
		return err
	}
	d.takenUp = s.SavedAt() // it is no news
	return nil
}

// watchedSince is what snapshot.Watched has to be for what is saved now.
func (d *Daemon) watchedSince() time.Time {
	if d.engine.Keeps() {
		return d.watched
	}
	return time.Time{}
}

// writeState writes the engine's State as JSON, one target and one set a line.
// In memory, as one value and then as one text, ten thousand targets would cost
// more than everything else that is kept of them.
// The rest of the snapshot is given.
func writeState(w io.Writer, e *engine.Engine, beside snapshot) error {
	out := &jsonPieces{to: w, encoder: json.NewEncoder(w)}
	out.text(`{"targets":{`)
	between := ""
	for id, t := range e.TargetStates() {
		out.text(between)
		out.value(&id)
		out.text(":")
		out.value(&t)
		between = ","
	}
	out.text(`},"sets":[`)
	between = ""
	for s := range e.SetStates() {
		out.text(between)
		out.value(&s)
		between = ","
	}
	rest := e.RestState()
	out.text(`],"plans":`)
	out.value(rest.Plans)
	out.text(`,"lost":`)
	out.value(rest.Lost)
	if len(rest.Sites) > 0 {
		out.text(`,"sites":`)
		out.value(rest.Sites)
	}
	if len(rest.Overrides) > 0 {
		out.text(`,"overrides":`)
		out.value(rest.Overrides)
	}
	if !beside.Watched.IsZero() {
		out.text(`,"watched":`)
		out.value(beside.Watched)
	}
	if len(beside.Ends) > 0 {
		out.text(`,"ends":`)
		out.value(beside.Ends)
	}
	if !beside.Shared.IsZero() {
		out.text(`,"shared":`)
		out.value(beside.Shared)
	}
	if len(beside.Notify) > 0 {
		out.text(`,"notify":`)
		out.value(beside.Notify)
	}
	if len(beside.Calm) > 0 {
		out.text(`,"calm":`)
		out.value(beside.Calm)
	}
	out.text("}")
	return out.err
}

// jsonPieces writes JSON in pieces and keeps the first error.
type jsonPieces struct {
	to      io.Writer
	encoder *json.Encoder
	err     error
}

func (p *jsonPieces) text(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.to, s)
	}
}

func (p *jsonPieces) value(v any) {
	if p.err == nil {
		p.err = p.encoder.Encode(v)
	}
}

// journal appends one line, if this process may.
func (d *Daemon) journal(kind string, fields any) {
	d.append(store.Entry{Kind: kind, Fields: fields})
}

// append appends lines to the journal, if this process may. A store that fails
// is loud and stops nothing.
func (d *Daemon) append(entries ...store.Entry) {
	d.audience.wrote(d.clock.Wall(), entries)
	s, _ := d.disk.get()
	if s == nil || len(entries) == 0 {
		return
	}
	err := s.AppendAll(entries...)
	if errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrFull) {
		err = fmt.Errorf("%w; what happens now is not written down", err)
	}
	if err != nil {
		d.meter.JournalError()
	}
	d.errors.note("append to the journal", err)
}

// logEntry logs a line of the journal for people, unless the same comes too often.
// What a person said always is. It belongs to the loop.
func (d *Daemon) logEntry(e engine.Entry) {
	if e.By != "" || e.Kind == "override" {
		d.logWord(e)
		return
	}
	pass, more := d.flood.pass(floodKind{e.Kind, e.Guard}, e.Target, d.clock.Boot())
	if !pass {
		return
	}
	level, message, about := slog.LevelInfo, "decision", []any{"kind", e.Kind, "target", e.Target}
	switch {
	case e.Kind == "verdict":
		message = "verdict"
		about = []any{"target", e.Target, "from", string(e.From), "to", string(e.To), "phase", string(e.Phase), "cause", string(e.Cause)}
	case e.Guard == plan.GuardCanary || e.Guard == plan.GuardClock || e.Guard == plan.GuardMass:
		level, message, about = slog.LevelWarn, "this node", []any{"guard", e.Guard}
	case e.Kind == "guard":
		level, message, about = slog.LevelWarn, "stopped by a guard", []any{"target", e.Target, "guard", e.Guard}
	case e.Kind == "site":
		message, about = "site", []any{"site", e.Target}
	case e.Kind == "plan" && !strings.HasPrefix(e.Detail, engine.Drift):
		message, about = "the zone has changed", []any{"target", e.Target}
	case e.Kind == "plan":
		message, about = "changed by somebody else", []any{"target", e.Target}
	}
	about = append(append(about, "detail", e.Detail), more...)
	d.log.Log(context.Background(), level, message, about...) //nolint:sloglint // what happened is a constant above
}

// logWord logs what a person said.
func (d *Daemon) logWord(e engine.Entry) {
	if e.Kind == "override" {
		d.log.Info("override", "target", e.Target, "what", e.Detail, "by", e.By)
		return
	}
	d.log.Info("approved", "target", e.Target, "by", e.By, "detail", e.Detail)
}
