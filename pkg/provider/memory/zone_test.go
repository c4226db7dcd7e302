package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

const (
	a, b, c = "192.0.2.1", "192.0.2.2", "192.0.2.3"

	minute = time.Minute
)

var www = record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}

// story is a zone and its nodes; what fails in it ends the test.
type story struct {
	*testing.T

	zone  *memory.Zone
	fault memory.Fault // hits the next write
	seq   int
}

func newStory(t *testing.T, options memory.Options, values ...string) *story {
	s := &story{T: t, zone: memory.NewZone("example.com.", options)}
	s.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		if !op.Write() {
			return memory.Fault{}
		}
		fault := s.fault
		s.fault = memory.Fault{}
		return fault
	})
	for _, v := range values {
		s.hand(memory.Put("www.example.com.", "A", minute, v))
	}
	return s
}

func (s *story) hand(edits ...memory.Edit) {
	s.Helper()
	if err := s.zone.EditByHand(edits...); err != nil {
		s.Fatal(err)
	}
}

func (s *story) list(node string) *provider.Snapshot {
	s.Helper()
	snapshot, err := s.zone.Adapter(node).List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return snapshot
}

func (s *story) stamp(node string) provider.Stamp {
	s.seq++
	return provider.Stamp{Holder: node, Nonce: fmt.Sprintf("%016x", s.seq), Seq: uint64(s.seq)}
}

// claim makes a node the holder where the class knows one.
func (s *story) claim(node string) {
	s.Helper()
	if f, ok := s.zone.Adapter(node).(provider.Fencer); ok {
		if err := f.Claim(s.Context(), s.list(node), s.stamp(node), nil); err != nil {
			s.Fatal(err)
		}
	}
}

// call is a write from what a node sees now.
func (s *story) call(node string, action record.Action, value string, survivors ...string) provider.Call {
	s.Helper()
	change := record.Change{Action: action, Key: www, Value: value, TTL: 0}
	if action == record.Create {
		change.TTL, change.Weight = minute, 1
	}
	call := provider.Call{Key: www, Seen: s.list(node), Next: s.stamp(node), Survivors: survivors}
	if action.Add() {
		call.Add = []record.Change{change}
	} else {
		call.Away = []record.Change{change}
	}
	return call
}

func (s *story) send(node string, call provider.Call) error {
	s.Helper()
	adapter := s.zone.Adapter(node)
	if len(call.Away) > 0 {
		return adapter.TakeAway(s.Context(), call)
	}
	return adapter.Add(s.Context(), call)
}

// sends is a write with the outcome that the story needs.
func (s *story) sends(node string, call provider.Call, want string) {
	s.Helper()
	err := s.send(node, call)
	if got := outcome(err); got != want {
		s.Errorf("%v by %s: expected %s, got %s: %v", append(call.Add, call.Away...), node, want, got, err)
	}
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return provider.ClassOf(err).String()
}

func (s *story) deliver(want string) {
	s.Helper()
	if got := outcome(s.zone.Deliver(0)); got != want {
		s.Errorf("the late call: expected %s, got %s", want, got)
	}
}

func (s *story) live(want ...string) {
	s.Helper()
	if got := s.zone.Live(www); !slices.Equal(got, want) {
		s.Errorf("expected %v live, got %v", want, got)
	}
}

// checks expects exactly one kind of violation, or none.
func (s *story) checks(want string, tolerate ...memory.Tolerance) {
	s.Helper()
	err := memory.Check(s.zone.History(), tolerate...)
	switch {
	case want == "" && err != nil:
		s.Errorf("expected no violation, got %v", err)
	case want != "" && (err == nil || !contains(err, want)):
		s.Errorf("expected a violation about %q, got %v", want, err)
	}
}

// copied makes the parked copy of a value in the class that takes values out
// in two steps.
func (s *story) copied(class memory.Class, node, value, survivor string) {
	s.Helper()
	if class == memory.Append {
		s.sends(node, s.call(node, record.Pause, value, survivor), "done")
	}
}

// A take-away that is late meets a zone in which its survivor is gone: what a
// writer provokes who takes a time-out for a failure, or a restart for a clean
// start.
func TestCase70LateTakeAway(t *testing.T) {
	want := map[memory.Class]string{
		memory.Status: "done", memory.Append: "done", memory.Whole: "done",
		memory.Rename: "fenced-out", memory.Exact: "fenced-out", memory.Prerequisites: "fenced-out",
	}
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			s := newStory(t, memory.Options{Class: class}, a, b)
			s.claim("one")
			s.copied(class, "one", b, a)
			s.copied(class, "one", a, b)
			s.fault = memory.Fault{Kind: memory.Late}
			s.sends("one", s.call("one", record.Pause, b, a), "ambiguous")
			s.live(a, b)
			s.sends("one", s.call("one", record.Pause, a, b), "done")
			s.live(b)
			s.deliver(want[class])
			switch {
			case class.Fenced():
				s.live(b)
				s.checks("")
			case class == memory.Whole:
				s.live(a)
				s.checks("")
			default:
				s.live()
				s.checks("emptied")
				s.checks("", memory.Emptied)
			}
		})
	}
}

// Two nodes each see two live values and each take another one away.
func TestTwoWriters(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			s := newStory(t, memory.Options{Class: class}, a, b)
			s.copied(class, "one", a, b)
			s.copied(class, "two", b, a)
			s.claim("one")
			first := s.call("one", record.Pause, a, b)
			s.claim("two")
			second := s.call("two", record.Pause, b, a)
			first.Gate = func() error { s.sends("two", second, "done"); return nil }
			err := s.send("one", first)
			if class.Fenced() {
				if provider.ClassOf(err) != provider.FencedOut {
					t.Errorf("expected the first holder to be fenced out, got %v", err)
				}
				s.live(a)
				s.checks("")
				return
			}
			if class == memory.Whole {
				s.live(b)
				s.checks("")
				return
			}
			s.live()
			s.checks("emptied")
		})
	}
}

// An operator deletes or renames the survivor after the list.
func TestCase58SurvivorEditedByHand(t *testing.T) {
	edits := map[string]memory.Edit{
		"deleted": memory.Delete("www.example.com.", "A", b),
		"renamed": memory.Move("www.example.com.", "A", b, "elsewhere.example.com."),
	}
	want := map[memory.Class]map[string]string{
		memory.Status:        {"deleted": "conflict", "renamed": "conflict"},
		memory.Append:        {"deleted": "conflict", "renamed": "conflict"},
		memory.Rename:        {"deleted": "conflict", "renamed": "done"},
		memory.Exact:         {"deleted": "conflict", "renamed": "conflict"},
		memory.Prerequisites: {"deleted": "conflict", "renamed": "conflict"},
		memory.Whole:         {"deleted": "done", "renamed": "done"},
	}
	for _, class := range memory.Classes() {
		for name, edit := range edits {
			t.Run(string(class)+"/"+name, func(t *testing.T) {
				s := newStory(t, memory.Options{Class: class}, a, b)
				s.claim("one")
				s.copied(class, "one", a, b)
				call := s.call("one", record.Pause, a, b)
				s.hand(edit)
				s.sends("one", call, want[class][name])
				if len(s.zone.Live(www)) == 0 {
					t.Error("the set is empty")
				}
			})
		}
	}
}

// In the gap between its look and its write an unfenced class cannot know.
func TestUnfencedGap(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Status}, a, b)
	call := s.call("one", record.Pause, a, b)
	call.Gate = func() error { s.hand(memory.Delete("www.example.com.", "A", b)); return nil }
	s.sends("one", call, "done")
	s.live()
	s.checks("emptied")
	s.checks("", memory.Emptied)
}

// TestCase71CreateAgain is what a create repeated after a time-out leads to.
func TestCase71CreateAgain(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			s := newStory(t, memory.Options{Class: class}, a)
			s.claim("one")
			s.fault = memory.Fault{Kind: memory.Late}
			s.sends("one", s.call("one", record.Create, b), "ambiguous")
			s.sends("one", s.call("one", record.Create, b), "done")
			if class.Fenced() {
				s.deliver("fenced-out")
			} else {
				s.deliver("done")
			}
			s.live(a, b)
			if class == memory.Status || class == memory.Append {
				s.checks("2 records")
				s.checks("", memory.Doubled)
				return
			}
			s.checks("")
		})
	}
}

// What is written from an old list over what came since is lost where nothing
// is compared, and refused where it is.
func TestAddedInTheGap(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			s := newStory(t, memory.Options{Class: class}, a, b)
			s.claim("one")
			s.copied(class, "one", a, b)
			call := s.call("one", record.Pause, a, b)
			s.hand(memory.Put("www.example.com.", "A", minute, c))
			switch class {
			case memory.Exact, memory.Prerequisites:
				s.sends("one", call, "conflict")
				s.live(a, b, c)
			case memory.Whole:
				s.sends("one", call, "done")
				s.live(b)
				s.checks("is lost, which the call does not name")
				s.checks("", memory.Overwritten)
				return
			default:
				s.sends("one", call, "done")
				s.live(b, c)
			}
			s.checks("")
		})
	}
}

// Prerequisites see no TTLs: without the serial a change of one is lost.
func TestLooseCallLosesTTL(t *testing.T) {
	for _, loose := range []bool{false, true} {
		s := newStory(t, memory.Options{Class: memory.Prerequisites}, a, b)
		s.claim("one")
		call := s.call("one", record.Pause, a, b)
		call.Loose = loose
		s.hand(memory.Retime("www.example.com.", "A", b, time.Hour))
		if !loose {
			s.sends("one", call, "conflict")
			s.checks("")
			continue
		}
		s.sends("one", call, "done")
		s.checks("the TTL of " + a)
		s.checks("", memory.Overwritten)
	}
}

// A genesis text that comes late stands beside the first holder's stamp. He
// writes no more before he has taken both over.
func TestLateGenesis(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Rename}, a, b)
	two := s.zone.Adapter("two").(provider.Fencer)
	seen := s.list("two")
	calls := 0
	s.zone.Between(func() {
		if calls++; calls == 2 { // after the look for stamps, before the post
			s.zone.Between(nil)
			s.claim("one")
		}
	})
	if err := two.Claim(t.Context(), seen, s.stamp("two"), nil); provider.ClassOf(err) != provider.FencedOut {
		t.Errorf("expected the second first claim to be fenced out, got %v", err)
	}
	if stamps := s.list("one").Stamps; len(stamps) != 2 {
		t.Fatalf("expected the genesis beside the stamp, got %v", stamps)
	}
	s.sends("one", s.call("one", record.Pause, a, b), "fenced-out")
	s.claim("one")
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.checks("")
}

// A nonce that is in the zone already tells no call apart.
func TestUsedNonce(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Exact}, a, b)
	s.claim("one")
	call := s.call("one", record.Pause, a, b)
	call.Next = call.Seen.Stamps[0]
	s.sends("one", call, "permanent")
	call.Next = provider.Stamp{Holder: "one"}
	s.sends("one", call, "permanent")
}

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }
