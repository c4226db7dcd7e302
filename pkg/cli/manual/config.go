package main

import (
	"regexp"
	"strings"
)

// config is the page of the config file, from its reference: Markdown with sections,
// tables, lists and paragraphs, and nothing else.
func (b book) config(reference string) string {
	p := b.page("sidestep.yaml", "5", "The config file of sidestep(1)")
	p.section("DESCRIPTION")
	after := "" // what the line before was
	for line := range strings.Lines(reference) {
		line = strings.TrimRight(line, "\n")
		was := after
		after = ""
		switch {
		case line == "", strings.HasPrefix(line, "# "), strings.HasPrefix(line, "This page is made from"):
		case strings.HasPrefix(line, "## "):
			p.section(line[len("## "):])
		case strings.HasPrefix(line, "|"):
			after = "table"
			p.row(line, was == "")
		case strings.HasPrefix(line, "- "):
			after = "item"
			p.line(`.IP \(bu 2`)
			p.line(guard(inline(line[len("- "):])))
		default:
			if was == "" {
				p.line(".PP")
			}
			after = "text"
			p.line(guard(inline(strings.TrimSpace(line))))
		}
	}
	p.section("FILES")
	p.item(bold("/usr/share/doc/sidestep/examples"), "Whole configs, each with a timeline to try it on.")
	p.section("SEE ALSO")
	p.line(bold("sidestep") + "(1),\n" + bold("sidestep-validate") + "(1)")
	return p.String()
}

// row is one row of a table, whose first two have the titles and a rule. A key is a
// term, and of four columns the second is what it takes and the third its default.
func (p *page) row(line string, title bool) {
	if title || strings.HasPrefix(line, "|-") {
		return
	}
	cells := cellsOf(line)
	term, rest := inline(cells[0]), cells[1:]
	if len(rest) == 3 {
		term += " (" + inline(rest[0]) + ")"
		switch rest[1] {
		case "—":
		case "needed":
			rest[2] += "; needed"
		default:
			rest[2] += "; default: " + rest[1]
		}
		rest = rest[2:]
	}
	p.line(".TP\n" + guard(term))
	p.line(guard(inline(strings.Join(rest, "; "))))
}

func cellsOf(line string) []string {
	line = strings.ReplaceAll(strings.Trim(strings.TrimSpace(line), "|"), `\|`, "\x00")
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|")
	}
	return cells
}

var marked = regexp.MustCompile("`[^`]*`|\\*\\*[^*]*\\*\\*")

// inline turns what is marked as code or strong into bold.
func inline(text string) string {
	var out strings.Builder
	for at := 0; ; {
		m := marked.FindStringIndex(text[at:])
		if m == nil {
			out.WriteString(escape(text[at:]))
			return out.String()
		}
		out.WriteString(escape(text[at : at+m[0]]))
		out.WriteString(bold(strings.Trim(text[at+m[0]:at+m[1]], "`*")))
		at += m[1]
	}
}
