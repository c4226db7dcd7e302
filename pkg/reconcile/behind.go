package reconcile

import (
	"slices"
	"time"

	"sidestep/pkg/record"
)

// behind is a write that a name server was not seen to have.
type behind struct {
	since    time.Duration // boot time at which the provider accepted it
	lag      time.Duration // for so long after that it was seen not to have it
	got      []string      // what it had instead
	answered bool          // it said so; else it never answered
}

// miss takes note that a server did not have a write when it was asked.
func (h *hearing) miss(since, began time.Duration) {
	if h.missed == nil {
		h.missed = &behind{}
	}
	h.missed.since, h.missed.lag = since, began-since
}

// found takes note that a server has a write, which tells how long that took only
// where it was seen without it, or was asked at once. Where it never had the write
// before, and now agrees with what it had all along, it may as well be stuck.
func (h *hearing) found(key record.Key, wanted []string, since, began, now time.Duration) {
	b, late := h.before[key]
	switch {
	case h.missed != nil || late && b.since == since && b.lag > 0:
		h.took = max(h.took, now-since)
	case late && b.since != since && (!b.answered || slices.Equal(b.got, wanted)):
		h.unmoved = true
	default:
		h.took = max(h.took, now-began)
	}
	h.missed = nil
}

// hear begins to ask some servers, or goes on with those that were asked in this
// inquiry before it gave way.
func (w *worker) hear(q *inquiry, servers []Server) {
	list := make([]*hearing, len(servers))
	for i, s := range servers {
		list[i] = &hearing{server: s, open: slices.Clone(q.keys), before: w.behind[s.Addr]}
		if j := slices.IndexFunc(q.servers, func(h *hearing) bool { return h.server == s }); j >= 0 {
			list[i] = q.servers[j]
		}
	}
	q.servers = list
}

// keepBehind keeps what servers were not seen to have, until they are.
func (w *worker) keepBehind(q *inquiry) {
	for _, h := range q.servers {
		now := map[record.Key]behind{}
		for key, b := range h.before {
			if !slices.Contains(q.keys, key) {
				now[key] = b
			}
		}
		for i, key := range h.open {
			old := h.before[key]
			b := behind{since: q.since[key], lag: old.lag, got: old.got, answered: old.answered}
			if i == 0 && h.missed != nil {
				b.lag = max(b.lag, h.missed.lag)
				if h.missed.answered {
					b.got, b.answered = h.missed.got, true
				}
			}
			now[key] = b
		}
		w.behind[h.server.Addr] = now
	}
}
