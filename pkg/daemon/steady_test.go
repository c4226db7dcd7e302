package daemon

import (
	"sync"
	"testing"
	"time"

	"sidestep/pkg/provider/memory"
)

// While nothing changes, a zone is listed once in the time of reconcile.every and
// not more often, whatever the reason for which nothing changes: all is well, a
// guard waits for a person, or this node may not write what it would.
func TestSteadyStateListsOnceInFiveMinutes(t *testing.T) {
	for name, row := range map[string]struct {
		options memory.Options
		ready   func(w *world, o *Options)
		upset   bool // the first address dies, which asks for a write
	}{
		"all is well":           {class, nil, false},
		"all is well, unfenced": {open, nil, false},
		"lists lag":             {memory.Options{Class: memory.Rename, Lag: 10 * time.Second, Behind: 5 * time.Second}, nil, false},
		"failed over":           {class, nil, true},
		"a person has to approve": {class, func(w *world, _ *Options) {
			w.config.Records[0].AskFirst = true
			if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
				w.Fatal(err)
			}
		}, false},
		"a shadow":                 {class, func(_ *world, o *Options) { o.ReadOnly = true }, false},
		"a shadow that would":      {class, func(_ *world, o *Options) { o.ReadOnly = true }, true},
		"a shadow that would, too": {open, func(_ *world, o *Options) { o.ReadOnly = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, row.options)
				w.run(func(o *Options) {
					if row.ready != nil {
						row.ready(w, o)
					}
				})
				if row.upset {
					w.site.fail(a)
				}
				time.Sleep(10 * time.Minute)
				var mu sync.Mutex
				var lists []time.Duration
				w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
					if op == memory.OpList {
						mu.Lock()
						lists = append(lists, w.clock.Boot())
						mu.Unlock()
					}
					return memory.Fault{}
				})
				time.Sleep(time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if n := len(lists); n < 11 || n > 13 { // with those at both ends
					t.Errorf("%d lists in an hour", n)
				}
				for i := 1; i < len(lists); i++ {
					if gap := lists[i] - lists[i-1]; gap < 5*time.Minute {
						t.Errorf("two lists within %s", gap)
					}
				}
			})
		})
	}
}
