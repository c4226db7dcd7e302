package tencentcloud

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// How long a mark is good for. A pause is sent only while its mark is younger
// than markFresh; from markDead on no pause that belongs to it can arrive any
// more, whichever node made it: the signature's life has passed, on a clock that
// is wrong by as much as the API lets it be.
const (
	markFresh = 5 * time.Minute
	markDead  = markFresh + 3*signatureLife
)

const (
	markBegin = "[sidestep"
	markEnd   = "]"
	markTime  = "2006-01-02T15:04:05Z"
)

// markAt is the mark of a pause at a time: "[sidestep 2026-11-30T13:05:01Z]".
func markAt(at time.Time) string {
	return markBegin + " " + at.UTC().Format(markTime) + markEnd
}

// A remark has 200 characters at most (error RemarkTooLong), of which a mark and the
// blank before it take 32.
const (
	maxRemark = 200
	markRoom  = len(markBegin+" "+markTime+markEnd) + 1
)

// overlong is by how many characters a remark is too long for a mark; 0 where it has
// room for one.
func overlong(remark string) int {
	words, _ := splitRemark(remark)
	return max(0, utf8.RuneCountInString(words)+markRoom-maxRemark)
}

// stuck is what is to be done about a record whose remark has no room for a mark.
func (i *item) stuck() string {
	over := overlong(i.Remark)
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("the remark of its record %d leaves no room for the mark of a pause: shorten it by %d, to %d characters, in the DNSPod console", i.ID, over, maxRemark-markRoom)
}

// marked puts a mark behind the words of a remark that has none.
func marked(words string, at time.Time) string {
	if words == "" {
		return markAt(at)
	}
	return words + " " + markAt(at)
}

// splitRemark takes the marks out of a remark, wherever they stand. mark is the
// last of them as it is written; empty when there is none.
func splitRemark(remark string) (words, mark string) {
	words = remark
	for {
		begin, end := findMark(words)
		if begin < 0 {
			return words, mark
		}
		mark = words[begin:end]
		words = strings.TrimSuffix(words[:begin], " ") + words[end:]
	}
}

// findMark is where the first mark of a text begins and ends, -1 when it has
// none. What is not exactly a mark, however much it looks like one, is
// somebody's own words.
func findMark(text string) (begin, end int) {
	for from := 0; ; from++ {
		next := strings.Index(text[from:], markBegin)
		if next < 0 {
			return -1, -1
		}
		from += next
		length := strings.Index(text[from:], markEnd)
		if length < 0 {
			return -1, -1
		}
		end := from + length + len(markEnd)
		if at, err := markTimeOf(text[from:end]); err == nil && markAt(at) == text[from:end] {
			return from, end
		}
	}
}

func markTimeOf(mark string) (time.Time, error) {
	return time.Parse(markBegin+" "+markTime+markEnd, mark)
}

// markAge is how old a mark is; false for what is none.
func markAge(mark string, now time.Time) (time.Duration, bool) {
	at, err := markTimeOf(mark)
	return now.Sub(at), err == nil
}

// fresh reports whether a pause may follow a mark.
func fresh(mark string, now time.Time) bool {
	age, known := markAge(mark, now)
	return known && age.Abs() < markFresh
}

// dead reports whether no pause can follow a mark any more.
func dead(mark string, now time.Time) bool {
	age, known := markAge(mark, now)
	return !known || age > markDead
}
