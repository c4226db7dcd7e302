package providertest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// TB is the part of *testing.T that the suite and its worlds use.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
}

// World is one kind of provider, in as many fresh zones as the suite asks for.
type World struct {
	// Zone is the name of each zone that New makes.
	Zone record.Name

	// New makes a zone that holds nothing but what its server needs (SOA, NS),
	// and an adapter to it. What it starts it ends in t.Cleanup. One server
	// that is emptied each time will do.
	New func(t TB) (provider.Adapter, Hand)

	// Skip names cases that this world cannot take part in, each with the
	// reason that the test output shows. A name that is no case fails the run.
	Skip map[string]string

	// NoTypes are the types that the server cannot hold at all ("TYPE65280"):
	// they are left out of the foreign records.
	NoTypes []string

	// Variant is a variant that the provider knows, where it has any; empty is
	// "telecom".
	Variant string

	// Patience is how long one call may take before the suite gives it up;
	// 0 is 30 s. Only a broken adapter uses it up.
	Patience time.Duration
}

func (w World) variant() string { return cmp.Or(w.Variant, "telecom") }

func (w World) patience() time.Duration { return cmp.Or(w.Patience, 30*time.Second) }

// RR is one record of any type as an operator writes it.
type RR struct {
	Name string        // absolute, in any spelling
	Type string        // "MX", "TYPE65280"
	TTL  time.Duration // whole seconds
	Data string        // presentation form: "10 mail.example.com.", `"a \"b\" \200"`, `\# 3 abcdef` (RFC 1035 section 5.1, RFC 3597 section 5)
}

// String is the record as a line of a zone file.
func (r RR) String() string {
	return fmt.Sprintf("%s %d %s %s", r.Name, int(r.TTL/time.Second), r.Type, r.Data)
}

func sortRRs(rrs []RR) {
	slices.SortFunc(rrs, func(a, b RR) int { return cmp.Compare(a.String(), b.String()) })
}

// Hand reaches a zone behind the adapter's back. Its failures are the world's
// and end the test through the TB that New was given.
type Hand interface {
	// Live lists what resolvers are answered with for a key's name and type,
	// canonical and sorted; nothing when the name does not answer.
	Live(key record.Key) []string

	// Put adds a record, as an operator does. In a server that keeps sets, the
	// whole set takes the record's TTL.
	Put(rr RR)

	// Remove deletes the live record of this name, type and data, as an
	// operator does. The TTL is not compared.
	Remove(rr RR)

	// Dump lists every record that the server has, in any order, spelled in one
	// way: two dumps of one zone are equal texts. Names are canonical. Records
	// that a status flag keeps out of the answer may be left out.
	Dump() []RR

	// Another is a further adapter to the same zone, as a second node has one.
	Another() provider.Adapter
}

// Settler is a Hand of a provider whose lists lag behind.
type Settler interface {
	// Settle returns once a list shows everything that has happened.
	Settle()
}

// Faulty is a Hand that can make the adapter's next request go wrong.
type Faulty interface {
	// Fault arms one fault for the next request of its kind, and reports false
	// when this world has no such fault.
	Fault(fault Fault) bool
}

// Fault is what goes wrong with one request.
type Fault string

// The faults. Those of a read hit the next list, the others the next request
// that would change the zone.
const (
	ThrottledRead  Fault = "throttled-read"  // the provider says: too many requests
	ThrottledWrite Fault = "throttled-write" // likewise, and nothing happened
	CutList        Fault = "cut-list"        // the list ends early
	EmptyList      Fault = "empty-list"      // the list comes back with nothing in it
	HangRead       Fault = "hang-read"       // no reply, for longer than any deadline
	HangWrite      Fault = "hang-write"      // likewise, and the write does not happen
	RefusedRead    Fault = "refused-read"    // the provider says: not with this key
	RefusedWrite   Fault = "refused-write"   // likewise, and nothing happened
	LostReply      Fault = "lost-reply"      // the write happens, its reply does not arrive
	LostRequest    Fault = "lost-request"    // the write does not happen, and nothing says so
)
