package override

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is what an override asks for.
type Kind string

// The kinds, in the order in which they go before one another: a pin before
// what takes out, that before what puts in, and all of them before the probes.
// A freeze changes no decision, only whether it is written.
const (
	Pin       Kind = "pin"        // a record set answers with exactly these values
	Drain     Kind = "drain"      // out, as planned: no outage
	ForceDown Kind = "force-down" // out, as if it had failed
	ForceUp   Kind = "force-up"   // in, whatever speaks against it
	Freeze    Kind = "freeze"     // nothing is written
)

// Kinds lists every kind in the order of the constants.
var Kinds = []Kind{Pin, Drain, ForceDown, ForceUp, Freeze}

// Out reports whether a kind takes answers out.
func (k Kind) Out() bool { return k == Drain || k == ForceDown }

// Did is what was done to the target, in words: "drained".
func (k Kind) Did() string {
	return map[Kind]string{Pin: "pinned", Drain: "drained", ForceDown: "forced down", ForceUp: "forced up", Freeze: "frozen"}[k]
}

// Thing is what the target of an override is in the config.
type Thing string

// The things that an override can be about.
const (
	All      Thing = "all"
	Zone     Thing = "zone"
	Set      Thing = "record set" // every one of a name
	Address  Thing = "address"    // the answers with this value, or probed at it, and the targets at it
	Target   Thing = "target"     // CHECK@ADDRESS
	Site     Thing = "site"
	Scenario Thing = "scenario"
)

// takes says of which things a kind can be.
var takes = map[Kind][]Thing{
	Pin:       {Set},
	Drain:     {Address, Set, Site, Target, All},
	ForceDown: {Address, Set, Site, Target, Scenario, All},
	ForceUp:   {Address, Set, Site, Target, Scenario, All},
	Freeze:    {All, Zone, Set},
}

// Takes lists of which things a kind can be.
func (k Kind) Takes() []Thing { return takes[k] }

// Override is an operator's word.
type Override struct {
	Kind   Kind      `json:"kind"`
	Target string    `json:"target"` // names absolute, addresses canonical
	Thing  Thing     `json:"thing"`  // what the target was when this was said; when it is another now, this has no effect
	Values []string  `json:"values,omitempty"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Said   time.Time `json:"said"`           // when; wall times all
	From   time.Time `json:"from"`           // when it begins
	Until  time.Time `json:"until,omitzero"` // when it ends; zero for never
}

// Same reports whether one override replaces the other: they are of one kind and
// one target.
func (o Override) Same(other Override) bool { return o.Kind == other.Kind && o.Target == other.Target }

// Forever reports whether the override has no end.
func (o Override) Forever() bool { return o.Until.IsZero() }

// Begun reports whether the override has begun at a moment, whether it is over
// or not.
func (o Override) Begun(now time.Time) bool { return !now.Before(o.From) }

// Over reports whether the override has ended at a moment.
func (o Override) Over(now time.Time) bool { return !o.Forever() && !now.Before(o.Until) }

// Shown is the target for people.
func (o Override) Shown() string { return strings.TrimSuffix(o.Target, ".") }

// Ends is the end of the override in words: "until 2026-01-02T14:00:00Z".
func (o Override) Ends() string {
	if o.Forever() {
		return "forever"
	}
	return "until " + o.Until.UTC().Format(time.RFC3339)
}

// String is who said it, until when and why: "drained by ann until
// 2026-01-02T14:00:00Z (new kernel)".
func (o Override) String() string {
	return fmt.Sprintf("%s by %s %s (%s)", o.Kind.Did(), o.By, o.Ends(), o.Reason)
}

// maxReason is the longest reason, in bytes.
const maxReason = 200

// Validate says what in an override cannot be meant, whatever the config.
func (o Override) Validate() error {
	switch {
	case !slices.Contains(Kinds, o.Kind):
		return fmt.Errorf("expected one of %s, got %q", Join(Kinds), o.Kind)
	case o.Target == "":
		return errors.New("expected a target, got none")
	case o.Kind == Pin && len(o.Values) == 0:
		return errors.New("expected the values to pin to, got none")
	case o.Kind != Pin && len(o.Values) > 0:
		return fmt.Errorf("a %s takes no value, got %q", o.Kind, strings.Join(o.Values, ","))
	case o.From.IsZero():
		return errors.New("expected the time at which it begins, got none")
	case !o.Forever() && !o.Until.After(o.From):
		return fmt.Errorf("it ends at %s, before it begins at %s", o.Until.Format(time.RFC3339), o.From.Format(time.RFC3339))
	}
	return validReason(o.Reason)
}

func validReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("expected a reason, got none")
	case len(reason) > maxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d are kept", len(reason), maxReason)
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return !strconv.IsPrint(r) }):
		return errors.New("the reason holds what is no text; write it in one line")
	}
	return nil
}

// Join spells a list: "pin, drain or freeze".
func Join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
