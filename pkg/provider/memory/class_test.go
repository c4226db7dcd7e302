package memory_test

import (
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// What only one class does, or does differently.

func (s *story) answer(value string, want record.Answer) {
	s.Helper()
	got, found := s.list("one").Set(www).Find(value)
	want.Value, want.Weight = value, got.Weight
	if !found || got != want {
		s.Errorf("expected %+v, got %+v (%v)", want, got, found)
	}
}

func (s *story) change(node string, change record.Change, survivors ...string) provider.Call {
	s.Helper()
	change.Key = www
	return provider.Call{Key: www, Seen: s.list(node), Next: s.stamp(node), Survivors: survivors, Away: []record.Change{change}}
}

func TestRenameBlocksOnTwoTruths(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Rename}, a, b)
	s.claim("one")
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.hand(memory.Put("www.example.com.", "A", time.Hour, a))
	s.answer(a, record.Answer{TTL: time.Hour, Live: true, Paused: true})
	s.sends("one", s.call("one", record.Pause, a, b), "conflict")
	s.sends("one", s.call("one", record.Resume, a), "done")
	s.answer(a, record.Answer{TTL: time.Hour, Live: true, Paused: true})
	s.hand(memory.Retime("_sidestep-paused.www.example.com.", "A", a, time.Hour))
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.answer(a, record.Answer{TTL: time.Hour, Paused: true})
	s.checks("")
}

func TestRenameHasNoTwoRecordsAlike(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Rename}, a)
	if err := s.zone.EditByHand(memory.Put("WWW.example.com", "A", time.Hour, a)); provider.ClassOf(err) != provider.Conflict {
		t.Errorf("expected a second record of one value to be refused, got %v", err)
	}
}

// Records of one name have TTLs of their own where sets are not the unit.
func TestTTLs(t *testing.T) {
	for _, class := range memory.Classes() {
		s := newStory(t, memory.Options{Class: class}, a)
		s.hand(memory.Put("www.example.com.", "A", time.Hour, b))
		first, _ := s.list("one").Set(www).Find(a)
		want := minute
		if class == memory.Exact || class == memory.Prerequisites || class == memory.Whole {
			want = time.Hour
		}
		if first.TTL != want {
			t.Errorf("%s: expected the older record's TTL to be %v, got %v", class, want, first.TTL)
		}
	}
}

// A value that comes back into a set takes its siblings' TTL.
func TestResumeIntoASet(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Exact}, a, b)
	s.claim("one")
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.hand(memory.Retime("www.example.com.", "A", b, time.Hour))
	s.sends("one", s.call("one", record.Resume, a), "done")
	s.answer(a, record.Answer{TTL: time.Hour, Live: true})
	s.answer(b, record.Answer{TTL: time.Hour, Live: true})
	s.checks("")
}

func TestStatusCreatesNoSecondOfAPausedValue(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Status}, a, b)
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	call := s.call("one", record.Create, a)
	s.sends("one", call, "conflict")
	s.answer(a, record.Answer{TTL: minute, Paused: true})
}

// A change of one attribute writes all of them as they were just before.
func TestStatusModifiesWhatIsThereNow(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Status}, a, b)
	call := s.change("one", record.Change{Action: record.SetWeight, Value: a, Weight: 9}, a, b)
	s.hand(memory.Retime("www.example.com.", "A", a, time.Hour))
	s.sends("one", call, "done")
	s.answer(a, record.Answer{TTL: time.Hour, Live: true})
	s.checks("")

	call = s.change("one", record.Change{Action: record.SetWeight, Value: a, Weight: 3}, a, b)
	call.Gate = func() error { s.hand(memory.Retime("www.example.com.", "A", a, minute)); return nil }
	s.sends("one", call, "done")
	s.answer(a, record.Answer{TTL: time.Hour, Live: true})
	s.checks("the TTL of "+a, memory.Emptied)
	s.checks("", memory.Overwritten)
}

// The live record counts, and a delete takes only what matches it in full.
func TestAppendMatchesInFull(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Append}, a, b)
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.answer(a, record.Answer{TTL: minute, OwnTTL: true, Live: true, Paused: true})
	call := s.call("one", record.Pause, a, b)
	s.hand(memory.Retime("www.example.com.", "A", a, time.Hour))
	s.sends("one", call, "done")
	s.live(a, b)
	s.answer(a, record.Answer{TTL: time.Hour, OwnTTL: true, Live: true, Paused: true})
	// The copy says something else than the live record by now: a new one first.
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.live(a, b)
	s.sends("one", s.call("one", record.Pause, a, b), "done")
	s.live(b)
	s.answer(a, record.Answer{TTL: time.Hour, OwnTTL: true, Paused: true})
	s.sends("one", s.call("one", record.Resume, a), "done")
	s.answer(a, record.Answer{TTL: time.Hour, OwnTTL: true, Live: true, Paused: true})
	s.checks("")
}

// A survivor is live already: a value that the same call adds is none.
func TestAddedValueIsNoSurvivor(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Exact}, a)
	s.claim("one")
	call := s.call("one", record.Pause, a, c)
	call.Add = []record.Change{{Action: record.Create, Key: www, Value: c, TTL: minute}}
	s.sends("one", call, "conflict")
	call.Survivors = nil
	s.sends("one", call, "done")
	s.live(c)
}

// A second CNAME would break the name.
func TestCase45NoSecondCNAME(t *testing.T) {
	alias := record.Key{Zone: "example.com.", Name: "alias.example.com.", Type: record.CNAME}
	for _, class := range []memory.Class{memory.Status, memory.Rename, memory.Exact, memory.Prerequisites, memory.Whole} {
		s := newStory(t, memory.Options{Class: class}, a)
		s.claim("one")
		s.hand(memory.Put("alias.example.com.", "CNAME", minute, "dc1.example.net."))
		call := provider.Call{Key: alias, Seen: s.list("one"), Next: s.stamp("one"), Add: []record.Change{
			{Action: record.Create, Key: alias, Value: "dc2.example.net.", TTL: minute},
		}}
		s.sends("one", call, "conflict")
	}
}

func TestOwnNameServersAreNoDelegation(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Exact})
	s.hand(memory.Put("example.com.", "NS", minute, "ns1.example.net."), memory.Put("sub.example.com.", "NS", minute, "ns1.example.net."))
	if got := s.list("one").Delegations; len(got) != 1 || got[0] != "sub.example.com." {
		t.Errorf("expected the one delegation below the apex, got %v", got)
	}
}

// A named value that is lost is no matter of taste.
func TestCheckToleratesNoLoss(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Whole}, a, b)
	s.hand(memory.Delete("www.example.com.", "A", a))
	history := s.zone.History()
	call := provider.Call{Key: www, Away: []record.Change{{Action: record.Pause, Key: www, Value: a}}}
	history[len(history)-1].Cause = memory.Cause{Op: memory.OpTakeAway, Node: "one", Call: &call}
	if err := memory.Check(history, memory.Emptied, memory.Overwritten, memory.Doubled); err == nil {
		t.Error("expected the lost value to be found")
	}
}

// A second first claim leaves nothing behind where it can see the first.
func TestSecondFirstClaimLeavesNothing(t *testing.T) {
	s := newStory(t, memory.Options{Class: memory.Rename}, a)
	empty := s.list("two")
	s.claim("one")
	err := s.zone.Adapter("two").(provider.Fencer).Claim(t.Context(), empty, s.stamp("two"), nil)
	if provider.ClassOf(err) != provider.FencedOut || len(s.list("one").Stamps) != 1 {
		t.Errorf("expected FencedOut and one stamp, got %v and %v", err, s.list("one").Stamps)
	}
}

// The checker itself: what no adapter here does is found in histories that an
// operator made to look like an adapter's.
func TestCheckFinds(t *testing.T) {
	for _, f := range []struct {
		name, want string
		edits      []memory.Edit
	}{
		{"lost", "is lost", []memory.Edit{memory.Delete("www.example.com.", "A", a)}},
		{"emptied", "was emptied", []memory.Edit{memory.Delete("www.example.com.", "A", a), memory.Delete("www.example.com.", "A", b)}},
		{"ttl", "the TTL of", []memory.Edit{memory.Retime("www.example.com.", "A", a, time.Hour)}},
		{"other set", "was touched", []memory.Edit{memory.Delete("www.example.com.", "AAAA", "2001:db8::1")}},
		{"other set appears", "appeared", []memory.Edit{memory.Put("new.example.com.", "A", minute, a)}},
		{"other set's TTL", "was touched", []memory.Edit{memory.Retime("www.example.com.", "AAAA", "2001:db8::1", time.Hour)}},
		{"foreign record", "a foreign record is gone", []memory.Edit{memory.Delete("www.example.com.", "MX", "10 mail.")}},
		{"foreign record appears", "a foreign record appeared", []memory.Edit{memory.Put("www.example.com.", "MX", minute, "20 mail.")}},
		{"unnamed", "which the call does not name", []memory.Edit{memory.Disable("www.example.com.", "A", b)}},
		{"twice", "2 records", []memory.Edit{memory.Put("www.example.com.", "A", minute, b)}},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := newStory(t, memory.Options{Class: memory.Status}, a, b)
			s.hand(memory.Put("www.example.com.", "AAAA", minute, "2001:db8::1"), memory.Put("www.example.com.", "MX", minute, "10 mail."))
			s.hand(f.edits...)
			history := s.zone.History()
			s.checks("")
			call := provider.Call{Key: www, Away: []record.Change{{Action: record.Pause, Key: www, Value: a}}}
			history[len(history)-1].Cause = memory.Cause{Op: memory.OpTakeAway, Node: "one", Call: &call}
			if err := memory.Check(history); err == nil || !contains(err, f.want) {
				t.Errorf("expected a violation about %q, got %v", f.want, err)
			}
		})
	}
}
