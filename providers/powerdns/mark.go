package powerdns

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
)

const (
	// account is who wrote a comment that is a mark.
	account = "sidestep"

	// markStart begins the text of a mark; the values that sidestep disabled
	// follow, parted by commas, each with when that was.
	markStart = "v=sidestep1 paused="

	// markAt parts a value from its time.
	markAt = "@"

	// markTime has milliseconds, so that no two pauses of a value have one time.
	markTime = "2006-01-02T15:04:05.000Z"
)

// mark is one pause of one value: "192.0.2.1@2026-11-30T13:05:01.250Z". at is as it
// was written, and empty in marks of versions that wrote no time.
type mark struct{ value, at string }

func newMark(value string, at time.Time) mark { return mark{value, at.UTC().Format(markTime)} }

func (m mark) String() string {
	if m.at == "" {
		return m.value
	}
	return m.value + markAt + m.at
}

func compareMarks(a, b mark) int {
	return cmp.Or(strings.Compare(a.value, b.value), strings.Compare(a.at, b.at))
}

// commentOf is the comment that holds marks.
func commentOf(marks []mark) comment {
	words := make([]string, len(marks))
	for i, m := range marks {
		words[i] = m.String()
	}
	return comment{Account: account, Content: markStart + strings.Join(words, ",")}
}

// mark reports whether a comment holds marks.
func (c comment) mark() bool {
	return c.Account == account && strings.HasPrefix(c.Content, markStart)
}

// marks lists the marks of a set, sorted, the latest of each value. A word that is
// no value of the type is nobody's.
func (s rrset) marks() []mark {
	var marks []mark
	for _, c := range s.Comments {
		if !c.mark() {
			continue
		}
		for word := range strings.SplitSeq(strings.TrimPrefix(c.Content, markStart), ",") {
			text, at, _ := strings.Cut(word, markAt)
			if value, err := record.ParseValue(record.Type(s.Type), text); err == nil {
				marks = append(marks, mark{value, at})
			}
		}
	}
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(strings.Compare(a.value, b.value), strings.Compare(b.at, a.at)) })
	return slices.CompactFunc(marks, func(a, b mark) bool { return a.value == b.value })
}

// findMark gives the mark of a value; false when it has none.
func findMark(marks []mark, value string) (mark, bool) {
	i := slices.IndexFunc(marks, func(m mark) bool { return m.value == value })
	if i < 0 {
		return mark{}, false
	}
	return marks[i], true
}

// markComments is how many comments of a set hold marks: one where only sidestep
// wrote them.
func (s rrset) markComments() int {
	n := 0
	for _, c := range s.Comments {
		if c.mark() {
			n++
		}
	}
	return n
}

// remarked are the comments of a set with these marks in one, or none.
func (s rrset) remarked(marks []mark) []comment {
	comments := slices.DeleteFunc(slices.Clone(s.Comments), comment.mark)
	if len(marks) > 0 {
		comments = append(comments, commentOf(marks))
	}
	if comments == nil {
		comments = []comment{}
	}
	return comments
}

// pause is one mark of one set: each pause has its own.
type pause struct {
	key  record.Key
	mark mark
}

// pauses is what is known of marks: true of one that is used up, false of one that
// was seen once beside a value that is not disabled.
//
// Flag and mark are written in one transaction. So a mark beside a value that is
// live, or gone, is of a pause that somebody ended, and when the value is disabled
// again with the same mark, that is somebody else's doing. A list can be overtaken
// by a pause between its records and its comments and shows the same for once, so
// only the next list that begins after it makes it certain.
type pauses map[pause]bool

// known is what was known when a list begins. It is never changed.
func (a *Adapter) known() pauses {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// learn keeps what a list shows of marks, those that are no longer there left out.
func (a *Adapter) learn(b *builder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := pauses{}
	for p, disabled := range b.marks {
		_, before := b.known[p]
		if a.used[p] {
			used[p] = true
		} else if !disabled {
			used[p] = before
		}
	}
	a.used = used
}
