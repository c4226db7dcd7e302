package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/drill"
)

// TestAWaitIsNamed in text and JSON, apart from the time of the way.
func TestAWaitIsNamed(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	back := &drill.Way{Direction: drill.Back, Took: 18 * time.Second, Waited: []drill.Wait{
		{For: "freeze", Why: "guard freeze: everything is frozen by mara", After: time.Second, Took: 13 * time.Second},
		{For: drill.ForHold, Why: "a failback waits", Until: until, After: 14 * time.Second, Took: time.Second},
	}}
	var out bytes.Buffer
	a := testApp()
	a.io.Out = &out
	a.printDrillWay("way back", back)
	for _, want := range []string{
		"\nof the 18.00s, 13.00s were a wait: guard freeze: everything is frozen by mara\n", "\nof the 18.00s, 1.00s were a wait: a failback waits\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	text, err := json.Marshal(describeWay(back).Waited)
	if want := `[{"for":"freeze","why":"guard freeze: everything is frozen by mara","until":null,"after_ms":1000,"took_ms":13000},` +
		`{"for":"hold","why":"a failback waits","until":"2026-01-02T03:04:05Z","after_ms":14000,"took_ms":1000}]`; err != nil || string(text) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, text, want)
	}
}

// TestAnInterruptedDrillSaysWhatIsStillOut and when it returns.
func TestAnInterruptedDrillSaysWhatIsStillOut(t *testing.T) {
	r := &drill.Report{Plan: drill.Plan{Name: "www.example.com."}, Restored: true, Stopped: "interrupted", Still: "www.example.com still answers with 192.0.2.2, and returns by itself"}
	const want = "drill www.example.com: interrupted; the drain was taken back; www.example.com still answers with 192.0.2.2, and returns by itself"
	if err := drillFailure(r); err == nil || err.Error() != want || describeDrill(r).Still != r.Still {
		t.Errorf("%v, want %s", err, want)
	}
}
