package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	stateFile    = "state.json"
	previousFile = "state.json.1"
	nextPrevious = ".state.json.1.new"
)

// Status is what Open found in place of the newest snapshot.
type Status string

// The statuses.
const (
	Fresh   Status = "fresh"   // whole, and no older than Options.MaxAge
	Stale   Status = "stale"   // whole, but older, or saved in the future: the clock was set back
	Absent  Status = "absent"  // no snapshot was ever saved here
	Corrupt Status = "corrupt" // unreadable, or missing though an older generation is there
	Newer   Status = "newer"   // saved by a newer version of the program; nothing will be saved over it
)

// Loaded is what Open found.
type Loaded struct {
	Status Status
	// Payload is what was saved; nil when there is nothing to be used. With
	// Corrupt and Newer it is of the generation before, and what was saved
	// since then is lost.
	Payload json.RawMessage
	SavedAt time.Time     // when Payload was saved
	Age     time.Duration // of Payload; negative when it was saved in the future
	Recent  bool          // Payload is no older than Options.MaxAge and not of the future
	Reason  string        // in words, what is wrong; empty when nothing is
	Aside   string        // where a copy of an unusable snapshot was put; empty when none was
	// Unwritable is why nothing can be saved in this directory; nil when it
	// seems that it can.
	Unwritable error
}

// Lost reports whether something that was saved, such as overrides, may be
// missing from Payload.
func (l Loaded) Lost() bool { return l.Status == Corrupt || l.Status == Newer }

// Save replaces the snapshot by a payload, which must be JSON; see SaveBy.
func (s *Store) Save(payload []byte) error {
	write, err := compact(payload)
	if err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return s.SaveBy(write)
}

// SaveBy replaces the snapshot by what write writes, piece by piece: JSON,
// without space before or behind it. The one before becomes the older
// generation. It returns once the snapshot is durable. On an error the old
// snapshot is still there, whole.
func (s *Store) SaveBy(write func(io.Writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return fmt.Errorf("save the state: %w", s.refuse)
	}
	var unkept error
	if s.good {
		unkept = s.keepPrevious()
	}
	at := s.opts.Now()
	err := s.replace(stateFile, func(w io.Writer) error { return seal(w, at, write) })
	if err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	s.good, s.savedAt = true, at
	if unkept != nil && s.unkept == nil { // a save that fails is said by the caller, and is the same trouble
		s.log.Warn("the last state could not be kept as the older generation", "error", unkept)
	}
	s.unkept = unkept
	return nil
}

// SavedAt is when this Store saved last, as Loaded.SavedAt would say; zero when it has
// saved nothing.
func (s *Store) SavedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.savedAt
}

// keepPrevious makes the newest snapshot the older generation as well, by a
// second link, so that there is no moment without a newest one.
func (s *Store) keepPrevious() error {
	if err := remove(s.path(nextPrevious)); err != nil {
		return err
	}
	err := os.Link(s.path(stateFile), s.path(nextPrevious))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody removed it: there is nothing to keep
	}
	if err != nil {
		return err
	}
	if err := os.Rename(s.path(nextPrevious), s.path(previousFile)); err != nil {
		return err
	}
	// rename(2) does nothing, and leaves both, when the two are one file.
	return remove(s.path(nextPrevious))
}

// Reject says that the payload which was loaded turned out to mean nothing. Its
// snapshot is treated as corrupt, and what is left is returned. Call it before
// the first Save.
func (s *Store) Reject(loaded Loaded, why string) Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := stateFile
	if loaded.Lost() {
		name = previousFile
	}
	left := Loaded{Status: Corrupt, Reason: name + ": " + why, Unwritable: loaded.Unwritable}
	left.Aside = s.keepUnusable(name, "state.corrupt")
	s.good = false
	s.log.Error("the state is not usable", "reason", left.Reason, "aside", left.Aside)
	if name == stateFile {
		left.take(s.read(previousFile))
	}
	return left
}

// load reads the newest snapshot, or else the generation before it.
func (s *Store) load() Loaded {
	newest := s.read(stateFile)
	if newest.Payload != nil {
		s.good = true
		return newest
	}
	previous := s.read(previousFile)
	if newest.Status == Absent {
		if previous.Status == Absent {
			return newest
		}
		newest.Status = Corrupt
		newest.Reason = stateFile + " is missing, though " + previousFile + " is there; remove both for a start from nothing"
	}
	newest.take(previous)
	s.log.Error("the state is not usable", "status", newest.Status, "reason", newest.Reason,
		"aside", newest.Aside, "older_generation", newest.Payload != nil)
	return newest
}

// take fills in for an unusable snapshot from the generation before.
func (l *Loaded) take(previous Loaded) {
	if previous.Payload == nil {
		if previous.Reason != "" {
			l.Reason += "; " + previous.Reason
		}
		return
	}
	l.Payload, l.SavedAt, l.Age, l.Recent = previous.Payload, previous.SavedAt, previous.Age, previous.Recent
}

// read reads one generation and puts it aside when it cannot be used.
func (s *Store) read(name string) Loaded {
	e, err := readEnvelope(s.path(name))
	var newer *versionError
	switch {
	case err == nil:
		return s.aged(e)
	case errors.Is(err, fs.ErrNotExist):
		return Loaded{Status: Absent}
	case errors.As(err, &newer):
		s.refuse = fmt.Errorf("%w: %s is %w; start the newer version again, or move the file away", ErrNewer, s.path(name), newer)
		return Loaded{Status: Newer, Reason: name + ": " + err.Error(), Aside: s.keepUnusable(name, "state.newer")}
	}
	return Loaded{Status: Corrupt, Reason: name + ": " + err.Error(), Aside: s.keepUnusable(name, "state.corrupt")}
}

// keepUnusable puts a snapshot aside. What cannot be kept is not written over,
// and who only looks leaves it where it is.
func (s *Store) keepUnusable(name, as string) string {
	if s.opts.ReadOnly {
		return ""
	}
	aside, err := s.putAside(name, as)
	if err != nil {
		s.refuse = err
		s.log.Error("an unusable state could not be put aside; nothing is saved over it", "error", err)
	}
	return aside
}

// clockSlack is how far in the future a snapshot may lie without a word: a
// clock that was corrected at boot.
const clockSlack = 10 * time.Second

func (s *Store) aged(e envelope) Loaded {
	l := Loaded{Status: Fresh, Payload: e.Payload, SavedAt: e.SavedAt, Age: s.opts.Now().Sub(e.SavedAt)}
	switch {
	case l.Age < -clockSlack:
		l.Status = Stale
		l.Reason = fmt.Sprintf("saved at %s, which is %v in the future: the clock was set back",
			e.SavedAt.Format(time.RFC3339), -l.Age)
	case s.opts.MaxAge > 0 && l.Age > s.opts.MaxAge:
		l.Status = Stale
		l.Reason = fmt.Sprintf("saved %v ago, more than %v", l.Age.Round(time.Second), s.opts.MaxAge)
	}
	l.Recent = l.Status == Fresh
	return l
}

// putAside keeps an unusable file under another name and returns its path. The
// file stays where it is as well, as a second link, until the next write
// replaces it: a process that dies before that finds it again and is warned
// again. Where a link cannot be made (a directory, a file of another user),
// the file is moved. The name follows from the file's age, so that a second
// start makes no second copy.
func (s *Store) putAside(name, as string) (string, error) {
	info, err := os.Lstat(s.path(name))
	if err != nil {
		return "", explain("keep a copy of "+s.path(name), err)
	}
	aside := s.path(as + "-" + info.ModTime().UTC().Format("20060102T150405.000000000Z"))
	for taken := true; taken; {
		there, err := os.Lstat(aside)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			taken = false
		case err != nil:
			return "", explain("keep a copy of "+s.path(name), err)
		case os.SameFile(info, there):
			return aside, nil
		default:
			aside += "x"
		}
	}
	if os.Link(s.path(name), aside) == nil {
		return aside, nil
	}
	if err := os.Rename(s.path(name), aside); err != nil {
		return "", explain("keep a copy of "+s.path(name), err)
	}
	return aside, nil
}

// remove removes a file; a missing one is what was wanted.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
