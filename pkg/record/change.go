package record

import "time"

// Action is what a change does to one value of a record set.
type Action string

// The actions. Create and Resume are adds, Pause is a take-away. Swap, SetTTL
// and SetWeight rewrite what is there and count as take-aways, because a late
// one can undo a newer answer.
const (
	Create    Action = "create"
	Resume    Action = "resume"
	Pause     Action = "pause"
	Swap      Action = "swap"
	SetTTL    Action = "ttl"
	SetWeight Action = "weight"
)

// Add reports whether the action only ever puts a value in, so that doing it
// late, twice or beside another writer harms nobody.
func (a Action) Add() bool { return a == Create || a == Resume }

// Change is one step for one value of one record set. There is no delete.
type Change struct {
	Action Action
	Key    Key
	Value  string        // the value that is put in, taken out or rewritten
	From   string        // Swap only: the value that is replaced and parked
	TTL    time.Duration // Create, Swap, SetTTL: the set's TTL afterwards; Resume: 0 keeps the parked one
	Weight int           // SetWeight; Create, where 0 leaves it to the provider
}
