package reconcile

import (
	"errors"
	"testing"

	"sidestep/pkg/provider/memory"
)

// The round of a node that may not write goes by the list before: a list that was asked
// for at the same time is made all the same, in whichever order the two came.
func TestALookBesideWorkListsWhereNothingMayBeWritten(t *testing.T) {
	for _, lookFirst := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, memory.Options{Class: memory.Exact}, values[0], values[1])
			n := w.only()
			n.worker().look(t.Context()) // there is a list before
			n.shut(errors.New("another node leads"))
			lists := w.calls(memory.OpList)
			if lookFirst {
				n.write.Look(zoneName)
			}
			n.write.Submit(w.want(values[1]))
			if !lookFirst {
				n.write.Look(zoneName)
			}
			w.runs(t)
			if lists.Load() != 1 || len(n.told) == 0 || !n.told[0].Look || n.told[0].Seen == nil {
				t.Errorf("look first %v: %d lists, told %+v", lookFirst, lists.Load(), n.told)
			}
		})
	}
}
