package record

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Key names one record set: what the product steers as one thing. Variant is
// empty except where a provider keeps several sets of one name and type side
// by side (a DNSPod line, a Route 53 set identifier).
type Key struct {
	Zone, Name Name
	Type       Type
	Variant    string
}

// Compare orders keys by zone, name, type and variant.
func (k Key) Compare(o Key) int {
	return cmp.Or(
		cmp.Compare(k.Zone, o.Zone),
		cmp.Compare(k.Name, o.Name),
		cmp.Compare(k.Type, o.Type),
		cmp.Compare(k.Variant, o.Variant),
	)
}

// String is "www.example.com. A", with the variant in brackets when it has one.
func (k Key) String() string {
	text := string(k.Name) + " " + string(k.Type)
	if k.Variant != "" {
		text += " [" + k.Variant + "]"
	}
	return text
}

// Shown is String for people, see Name.Shown.
func (k Key) Shown() string {
	return k.Name.Shown() + strings.TrimPrefix(k.String(), string(k.Name))
}

// Answer is one value of a record set as the provider has it. Live and Paused
// may hold at once: that is the legal half-way state between two calls.
type Answer struct {
	Value   string        // canonical, see ParseValue
	TTL     time.Duration // whole seconds; of the live record, else of the paused one
	Weight  int           // 0 to 255 where the provider has weights, else 1
	Live    bool          // resolvers are answered with it
	Paused  bool          // out of the answer, marked by sidestep, restorable
	Held    bool          // out of the answer by somebody else: no mark of ours
	OwnTTL  bool          // the provider decides the TTL, and takes no wish for another
	Proxied bool          // name servers answer with the provider's own addresses in its place
	MinTTL  time.Duration // the smallest TTL that the provider gives it: a wish below is met by this one; 0 takes any
	MaxTTL  time.Duration // the largest one, likewise; 0 takes any
	Stuck   string        // of a live one: why the provider would refuse to pause it, and what to do; empty when nothing is known against it
	Native  any           // opaque to all but the adapter that listed it
}

// Kept is the TTL that the provider gives the answer for a wish.
func (a Answer) Kept(wish time.Duration) time.Duration {
	if a.MaxTTL > 0 {
		wish = min(wish, a.MaxTTL)
	}
	return max(wish, a.MinTTL)
}

// Set is every value that the provider has under one key, live or not.
type Set struct {
	Key     Key
	Answers []Answer // sorted by value, each value once
}

// Find returns the answer with a value; false when the provider has none.
func (s Set) Find(value string) (Answer, bool) {
	i, found := slices.BinarySearchFunc(s.Answers, value, func(a Answer, v string) int {
		return strings.Compare(a.Value, v)
	})
	if !found {
		return Answer{}, false
	}
	return s.Answers[i], true
}

// Live lists the values that resolvers are answered with, sorted.
func (s Set) Live() []string {
	var values []string
	for _, a := range s.Answers {
		if a.Live {
			values = append(values, a.Value)
		}
	}
	return values
}

// Sort puts the answers in the order that Find relies on.
func (s Set) Sort() {
	slices.SortFunc(s.Answers, func(a, b Answer) int { return strings.Compare(a.Value, b.Value) })
}

// FindSet looks a key up in sets that are sorted by key; an absent set is
// returned empty under that key, which is what an absent set is.
func FindSet(sets []Set, key Key) Set {
	i, found := slices.BinarySearchFunc(sets, key, func(s Set, k Key) int { return s.Key.Compare(k) })
	if !found {
		return Set{Key: key}
	}
	return sets[i]
}

// SortSets puts sets in the order that FindSet relies on, answers included.
func SortSets(sets []Set) {
	for _, s := range sets {
		s.Sort()
	}
	slices.SortFunc(sets, func(a, b Set) int { return a.Key.Compare(b.Key) })
}
