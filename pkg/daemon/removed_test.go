package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestCase91RemovedSetsAreNeverWritten takes one of five record sets out of the
// config, then all of them, then two of three answers, and puts everything back,
// by reload and by restart. Nothing is written because of it. What was paused
// is shown as no longer steered, in the plan and in status.
func TestCase91RemovedSetsAreNeverWritten(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w, all := fiveSets(t)
				next := all
				load := w.reloading(func(c *config.Config) error {
					if len(next) == 0 { // which the loader refuses
						return errors.New("expected at least one record set, got none")
					}
					c.Records = next
					return nil
				})
				d := w.run(load)
				time.Sleep(settled)
				w.site.fail("198.51.100.12", "198.51.100.22") // the second of sets 1 and 2
				time.Sleep(settled)
				before := len(w.writes(home))

				one := *all[2]
				one.Answers = one.Answers[:1]
				dropped := slices.Concat(all[:1], all[2:]) // set 1 is gone
				shrunk := slices.Concat(all[:2], []*steer.Spec{&one}, all[3:])
				for _, step := range []struct {
					sets    []*steer.Spec
					left    string
					refused bool
				}{
					{dropped, "set1.example.com. 198.51.100.12", false},
					{nil, "set1.example.com. 198.51.100.12", true},
					{all, "", false},
					{shrunk, "set2.example.com. 198.51.100.22", false},
					{all, "", false},
				} {
					next = step.sets
					switch {
					case !restart:
						if err := d.Reload(); (err != nil) != step.refused {
							t.Fatalf("reload: %v, want an error: %v", err, step.refused)
						}
					case !step.refused: // a start is refused before there is a daemon
						d.end()
						copied := *w.config
						copied.Records = next
						w.config = &copied
						d = w.run(load)
					}
					time.Sleep(settled)
					w.mustLeave(d, step.left)
				}
				for _, v := range w.writes(home)[before:] {
					t.Errorf("written because the config changed: %s", v.Cause)
				}
			})
		})
	}
}

// fiveSets is a world with set0 to set4 of three values each, all live.
func fiveSets(t *testing.T) (*world, []*steer.Spec) {
	t.Helper()
	w := newWorld(t, class)
	w.config.Records = nil
	for i := range 5 {
		name := fmt.Sprintf("set%d.example.com.", i)
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: record.Name(name), Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, fmt.Sprintf("198.51.100.%d", i*10+1), fmt.Sprintf("198.51.100.%d", i*10+2), fmt.Sprintf("198.51.100.%d", i*10+3))
	}
	return w, w.config.Records
}

// mustLeave checks what status and plan list as no longer steered: one value,
// or nothing.
func (w *world) mustLeave(d *running, want string) {
	w.Helper()
	answer, err := d.Plan(w.Context(), control.PlanRequest{})
	if err != nil {
		w.Fatal(err)
	}
	status := d.status()
	for what, list := range map[string][]control.Left{"plan": answer.Zones[0].Left, "status": status.Zones[0].Left} {
		var got []string
		for _, l := range list {
			got = append(got, l.Name+" "+l.Value)
		}
		if strings.Join(got, ", ") != want {
			w.Errorf("%s lists %q as no longer steered, want %q", what, got, want)
		}
	}
	if text := strings.Join(answer.Zones[0].Text, "\n"); strings.Contains(text, "no longer steered") != (want != "") || !answer.Zones[0].InSync {
		w.Errorf("the plan says:\n%s", text)
	}
}
