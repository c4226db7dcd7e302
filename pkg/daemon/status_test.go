package daemon

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/schedule"
	"sidestep/pkg/steer"
)

// Status of one name shows its record sets and the targets that they rest on,
// and what is live, paused, held and foreign each in its place.
func TestStatusOfOneName(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status})
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "api.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, "198.51.100.1")
		const stranger, held = "203.0.113.7", "192.0.2.30"
		w.config.Records[0].Answers = append(w.config.Records[0].Answers, steer.Answer{Value: held, Probe: held})
		name := string(www.Name)
		if err := w.zones[home].EditByHand(
			memory.Put(name, "A", time.Minute, stranger), memory.Put(name, "A", time.Minute, held), memory.Disable(name, "A", held),
		); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		time.Sleep(settled)
		s, err := d.Status(t.Context(), "WWW.example.com")
		if err != nil || len(s.Records) != 1 || len(s.Zones) != 1 {
			t.Fatalf("got %+v (%v)", s, err)
		}
		var targets, states []string
		for _, target := range s.Targets {
			targets = append(targets, target.ID)
		}
		if want := []string{"web@" + a, "web@" + b, "web@" + held}; !slices.Equal(targets, want) {
			t.Errorf("targets %q, want %q", targets, want)
		}
		r := s.Records[0]
		for _, answer := range r.Answers {
			states = append(states, answer.State)
		}
		if want := []string{"live", "missing", "paused"}; !slices.Equal(states, want) {
			t.Errorf("answers are %q, want %q", states, want)
		}
		if !slices.Equal(r.Live, []string{a}) || !slices.Equal(r.Foreign, []string{stranger}) || !slices.Equal(r.Held, []string{held}) || len(r.Paused) > 0 {
			t.Errorf("live %v, foreign %v, held %v, paused %v", r.Live, r.Foreign, r.Held, r.Paused)
		}
		if all := d.status(); len(all.Records) != 2 || len(all.Targets) != 4 {
			t.Errorf("of all there are %d record sets and %d targets", len(all.Records), len(all.Targets))
		}
		if _, err := d.Status(t.Context(), "nosuch"); control.ExitOf(err) != control.ExitUsage {
			t.Errorf("a name that is not there: %v", err)
		}
	})
}

// Before a zone was listed, and before its targets are judged, status says why
// nothing is planned.
func TestStatusAtTheStart(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
		d := w.run()
		synctest.Wait()
		if r := d.status().Records[0]; r.Listed || r.Answers[0].State != "unknown" || !strings.Contains(r.Reason, "not listed") {
			t.Errorf("before the list: %+v", r)
		}
		w.zones[home].Faults(nil)
		d.writer.Hasten(home)
		w.site.play(a, strings.Repeat("?", 100))
		time.Sleep(45 * time.Second)
		if r := d.status().Records[0]; !r.Listed || r.Answers[0].State != "live" || !strings.Contains(r.Reason, "judged") {
			t.Errorf("before the verdicts: %+v", r)
		}
		if n := len(w.log.with("can list the zone again zone=example.com.")); n != 1 {
			t.Errorf("that the list works again is in the log %d times", n)
		}
	})
}

// Status shows the last twenty writes, the newest first.
func TestStatusShowsTheLastWrites(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].Failback.Hold = 0
		d := w.run()
		time.Sleep(settled)
		for range 12 {
			w.site.fail(a)
			time.Sleep(settled)
			w.site.heal(a)
			time.Sleep(settled)
		}
		writes := d.status().Writes
		if len(writes) != keptWrites || !slices.IsSortedFunc(writes, func(x, y control.Write) int { return y.At.Compare(x.At) }) {
			t.Errorf("%d writes: %+v", len(writes), writes)
		}
	})
}

// TestCase09LatenessIsShown: a limit on open files that is too low for the
// targets, and a machine that is too slow for them, are said in words.
func TestCase09LatenessIsShown(t *testing.T) {
	w := newWorld(t, class) // an interval of 10 s
	d, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		stats schedule.Stats
		words []string
	}{
		{schedule.Stats{Limit: 5, Needed: 5, Lag: 10 * time.Second}, nil},
		{schedule.Stats{Limit: 5, Needed: 6}, []string{"LimitNOFILE"}},
		{schedule.Stats{Lag: 10001 * time.Millisecond}, []string{"up to 10.001s late"}},
		{schedule.Stats{Needed: 1, Lag: time.Minute}, []string{"LimitNOFILE", "up to 1m0s late"}},
	} {
		got := d.lateness(row.stats)
		if len(got) != len(row.words) {
			t.Fatalf("%+v: %q", row.stats, got)
		}
		for i, word := range row.words {
			if !strings.Contains(got[i], word) {
				t.Errorf("%+v: %q does not say %q", row.stats, got[i], word)
			}
		}
	}
	if s := describeSchedule(schedule.Stats{Targets: 1, Late: 2, Gaps: 3, Lag: 1500 * time.Microsecond}); s.Targets != 1 || s.Late != 2 || s.Gaps != 3 || s.LagMS != 1.5 {
		t.Errorf("got %+v", s)
	}
}

// BenchmarkStatus is a status of 10,000 targets, for which the loop waits.
func BenchmarkStatus(b *testing.B) {
	d := large(b, 10000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Status(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
	}
}
