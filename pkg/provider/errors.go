package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Class says what a caller may do about an error.
type Class uint8

// The classes. Ambiguous is the zero value on purpose: what nobody classed may
// have happened.
const (
	Ambiguous Class = iota // a write that may have taken effect, or still may: list, never send again from memory
	Permanent              // a person has to act: wrong key, no such zone, refused by policy
	Retryable              // nothing happened, the same may work later
	Conflict               // nothing happened: the zone is no longer what the call rested on
	FencedOut              // nothing happened: another writer's stamp is in the zone
)

// String is the class's name in status, logs and metrics.
func (c Class) String() string {
	switch c {
	case Permanent:
		return "permanent"
	case Retryable:
		return "retryable"
	case Conflict:
		return "conflict"
	case FencedOut:
		return "fenced-out"
	default:
		return "ambiguous"
	}
}

// Error is what an adapter returns. Its text never holds a secret.
type Error struct {
	Class Class
	Op    string        // what was attempted: "transfer zone example.com."
	Code  string        // the provider's own word for it: "REFUSED", "81058"
	After time.Duration // do not call again before this has passed; 0 unknown
	Full  bool          // of an add: the provider takes no more live values of this set, and may once one is out of it; of no other limit, since values are taken out for it
	Hint  string        // what a person can do about it, with the next command
	Err   error
}

// Error is "transfer zone example.com.: REFUSED: …: hint".
func (e *Error) Error() string {
	text := e.Op
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of an adapter's error, Ambiguous when it has none.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Ambiguous
}

// ErrNotFenced is what Prove returns when the provider accepted a call that a
// provider which compares and swaps would have refused.
var ErrNotFenced = errors.New("the provider accepted a write that it had to refuse: it does not compare and swap")

// Failf builds an Error whose cause is a formatted text.
func Failf(class Class, op, code, format string, args ...any) *Error {
	return &Error{Class: class, Op: op, Code: code, Err: fmt.Errorf(format, args...)}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
