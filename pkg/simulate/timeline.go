package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/config"
)

// Timeline is what happens in a rehearsal, in the order of the file, which is the
// order of time.
type Timeline struct {
	File   string // as it is called in messages
	Events []Event
}

// Event is one line of a timeline.
type Event struct {
	At   time.Duration // from the start
	Line int
	do   action
}

// action is what an event does to the world. Its error is one of the timeline:
// something that only shows when it is played.
type action func(*world) error

// Errors is everything that is wrong with a timeline, in the order of the file.
type Errors []error

// Error is one line for each: FILE:LINE: what was expected and what came; a hint.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors to errors.As.
func (e Errors) Unwrap() []error { return e }

// Parse reads a timeline, one event a line, against the names of a config. It goes
// on after a line that is wrong; the error is Errors.
func Parse(file string, text []byte, c *config.Config) (Timeline, error) {
	p := &parser{names: namesOf(c)}
	t := Timeline{File: file}
	var problems Errors
	n, last := 0, time.Duration(0)
	for line := range strings.Lines(string(text)) {
		n++
		event, found, err := p.line(strings.TrimRight(line, "\r\n"))
		if err == nil && found && event.At < last {
			err = fmt.Errorf("time runs backwards: %s comes after %s", event.At, last)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", file, n, err))
			continue
		}
		if found {
			event.Line, last = n, event.At
			t.Events = append(t.Events, event)
		}
	}
	if len(problems) > 0 {
		return Timeline{}, problems
	}
	return t, nil
}

// End is when the last event happens.
func (t Timeline) End() time.Duration {
	if len(t.Events) == 0 {
		return 0
	}
	return t.Events[len(t.Events)-1].At
}

type parser struct {
	names names
	at    time.Duration // of the line
}

// line reads one line; found is false for one that is empty or a comment.
func (p *parser) line(text string) (event Event, found bool, err error) {
	words, err := split(text)
	if err != nil || len(words) == 0 {
		return Event{}, false, err
	}
	if event.At, err = ParseTime(words[0]); err != nil {
		return Event{}, false, err
	}
	p.at = event.At
	if len(words) == 1 {
		return Event{}, false, fmt.Errorf("expected an event after the time, got nothing; events: %s", strings.Join(verbNames(), ", "))
	}
	verb, known := verbs()[words[1]]
	if !known {
		return Event{}, false, fmt.Errorf("expected an event, got %s; %s", shown(words[1]), near(words[1], verbNames()))
	}
	event.do, err = verb(p, words[1], words[2:])
	if err != nil {
		return Event{}, false, fmt.Errorf("%s: %w", words[1], err)
	}
	return event, true, nil
}

// verbs are the kinds of events, by the word that follows the time.
func verbs() map[string]func(p *parser, verb string, words []string) (action, error) {
	return map[string]func(*parser, string, []string) (action, error){
		"up": (*parser).result, "down": (*parser).result, "unknown": (*parser).result,
		"provider": (*parser).provider,
		"canary":   (*parser).canary,
		"lease":    (*parser).lease,
		"restart":  (*parser).restart,
		"approve":  (*parser).approve,
		"override": (*parser).override,
		"drain":    (*parser).drain, "undrain": (*parser).drain,
		"freeze": (*parser).freeze, "unfreeze": (*parser).freeze,
		"vantage": (*parser).vantage,
	}
}

// verbNames are those that a timeline may have.
func verbNames() []string { return slices.Sorted(maps.Keys(verbs())) }

// near is a hint: the word that was probably meant, or all there are.
func near(word string, words []string) string {
	if nearest := config.Nearest(word, words); nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	const most = 24
	if more := len(words) - most; more > 0 {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("and %d more", more))
	}
	return "known: " + strings.Join(words, ", ")
}

// oneOf takes one of two words, and reports whether it is the first.
func oneOf(words []string, first, second string) (isFirst bool, rest []string, err error) {
	if len(words) == 0 {
		return false, nil, fmt.Errorf("expected %s or %s, got nothing", first, second)
	}
	if words[0] != first && words[0] != second {
		return false, nil, fmt.Errorf("expected %s or %s, got %s", first, second, shown(words[0]))
	}
	return words[0] == first, words[1:], nil
}

// nothing refuses words that are too many.
func nothing(words []string) error {
	if len(words) > 0 {
		return fmt.Errorf("expected the end of the line, got %s; a comment begins with #", shown(words[0]))
	}
	return nil
}
