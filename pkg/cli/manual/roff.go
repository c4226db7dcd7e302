package main

import (
	"fmt"
	"strings"
	"unicode"
)

// book is what all pages have in common.
type book struct{ date, version string }

// page is a manual page in the making, in the language of man(7).
type page struct{ strings.Builder }

// page begins one. What is a sentence without its full stop.
func (b book) page(name, section, what string) *page {
	p := &page{}
	p.line(fmt.Sprintf(`.TH "%s" "%s" "%s" "sidestep %s" "sidestep"`, escape(strings.ToUpper(name)), section, b.date, escape(b.version)))
	p.line(".nh") // names and commands are copied from here
	p.line(".ad l")
	p.section("NAME")
	first := []rune(what)
	first[0] = unicode.ToLower(first[0])
	p.line(escape(name) + ` \- ` + escape(string(first)))
	return p
}

func (p *page) line(text string) { p.WriteString(text + "\n") }

func (p *page) section(title string) { p.line(".SH " + escape(title)) }

// item is a term, in roff already, and what it means.
func (p *page) item(term, meaning string) {
	p.line(".TP\n" + term)
	p.line(guard(escape(meaning)))
}

// text writes plain text: lines that are indented stay as they are, others are filled.
func (p *page) text(text string) {
	kept := false
	keep := func(yes bool) {
		if yes != kept {
			p.line(map[bool]string{true: ".PP\n.nf", false: ".fi"}[yes])
		}
		kept = yes
	}
	fresh := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "":
			keep(false)
			fresh = true
			continue
		case strings.HasPrefix(line, "  "):
			keep(true)
			line = line[2:]
		default:
			keep(false)
			if fresh {
				p.line(".PP")
			}
		}
		fresh = false
		p.line(guard(escape(line)))
	}
	keep(false)
}

// escape keeps what would be a command of roff, or another character, as it is.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`).Replace(text)
}

// guard keeps the first character of a line from being taken for a request.
func guard(line string) string {
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}

func bold(text string) string   { return `\fB` + escape(text) + `\fR` }
func italic(text string) string { return `\fI` + escape(text) + `\fR` }
