package cli

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// A wait is told where a person looks for it: in status, in explain, and in the answer
// to a drain, where what comes in does not wait with what goes out.
func TestWhatIsWaitedForReadsAsWords(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	const why = "paused answers come in at once, and nothing is taken away until what an earlier process may have sent is beyond doubt"
	wait := &control.Wait{Until: now.Add(4*time.Minute + 10*time.Second), Why: why}
	soon := now.Add(time.Second)
	var out strings.Builder
	a := &app{io: IO{Out: &out}}
	a.printZones([]control.Zone{{Zone: "example.com.", Provider: "tencentcloud", Listed: true, Waits: wait}}, control.Leader{State: "leader"}, now)
	x := explainer{&out, control.Explanation{At: now, Leader: control.Leader{State: "leader"}}}
	x.plan(control.ExplainedRecord{Record: control.Record{Listed: true}, Waits: wait})
	a.printPlan(control.Plan{Zones: []control.ZonePlan{{Zone: "example.com.", Waits: wait}}}, false)
	said := control.Overruled{Daemon: true}
	for _, r := range []control.Foreseen{
		{In: []string{"192.0.2.20"}, Out: []string{"192.0.2.10"}, At: &soon},
		{Out: []string{"192.0.2.10"}, At: &wait.Until},
		{In: []string{"b.example.net."}, Out: []string{"a.example.net."}, At: &wait.Until}, // in one call
	} {
		r.Known, r.Live, r.Waits = true, []string{"192.0.2.20"}, wait
		out.WriteString(strings.Join(foreseenLines(r, said, now), "\n") + "\n")
	}
	for _, want := range []string{
		"listed, waits until 12:04:10 (4m10s): " + why + "\n",
		"waits           until 12:04:10 (in 4m10s): " + why + "\n",
		"\n  what goes out waits until ",
		"192.0.2.20 comes in at 12:00:01, 192.0.2.10 goes out at 12:04:10; 1 answer is live then\nwaits until 12:04:10 (4m10s): " + why + "\n",
		"\n192.0.2.10 goes out at 12:04:10; 1 answer is live then\nwaits",
		"a.example.net. goes out, b.example.net. comes in at 12:04:10; 1 answer is live then\nwaits",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// After a write the list before it says what was, and one made too soon may.
func TestAListBesideAWrite(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local)
	written := now.Add(-time.Minute)
	for listed, want := range map[time.Time]string{
		written.Add(-time.Minute): "as listed 11:58:00, before the write at 11:59:00",
		written.Add(time.Second):  "as listed 11:59:01, too soon to show the write at 11:59:00 for certain",
	} {
		if got := listWords(&listed, &written, now); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
	if got := listWords(&now, nil, now); got != "as listed 12:00:00" {
		t.Errorf("got %q", got)
	}
}

// What a node that does not lead a zone tells of it is as old as its last list, and
// says so.
func TestZonesOfAnotherLeaderAreToldWithTheirAge(t *testing.T) {
	now := time.Now()
	at := now.Add(-4 * time.Minute)
	leads, stands := control.Leader{State: "leader"}, control.Leader{State: "standby", Holder: "mon-1"}
	for _, c := range []struct {
		process control.Leader
		zone    *control.Leader
		want    string
	}{
		{leads, nil, "listed\n"},
		{leads, &leads, "listed\n"},
		{stands, &leads, "listed\n"}, // which leads this one
		{stands, nil, "as listed " + timeWords(at, now) + "\n"},
		{leads, &stands, "as listed " + timeWords(at, now) + ", led by mon-1\n"},
	} {
		var out strings.Builder
		a := &app{io: IO{Out: &out}}
		a.printZones([]control.Zone{{Zone: "example.com.", Provider: "cloudflare", Listed: true, ListedAt: &at, Leader: c.zone}}, c.process, now)
		if !strings.HasSuffix(out.String(), " "+c.want) {
			t.Errorf("%v, of the zone %v: no %q in\n%s", c.process, c.zone, c.want, out.String())
		}
	}
	for _, leader := range []control.Leader{leads, stands} {
		var out strings.Builder
		x := explainer{&out, control.Explanation{Daemon: true, At: now, Leader: leader}}
		x.record(control.ExplainedRecord{Record: control.Record{Listed: true}, ListedAt: &at})
		if text := out.String(); strings.Contains(text, "as listed "+timeWords(at, now)) == (leader == leads) || strings.Contains(text, "as wanted") != (leader == leads) {
			t.Errorf("%s:\n%s", leader.State, text)
		}
	}
}
