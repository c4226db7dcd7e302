package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Wait is something that goes on only with a person's yes.
type Wait struct {
	About   string   `json:"about"`           // a site, or a record set
	Text    string   `json:"text"`            // what it waits for
	Approve string   `json:"approve"`         // what to approve on the command line
	Zones   []string `json:"zones,omitempty"` // where something rests on it
	Left    bool     `json:"-"`               // another node tells of it
}

// awaited is a wait as people know of it. It lasts until its end was said.
type awaited struct {
	Wait
	At   time.Time `json:"at"`
	Told said      `json:"told,omitempty"`
	Over time.Time `json:"over,omitzero"`
	How  string    `json:"how,omitempty"` // it ended
	End  said      `json:"end,omitempty"`
}

// Waits says what waits for a person now. What is new is told of, and of what is not
// among them any more, how it ended, unless ended says that this is not known yet; left
// that another node tells of it. A wait that nobody was told of ends without a word.
func (n *Notifier) Waits(now []Wait, ended func(Wait) (known bool, how string, left bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) == 0 {
		return
	}
	if news, another := n.book.waits(now, n.options.Clock.Wall(), ended); another {
		n.note(news)
	}
}

// waits reports whether there is news, and whether anything is another.
func (b *book) waits(now []Wait, at time.Time, ended func(Wait) (known bool, how string, left bool)) (news, another bool) {
	there := map[string]bool{}
	for _, w := range now {
		there[w.About] = true
		a := b.Waits[w.About]
		if a != nil && a.End != left {
			a.Text, a.Over = Clean(w.Text), time.Time{}
			continue
		}
		if b.Waits == nil {
			b.Waits = map[string]*awaited{}
		}
		a = &awaited{Wait: w, At: at}
		a.Text = Clean(w.Text)
		if w.Left {
			a.Told = left
		}
		b.Waits[w.About] = a
		news, another = news || !w.Left, true
	}
	for about, a := range b.Waits {
		if there[about] || !a.Over.IsZero() {
			continue
		}
		known, how, elsewhere := ended(a.Wait)
		switch {
		case !known:
			continue
		case a.Told == notYet:
			delete(b.Waits, about)
		default:
			a.Over, a.How = at, Clean(how)
			if elsewhere {
				a.End = left
			}
			news = news || !elsewhere
		}
		another = true
	}
	return news, another
}

// takeOverWaits has this node say what it left to another a short while ago.
func (b *book) takeOverWaits(now time.Time) (news bool) {
	for _, a := range b.Waits {
		if a.Told == left && now.Sub(a.At) < leftFor {
			a.Told, news = notYet, true
		}
		if a.End == left && now.Sub(a.Over) < leftFor {
			a.End, news = notYet, true
		}
	}
	return news
}

// unsaidWaits reports whether there is news of waits that nobody was told.
func (b *book) unsaidWaits() bool {
	for _, a := range b.Waits {
		if a.Told == notYet || !a.Over.IsZero() && a.End == notYet {
			return true
		}
	}
	return false
}

// waitLines says what is new of waits, and forgets those whose end was said.
func (b *book) waitLines() (titles, lines []string) {
	var begun, over []string
	for _, about := range slices.Sorted(maps.Keys(b.Waits)) {
		a := b.Waits[about]
		if a.Told == notYet && a.Over.IsZero() {
			begun = append(begun, about)
			lines = append(lines, fmt.Sprintf("%s %s: sidestep approve %s", about, a.Text, a.Approve))
		}
		if a.Told == notYet {
			a.Told = done
		}
		if !a.Over.IsZero() && a.End == notYet {
			over = append(over, about)
			lines = append(lines, fmt.Sprintf("%s %s, after %s", about, a.How, max(a.Over.Sub(a.At), 0).Round(time.Second)))
			delete(b.Waits, about)
		}
	}
	if len(begun) > 0 {
		titles = append(titles, "waits for approval: "+some(begun))
	}
	if len(over) > 0 {
		titles = append(titles, "waits no more: "+some(over))
	}
	return titles, lines
}

// sweepWaits forgets ends that were left to another node.
func (b *book) sweepWaits(now time.Time) {
	maps.DeleteFunc(b.Waits, func(_ string, a *awaited) bool { return a.End == left && now.Sub(a.Over) >= leftFor })
}

// adoptWaits takes in what another process, or this one before, knew of.
func (b *book) adoptWaits(saved map[string]*awaited) {
	for about, a := range saved {
		if a == nil || cmp.Or(a.About, about) != about {
			continue
		}
		if b.Waits == nil {
			b.Waits = map[string]*awaited{}
		}
		b.Waits[about] = a // what was said of it is known there
	}
}
