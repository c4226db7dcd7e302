package engine_test

import (
	"slices"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// With fastinter the next probe comes sooner after a result that contradicts the
// verdict, until that has turned or was confirmed. F fails, S passes, ? is
// unknown, one a second; fall 3, rise 2.
func TestHastenWhileTheVerdictIsInDoubt(t *testing.T) {
	const address = "192.0.2.1"
	for _, c := range []struct {
		fast     time.Duration
		word     string
		hastened []int // after which results, from 0 on
	}{
		{250 * time.Millisecond, "SSSFS", []int{3}},
		{250 * time.Millisecond, "SSFFFF", []int{2, 3}}, // the third failure turns it
		{250 * time.Millisecond, "SSF?FF", []int{2, 4}}, // our own fault says nothing
		{250 * time.Millisecond, "FFFSFSSS", []int{3, 5}},
		{250 * time.Millisecond, "FFS?", nil}, // not judged yet
		{0, "SSFFFSS", nil},
	} {
		config := engine.Config{
			Zones:  []record.Name{home},
			Checks: map[string]*check.Spec{"web": {Name: "web", Interval: time.Second, FastInter: c.fast, Fall: 3, Rise: 2}},
			Sets: []*steer.Spec{{
				Key: keyOf([]string{"www"}), Policy: steer.All, Checks: []string{"web"},
				Answers: []steer.Answer{{Value: address, Probe: address}},
			}},
		}
		boot := time.Hour
		e := engine.New(config, engine.Now{Boot: boot})
		var hastened []int
		for i, letter := range c.word {
			boot += time.Second
			r := found(address, map[rune]check.Outcome{'S': check.Pass, 'F': check.Fail, '?': check.Unknown}[letter])
			r.Start, r.End = boot, boot+10*time.Millisecond
			effects := e.Step(engine.Now{Boot: r.End}, engine.Results{Results: []check.Result{r}})
			for _, h := range effects.Hasten {
				hastened = append(hastened, i)
				if want := (engine.Hasten{Target: r.Target, At: boot + c.fast}); h != want {
					t.Errorf("%s: after result %d: got %+v, want %+v", c.word, i, h, want)
				}
			}
		}
		if !slices.Equal(hastened, c.hastened) {
			t.Errorf("%s, fastinter %v: hastened after results %v, want %v", c.word, c.fast, hastened, c.hastened)
		}
	}
}
