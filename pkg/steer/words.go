package steer

import (
	"fmt"
	"strconv"
	"strings"
)

// note is why what is known of a value does not settle what becomes of it. It
// is put into words only when somebody asks.
type note uint8

const (
	noNote note = iota
	notNeeded
	neededNow
	opened
	keptLive
	keptMinLive
	onlyOne
	heldByOther
	mayBeOut
	pinned
	notPinned
	keptForPin
	lowerRank
	waitsJudged
	waitsApproval
	heldBack
	backupIdle
	reserveIdle
	replaced
	keptUnknown
	waitsDisaster
)

var noteWords = [...]string{
	noNote:        "",
	notNeeded:     "not needed",
	neededNow:     "needed because nothing is usable",
	opened:        "answered with because nothing is usable",
	keptLive:      "kept because nothing is usable",
	onlyOne:       "a name has one value of this type",
	heldByOther:   "paused by somebody else",
	mayBeOut:      "may be out by an override that was lost with the state",
	keptForPin:    "kept because nothing of the pin may be resumed",
	lowerRank:     "lower in rank than what is live",
	waitsJudged:   "waits until what is live in its place is judged",
	waitsApproval: "waits for approval of its failback",
}

// words is why a value is in or out beside what is known of it.
func (w *Wanted) words(n note) string {
	dr := w.Spec.DR
	switch n {
	case keptMinLive:
		return fmt.Sprintf("stays because min_live is %d", w.Spec.MinLive)
	case heldBack:
		return fmt.Sprintf("held back for %s after it came back", w.Spec.Failback.Hold)
	case pinned:
		return w.pinned
	case notPinned:
		return "not in the pin: " + w.pinned
	case backupIdle:
		return "backup: not needed while " + usableWords(w.usableOf(ordinary), "other")
	case reserveIdle:
		return w.reserveWords()
	case replaced:
		return "replaced by disaster recovery, since " + dr.When + " holds"
	case keptUnknown:
		return "kept, since it is not known whether " + dr.When + " holds"
	case waitsDisaster:
		return "waits until it is known whether " + dr.When + " holds"
	default:
		return noteWords[n]
	}
}

// reserveWords is why an answer for disasters is not used.
func (w *Wanted) reserveWords() string {
	dr, others := w.Spec.DR, w.usableOf(ordinary)+w.usableOf(backup)
	var why []string
	switch {
	case dr.When != "" && w.unsure:
		why = append(why, "not known whether "+dr.When+" holds")
	case dr.When != "":
		why = append(why, dr.When+" does not hold")
	}
	if dr.IfNone {
		why = append(why, "not needed while "+usableWords(others, "other"))
	}
	return "disaster recovery: " + strings.Join(why, ", and ")
}

// usableWords is "1 other is usable", "2 others are usable".
func usableWords(n int, what string) string {
	switch n {
	case 0:
		return "what is live is not judged"
	case 1:
		return "1 " + what + " is usable"
	}
	return strconv.Itoa(n) + " " + what + "s are usable"
}

func (w *Wanted) usableOf(t tier) int {
	n := 0
	for i := range w.places {
		if p := &w.places[i]; p.tier == t && p.isUsable() {
			n++
		}
	}
	return n
}

// noteRest says why working answers are out that another tier leaves unused.
func (d *decision) noteRest() {
	d.wanted.unsure = d.disaster() == NotKnown
	replacing := d.disaster() == Yes && d.active == reserve && !d.wanted.AllDown
	for i := range d.places {
		p := &d.places[i]
		switch {
		case p.chosen && p.tier == reserve && d.unsure:
			p.note = keptUnknown
		case p.chosen || p.note != noNote || p.usable == No || p.usable == NotKnown && !p.isLive:
		case p.tier == reserve && (d.active != reserve || d.unsure || d.wanted.AllDown):
			p.note = reserveIdle
		case replacing && p.tier != reserve:
			p.note = replaced
		case d.wanted.AllDown:
			p.note = notNeeded
		case p.tier == backup && d.active != backup:
			p.note = backupIdle
		case p.usable == Yes && d.in.Spec.Policy == Priority && p.tier == d.active:
			p.note = lowerRank
		case p.usable == Yes && d.unsure:
			p.note = waitsDisaster
		case p.usable == Yes:
			p.note = waitsJudged
		}
	}
}

// reason is why the set answers with what it does.
func (d *decision) reason() string {
	var room [96]byte
	text := append(d.head(room[:0]), ": "...)
	return string(d.body(text))
}

func (d *decision) head(text []byte) []byte {
	when := d.in.Spec.DR.When
	name := "disaster recovery"
	if d.active == backup {
		name = "backup"
	}
	switch {
	case d.active == ordinary:
		return append(text, d.in.Spec.Policy...)
	case d.active == reserve && d.disaster() == Yes:
		text = append(append(append(text, "disaster recovery, since "...), when...), " holds"...)
		if d.in.Declared != "" {
			text = append(append(text, ", "...), d.in.Declared...)
		}
		return text
	case d.active == reserve && d.unsure:
		return append(append(append(text, "disaster recovery, since it is not known whether "...), when...), " still holds"...)
	case d.waiting:
		return append(append(text, name...), ", until a failback"...)
	case d.doubtful:
		return append(append(text, name...), ", since no other answer is known to be usable"...)
	default:
		return append(append(text, name...), ", since no other answer is usable"...)
	}
}

// body are the numbers: by priority of the answers, or of those for disasters;
// else of the tier.
func (d *decision) body(text []byte) []byte {
	first, end := 0, len(d.in.Spec.Answers)
	if d.active == reserve {
		first, end = end, d.in.Spec.Len()
	}
	places := d.places[first:end]
	all, usable, unknown, working := 0, 0, 0, 0
	for i := range places {
		p := &places[i]
		if p.tier == d.active {
			all++
		}
		if p.tier == d.active && p.chosen && p.usable == Yes {
			usable++
		}
		if p.chosen && p.unknown() {
			unknown++
		}
		if p.working() {
			working++
		}
	}
	if d.in.Spec.Policy == Priority {
		text = append(appendChosen(text, places), " of "...)
		text = append(strconv.AppendInt(text, int64(len(places)), 10), ", "...)
		return append(strconv.AppendInt(text, int64(working), 10), " working"...)
	}
	text = append(strconv.AppendInt(text, int64(usable), 10), " of "...)
	text = append(strconv.AppendInt(text, int64(all), 10), " usable"...)
	if unknown > 0 {
		text = append(strconv.AppendInt(append(text, ", "...), int64(unknown), 10), " not judged and kept"...)
	}
	return text
}

// appendChosen words the positions of the chosen places: "1st", "1st and 3rd".
func appendChosen(text []byte, places []place) []byte {
	last, some := -1, false
	for i := range places {
		if places[i].chosen {
			last = i
		}
	}
	for i := range places[:last+1] {
		switch {
		case !places[i].chosen:
			continue
		case some && i == last:
			text = append(text, " and "...)
		case some:
			text = append(text, ", "...)
		}
		text, some = append(strconv.AppendInt(text, int64(i+1), 10), ordinal(i+1)...), true
	}
	return text
}

// ordinal is what makes a number an ordinal one: "st" of 1.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return suffix
}
