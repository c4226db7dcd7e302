package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
)

// wireVersion is the form of the values that this version writes and understands.
const wireVersion = 1

// beat is the value of a node's key.
type beat struct {
	Version  int       `json:"version"`
	Node     string    `json:"node"`
	Vantage  string    `json:"vantage"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Instance string    `json:"instance"` // one process, never used again
	Since    time.Time `json:"since"`    // when it began, for people
	Config   string    `json:"config"`   // digest of what it steers and how
	Release  string    `json:"release"`  // version of sidestep
	Blind    bool      `json:"blind,omitempty"`
	Leads    bool      `json:"leads,omitempty"`
	Stands   bool      `json:"stands,omitempty"`
	Left     bool      `json:"left,omitempty"` // it ends in order: its last beat
	Wrote    []Wrote   `json:"wrote,omitempty"`
	Words    int64     `json:"words,omitempty"` // revision of the newest word of a person that it has taken
	Count    uint64    `json:"count"`           // one more each time
}

// process is who it is that beats, for people.
func (b beat) process() string {
	return fmt.Sprintf("process %d on %s, since %s", b.PID, b.Host, b.Since.Format(time.RFC3339))
}

// shard is the value of a key with verdicts. Arrays and no objects, since this is
// what there is most of.
type shard struct {
	Version int    `json:"version"`
	Said    []said `json:"said"`
}

// said is [check, address, verdict, phase, cause, seconds since 1970].
type said [6]string

func wordOf(o Observation) said {
	return said{o.Target.Check, o.Target.Address, string(o.Verdict), string(o.Phase), string(o.Cause), strconv.FormatInt(o.Since.Unix(), 10)}
}

func (s said) observation() (Observation, error) {
	seconds, err := strconv.ParseInt(s[5], 10, 64)
	verdict := health.Verdict(s[2])
	switch {
	case err != nil:
		return Observation{}, fmt.Errorf("since when: %w", err)
	case verdict != health.Up && verdict != health.Down && verdict != health.Unknown:
		return Observation{}, fmt.Errorf("verdict %.40q is none", s[2])
	}
	return Observation{
		Target: check.Target{Check: s[0], Address: s[1]}, Verdict: verdict,
		Phase: check.Phase(s[3]), Cause: check.Cause(s[4]), Since: time.Unix(seconds, 0).UTC(),
	}, nil
}

// word is the value of an override's key: what a person said last about the target,
// and whether it was taken back.
type word struct {
	Version  int               `json:"version"`
	Override override.Override `json:"override"`
	Cleared  *cleared          `json:"cleared,omitempty"`
}

type cleared struct {
	At time.Time `json:"at"` // by the clock of the node where it was said
	By string    `json:"by"`
}

func endWord(e End) word {
	return word{Version: wireVersion, Override: e.Override, Cleared: &cleared{At: e.At, By: e.By}}
}

// after reports whether this one holds against another about the same: an end ends
// also the word that was said in the same moment.
func (w word) after(other word) bool {
	return w.said().After(other.said()) || w.said().Equal(other.said()) && w.Cleared != nil && other.Cleared == nil
}

// said is when the person spoke last.
func (w word) said() time.Time {
	if w.Cleared != nil {
		return w.Cleared.At
	}
	return w.Override.Said
}

// wordKey is the last part of an override's key.
func wordKey(kind override.Kind, target string) string {
	return string(kind) + "/" + url.PathEscape(target)
}

// errVersion says that a newer sidestep wrote a value.
var errVersion = errors.New("a newer sidestep wrote it; update this node")

// read decodes a value of another node.
func read[T any](value []byte, version func(T) int) (T, error) {
	var v T
	err := json.Unmarshal(value, &v)
	switch {
	case err != nil:
		return v, fmt.Errorf("expected a value of sidestep, got %.40q: %w", value, err)
	case version(v) > wireVersion:
		return v, fmt.Errorf("it has version %d, and this sidestep knows version %d: %w", version(v), wireVersion, errVersion)
	case version(v) < 1:
		return v, fmt.Errorf("expected a value of sidestep, got %.40q; give sidestep an etcd.prefix of its own", value)
	}
	return v, nil
}
