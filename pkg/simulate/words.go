package simulate

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// split cuts a line into words as a shell does, as far as timelines need it:
// quotes hold a word together, and # at the start of a word begins a comment.
func split(line string) ([]string, error) {
	var words []string
	rest := strings.TrimLeft(line, " \t")
	for rest != "" && rest[0] != '#' {
		word, after, err := nextWord(rest)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		rest = strings.TrimLeft(after, " \t")
	}
	return words, nil
}

func nextWord(text string) (word, rest string, err error) {
	var out strings.Builder
	for text != "" && text[0] != ' ' && text[0] != '\t' {
		quote := text[0]
		if quote != '"' && quote != '\'' {
			out.WriteByte(quote)
			text = text[1:]
			continue
		}
		inside, after, closed := strings.Cut(text[1:], string(quote))
		if !closed {
			return "", "", fmt.Errorf("a quote that is not closed: %s", shown(text))
		}
		out.WriteString(inside)
		text = after
	}
	return out.String(), text, nil
}

var seconds = regexp.MustCompile(`^[0-9]{1,10}(?:\.[0-9]{1,9})?$`)

// longest is as far as a timeline reaches: ten years.
const longest = 10 * 365 * 24 * time.Hour

// ParseTime reads how long after the start of a run something is, as the config
// reads durations: 10s, 1m30s, or a number of seconds; 0 to ten years.
func ParseTime(text string) (time.Duration, error) {
	number := text
	if seconds.MatchString(number) {
		number += "s"
	}
	d, err := time.ParseDuration(number)
	switch {
	case err != nil:
		return 0, fmt.Errorf("expected a duration such as 90s or 1h30m, or a number of seconds, got %s", shown(text))
	case d < 0:
		return 0, fmt.Errorf("expected a duration of 0 or more, got %s", shown(text))
	case d > longest:
		return 0, fmt.Errorf("expected at most ten years (87600h), got %s", shown(text))
	}
	return d, nil
}

// shown is a text of the file in a message: escaped, and cut where it would drown
// the message.
func shown(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:most], ""))
	}
	return fmt.Sprintf("%q", text)
}
