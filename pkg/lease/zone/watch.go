package zone

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Stamp is one stamp of a zone, as far as the lease goes by it.
type Stamp struct {
	Text     string // all of it: two looks that show the same text show the same stamp
	Nonce    string // empty where the text says nothing that this version knows
	Holder   string
	At       time.Time // by the holder's wall clock, for people; nothing rests on it
	Released bool
}

// nobody is the holder of the text with which the first claim of a zone begins at
// some providers. Nobody writes through it.
const nobody = "-"

// Whose says whose a zone is.
type Whose uint8

// The answers. A zone that was never looked at is Unknown.
const (
	Unknown Whose = iota
	Mine          // its one stamp is of this process
	Free          // nobody's: it may be claimed
	Others        // another's, who may be alive
	Stale         // another's who was silent for the time to take over: it may be claimed
	Foreign       // a stamp of a version that is not known here: nobody here writes
)

// View is what a look showed.
type View struct {
	Whose  Whose
	Holder string        // of the stamp, for people; empty where it is nobody's
	At     time.Time     // when it was written, by the holder's wall clock; zero when that is not said
	Since  time.Duration // boot time since when the stamps are known to be these; Mine: at which it was sent
	Until  time.Duration // Mine: until when that may be believed; Others: from when they may be taken over
	Text   string        // Foreign: the stamp
}

// Claimable reports whether the stamps may be replaced by one of this process.
func (v View) Claimable() bool { return v.Whose == Mine || v.Whose == Free || v.Whose == Stale }

// Watch is what one process knows of the stamp of one zone. It is no lock: its
// user calls from one goroutine at a time.
type Watch struct {
	times Times
	mine  map[string]time.Duration // nonces of this process, with when they were sent
	last  string                   // the one that was accepted last, or was seen alone: it is in the zone unless another's is
	text  string                   // the stamps of the last look, as one text
	view  View
}

// NewWatch knows nothing yet.
func NewWatch(times Times) *Watch { return &Watch{times: times, mine: map[string]time.Duration{}} }

// Times are those that the watch goes by.
func (w *Watch) Times() Times { return w.times }

// Retime has the watch go by other times from now on. What was said of a look before
// stands.
func (w *Watch) Retime(times Times) { w.times = times }

// maxMine bounds how many of its own nonces a process remembers, to know its
// stamps again when a restored backup brings an old one back.
const maxMine = 4096

// Tried says that this process is about to write a stamp with that nonce. A look
// may show it however the call ends.
func (w *Watch) Tried(nonce string, sent time.Duration) {
	if len(w.mine) >= maxMine {
		w.forget()
	}
	w.mine[nonce] = sent
}

// forget makes room. The stamp that is in the zone stays known, and so do the tries
// since, as long as they leave room.
func (w *Watch) forget() {
	known := w.mine[w.last]
	maps.DeleteFunc(w.mine, func(_ string, sent time.Duration) bool { return sent < known })
	if len(w.mine) >= maxMine {
		maps.DeleteFunc(w.mine, func(nonce string, _ time.Duration) bool { return nonce != w.last })
	}
}

// Accepted says that the provider took the stamp with that nonce: the zone is
// this process's.
func (w *Watch) Accepted(nonce string) View {
	w.last, w.text = nonce, nonce // which is no text of a stamp: the next look is a new one
	w.view = View{Whose: Mine, Since: w.mine[nonce], Until: w.mine[nonce] + w.times.Belief()}
	return w.view
}

// Refused says that the provider refused a write for its stamp: what was believed
// is void until the next look.
func (w *Watch) Refused() View {
	if w.view.Whose == Mine {
		w.view = View{}
	}
	return w.view
}

// View is what the last look showed and what came of the last write.
func (w *Watch) View() View { return w.view }

// Leads reports whether at this boot time the zone may be believed to be this
// process's.
func (w *Watch) Leads(now time.Duration) bool { return w.view.Whose == Mine && now < w.view.Until }

// Look takes the stamps that a look showed, which began and ended at these boot
// times: what it showed was so no earlier than it began, and is known since it
// ended.
func (w *Watch) Look(began, ended time.Duration, stamps []Stamp) View {
	text := joined(stamps)
	if text != w.text || w.view.Whose == Unknown {
		w.view = View{Since: ended}
	}
	w.text = text
	v := View{Since: w.view.Since}
	w.judge(&v, began, stamps)
	w.view = v
	return v
}

// judge says whose the zone is. Of several stamps none may be written through:
// who finds one of his among them that was good a moment ago, or none that is
// alive, replaces them all.
func (w *Watch) judge(v *View, began time.Duration, stamps []Stamp) {
	alive := 0
	own, until := false, time.Duration(0)
	for _, s := range stamps {
		sent, tried := w.mine[s.Nonce]
		switch {
		case s.Nonce == "":
			*v = View{Whose: Foreign, Since: v.Since, Text: s.Text}
			return
		case s.Released || s.Holder == nobody:
		case tried:
			own, until = true, max(until, sent+w.times.Belief())
		default:
			alive++
			v.Holder, v.At = s.Holder, s.At
		}
	}
	switch {
	case own && len(stamps) == 1:
		w.last = stamps[0].Nonce
		v.Whose, v.Since, v.Until = Mine, until-w.times.Belief(), until
	case alive == 0, own && began < until:
		v.Whose = Free
	case began >= v.Since+w.times.Takeover:
		v.Whose = Stale
	default:
		v.Whose, v.Until = Others, v.Since+w.times.Takeover
	}
}

func joined(stamps []Stamp) string {
	texts := make([]string, 0, len(stamps))
	for _, s := range stamps {
		texts = append(texts, s.Text)
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}
