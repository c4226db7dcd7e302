package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// FuzzRestore starts with any JSON as the saved state. One that Validate believes is
// taken up, goes on, and is valid once it is saved anew.
func FuzzRestore(f *testing.F) {
	e, config := tallied()
	probes(e, 1, pass, refused, refused, refused)
	whole, err := json.Marshal(e.State())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"targets":{"web@192.0.2.1":{"verdict":"down","disabled":true,"since":"9999-01-02T12:00:00Z"}},"lost":true}`))
	f.Add([]byte(`{"targets":{},"sets":[{"key":{"Zone":"example.com.","Name":"www.example.com.","Type":"A"},"published":["x"],"written":["2026-01-02T12:00:00Z"]}]}`))
	f.Add([]byte(`{"targets":{},"overrides":[{"kind":"pin","target":"www.example.com","values":["192.0.2.1"],"reason":"r","by":"a","from":"2026-01-02T12:00:00Z"}],"plans":{"example.com.":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var state engine.State
		if json.Unmarshal(data, &state) != nil || state.Validate() != nil {
			return
		}
		at := engine.Now{Boot: bootStart, Wall: wallStart}
		e := engine.New(config, at)
		e.Restore(state, true, true)
		seen := record.Set{Key: config.Sets[0].Key, Answers: []record.Answer{{Value: probed, Live: true}}}
		e.Step(at, engine.Seen{Zone: plan.Zone{Name: home, Sets: []record.Set{seen}}})
		probes(e, 1, pass, refused, refused, refused, pass, pass)
		e.Step(engine.Now{Boot: bootStart + time.Hour, Wall: wallStart.Add(time.Hour)}, engine.Tick{})
		saved, err := json.Marshal(e.State())
		if err != nil {
			t.Fatalf("what was taken up cannot be saved: %v", err)
		}
		var again engine.State
		if err := json.Unmarshal(saved, &again); err != nil || again.Validate() != nil {
			t.Errorf("%s was saved as %s: %v, %v", data, saved, err, again.Validate())
		}
	})
}
