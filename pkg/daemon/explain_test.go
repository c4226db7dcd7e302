package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// why is what the daemon explains of www.
func (r *running) why() (control.Explanation, control.ExplainedRecord) {
	r.w.Helper()
	e, err := r.Explain(context.Background(), control.ExplainRequest{Name: "WWW"})
	if err != nil {
		r.w.Fatal(err)
	}
	if !e.Daemon || e.SavedAt != nil || len(e.Records) != 1 {
		r.w.Fatalf("got %+v", e)
	}
	return e, e.Records[0]
}

// eventTexts are the targets and turns of events.
func eventTexts(events []control.Event) []string {
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s>%s %s", e.Target, e.From, e.To, e.Detail)))
	}
	return list
}

// A failover is explained by what the probes found, what was written, and which
// event led to it; the way back by the end of its hold.
func TestExplainAFailover(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		if _, r := d.why(); len(r.Writes) > 0 || r.HoldEnds != nil || r.WindowEnds != nil || r.JudgeUntil != nil {
			t.Errorf("before anything happened: %+v", r)
		}
		w.site.fail(a)
		failed := time.Now()
		time.Sleep(settled)
		e, r := d.why()
		answer := r.Answers[0]
		target := answer.Targets[0]
		if answer.State != "paused" || target.Judged != "down" || target.Fails != target.Results.Fail || target.Fall != 3 || target.Rise != 3 {
			t.Errorf("%s: %+v", a, answer)
		}
		if want := (control.Failure{Phase: "connect", Cause: "refused", Times: target.Fails}); !slices.Equal(target.Results.Failures, []control.Failure{want}) {
			t.Errorf("failures: %+v", target.Results)
		}
		if last := target.Last; last == nil || last.Result != "fail" || e.At.Sub(last.At) > 10*time.Second {
			t.Errorf("last result: %+v", last)
		}
		if len(r.Writes) != 2 {
			t.Fatalf("%d writes: %+v", len(r.Writes), r.Writes)
		}
		down := "web@" + a + " up>down connection refused"
		for i, want := range [][]string{{down}, {"web@" + b + " unknown>up", down}} {
			if got := eventTexts(r.Writes[i].Evidence); !slices.Equal(got, want) {
				t.Errorf("%s %s after %q, want %q", r.Writes[i].Action, r.Writes[i].Value, got, want)
			}
		}
		if at := r.Writes[0].Evidence[0].At; at.Before(failed) || at.After(failed.Add(31*time.Second)) {
			t.Errorf("it was judged down at %s", at)
		}

		w.site.heal(a)
		time.Sleep(2 * time.Minute)
		e, r = d.why()
		if up := r.Answers[0].Targets[0].Since; r.HoldEnds == nil || !r.HoldEnds.Equal(up.Add(5*time.Minute)) {
			t.Errorf("up since %s, held back until %v", up, r.HoldEnds)
		}
		if s, err := d.Status(t.Context(), "www"); err != nil || s.Records[0].HoldEnds == nil || !s.Records[0].HoldEnds.Equal(*r.HoldEnds) {
			t.Errorf("status %+v, %v; explain says held back until %s", s.Records, err, r.HoldEnds)
		}
		if e.Others != (control.Outcomes{}) {
			t.Errorf("others: %+v", e.Others)
		}
		time.Sleep(5 * time.Minute)
		_, r = d.why()
		if got, want := eventTexts(r.Writes[0].Evidence), []string{"web@" + a + " down>up"}; r.HoldEnds != nil || len(r.Writes) != 4 || !slices.Contains(got, want[0]) {
			t.Errorf("after the failback: held until %v, after %q, %d writes", r.HoldEnds, got, len(r.Writes))
		}
	})
}

// What was our own fault is told apart from what was the target's, with the
// remedy, and so is what the rest of the world looks like from here.
func TestExplainTellsWhoseFaultItWas(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "api.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, "198.51.100.1", "198.51.100.2")
		w.addSet(&steer.Spec{Key: record.Key{Zone: home, Name: www.Name, Type: record.AAAA}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}, "2001:db8::1")
		w.site.play(a, "SSS"+strings.Repeat("?", 100))
		w.site.fail("198.51.100.2")
		d := w.run()
		time.Sleep(2 * time.Minute)
		e, err := d.Explain(t.Context(), control.ExplainRequest{Name: "www", Type: "a"})
		if err != nil || len(e.Records) != 1 {
			t.Fatalf("%+v, %v", e, err)
		}
		target := e.Records[0].Answers[0].Targets[0]
		r := target.Results
		if r.Pass != 3 || r.Fail != 0 || r.Unknown < 7 || target.Unknowns != r.Unknown || target.Last.Result != "unknown" {
			t.Errorf("results: %+v, last %+v", r, target.Last)
		}
		if want := []control.OwnFault{{Detail: "no route", Times: r.Unknown}}; !slices.Equal(r.Faults, want) || len(r.Failures) > 0 {
			t.Errorf("faults: %+v", r)
		}
		if target.Verdict != "unknown" || target.Judged != "up" {
			t.Errorf("shown as %s, decided by %s", target.Verdict, target.Judged)
		}
		if want := (control.Outcomes{Pass: 2, Fail: 1}); e.Others != want {
			t.Errorf("others: %+v, want %+v", e.Others, want)
		}
		both, err := d.Explain(t.Context(), control.ExplainRequest{Name: "www"})
		if err != nil || len(both.Records) != 2 {
			t.Errorf("%+v, %v", both, err)
		}
		for _, request := range []control.ExplainRequest{{Name: "nosuch"}, {Name: "www", Type: "CNAME"}, {Name: "www", Type: "nonsense"}} {
			if _, err := d.Explain(t.Context(), request); control.ExitOf(err) != control.ExitUsage {
				t.Errorf("%+v: %v", request, err)
			}
		}
	})
}

// What waits stands there with its end and its numbers: the judging at a start,
// the debounce window, and a guard with the yes that it takes.
func TestExplainWhatWaits(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Reconcile.Debounce = 30 * time.Second
		w.config.Records[0].AskFirst = true
		w.site.play(a, "?")
		d := w.run()
		began := time.Now()
		time.Sleep(5 * time.Second)
		if _, r := d.why(); r.JudgeUntil == nil || r.JudgeUntil.Sub(began) != time.Minute {
			t.Errorf("it began at %s, and is planned by %v at the latest", began, r.JudgeUntil)
		}
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(35 * time.Second)
		_, r := d.why()
		if down := r.Answers[0].Targets[0].Since; r.WindowEnds == nil || !r.WindowEnds.Equal(down.Add(30*time.Second)) {
			t.Errorf("down since %s, the window ends at %v", down, r.WindowEnds)
		}
		if len(r.Pending) != 2 {
			t.Errorf("pending: %+v", r.Pending)
		}
	})
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.config.Records[0].AskFirst = true
		w.config.Records[0].Failback.Hold = 0
		if err := w.zones[home].EditByHand(memory.Delete(string(www.Name), "A", a), memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		time.Sleep(settled)
		if _, r := d.why(); len(r.Blocked) != 1 || r.Blocked[0].Guard != "adopt" || len(r.Pending) > 0 {
			t.Errorf("blocked: %+v, pending: %+v", r.Blocked, r.Pending)
		}
		if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "www"}, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		_, r := d.why()
		if len(r.Writes) == 0 {
			t.Fatal("nothing was written after the yes")
		}
		if got := r.Writes[0].Evidence; !slices.ContainsFunc(got, func(e control.Event) bool { return e.By == "ann" && e.Detail == "approved" }) {
			t.Errorf("the yes is no evidence: %+v", got)
		}
	})
}

// What this node thought of its own sight before a write is evidence, too.
func TestExplainTellsOfTheCanary(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := sightWorld(t)
		d := w.run()
		time.Sleep(settled)
		w.site.fail(append(anchors, a)...)
		time.Sleep(settled)
		w.site.heal(anchors...)
		time.Sleep(settled)
		_, r := d.why()
		if len(r.Writes) == 0 {
			t.Fatal("nothing was written")
		}
		var told []string
		for _, e := range r.Writes[0].Evidence {
			told = append(told, e.Detail)
		}
		if text := strings.Join(told, "\n"); !strings.Contains(text, "the canary fails") || !strings.Contains(text, "the canary passes again") || !strings.Contains(text, "refused") {
			t.Errorf("the evidence is\n%s", text)
		}
	})
}

// Without a daemon the same is told of what one saved, at any age, and nobody is
// asked.
func TestExplainWhatWasSaved(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		d.end()
		ended := time.Now()
		before := w.files(w.config.State.Dir)
		time.Sleep(3 * time.Hour)
		ask := func(name string) (control.Explanation, error) {
			return explainSaved(w.config, control.ExplainRequest{Name: name}, w.clock, slog.New(w.log))
		}
		e, err := ask("www")
		if err != nil || e.Daemon || e.SavedAt == nil || !e.SavedAt.Equal(ended) {
			t.Fatalf("%+v, %v", e, err)
		}
		r := e.Records[0]
		if !slices.Equal(r.Live, []string{b}) || r.Answers[0].State != "unknown" || r.Answers[1].State != "live" {
			t.Errorf("live %v, answers %+v", r.Live, r.Answers)
		}
		target := r.Answers[0].Targets[0]
		if target.Verdict != "down" || target.Judged != "down" || target.Phase != "connect" || target.Results != nil {
			t.Errorf("%s: %+v", a, target)
		}
		if len(r.Writes) != 2 || len(r.Writes[0].Evidence) == 0 || len(r.Pending) > 0 || r.HoldEnds != nil {
			t.Errorf("writes %+v, pending %+v", r.Writes, r.Pending)
		}
		if after := w.files(w.config.State.Dir); len(after) != len(before) {
			t.Errorf("there were %d files, there are %d", len(before), len(after))
		}
		if _, err := ask("nosuch"); control.ExitOf(err) != control.ExitUsage {
			t.Errorf("a name that is not there: %v", err)
		}

		if err := os.WriteFile(filepath.Join(w.config.State.Dir, "state.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err = ask("www"); err != nil || !slices.ContainsFunc(e.Notices, func(n string) bool { return strings.Contains(n, "corrupt") }) {
			t.Errorf("of the generation before: %+v, %v", e.Notices, err)
		}
		if err := os.RemoveAll(w.config.State.Dir); err != nil {
			t.Fatal(err)
		}
		if _, err := ask("www"); control.ExitOf(err) != control.ExitFailure || !strings.Contains(err.Error(), "nothing was saved") {
			t.Errorf("without a state: %v", err)
		}
	})
}

// A journal that cannot be read takes the writes away, and nothing else.
func TestExplainWithoutAJournal(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		journal := filepath.Join(w.config.State.Dir, "journal.jsonl")
		if err := os.Remove(journal); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(journal, 0o700); err != nil {
			t.Fatal(err)
		}
		e, r := d.why()
		if e.Journal.Error == "" || len(r.Writes) > 0 || !slices.Equal(r.Live, []string{b}) {
			t.Errorf("journal %+v, writes %+v, live %v", e.Journal, r.Writes, r.Live)
		}
		if err := os.Remove(journal); err != nil {
			t.Fatal(err)
		}
		if e, _ := d.why(); e.Journal.Error != "" || e.Journal.Since != nil {
			t.Errorf("an empty journal: %+v", e.Journal)
		}
	})
}
