package drill

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// TestAFreezeOnTheWayBack is told of at once, and counted apart.
func TestAFreezeOnTheWayBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.options("app.stage.test.")
	o.Watch.Request = nil
	o.Progress = func(text string) {
		if strings.HasPrefix(text, "taking the drain of ") {
			if _, err := s.client.Override(t.Context(), control.OverrideRequest{Kind: "freeze", Target: "all", For: "1h", Reason: "not now"}); err != nil {
				t.Error(err)
			}
		}
	}
	said := ""
	o.Notice = func(text string) {
		if strings.HasPrefix(text, "way back is held up: guard freeze: everything is frozen by ") {
			said = text
			if _, err := s.client.ClearOverride(t.Context(), control.ClearRequest{Target: "all", Kind: "freeze"}); err != nil {
				t.Error(err)
			}
		}
	}
	report, err := Run(t.Context(), o)
	if err != nil || !report.Held() || report.Still != "" || !strings.Contains(said, "(not now)") {
		t.Fatalf("%v, %+v, said %q", err, report, said)
	}
	y := report.Back
	last := y.Waited[len(y.Waited)-1]
	if last.For != "freeze" || last.Took <= 0 || last.After+last.Took > y.clock(Written).After || y.Waits() != "" {
		t.Errorf("waited %+v, written after %s", y.Waited, y.clock(Written).After)
	}
	s.wantNoDrain(t)
}

// TestWaits takes one look a second at a way back that waits for one thing after the
// other.
func TestWaits(t *testing.T) {
	due, began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Now()
	old := control.Blocked{Guard: "held", Detail: "since long"}
	var said []string
	r := &rehearsal{
		o:    Options{Notice: func(text string) { said = append(said, text) }, Watch: observe.Options{Name: "www.example.com.", Type: record.A}},
		plan: Plan{Zone: "example.com.", Name: "www.example.com.", During: []string{"192.0.2.2"}}, blocked: []control.Blocked{old},
		report: &Report{},
	}
	y := newWay(Back, &r.plan, observe.Sample{})
	y.Began, r.report.Back = began, y
	writes := &control.Wait{Until: due, Why: "the zone waits"}
	looks := []struct {
		set   control.Record
		zone  *control.Wait
		still string
	}{
		{set: control.Record{Blocked: []control.Blocked{old}}, zone: writes, still: "returns by itself"},
		{set: control.Record{HoldEnds: &due}, still: "returns by itself at 2026-01-02T03:04:05Z (failback.hold)"},
		{set: control.Record{Blocked: []control.Blocked{old, {Guard: "freeze", Detail: "frozen by mara"}}}, still: "returns by itself once this is over: guard freeze: frozen by mara"},
		{set: control.Record{Blocked: []control.Blocked{old, {Guard: "freeze", Detail: "frozen by jo"}}}, still: "returns by itself once this is over: guard freeze: frozen by jo"},
		{set: control.Record{Waiting: "the failback"}, still: "returns once a person says yes: sidestep approve www.example.com"},
		{set: control.Record{Pending: []control.Change{{}}}, zone: writes, still: "returns by itself once this is over: the zone waits"},
	}
	look := func(i int, set control.Record, zone *control.Wait) {
		set.Name, set.Type = "www.example.com.", "A"
		status := control.Status{Records: []control.Record{set}, Zones: []control.Zone{{Zone: "example.com.", Waits: zone}}}
		r.takeWait(y, r.waits(status), began.Add(time.Duration(i)*time.Second))
	}
	for i, l := range looks {
		look(i, l.set, l.zone)
		if want := "www.example.com still answers with 192.0.2.2, and " + l.still; r.stillOut() != want {
			t.Errorf("look %d: %q, want %q", i, r.stillOut(), want)
		}
	}
	y.unheard = true
	if still := r.stillOut(); !strings.HasSuffix(still, "nothing brings it back until a daemon runs") {
		t.Errorf("without a daemon: %q", still)
	}
	y.note(y.clock(Written), true, began, "192.0.2.1")
	look(len(looks), looks[2].set, nil)
	var got []string
	for _, w := range y.Waited {
		got = append(got, w.For+" "+w.After.String()+" "+w.Took.String())
	}
	if got, want := strings.Join(got, ", "), "hold 1s 1s, freeze 2s 2s, approval 4s 1s, zone 5s 1s"; got != want || y.Waits() != "" || r.stillOut() != "" || len(said) != 4 {
		t.Errorf("waited %s, want %s; said %q", got, want, said)
	}
}

// TestInterruptedOnTheWayOut knows the hold from the config alone.
func TestInterruptedOnTheWayOut(t *testing.T) {
	r := &rehearsal{o: Options{Hold: 5 * time.Minute}, plan: Plan{Name: "www.example.com."}, report: &Report{}}
	r.report.Out = newWay(Out, &r.plan, observe.Sample{})
	if still := r.stillOut(); still != "" {
		t.Errorf("before it left: %q", still)
	}
	r.report.Out.note(r.report.Out.clock(Written), true, time.Now(), "192.0.2.2,192.0.2.3")
	soonest := time.Now().Add(5 * time.Minute).Truncate(time.Second)
	_, at, _ := strings.Cut(r.stillOut(), "www.example.com still answers with 192.0.2.2, 192.0.2.3, and returns by itself at ")
	if end, err := time.Parse(time.RFC3339, strings.TrimSuffix(at, " (failback.hold)")); err != nil || end.Before(soonest) {
		t.Errorf("%q: %v", r.stillOut(), err)
	}
	r.report.Left = "drained by jo"
	if still := r.stillOut(); still != "" {
		t.Errorf("beside what is left: %q", still)
	}
}
