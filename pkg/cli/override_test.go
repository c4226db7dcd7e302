package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// noon is a moment on the clock of this machine, which is what people are told by.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

func TestForeseenLines(t *testing.T) {
	at := noon.Add(time.Second)
	now := control.Overruled{Daemon: true, Override: &control.Override{Kind: "drain", From: noon}}
	later := control.Overruled{Daemon: true, Override: &control.Override{Kind: "drain", From: noon.Add(time.Hour)}}
	alone := control.Overruled{Override: &control.Override{Kind: "drain", From: noon}}
	aloneLater := control.Overruled{Override: later.Override}
	out := control.Foreseen{Known: true, At: &at, Out: []string{"192.0.2.1"}, Live: []string{"192.0.2.2"}}
	for _, c := range []struct {
		about control.Overruled
		r     control.Foreseen
		want  []string
	}{
		{now, control.Foreseen{}, []string{"what happens is not known yet, because what it answers with or what the probes see is not; look: sidestep plan"}},
		{now, out, []string{"192.0.2.1 goes out at 12:00:01; 1 answer is live then"}},
		{alone, out, []string{"192.0.2.1 goes out with the next reconcile; 1 answer is live then"}},
		{aloneLater, out, []string{"192.0.2.1 goes out from 13:00:00; 1 answer is live then"}},
		{
			now, control.Foreseen{Known: true, At: &at, Out: []string{"a", "b"}, In: []string{"c", "d"}, Live: []string{"c", "d"}},
			[]string{"a, b go out, c, d come in at 12:00:01; 2 answers are live then"},
		},
		{
			now, control.Foreseen{Known: true, At: &at, Live: []string{"192.0.2.1"}, Stays: []control.Stay{{Value: "192.0.2.1", Reason: "why"}}},
			[]string{"192.0.2.1 cannot go out now: why; it goes out as soon as another can take its place"},
		},
		{
			later, control.Foreseen{Known: true, At: &at, Live: []string{"192.0.2.1"}, Stays: []control.Stay{{Value: "192.0.2.1", Reason: "why"}}},
			[]string{"192.0.2.1 cannot go out then, as things are now: why; it goes out as soon as another can take its place"},
		},
		{
			now, control.Foreseen{Known: true, At: &at, Out: []string{"a"}, Live: []string{"b"}, Zone: "example.com.", Error: "no answer"},
			[]string{"a goes out when it may; 1 answer is live then", "not before its zone can be written again, which is tried until it can; now it cannot: zone example.com.: no answer"},
		},
		{
			now, control.Foreseen{Known: true, Reason: "pinned", Live: []string{"a"}, Down: []string{"a"}},
			[]string{"nothing changes: it answers with a (pinned)", "WARNING: down by its probes, and taken for usable until that word ends: a"},
		},
		{
			now, control.Foreseen{Name: "www.example.com.", Known: true, At: &at, Stays: []control.Stay{{Value: "a", Reason: "why", Pinned: true}}},
			[]string{"a cannot go out now: why; the pin holds it, and it goes out once that ends: sidestep override clear www.example.com --kind pin"},
		},
		{now, control.Foreseen{Known: true, Reason: "all: 0 of 2 usable"}, []string{"nothing changes: it answers with nothing (all: 0 of 2 usable)"}},
		{
			now, control.Foreseen{Known: true, At: &at, Out: []string{"a"}, Live: []string{"b"}, Blocked: []control.Blocked{{Guard: "adopt", Detail: "ask"}}},
			[]string{"a goes out when it may; 1 answer is live then", "not before guard adopt lets it: ask"},
		},
	} {
		if got := foreseenLines(c.r, c.about, noon); !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestOverrideWords(t *testing.T) {
	until := noon.Add(2 * time.Hour)
	for want, o := range map[string]control.Override{
		"drain 192.0.2.1 until 14:00:00: new kernel":            {Kind: "drain", Target: "192.0.2.1", Reason: "new kernel", From: noon, Until: &until},
		"pin www.example.com to 192.0.2.1,192.0.2.2 forever: x": {Kind: "pin", Target: "www.example.com.", Value: "192.0.2.1,192.0.2.2", Reason: "x", From: noon},
		"freeze all from 2026-01-03 12:00:00 forever: x":        {Kind: "freeze", Target: "all", Reason: "x", From: noon.AddDate(0, 0, 1)},
	} {
		if got := overrideWords(o, noon); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Of ten thousand names that stay as they are nobody wants to read.
func TestManyThatStayAsTheyAre(t *testing.T) {
	var out strings.Builder
	a := testApp()
	a.io.Out = &out
	at := noon
	answer := control.Overruled{Daemon: true, Override: &control.Override{Kind: "drain", Target: "all", From: noon}}
	for i := range 20 {
		r := control.Foreseen{Name: fmt.Sprintf("n%d.example.com.", i), Type: "A", Known: i%2 == 0}
		if i == 18 {
			r.Out, r.At = []string{"192.0.2.1"}, &at
		}
		answer.Records = append(answer.Records, r)
	}
	if err := a.printOverruled(answer); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"n18.example.com. A: 192.0.2.1 goes out", "and 5 record sets more of which it is not known\n", "and 4 record sets more that stay as they are\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 1+5+5+1+2 {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
