package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A command that waits says whom for, where nobody sees a line of progress, and
// nothing when that was over soon.
func TestWhomACommandWaitsFor(t *testing.T) {
	for want, lasts := range map[string]time.Duration{
		"": sayAfter - time.Millisecond,
		"sidestep: waiting for the daemon, until it is done\n": sayAfter + time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			a := &app{screen: &screen{out: &out}}
			a.io.Err = a.screen
			over := a.waitFor("the daemon", "until it is done")
			time.Sleep(lasts)
			synctest.Wait()
			over()
			time.Sleep(time.Minute)
			if out.String() != want {
				t.Errorf("after %s it said %q, expected %q", lasts, out.String(), want)
			}
		})
	}
}
