package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
)

// A drain of an answer whose zone cannot be written is kept, and the answer does
// not say that it goes out now.
func TestAWordOnAZoneThatCannotBeWritten(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		w.zones[home].Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
		time.Sleep(10 * time.Minute)
		answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "2h"})
		if r := answer.Records[0]; answer.Exit != control.ExitProvider || !strings.Contains(r.Error, "refused") || r.Zone != string(home) {
			t.Errorf("exit %d, %+v", answer.Exit, r)
		}
		if o := d.status().Overrides; len(o) != 1 {
			t.Errorf("it was not kept: %+v", o)
		}
		w.zones[home].Faults(nil)
		time.Sleep(10 * time.Minute)
		w.mustLive(b)
		if answer := d.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "3h"}); answer.Exit != control.ExitDone || answer.Records[0].Error != "" {
			t.Errorf("mended: %+v", answer)
		}
	})
}
