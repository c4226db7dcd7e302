package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"
)

const notesFile = "notes.json"

// Note says that a call to a zone was about to be sent, and
// that its definite answer has not come.
type Note struct {
	ID   string          `json:"id"`
	At   time.Time       `json:"at"` // wall clock, for people
	Data json.RawMessage `json:"data,omitempty"`

	inherited bool // of an earlier life
}

// Notes remember the calls whose outcome is not known, across a kill. A
// new process may skip the time of quiet after a start only when they say that
// none is open, and may be believed:
//
//   - No note file, a file that cannot be read, or one whose time of quiet was
//     never over: not to be believed, for calls of an earlier life may be under
//     way that nobody noted. Here, as with a note that is still open, the caller
//     waits until quiet and then calls Trust.
//   - A note that cannot be stored removes the file, so that the next life does
//     not believe what has become untrue. (Removing works on a full disk.)
//
// Notes are of one directory, thus of one node: after taking over from
// another node they prove nothing. They are safe for many goroutines.
type Notes struct {
	s *Store

	mu      sync.Mutex
	trusted bool
	open    []Note // in the order of opening
}

// noteFile is the payload of notes.json.
type noteFile struct {
	Trusted bool   `json:"trusted"`
	Open    []Note `json:"open"`
}

// Notes reads the note file. Call it after the lease was won, each time: until
// then another process of this host may have written notes.
func (s *Store) Notes() *Notes {
	n := &Notes{s: s}
	e, err := readEnvelope(s.path(notesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return n
	}
	var file noteFile
	if err == nil {
		err = json.Unmarshal(e.Payload, &file)
	}
	if err != nil {
		s.keepNotes(err)
		return n
	}
	n.trusted, n.open = file.Trusted, file.Open
	for i := range n.open {
		n.open[i].inherited = true
	}
	return n
}

// keepNotes puts notes that cannot be used aside.
func (s *Store) keepNotes(why error) {
	if s.opts.ReadOnly {
		return
	}
	aside, err := s.putAside(notesFile, "notes.corrupt")
	s.log.Error("the notes about open calls are not usable: every answer is in doubt until quiet",
		"error", errors.Join(why, err), "aside", aside)
}

// Open stores a note and returns once it is durable: only then may the call be
// sent. A second note under one id replaces the first. data is JSON or nil. On
// an error the note is kept in memory, so that a later write stores it, and
// the caller decides whether the call may go without.
func (n *Notes) Open(id string, data json.RawMessage) error {
	if data != nil && !json.Valid(data) {
		return fmt.Errorf("note the open call %q: the data is not JSON: %q", id, data)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(func(o Note) bool { return o.ID == id })
	n.open = append(n.open, Note{ID: id, At: n.s.opts.Now().UTC(), Data: data})
	err := n.store()
	if err == nil {
		return nil
	}
	if errors.Is(err, errLooking) {
		return err
	}
	if gone := remove(n.s.path(notesFile)); gone != nil {
		return fmt.Errorf("note the open call %q: %w; the old note file could not be removed either, so a restart would believe it: %w", id, err, gone)
	}
	if unsynced := n.s.syncDir(); unsynced != nil {
		err = errors.Join(err, explain("remove "+n.s.path(notesFile), unsynced))
	}
	return fmt.Errorf("note the open call %q: %w", id, err)
}

// Close clears a note after the definite answer to its call. One that is not
// open is cleared already.
func (n *Notes) Close(id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.drop(func(o Note) bool { return o.ID == id }) {
		return nil
	}
	if err := n.store(); err != nil {
		return fmt.Errorf("clear the note of call %q: %w", id, err)
	}
	return nil
}

// Pending lists the open notes, oldest first. trusted says whether the list is
// all there is; when it is false, calls may be open that it does not name.
func (n *Notes) Pending() (open []Note, trusted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.open), n.trusted
}

// Trust says that the time of quiet has passed: every call that was sent before
// this life is over, noted or not. Notes of an earlier life are cleared, and
// from here on the notes are believed.
func (n *Notes) Trust() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	cleared := n.drop(func(o Note) bool { return o.inherited })
	if n.trusted && !cleared {
		return nil
	}
	n.trusted = true
	if err := n.store(); err != nil {
		return fmt.Errorf("store that the notes are complete: %w", err)
	}
	return nil
}

// drop takes notes off the list and reports whether there were any.
func (n *Notes) drop(which func(Note) bool) bool {
	before := len(n.open)
	n.open = slices.DeleteFunc(n.open, which)
	return len(n.open) < before
}

func (n *Notes) store() error {
	payload, err := json.Marshal(noteFile{Trusted: n.trusted, Open: n.open})
	if err != nil {
		return err
	}
	write, err := compact(payload)
	if err != nil {
		return err
	}
	at := n.s.opts.Now()
	return n.s.replace(notesFile, func(w io.Writer) error { return seal(w, at, write) })
}
