package drill

import (
	"fmt"
	"strings"
	"time"
)

func (r *rehearsal) notice(format string, args ...any) {
	if r.o.Notice != nil {
		r.o.Notice(fmt.Sprintf(format, args...))
	}
}

// movedNow is which clocks show the new state, in their order.
func (y *Way) movedNow() []bool {
	list := make([]bool, len(y.Clocks))
	for i, c := range y.Clocks {
		list[i] = c.Moved
	}
	return list
}

// noticeMoved tells of the clocks that moved since; on the way back of those alone that
// had left.
func (r *rehearsal) noticeMoved(y *Way, before []bool) {
	for i, c := range y.Clocks {
		if !c.Moved || before[i] || c.Stood {
			continue
		}
		r.notice("way %s: %s moved after %s: %s", y.Direction, strings.TrimSpace(string(c.Clock)+" "+c.Who), c.After.Round(10*time.Millisecond), c.Seen)
	}
}

// noticeSilence tells at once that the daemon does not answer any more, and what that
// means on this way.
func (r *rehearsal) noticeSilence(y *Way, err error) {
	what := "unless it is taken back before, the drain is in force until " + r.report.Until.UTC().Format(time.RFC3339)
	if y.Direction == Back {
		what = "the drain is taken back already, and nothing brings the name back until a daemon runs"
	}
	r.notice("the daemon does not answer (%v); %s", err, what)
}
