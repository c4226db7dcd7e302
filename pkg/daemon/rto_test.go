package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/rto"
)

// A write that another one superseded took at least as long as it was asked for; a
// server that was not seen to move measures nothing; and what is outstanding counts.
func TestRtoLearnsWhatDidNotArrive(t *testing.T) {
	const (
		arrived    = `{"at":"2026-01-01T00:00:00Z","kind":"verify","zone":"example.com.","verified":true,"servers":[{"server":"a","verified":true,"took_ms":28}]}`
		lags       = `{"at":"2026-01-01T00:01:00Z","kind":"verify","zone":"example.com.","verified":false,"servers":[{"server":"a","verified":true,"took_ms":28},{"server":"b","verified":false,"at_least_ms":10000}]}`
		superseded = `{"at":"2026-01-01T00:02:35Z","kind":"verify","zone":"example.com.","verified":true,"servers":[{"server":"a","verified":true,"took_ms":28},{"server":"b","verified":true,"unmoved":true,"superseded_ms":95000}]}`
	)
	for _, test := range []struct {
		name        string
		lines       []string
		times       int
		longest     time.Duration
		outstanding time.Duration
	}{
		{"outstanding", []string{arrived, lags}, 1, 28 * time.Millisecond, 40 * time.Second},
		{"superseded", []string{arrived, lags, superseded, superseded}, 2, 95 * time.Second, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(strings.Join(test.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			zones := map[record.Name]rto.Zone{"example.com.": {}}
			if err := addMeasured(zones, dir, time.Date(2026, 1, 1, 0, 1, 30, 0, time.UTC)); err != nil {
				t.Fatal(err)
			}
			z := zones["example.com."]
			if z.Spread.Times != test.times || z.Spread.Longest != test.longest || z.Outstanding != test.outstanding {
				t.Errorf("got %+v", z)
			}
		})
	}
}
