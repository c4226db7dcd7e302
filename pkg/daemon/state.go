package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"sidestep/pkg/engine"
	"sidestep/pkg/store"
)

// openStore opens the state directory and takes up what it holds. What cannot
// be read is never fatal: the engine then begins anew, and when overrides may
// have been lost, resumes nothing before a person looked.
func (d *Daemon) openStore() error {
	if _, err := os.Stat(d.config.State.Dir); !d.options.Write && errors.Is(err, os.ErrNotExist) {
		return nil // to look makes no directory
	}
	s, loaded, err := store.Open(d.config.State.Dir, store.Options{
		Logger: d.log, Now: d.clock.Wall, MaxAge: d.config.State.MaxAge,
	})
	if err != nil && !d.options.Write {
		d.log.Warn("nothing is known of approvals: the state directory cannot be opened", "dir", d.config.State.Dir, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("open state directory %s: %w; name another with state.dir, or make it writable", d.config.State.Dir, err)
	}
	d.store = s
	if d.options.Write && loaded.Unwritable != nil {
		d.log.Error("nothing can be saved; a restart will know nothing of verdicts, holds and approvals", "dir", s.Dir(), "error", loaded.Unwritable)
	}
	d.takeUp(loaded)
	if !d.options.Write {
		d.store = nil // a plan leaves no trace
	}
	return nil
}

func (d *Daemon) takeUp(loaded store.Loaded) {
	var state engine.State
	for loaded.Payload != nil {
		err := json.Unmarshal(loaded.Payload, &state)
		if err == nil {
			verdicts := loaded.Recent && !d.options.Once // a command judges by its own rounds
			d.engine.Restore(state, verdicts, loaded.Recent)
			break
		}
		loaded, state = d.store.Reject(loaded, err.Error()), engine.State{}
	}
	switch {
	case loaded.Lost():
		d.log.Error("the saved state cannot be used", "reason", loaded.Reason, "kept as", loaded.Aside)
		d.engine.Lose()
	case loaded.Status == store.Stale:
		d.log.Warn("the saved state is old: verdicts begin anew", "age", loaded.Age.String(), "reason", loaded.Reason)
	}
}

// save writes the state down. It belongs to the loop. A standby saves nothing:
// the directory is the leader's.
func (d *Daemon) save() {
	d.saved = d.clock.Wall()
	if d.store == nil || !d.leader.leads() {
		return
	}
	payload, err := json.Marshal(d.engine.State())
	if err == nil {
		err = d.store.Save(payload)
	}
	d.errors.note("save state", err)
}

// journal appends one line. A store that fails is loud and stops nothing.
func (d *Daemon) journal(kind string, fields any) {
	if d.store == nil || !d.leader.leads() {
		return
	}
	err := d.store.Append(kind, fields)
	if errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrFull) {
		err = fmt.Errorf("%w; make room or make it writable: what happens now is not written down", err)
	}
	d.errors.note("append to the journal", err)
}

// logEntry logs a line of the journal for people.
func (d *Daemon) logEntry(e engine.Entry) {
	switch e.Kind {
	case "verdict":
		d.log.Info("verdict", "target", e.Target, "from", e.From, "to", e.To, "phase", e.Phase, "cause", e.Cause, "detail", e.Detail)
	default:
		d.log.Info(e.Kind, "target", e.Target, "by", e.By, "detail", e.Detail)
	}
}
