package powerdns

import (
	"slices"
	"strings"

	"sidestep/pkg/record"
)

const (
	// account is who wrote a comment that is a mark.
	account = "sidestep"

	// markStart begins the text of a mark; the values that sidestep disabled
	// follow, parted by commas.
	markStart = "v=sidestep1 paused="
)

// markOf is the comment that names the values which sidestep disabled.
func markOf(values []string) comment {
	return comment{Account: account, Content: markStart + strings.Join(values, ",")}
}

func (c comment) mark() bool {
	return c.Account == account && strings.HasPrefix(c.Content, markStart)
}

// marked lists the values that the marks of a set name, canonical, sorted, each
// once. A word that is no value of the type is nobody's.
func (s rrset) marked() []string {
	var values []string
	for _, c := range s.Comments {
		if !c.mark() {
			continue
		}
		for word := range strings.SplitSeq(strings.TrimPrefix(c.Content, markStart), ",") {
			if value, err := record.ParseValue(record.Type(s.Type), word); err == nil {
				values = append(values, value)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// marks is how many marks a set has: one where only sidestep wrote them.
func (s rrset) marks() int {
	n := 0
	for _, c := range s.Comments {
		if c.mark() {
			n++
		}
	}
	return n
}

// remarked are the comments of a set with one mark for these values, or none.
func (s rrset) remarked(values []string) []comment {
	comments := slices.DeleteFunc(slices.Clone(s.Comments), comment.mark)
	if len(values) > 0 {
		comments = append(comments, markOf(values))
	}
	if comments == nil {
		comments = []comment{}
	}
	return comments
}
