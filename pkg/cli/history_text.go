package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sidestep/pkg/check"
	"sidestep/pkg/control"
)

// pastEvent is a line of the journal as far as it is shown to people.
type pastEvent struct {
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	Target   string    `json:"target"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Phase    string    `json:"phase"`
	Cause    string    `json:"cause"`
	Vantage  string    `json:"vantage"`
	Guard    string    `json:"guard"`
	Detail   string    `json:"detail"`
	By       string    `json:"by"`
	Zone     string    `json:"zone"`
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Variant  string    `json:"variant"`
	Value    string    `json:"value"`
	Replaces string    `json:"replaces"`
	Action   string    `json:"action"`
	Weight   *int      `json:"weight"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error"`
	Verified bool      `json:"verified"`
	Node     string    `json:"node"`
	What     string    `json:"what"`
	Holder   string    `json:"holder"`
	File     string    `json:"file"`
}

// printHistory prints a line an event, newest last.
func (a *app) printHistory(h control.History) {
	switch {
	case h.Begins == nil && h.Error == "":
		fmt.Fprintln(a.io.Out, "the journal is empty: nothing has happened here yet")
		return
	case len(h.Events) == 0 && h.Error == "":
		fmt.Fprintf(a.io.Out, "no event was picked; the journal goes back to %s\n", h.Begins.Local().Format(time.DateTime))
		return
	}
	rows := [][]string{{"TIME", "KIND", "ABOUT", "WHAT"}}
	for _, raw := range h.Events {
		var e pastEvent
		if err := json.Unmarshal(raw, &e); err != nil {
			e.Detail = string(raw) // of another version: shown as it is
		}
		row := []string{e.At.Local().Format(time.DateTime), e.Kind, e.about(), e.words()}
		for i := range row {
			row[i] = printable(row[i])
		}
		rows = append(rows, row)
	}
	a.table(rows)
}

// about is what an event is about.
func (e pastEvent) about() string {
	switch e.Kind {
	case "write":
		return strings.TrimSpace(orElse(e.Name, e.Zone) + " " + typeWords(e.Type, e.Variant))
	case "verify":
		return e.Zone
	case "leader":
		return orElse(e.Zone, "all zones")
	case "config":
		return e.File
	}
	return e.Target
}

// words say what happened.
func (e pastEvent) words() string {
	switch e.Kind {
	case "verdict":
		return e.turned()
	case "vantage":
		if e.To != "" {
			return e.Vantage + " says " + e.turned()
		}
		return cut(e.Detail)
	case "write":
		return e.writeWords()
	case "verify":
		if e.Verified {
			return "verified"
		}
		return "not verified: " + e.Detail
	case "leader":
		return e.leaderWords()
	case "config":
		return linked(", asked for by ", linked(": ", e.What, e.Detail), e.By)
	case "guard":
		if e.By != "" {
			return linked(": ", "approved by "+e.By, e.Detail)
		}
	case "override":
		if e.By != "" && !strings.Contains(e.Detail, e.By) {
			return e.Detail + ", by " + e.By
		}
	}
	return e.Detail
}

// turned says from which verdict to which, and why. The detail may be a probed server's
// word.
func (e pastEvent) turned() string {
	return linked(": ", fmt.Sprintf("%s, was %s", e.To, e.From), strings.TrimSpace(linked("/", e.Phase, e.Cause)+" "+cut(e.Detail)))
}

func (e pastEvent) writeWords() string {
	text := e.Action + " " + e.Value
	if e.Replaces != "" {
		text += " in place of " + e.Replaces
	}
	if e.Weight != nil {
		text += fmt.Sprintf(", weight %d", *e.Weight)
	}
	if e.Error != "" {
		return text + " FAILED: " + e.Error
	}
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}

func (e pastEvent) leaderWords() string {
	text := map[string]string{
		"won": e.Node + " leads", "lost": e.Node + " leads no more", "none": "nobody leads, as " + e.Node + " sees",
		"led": orElse(e.Holder, "somebody") + " leads again", "two-writers": "two writers",
	}[e.What]
	return linked(": ", orElse(text, e.Node+" "+e.What), e.Detail)
}

// linked are those of two words that are not empty.
func linked(between, first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + between + second
}

// cut keeps as much of a text as a probed server may say.
func cut(text string) string {
	text = printable(text)
	if len(text) <= check.MaxDetail {
		return text
	}
	text = text[:check.MaxDetail]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// printable escapes what would move the cursor of a terminal, or break a line.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
