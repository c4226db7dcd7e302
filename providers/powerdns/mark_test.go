package powerdns

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/record"
	"sidestep/providers/powerdns/powerdnstest"
)

const (
	ten    = "192.0.2.10"
	twenty = "192.0.2.20"
)

// byHand flips a value as a person does who looks at no comments.
func byHand(f *powerdnstest.Fake, value, disabled string) {
	f.SQL("UPDATE records SET disabled=" + disabled + " WHERE content='" + value + "'")
}

func mustBe(t *testing.T, a *Adapter, what, value, want string) {
	t.Helper()
	got, _ := listed(t, a).Set(wwwA).Find(value)
	if is := stateOf(got); is != want {
		t.Errorf("%s: %s is %s, want %s", what, value, is, want)
	}
}

func stateOf(a record.Answer) string {
	var words []string
	for word, is := range map[string]bool{"live": a.Live, "paused": a.Paused, "held": a.Held} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " and ")
}

// Somebody ends a pause of ours, and later disables the value again: the mark that
// is still there is of the first pause, so it is held. Our own next pause has a mark
// of its own.
func TestASecondPauseIsWhoseItIs(t *testing.T) {
	f, a := start(t, wwwZone)
	a.now = time.Now
	for _, was := range []string{"a mark of this version", "an old mark, without a time"} {
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), ten, twenty)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(was, "old") {
			f.SQL("UPDATE comments SET comment='v=sidestep1 paused=" + ten + "'")
		}
		mustBe(t, a, was, ten, "paused")
		byHand(f, ten, "0")
		mustBe(t, a, was+", enabled", ten, "live")
		mustBe(t, a, was+", enabled", ten, "live")
		byHand(f, ten, "1")
		for range 2 {
			mustBe(t, a, was+", disabled again", ten, "held")
		}
		wants(t, "what remains", a.Remains(listed(t, a)), "a mark on www.example.com. A for 192.0.2.10, which sidestep does not pause")

		// What is held is resumed when a person approves it, and then has no mark.
		if err := a.Add(t.Context(), resumeOf(listed(t, a), ten)); err != nil {
			t.Fatal(err)
		}
		wants(t, "resumed", at(f, "www.example.com."), "www.example.com. 60 A "+ten, "www.example.com. 60 A "+twenty)
		byHand(f, ten, "1")
		mustBe(t, connect(t, f), "disabled after a resume of ours", ten, "held")
		byHand(f, ten, "0")
	}
}

// Our own second pause, after somebody ended the first, is ours, for a new process
// too; and a write of another value leaves no mark that is used up.
func TestOurSecondPauseIsOurs(t *testing.T) {
	f, a := start(t, wwwZone+"www 60 IN A 192.0.2.30\n")
	a.now = time.Now
	for range 3 {
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), ten, twenty)); err != nil {
			t.Fatal(err)
		}
		mustBe(t, a, "our pause", ten, "paused")
		mustBe(t, connect(t, f), "our pause, a new process", ten, "paused")
		byHand(f, ten, "0")
		listed(t, a)
		listed(t, a)
	}
	byHand(f, ten, "1")
	mustBe(t, a, "a person's pause", ten, "held")
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.30", twenty)); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*Adapter{a, connect(t, f)} {
		mustBe(t, a, "after a write of another value", ten, "held")
		mustBe(t, a, "after a write of another value", "192.0.2.30", "paused")
	}
}

// A value whose deletion ended the pause, and that is put back disabled, is held.
func TestAMarkOfAValueThatWasGone(t *testing.T) {
	f, a := start(t, wwwZone)
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), ten, twenty)); err != nil {
		t.Fatal(err)
	}
	f.SQL("DELETE FROM records WHERE content='" + ten + "'")
	listed(t, a)
	listed(t, a)
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','" + ten + "',60,1,1)")
	mustBe(t, a, "put back", ten, "held")
}

// A list that a pause overtakes between records and comments shows the value live
// with its mark. However many lists it overtakes at once, the pause is ours.
func TestATornListMakesNoPauseAPersons(t *testing.T) {
	set := func(disabled bool) rrset {
		return rrset{
			Name: "www.example.com.", Type: "A", TTL: 60, Records: []member{{ten, disabled}, {twenty, false}},
			Comments: []comment{commentOf([]mark{newMark(ten, time.Unix(1, 0))})},
		}
	}
	a := &Adapter{}
	list := func(known pauses, disabled bool) string {
		b := newBuilder(testZone, known)
		b.take(set(disabled))
		a.learn(b)
		return stateOf(b.finish(head{}).Sets[0].Answers[0])
	}
	before := a.known()
	if one, two := list(before, false), list(before, false); one != "live" || two != "live" {
		t.Errorf("torn: %s, %s", one, two)
	}
	if got := list(a.known(), true); got != "paused" {
		t.Errorf("after lists that were torn: %s", got)
	}
	list(a.known(), false)
	late := a.known() // a list that begins now, and ends after the two others
	list(a.known(), false)
	if got := list(a.known(), true); got != "held" {
		t.Errorf("after two lists with a mark that is used up: %s", got)
	}
	list(late, true)
	if got := list(a.known(), true); got != "held" {
		t.Errorf("a slow list made it forgotten: %s", got)
	}
}
