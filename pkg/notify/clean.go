package notify

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostText is the length of the longest text of others that a line takes, in bytes.
const mostText = 200

// Clean makes one line of printable text of a text that may come from anywhere: a
// name, a cause, what a server answered. What is not printable is escaped, terminal
// codes, line breaks and marks that turn the direction of writing among it; what is
// longer than 200 bytes is cut.
func Clean(text string) string { return cut(escape(text), mostText) }

func escape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return out.String()
}

// cut shortens a text to so many bytes, between two characters.
func cut(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// everybody are the words by which chat rooms call all who are in them.
var everybody = regexp.MustCompile(`(?i)@(all|here|channel|everyone|所有人)`)

// gap is a character without width. It takes the meaning from what follows a mark,
// and leaves the text readable.
const gap = "\u200b"

// inert takes their meaning from what chat rooms make of plain text: calls of
// everybody, links, and links behind other words.
func inert(text string) string {
	text = everybody.ReplaceAllString(text, "@"+gap+"$1")
	return strings.NewReplacer("://", ":"+gap+"//", "](", "]"+gap+"(", "<!", "<"+gap+"!", "<@", "<"+gap+"@").Replace(text)
}
