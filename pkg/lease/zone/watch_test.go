package zone_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lease/zone"
)

// usual are the times of the defaults.
var usual = zone.Times{Heartbeat: 30 * time.Second, Takeover: 120 * time.Second, Poll: 10 * time.Second, Lag: 5 * time.Second, Call: 15 * time.Second}

func TestTimes(t *testing.T) {
	if least, worst := usual.Least(), usual.Worst(); least != 108*time.Second || worst != 147*time.Second {
		t.Errorf("least %s, worst %s", least, worst)
	}
	if belief := usual.Belief(); belief < 117*time.Second || belief > 118*time.Second {
		t.Errorf("believed for %s", belief)
	}
	if err := usual.Check(); err != nil {
		t.Error(err)
	}
	short := usual
	short.Takeover = 107 * time.Second
	err := short.Check()
	if err == nil || !strings.HasPrefix(err.Error(), "leader.takeover: 107s is too short") || !strings.Contains(err.Error(), "use 108s or more") {
		t.Errorf("got %v", err)
	}
	if want := "the leader makes 2 writes and as many reads of the stamp a minute, each standby 6 reads; after a crash a standby takes over within 147s"; usual.Cost() != want {
		t.Errorf("got %q", usual.Cost())
	}
	if room := usual.Room(); room < 102*time.Second || room > 103*time.Second {
		t.Errorf("it may be busy for %s", room)
	}
	quick := zone.Times{Heartbeat: time.Second, Call: 15 * time.Second}
	if quick.Deadline() != time.Second || usual.Deadline() != 10*time.Second {
		t.Errorf("a heartbeat may take %s and %s", quick.Deadline(), usual.Deadline())
	}
}

func stamp(holder, nonce string) zone.Stamp {
	return zone.Stamp{Text: "v=1 holder=" + holder + " nonce=" + nonce, Nonce: nonce, Holder: holder}
}

// eye looks at stamps at a time, in no time.
func eye(w *zone.Watch) func(at int, stamps ...zone.Stamp) zone.View {
	return func(at int, stamps ...zone.Stamp) zone.View {
		now := time.Duration(at) * time.Second
		return w.Look(now, now, stamps)
	}
}

func TestAnothersStampIsTakenOverWhenItStoodStill(t *testing.T) {
	w := zone.NewWatch(usual)
	look := eye(w)
	if w.View().Whose != zone.Unknown || w.Leads(0) {
		t.Errorf("before any look: %+v", w.View())
	}
	if v := look(100, stamp("mon-2", "a")); v.Whose != zone.Others || v.Holder != "mon-2" || v.Until != 220*time.Second || v.Claimable() {
		t.Errorf("first seen: %+v", v)
	}
	if v := look(219, stamp("mon-2", "a")); v.Whose != zone.Others {
		t.Errorf("a second too early: %+v", v)
	}
	if v := look(219, stamp("mon-2", "b")); v.Whose != zone.Others || v.Since != 219*time.Second {
		t.Errorf("renewed: %+v", v)
	}
	if v := look(339, stamp("mon-2", "b")); v.Whose != zone.Stale || !v.Claimable() {
		t.Errorf("silent for long enough: %+v", v)
	}
}

// A look counts from its end where it begins the wait, and from its beginning
// where it ends it.
func TestALookThatTakesLong(t *testing.T) {
	w := zone.NewWatch(usual)
	w.Look(100*time.Second, 109*time.Second, []zone.Stamp{stamp("mon-2", "a")})
	if v := w.Look(228*time.Second, 239*time.Second, []zone.Stamp{stamp("mon-2", "a")}); v.Whose != zone.Others {
		t.Errorf("got %+v", v)
	}
	if v := w.Look(229*time.Second, 239*time.Second, []zone.Stamp{stamp("mon-2", "a")}); v.Whose != zone.Stale {
		t.Errorf("got %+v", v)
	}
}

func TestNobodysStampIsFree(t *testing.T) {
	released := stamp("mon-2", "a")
	released.Released = true
	for what, stamps := range map[string][]zone.Stamp{
		"none":          nil,
		"released":      {released},
		"a first claim": {stamp("-", "genesis")},
		"both":          {released, stamp("-", "genesis")},
	} {
		if v := eye(zone.NewWatch(usual))(1, stamps...); v.Whose != zone.Free || v.Holder != "" {
			t.Errorf("%s: %+v", what, v)
		}
	}
}

func TestMineIsBelievedFromBeforeItWasSent(t *testing.T) {
	w := zone.NewWatch(usual)
	look := eye(w)
	look(0)
	w.Tried("n1", 10*time.Second)
	if v := w.Accepted("n1"); v.Whose != zone.Mine || v.Until != 10*time.Second+usual.Belief() {
		t.Errorf("accepted: %+v", v)
	}
	if !w.Leads(100*time.Second) || w.Leads(128*time.Second) {
		t.Error("believed too short or too long")
	}
	if v := look(200, stamp("mon-1", "n1")); v.Whose != zone.Mine || w.Leads(200*time.Second) || !v.Claimable() {
		t.Errorf("after a long stop: %+v", v)
	}
	w.Tried("n2", 201*time.Second) // no answer
	if v := look(202, stamp("mon-1", "n2")); v.Whose != zone.Mine || !w.Leads(202*time.Second) {
		t.Errorf("it was accepted, as the look shows: %+v", v)
	}
	if w.Refused(); w.Leads(203 * time.Second) {
		t.Error("believed although a write was refused")
	}
	if v := look(204, stamp("mon-2", "x")); v.Whose != zone.Others || w.Leads(204*time.Second) {
		t.Errorf("taken over: %+v", v)
	}
}

// A stamp of this node's name that this process did not write is another's.
func TestNamesakeIsAnother(t *testing.T) {
	w := zone.NewWatch(usual)
	w.Tried("n1", 0)
	w.Accepted("n1")
	if v := eye(w)(5, stamp("mon-1", "n0")); v.Whose != zone.Others || v.Holder != "mon-1" {
		t.Errorf("got %+v", v)
	}
}

func TestDeletedByHandIsClaimedAnew(t *testing.T) {
	w := zone.NewWatch(usual)
	w.Tried("n1", 0)
	w.Accepted("n1")
	if v := eye(w)(5); v.Whose != zone.Free || w.Leads(5*time.Second) {
		t.Errorf("got %+v", v)
	}
}

// Of two stamps nobody writes through one: who holds the zone, or finds both
// silent, replaces both.
func TestTwoStamps(t *testing.T) {
	w := zone.NewWatch(usual)
	look := eye(w)
	w.Tried("n1", 0)
	w.Accepted("n1")
	if v := look(5, stamp("mon-1", "n1"), stamp("copy", "c")); v.Whose != zone.Free || w.Leads(5*time.Second) {
		t.Errorf("mine and another: %+v", v)
	}
	if v := look(300, stamp("mon-2", "x"), stamp("mon-1", "n1")); v.Whose != zone.Others || v.Holder != "mon-2" {
		t.Errorf("an old one of mine came back beside another's: %+v", v)
	}
	if v := look(420, stamp("mon-1", "n1"), stamp("mon-2", "x")); v.Whose != zone.Stale {
		t.Errorf("the same two, in another order: %+v", v)
	}
}

func TestUnknownVersionIsNamedAndNeverTaken(t *testing.T) {
	w := zone.NewWatch(usual)
	strange := zone.Stamp{Text: "v=9 lord=mon-2"}
	for _, at := range []int{0, 500, 5000} {
		if v := eye(w)(at, strange, stamp("mon-2", "a")); v.Whose != zone.Foreign || v.Text != strange.Text || v.Claimable() {
			t.Errorf("got %+v", v)
		}
	}
}

// However many stamps a process sends, it knows the one that is in the zone.
func TestTheStampInForceIsNeverForgotten(t *testing.T) {
	w := zone.NewWatch(usual)
	at := time.Duration(0)
	beat := func(name string) {
		at += 30 * time.Second
		w.Tried(name, at)
	}
	for i := range 20000 {
		nonce := "n" + strconv.Itoa(i)
		beat(nonce)
		w.Accepted(nonce)
		beat("lost" + strconv.Itoa(i)) // on its way
		if v := w.Look(at, at, []zone.Stamp{stamp("mon-1", nonce)}); v.Whose != zone.Mine {
			t.Fatalf("after %d stamps its own is %+v", i, v)
		}
	}
	for i := range 20000 { // none of these comes to the zone
		beat("late" + strconv.Itoa(i))
	}
	if v := w.Look(at, at, []zone.Stamp{stamp("mon-1", "n19999")}); v.Whose != zone.Mine {
		t.Errorf("after tries in vain: %+v", v)
	}
}

func TestHeartbeatsInsideTheLag(t *testing.T) {
	times := usual
	times.Heartbeat, times.Lag = 60*time.Second, 60*time.Second
	err := times.Check()
	if err == nil || !strings.HasPrefix(err.Error(), "leader.heartbeat: 60s is too short: lists lag by 60s") || !strings.Contains(err.Error(), "use 61s or more, and leader.takeover: 258s or more") {
		t.Fatalf("got %v", err)
	}
	times.Heartbeat, times.Takeover = 61*time.Second, 258*time.Second
	if err := times.Check(); err != nil {
		t.Error(err)
	}
}
