package providertest

import (
	"fmt"
	"strings"

	"sidestep/pkg/provider"
)

// verdict is what came of one case.
type verdict string

// The verdicts. A case that does not apply has skipped itself.
const (
	kept     verdict = "kept"
	broken   verdict = "BROKEN"
	excepted verdict = "-"
	notRun   verdict = "not run"
)

// overview is the adapter's column of the table adapter × promise.
type overview struct {
	promises provider.Promises
	asked    bool // promises is what the adapter said
	lines    []string
	count    map[verdict]int
}

func (o *overview) note(c Case, v verdict) {
	if o.count == nil {
		o.count = map[verdict]int{}
	}
	o.count[v]++
	o.lines = append(o.lines, fmt.Sprintf("  %-7s  %-30s  %s", v, c.Name, c.Promise))
}

// String is the table: what the adapter promises, a line for each case, and how
// many there were of each verdict.
func (o *overview) String() string {
	text := "the contract's promises at this adapter"
	if o.asked {
		text += " (" + strings.Join(traits(o.promises), ", ") + ")"
	}
	text += "; - is none of its own, or cannot be tried in this world\n" + strings.Join(o.lines, "\n")
	text += fmt.Sprintf("\n  %d kept, %d broken, %d do not apply", o.count[kept], o.count[broken], o.count[excepted])
	if n := o.count[notRun]; n > 0 {
		text += fmt.Sprintf(", %d not run", n)
	}
	return text
}

// traits are the promises in words.
func traits(p provider.Promises) []string {
	words := []string{"pause " + string(p.Pause)}
	for _, trait := range []struct {
		holds      bool
		word, none string
	}{
		{p.Atomic, "atomic", "not atomic"}, {p.Together, "adds and takes away together", ""}, {p.OneByOne, "one take-away a call", ""},
		{p.Fenced, "fenced", "not fenced"}, {p.Whole, "whole sets", ""}, {p.Weights, "weights", ""}, {p.Variants, "variants", ""},
		{p.Single, "CNAME", "no CNAME"},
	} {
		word := trait.none
		if trait.holds {
			word = trait.word
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return words
}
