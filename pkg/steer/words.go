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
func (w *Wanted) words(p place) string {
	dr := w.Spec.DR
	switch p.note {
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
		return "replaced, since the disaster " + dr.When + " holds"
	case keptUnknown:
		return "kept, since it is not known whether the disaster " + dr.When + " holds"
	default:
		return noteWords[p.note]
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
	replacing := d.disaster() == Yes && d.active == reserve
	for i := range d.places {
		p := &d.places[i]
		switch {
		case p.chosen && p.tier == reserve && d.active != reserve:
			p.note = keptUnknown
		case p.chosen || p.note != noNote || p.usable == No || p.usable == NotKnown && !p.isLive:
		case p.tier == reserve:
			p.note = reserveIdle
		case replacing:
			p.note = replaced
		case p.tier == backup && d.active != backup:
			p.note = backupIdle
		case p.usable == Yes && d.in.Spec.Policy == Priority && p.tier == d.active:
			p.note = lowerRank
		case p.usable == Yes:
			p.note = waitsJudged
		}
	}
}

// reason is why the set answers with what it does.
func (d *decision) reason() string {
	return d.head() + ": " + d.body()
}

func (d *decision) head() string {
	switch {
	case d.active == ordinary:
		return string(d.in.Spec.Policy)
	case d.active == reserve && d.disaster() == Yes:
		text := "disaster recovery, since " + d.in.Spec.DR.When + " holds"
		if d.in.Declared != "" {
			text += ", " + d.in.Declared
		}
		return text
	case d.active == reserve && d.disaster() == NotKnown:
		return "disaster recovery, since it is not known whether " + d.in.Spec.DR.When + " still holds"
	case d.waiting:
		return d.tierName() + ", until a failback"
	default:
		return d.tierName() + ", since no other answer is usable"
	}
}

func (d *decision) tierName() string {
	if d.active == reserve {
		return "disaster recovery"
	}
	return "backup"
}

// body are the numbers: of the answers, or of those for disasters.
func (d *decision) body() string {
	first, end := 0, len(d.in.Spec.Answers)
	if d.active == reserve {
		first, end = end, d.in.Spec.Len()
	}
	places := d.places[first:end]
	usable, unknown, working := 0, 0, 0
	for i := range places {
		p := &places[i]
		if p.chosen && p.usable == Yes {
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
		return chosen(places) + " of " + strconv.Itoa(len(places)) + ", " + strconv.Itoa(working) + " working"
	}
	text := strconv.Itoa(usable) + " of " + strconv.Itoa(len(places)) + " usable"
	if unknown > 0 {
		text += ", " + strconv.Itoa(unknown) + " not judged and kept"
	}
	return text
}

// chosen words the positions of the chosen places: "1st", "1st and 3rd".
func chosen(places []place) string {
	var positions []string
	for i := range places {
		if places[i].chosen {
			positions = append(positions, ordinal(i+1))
		}
	}
	last := len(positions) - 1
	if last < 1 {
		return strings.Join(positions, "")
	}
	return strings.Join(positions[:last], ", ") + " and " + positions[last]
}

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
	return strconv.Itoa(n) + suffix
}
