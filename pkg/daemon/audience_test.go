package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
)

// Who listens is told what history would show, and that status changed. Who does not keep
// up is cut off, and only that one; and the end of the daemon ends every stream.
func TestListenersAreTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		idle, err := d.Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		events, err := d.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		d.ask(func(*engine.Engine) { d.listed(d.config.Zones[0].Name) }) // the first list may have come before anybody listened
		var heard strings.Builder
		for range mostWaiting + 1 { // more than one who takes none of them can have waiting
			d.journal("plan", struct {
				Target string `json:"target"`
			}{"x"})
			for len(events) > 0 {
				e := <-events
				heard.WriteString(e.Name + " " + string(e.Data) + "\n")
			}
		}
		for _, want := range []string{`"kind":"verdict","target":"web@` + a, `"cause":""`, "status {\"at\":", `"kind":"plan","target":"x"}`} {
			if !strings.Contains(heard.String(), want) {
				t.Errorf("nobody told of %s:\n%.2000s", want, heard.String())
			}
		}
		kept := 0
		for range idle { // it is closed
			kept++
		}
		if kept != mostWaiting {
			t.Errorf("%d events waited for one who took none, want %d", kept, mostWaiting)
		}
		cancel()
		for range events { // it is closed
		}
		var last <-chan control.StreamEvent
		for range mostListeners {
			if last, err = d.Events(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.Events(t.Context()); err == nil {
			t.Error("one too many is let in")
		}
		d.stop()
		for range last { // it is closed
		}
	})
}
