package memory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

func TestProveFindsAnEmulator(t *testing.T) {
	for _, class := range []memory.Class{memory.Rename, memory.Exact, memory.Prerequisites} {
		s := newStory(t, memory.Options{Class: class, Blind: true}, a, b)
		s.claim("one")
		adapter := s.zone.Adapter("one").(provider.Fencer)
		if !adapter.Promises().Fenced {
			t.Errorf("%s: expected the promise to stand before the proof", class)
		}
		err := adapter.Prove(t.Context(), s.list("one"), s.stamp("one"), nil)
		if err == nil || adapter.Promises().Fenced {
			t.Errorf("%s: expected ErrNotFenced and the promise gone, got %v and %v", class, err, adapter.Promises().Fenced)
		}
		old := s.call("one", record.Pause, a, b)
		s.sends("one", s.call("one", record.Pause, b, a), "done")
		s.sends("one", old, "done")
	}
}

func TestListsBehind(t *testing.T) {
	now := time.Duration(0)
	s := newStory(t, memory.Options{Class: memory.Status, Lag: 30 * time.Second, Behind: 30 * time.Second, Now: func() time.Duration { return now }})
	now = time.Second
	s.hand(memory.Put("www.example.com.", "A", minute, a))
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{time.Second, 0}, {30 * time.Second, 0}, {31 * time.Second, 1}, {time.Hour, 1}} {
		now = step.at
		if got := len(s.list("one").Sets); got != step.want {
			t.Errorf("at %v: expected %d sets, got %d", step.at, step.want, got)
		}
	}
}

func TestStaleList(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Status}, a, b)
	for versions, want := range [][]string{{a, b}, {a}, nil, nil} {
		s.zone.Faults(func(memory.Op, int) memory.Fault {
			return memory.Fault{Kind: memory.Stale, Versions: versions}
		})
		if got := s.list("one").Set(www).Live(); !slices.Equal(got, want) {
			t.Errorf("%d versions behind: expected %v, got %v", versions, want, got)
		}
	}
}

func TestOpenCalls(t *testing.T) {
	now := time.Duration(0)
	s := newStory(t, memory.Options{Class: memory.Status, Late: minute, Now: func() time.Duration { return now }}, a, b)
	for _, value := range []string{a, b, c} {
		s.fault = memory.Fault{Kind: memory.Late}
		s.sends("one", s.call("one", record.Create, "198.51.100."+value[len(value)-1:]), "ambiguous")
		now += 30 * time.Second
	}
	open := s.zone.Open()
	if len(open) != 2 {
		t.Fatalf("after 90s of 60s: expected two calls, got %d", len(open))
	}
	if open[0].Sent != 30*time.Second || open[0].Op != memory.OpAdd || open[0].Node != "one" || open[0].Call.Key != www {
		t.Errorf("expected the add of one at 30s, got %+v", open[0])
	}
	if err := s.zone.Drop(0); err != nil {
		t.Fatal(err)
	}
	s.deliver("done")
	s.live(a, b, "198.51.100.3")
	s.deliver("permanent")
	if err := s.zone.Drop(0); err == nil {
		t.Error("expected nothing left to drop")
	}
	last := s.zone.History()[len(s.zone.History())-1]
	if !last.Cause.Late || last.Cause.Node != "one" || last.At != now {
		t.Errorf("expected the history to tell of a late call, got %v at %v", last.Cause, last.At)
	}
}

func TestFaults(t *testing.T) {
	for _, f := range []struct {
		fault memory.Fault
		want  string
		live  []string
	}{
		{memory.Fault{Kind: memory.None}, "done", []string{a, b, c}},
		{memory.Fault{Kind: memory.LostReply}, "ambiguous", []string{a, b, c}},
		{memory.Fault{Kind: memory.LostRequest}, "ambiguous", []string{a, b}},
		{memory.Fault{Kind: memory.Late}, "ambiguous", []string{a, b}},
		{memory.Fault{Kind: memory.Throttled, After: minute}, "retryable", []string{a, b}},
		{memory.Fault{Kind: memory.Refused}, "permanent", []string{a, b}},
		{memory.Fault{Kind: memory.Short}, "ambiguous", []string{a, b}},
	} {
		for _, class := range memory.Classes() {
			s := newStory(t, memory.Options{Class: class}, a, b)
			s.claim("one")
			call := s.call("one", record.Create, c)
			s.fault = f.fault
			s.sends("one", call, f.want)
			s.live(f.live...)
		}
	}
}

// An Add of several values that fails half way is neither done nor undone.
func TestPartOfAnAdd(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Append}, a)
	writes := 0
	s.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		if !op.Write() {
			return memory.Fault{}
		}
		if writes++; writes == 2 {
			return memory.Fault{Kind: memory.Throttled}
		}
		return memory.Fault{}
	})
	call := s.call("one", record.Create, b)
	call.Add = append(call.Add, record.Change{Action: record.Create, Key: www, Value: c, TTL: minute})
	s.sends("one", call, "ambiguous")
	s.live(a, b)
}

func TestMisuse(t *testing.T) {
	for name, spoil := range map[string]func(*provider.Call){
		"no list":               func(c *provider.Call) { c.Seen = nil },
		"somebody else's list":  func(c *provider.Call) { c.Seen = &provider.Snapshot{Zone: "example.com."} },
		"another zone's key":    func(c *provider.Call) { c.Key.Zone = "example.net." },
		"a change of other set": func(c *provider.Call) { c.Away[0].Key.Type = record.AAAA },
		"an add among them":     func(c *provider.Call) { c.Away[0].Action = record.Create },
		"a swap of addresses":   func(c *provider.Call) { c.Away[0].Action = record.Swap },
		"a weight":              func(c *provider.Call) { c.Away[0].Action = record.SetWeight },
	} {
		s := newStory(t, memory.Options{Class: memory.Exact}, a, b)
		s.claim("one")
		call := s.call("one", record.Pause, a, b)
		spoil(&call)
		t.Run(name, func(t *testing.T) {
			if err := s.send("one", call); provider.ClassOf(err) != provider.Permanent || err == nil {
				t.Errorf("expected a Permanent error, got %v", err)
			}
		})
		s.live(a, b)
	}
}

func TestHeldByHand(t *testing.T) {
	for _, class := range []memory.Class{memory.Status, memory.Whole} {
		s := newStory(t, memory.Options{Class: class}, a, b)
		s.hand(memory.Disable("www.example.com.", "A", a))
		if got, _ := s.list("one").Set(www).Find(a); !got.Held || got.Paused || got.Live {
			t.Errorf("%s: expected %s to be held, got %+v", class, a, got)
		}
		s.sends("one", s.call("one", record.Create, c), "done")
		s.live(b, c)
		s.hand(memory.Enable("www.example.com.", "A", a))
		s.live(a, b, c)
		s.checks("")
	}
}

func TestEditThatFindsNothing(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Exact}, a)
	for name, edit := range map[string]memory.Edit{
		"delete":  memory.Delete("www.example.com.", "A", b),
		"disable": memory.Disable("www.example.com.", "A", a),
	} {
		if err := s.zone.EditByHand(memory.Put("x.example.com.", "A", minute, a), edit); err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
	if n := len(s.zone.History()); n != 2 {
		t.Errorf("expected failed edits to change nothing, got %d versions", n)
	}
}

// An unreadable record is listed as skipped and stops nothing.
func TestCase63OddRecords(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Status}, a)
	s.hand(
		memory.Put("x.example.com.", "A", minute, "100::"),
		memory.Put("*odd.example.com.", "A", minute, a),
		memory.Put("nil.example.com.", "TYPE65534", minute, ""),
		memory.Put("srv.example.com.", "SRV", minute, "null"),
	)
	list := s.list("one")
	if len(list.Skipped) != 2 || len(list.Sets) != 1 || list.Records != 5 {
		t.Errorf("expected 1 set, 2 skipped, 5 records; got %d, %v, %d", len(list.Sets), list.Skipped, list.Records)
	}
	s.sends("one", s.call("one", record.Create, b), "done")
	s.checks("")
}

func TestHangEndsWithContext(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Whole}, a)
	call := s.call("one", record.Create, b)
	s.fault = memory.Fault{Kind: memory.Hang}
	ctx, cancel := context.WithCancel(t.Context())
	call.Gate = func() error { cancel(); return nil }
	if err := s.zone.Adapter("one").Add(ctx, call); provider.ClassOf(err) != provider.Ambiguous || err == nil {
		t.Errorf("expected an Ambiguous error, got %v", err)
	}
	s.live(a)
}
