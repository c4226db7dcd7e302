package notify

import (
	"fmt"
	"strings"
	"time"
)

// Message is what is said at one time: a section for each topic. Its texts are
// clean: one line of printable characters each.
type Message struct {
	Node     string    `json:"node"`
	At       time.Time `json:"at"`
	Sections []Section `json:"sections"`
	Dropped  int       `json:"dropped,omitempty"` // so many before it never arrived
}

// Section is what a message says of one topic.
type Section struct {
	Topic Topic    `json:"topic"`
	Title string   `json:"title"` // "2 targets down"
	Lines []string `json:"lines"`
}

// Title is the message on one line.
func (m Message) Title() string {
	titles := make([]string, len(m.Sections))
	for i, s := range m.Sections {
		titles[i] = s.Title
	}
	return cut(fmt.Sprintf("sidestep %s: %s", m.Node, strings.Join(titles, "; ")), mostText)
}

// Rest is the text below the title, each line with its end.
func (m Message) Rest() string {
	var out strings.Builder
	for _, s := range m.Sections {
		if len(m.Sections) > 1 && len(s.Lines) > 0 {
			fmt.Fprintf(&out, "%s:\n", s.Title)
		}
		for _, line := range s.Lines {
			fmt.Fprintf(&out, "- %s\n", line)
		}
	}
	if m.Dropped > 0 {
		fmt.Fprintf(&out, "%s before this one could not be delivered\n", count(m.Dropped, "message", "messages"))
	}
	return out.String()
}

// Text is all of it, on several lines.
func (m Message) Text() string { return strings.TrimSuffix(m.Title()+"\n"+m.Rest(), "\n") }

// For is the message as far as somebody with these topics wants it; false when
// nothing is left.
func (m Message) For(topics []Topic) (Message, bool) {
	var kept []Section
	for _, s := range m.Sections {
		if wants(topics, s.Topic) {
			kept = append(kept, s)
		}
	}
	m.Sections = kept
	return m, len(kept) > 0
}

// Sample is the message that a test sends.
func Sample(node string, at time.Time) Message {
	return Message{Node: Clean(node), At: at, Sections: []Section{{
		Topic: Test, Title: "a test message",
		Lines: []string{"somebody asked for it by: sidestep notify test", "nothing is down because of it"},
	}}}
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
