package daemon

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestRolesAreShown: ranks, modes and weights, the variant, and in words why a
// backup and an answer for disasters are not needed; from the spec to the zone
// and back to status, explain and the plan.
func TestRolesAreShown(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Status})
		key := www
		key.Variant = "telecom"
		w.config.Records = []*steer.Spec{{
			Key: key, Policy: steer.Weighted, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"},
			Answers: []steer.Answer{
				{Value: a, Probe: a, Weight: 70}, {Value: b, Probe: b, Weight: 30}, {Value: "192.0.2.30", Probe: "192.0.2.30", Mode: steer.Backup, Weight: 1},
			},
			DR: steer.DR{IfNone: true, Answers: []steer.Answer{{Value: "198.51.100.40", Probe: "198.51.100.40", Mode: steer.Reserve, Weight: 1}}},
		}}
		name := string(www.Name)
		if err := w.zones[home].EditByHand(
			memory.Put(name, "A", time.Minute, "192.0.2.77"), // of the default line
			memory.Put(name, "A", time.Minute, a, memory.OnLine("telecom"), memory.Weighted(70)),
			memory.Park(name, "A", time.Minute, "198.51.100.40", memory.OnLine("telecom")),
		); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		time.Sleep(settled)
		synctest.Wait()
		if got := strings.Join(w.zones[home].Live(key), " "); got != a+" "+b {
			t.Errorf("live: %s", got)
		}
		s, err := d.Status(t.Context(), name)
		if err != nil || len(s.Records) != 1 {
			t.Fatalf("got %+v (%v)", s, err)
		}
		r := s.Records[0]
		want := `[{"value":"192.0.2.10","site":"","state":"live","verdict":"up","usable":true,"override":"","mode":"","rank":0,"weight":70,"reason":"web@192.0.2.10 up"},` +
			`{"value":"192.0.2.20","site":"","state":"live","verdict":"up","usable":true,"override":"","mode":"","rank":0,"weight":30,"reason":"web@192.0.2.20 up"},` +
			`{"value":"192.0.2.30","site":"","state":"missing","verdict":"up","usable":true,"override":"","mode":"backup","rank":0,"weight":1,"reason":"web@192.0.2.30 up; backup: not needed while 2 others are usable"},` +
			`{"value":"198.51.100.40","site":"","state":"paused","verdict":"up","usable":true,"override":"","mode":"dr","rank":0,"weight":1,"reason":"web@198.51.100.40 up; disaster recovery: not needed while 3 others are usable"}]`
		if got, _ := json.Marshal(r.Answers); string(got) != want {
			t.Errorf("answers\ngot  %s\nwant %s", got, want)
		}
		if r.Variant != "telecom" || r.Weights[a] != 70 || r.Weights[b] != 30 || len(r.Weights) != 2 || r.Reason != "weighted: 2 of 2 usable" {
			t.Errorf("got %+v", r)
		}
		if len(s.Writes) != 1 || s.Writes[0].Variant != "telecom" {
			t.Errorf("writes: %+v", s.Writes)
		}
		x, err := d.Explain(t.Context(), control.ExplainRequest{Name: name})
		if err != nil || len(x.Records) != 1 || x.Records[0].Answers[3].Mode != "dr" || len(x.Records[0].Writes) != 1 || x.Records[0].Writes[0].Variant != "telecom" {
			t.Errorf("explain: %+v (%v)", x, err)
		}
		if lines := w.journal("write"); len(lines) != 1 || lines[0]["weight"] != 30.0 || lines[0]["variant"] != "telecom" {
			t.Errorf("journal: %v", lines)
		}
	})
}

// TestRanksAreShown: by priority each answer has its place, those for disasters
// among themselves.
func TestRanksAreShown(t *testing.T) {
	spec := &steer.Spec{
		Key: record.Key{Zone: home}, Policy: steer.Priority, MaxLive: 1,
		Answers: make([]steer.Answer, 2), DR: steer.DR{Answers: make([]steer.Answer, 2)},
	}
	for i, want := range []int{1, 2, 1, 2} {
		if got := rankOf(spec, i); got != want {
			t.Errorf("rank of %d: got %d, want %d", i, got, want)
		}
	}
}
