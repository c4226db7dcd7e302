package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// settled is long enough for every target to be judged.
const settled = time.Minute

// handOver is how long a result may wait for the others of its moment.
const handOver = 10 * time.Millisecond

// A whole failover and failback: the write comes exactly one debounce after the
// probe that decided, and the way back after the hold.
func TestFailoverAndFailback(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		if w.touched() {
			t.Fatal("written although all is well")
		}
		if s := d.status(); s.Leader.State != "leader" || s.Records[0].Answers[1].State != "missing" || s.Targets[0].Verdict != "up" {
			t.Errorf("before: %+v", s)
		}

		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		writes := w.writes(home)
		if len(writes) != 1 {
			t.Fatalf("%d writes, want both changes in one", len(writes))
		}
		if late := w.when(writes[0]).Sub(w.site.failures(a)[2].Add(time.Second)); late < 0 || late > handOver {
			t.Errorf("written %s beyond the debounce of a second after the third failure", late)
		}

		w.site.heal(a)
		back := time.Now()
		time.Sleep(5 * time.Minute)
		w.mustLive(b)
		time.Sleep(2 * time.Minute)
		w.mustLive(a)
		if after := w.when(w.writes(home)[1]).Sub(back); after < 5*time.Minute+20*time.Second || after > 5*time.Minute+32*time.Second {
			t.Errorf("failed back after %s, want rise and hold", after)
		}
		if err := memory.Check(w.zones[home].History()); err != nil {
			t.Error(err)
		}
		d.end()
		if d.err != nil {
			t.Error(d.err)
		}
	})
}

// TestCase22AllDownKeepsTheLastAnswer lets three addresses die one after the
// other, one come back, and die again: the name keeps its last answer, nothing
// is ever deleted, and the one that came back takes over at once.
func TestCase22AllDownKeepsTheLastAnswer(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		const c = "192.0.2.30"
		spec := w.config.Records[0]
		spec.Policy = steer.All
		spec.Answers = append(spec.Answers, steer.Answer{Value: c, Probe: c})
		w.run()
		time.Sleep(settled)
		w.mustLive(a, b, c)
		for _, dies := range []struct{ address, left string }{{a, b + " " + c}, {b, c}, {c, c}} {
			w.site.fail(dies.address)
			time.Sleep(settled)
			w.mustLive(strings.Fields(dies.left)...)
		}
		before := len(w.writes(home))
		time.Sleep(time.Hour)
		if n := len(w.writes(home)) - before; n > 0 {
			t.Errorf("%d writes while nothing is usable", n)
		}
		w.site.heal(b)
		time.Sleep(settled)
		w.mustLive(b)
		w.site.fail(b)
		time.Sleep(settled)
		w.mustLive(b)
		if err := memory.Check(w.zones[home].History()); err != nil {
			t.Error(err)
		}
	})
}

// TestCase25OneFailureFlipsNothing plays results through the whole daemon: down
// at the third failure in a row, up at the second pass in a row, and nothing
// else.
func TestCase25OneFailureFlipsNothing(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Checks["web"].Rise = 2
		w.site.play(a, "SS"+"FSFFSFFF"+"SFSS"+"?F?F?S??FF")
		w.run()
		time.Sleep(5 * time.Minute)
		var got []string
		for _, line := range w.journal("verdict") {
			if line["address"] == a {
				got = append(got, line["to"].(string))
			}
		}
		if want := []string{"up", "down", "up"}; !slices.Equal(got, want) {
			t.Errorf("verdicts of %s: %v, want %v", a, got, want)
		}
		if n := len(w.writes(home)); n != 1 {
			t.Errorf("%d writes, want one: the failback is held", n)
		}
		w.mustLive(b)
	})
}

// Taken back inside the debounce window nothing is written.
func TestChangeThatIsTakenBackIsNotWritten(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Reconcile.Debounce = 15 * time.Second
		w.config.Checks["web"].Rise = 1
		w.site.play(a, "SSS"+"FFF"+"S")
		w.run()
		time.Sleep(5 * time.Minute)
		if n := len(w.journal("verdict")); n != 4 {
			t.Errorf("%d verdicts, want both up, one down and up", n)
		}
		if w.touched() {
			t.Error("written")
		}
	})
}

// The journal tells the whole story in its order, with the evidence.
func TestJournalTellsTheStory(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		d.end()
		file, err := os.ReadFile(filepath.Join(w.config.State.Dir, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		story := []string{
			`"kind":"leader","node":"mon-1","what":"won"`,
			`"kind":"verdict","target":"web@192.0.2.10","address":"192.0.2.10","from":"up","to":"down","phase":"connect","cause":"refused","detail":"connection refused"`,
			`"kind":"write","zone":"example.com.","name":"www.example.com.","type":"A","variant":"","value":"192.0.2.20","action":"create","reason":"web@192.0.2.20 up`,
			`"kind":"write","zone":"example.com.","name":"www.example.com.","type":"A","variant":"","value":"192.0.2.10","action":"pause","reason":"web@192.0.2.10 down: connect/refused`,
			`"kind":"verify","zone":"example.com.","verified":true`,
		}
		rest := string(file)
		for _, line := range story {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Fatalf("the journal does not tell %s in its place:\n%s", line, file)
			}
			rest = after
		}
	})
}

// An adapter that panics is a zone in trouble, and no more than that.
func TestPanicOfAnAdapterEndsNothing(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		bad := w.addZone("example.net.", class)
		d := w.run()
		time.Sleep(settled)
		bad.Faults(func(memory.Op, int) memory.Fault { panic("out of range") })
		time.Sleep(10 * time.Minute)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		zones := d.status().Zones
		i := slices.IndexFunc(zones, func(z control.Zone) bool { return z.Zone == "example.net." })
		if !strings.Contains(zones[i].Error, "panicked") {
			t.Errorf("status says of the zone: %+v", zones[i])
		}
		if n := len(w.log.with("out of range")); n == 0 || n > 20 {
			t.Errorf("%d lines tell of the panic", n)
		}
	})
}

// TestCase78OneZoneInTroubleStopsNoOther runs four zones, of which one hangs,
// one refuses the key and one has a broken record set.
func TestCase78OneZoneInTroubleStopsNoOther(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		for i, kind := range []memory.Kind{memory.Hang, memory.Refused, memory.Short} {
			zone := w.addZone(record.Name(fmt.Sprintf("z%d.example.", i)), class)
			zone.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: kind} })
		}
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		if late := w.when(w.writes(home)[0]).Sub(w.site.failures(a)[2].Add(time.Second)); late < 0 || late > handOver {
			t.Errorf("the other zones delayed the write by %s", late)
		}
		for _, zone := range d.status().Zones {
			if (zone.Error != "") != (zone.Zone != string(home)) {
				t.Errorf("status says of %s: %q", zone.Zone, zone.Error)
			}
		}
	})
}

// TestCase97NoFlood runs a day in which 50 targets are dead and no list of the
// zone works. The log stays short and has the first cause. The targets are
// probed each second for a while; the rest of the day belongs to what is tried
// again, and probing it through would only cost time.
func TestCase97NoFlood(t *testing.T) {
	t.Parallel()
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		slow := *w.config.Checks["web"]
		slow.Interval = time.Hour
		w.config.Checks["web"].Interval, w.config.Checks["web"].Timeout = time.Second, time.Second/2
		spec := &steer.Spec{
			Key: record.Key{Zone: home, Name: "many.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}
		var many []string
		for i := range 50 {
			many = append(many, fmt.Sprintf("198.51.100.%d", i+1))
		}
		w.addSet(spec, many...)
		d := w.run(w.reloading(func(c *config.Config) error {
			c.Checks = map[string]*check.Spec{"web": &slow}
			return nil
		}))
		time.Sleep(time.Minute)
		before := len(w.log.with(""))
		w.site.fail(many...)
		w.site.fail(a)
		n := 0
		w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
			n++
			if n%2 == 0 {
				return memory.Fault{Kind: memory.Throttled, After: time.Duration(n) * time.Second / 100}
			}
			return memory.Fault{Kind: memory.Refused}
		})
		time.Sleep(5 * time.Minute)
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		lines := w.log.with("")[before:]
		if len(lines) > 200 {
			t.Errorf("%d lines in a day, of them:\n%s", len(lines), strings.Join(lines[:200], "\n"))
		}
		if len(w.log.with("cannot list the zone zone=example.com.")) == 0 {
			t.Errorf("the first cause is not in the log:\n%s", strings.Join(lines, "\n"))
		}
	})
}

// The same when lists work and writes do not, whose outcome is not known: each
// try is in the journal, since it may have happened, and the log stays short.
func TestCase97NoFloodOfUnknownOutcomes(t *testing.T) {
	t.Parallel()
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, open)
		d := w.run()
		time.Sleep(settled)
		before := len(w.log.with(""))
		w.site.fail(a)
		w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
			if op.Write() {
				return memory.Fault{Kind: memory.LostRequest}
			}
			return memory.Fault{}
		})
		time.Sleep(6 * time.Hour)
		if lines := w.log.with("")[before:]; len(lines) > 50 {
			t.Errorf("%d lines in six hours, of them:\n%s", len(lines), strings.Join(lines[:50], "\n"))
		}
		if s := d.status(); s.Zones[0].Error == "" {
			t.Errorf("status says %+v", s.Zones[0])
		}
		if n := len(w.journal("write")); n < 100 {
			t.Errorf("%d tries are in the journal, each of which may have happened", n)
		}
		w.zones[home].Faults(nil)
		time.Sleep(settled)
		w.mustLive(b)
	})
}
