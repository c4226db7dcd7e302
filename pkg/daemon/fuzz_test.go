package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/record"
	"sidestep/pkg/rto"
)

// FuzzJournal has a journal of any bytes read by all that reads it: history gives lines
// of JSON, explain and rto what they make of them.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","kind":"verdict","target":"web@192.0.2.1","from":"up","to":"down"}
{"at":"2026-01-02T03:04:06Z","kind":"write","zone":"example.com.","name":"www.example.com.","type":"A","value":"192.0.2.1","action":"pause","took_ms":12.5}
{"at":"2026-01-02T03:04:07Z","kind":"verify","zone":"example.com.","verified":true,"servers":[{"server":"192.0.2.53:53","verified":true,"took_ms":700}]}
`))
	f.Add([]byte(`{"at":"2026-01-02T03:04:06Z","kind":"write","zone":"example.com.","took_ms":1e300}` + "\n"))
	f.Add([]byte(`{"kind":"verify","zone":"example.com.","servers":[{"took_ms":-1,"at_least_ms":1e18,"superseded_ms":-1e300}],"negative_ttl_ms":1e300}` + "\n"))
	f.Add([]byte(`{"kind":"write" , "KIND":"verdict"}` + "\n" + `{"kind":"verdict" }`))
	key := record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}
	f.Fuzz(func(t *testing.T, journal []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), journal, 0o600); err != nil {
			t.Fatal(err)
		}
		c := &config.Config{State: config.State{Dir: dir}}
		for _, request := range []control.HistoryRequest{{}, {Last: 2}, {Target: "web@192.0.2.1"}, {Zone: "example.com"}} {
			history, err := HistorySaved(t.Context(), c, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range history.Events {
				if !json.Valid(event) {
					t.Errorf("an event that is not JSON: %q", event)
				}
			}
		}
		answer := &control.Explanation{Records: []control.ExplainedRecord{{Zone: string(key.Zone), Record: control.Record{Name: string(key.Name), Type: string(key.Type)}}}}
		addEvidence(answer, dir)
		if _, err := json.Marshal(answer); err != nil {
			t.Errorf("what explains cannot be written: %v", err)
		}
		zones := map[record.Name]rto.Zone{key.Zone: {Known: true}}
		if err := addMeasured(zones, dir, time.Unix(1767323045, 0)); err != nil {
			t.Fatal(err)
		}
	})
}
