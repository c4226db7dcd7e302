package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func ended(how string, elsewhere bool) func(Wait) (bool, string, bool) {
	return func(Wait) (bool, string, bool) { return true, how, elsewhere }
}

// TestWaitsAreToldOnce: the begin, over a restart, and the end of what was told.
func TestWaitsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		dc1 := Wait{About: "site dc1", Text: "waits for approval\n\x1b[2J" + strings.Repeat("x", 300), Approve: "dc1"}
		brief := Wait{About: "www.example.com. A", Text: "waits for approval", Approve: "www.example.com"}
		b.Waits([]Wait{dc1, brief}, nil)
		time.Sleep(time.Second)
		b.Waits([]Wait{dc1}, ended("was approved by ann", false)) // nobody heard of the other
		time.Sleep(time.Hour)
		b.Waits([]Wait{dc1}, nil)
		if all := r.all(); len(all) != 1 || all[0].Title() != "sidestep mon-1: waits for approval: site dc1" || !strings.HasSuffix(all[0].Text(), "…: sidestep approve dc1") {
			t.Fatalf("of the beginning: %v", all)
		}
		b.stop()
		b = start(t, b.State(), Entry{To: r})
		b.Waits(nil, func(Wait) (bool, string, bool) { return false, "", false }) // not known yet
		b.Waits([]Wait{dc1}, nil)
		time.Sleep(time.Hour)
		b.Waits(nil, ended("was approved by ann", false))
		b.Waits(nil, nil)
		time.Sleep(time.Hour)
		if got := r.about(Guard); fmt.Sprint(got) != "[waits for approval: site dc1 waits no more: site dc1]" || !strings.Contains(r.all()[1].Text(), "site dc1 was approved by ann, after 2h0m1s") {
			t.Errorf("of all: %v", r.all())
		}
	})
}

// TestWaitsThatAreLeft to the leader are said by who takes over from it soon after.
func TestWaitsThatAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		wait := func(name string) Wait { return Wait{About: name, Approve: name, Left: true} }
		old, young, over := wait("old"), wait("young"), wait("over")
		b.Waits([]Wait{old, over}, nil)
		time.Sleep(10 * time.Minute)
		b.Waits([]Wait{old, young}, ended("was approved", true))
		time.Sleep(time.Minute)
		if len(r.all()) != 0 {
			t.Fatalf("a standby says %s", r.all()[0].Text())
		}
		b.TakeOver()
		time.Sleep(time.Minute)
		if got := fmt.Sprint(r.about(Guard)); got != "[waits for approval: young; waits no more: over]" {
			t.Errorf("after taking over: %s", got)
		}
		b.Waits([]Wait{young}, ended("was approved", false))
		time.Sleep(time.Minute)
		b.Waits([]Wait{young, over}, ended("was approved", false)) // once more
		time.Sleep(time.Minute)
		if got := fmt.Sprint(r.about(Guard)[1:]); got != "[waits no more: old]" {
			t.Errorf("as the leader: %s", got)
		}
		for _, broken := range []string{`{"book":{"waits":{"a":null,"b":{"about":"c"}}}}`, `{"book":{"waits":7}}`} {
			start(t, json.RawMessage(broken), Entry{To: r}).Waits(nil, ended("was approved", false))
		}
	})
}
