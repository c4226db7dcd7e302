package tencentcloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// defaultLine is the id of the line that answers whom no other line answers. Its
// sets have no variant.
const defaultLine = "0"

// defaultNames are how the default line is called in one edition or the other.
var defaultNames = []string{"默认", "Default", "default"}

func (l line) isDefault() bool {
	return l.id == defaultLine || l.id == "" && slices.Contains(defaultNames, l.name)
}

// is reports whether a text of the config means a line: its id, or its name.
func (l line) is(text string) bool {
	if l.isDefault() && (text == "" || slices.Contains(defaultNames, text)) {
		return true
	}
	return text != "" && (text == l.id || text == l.name)
}

// spellings are the words by which the config means a line.
func (a *Adapter) spellings(l line) []string {
	var found []string
	for _, text := range a.variants {
		if l.is(text) && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
}

// variant is how a line is called in the keys of record sets: as the config
// spells it, else nothing for the default one and its name for any other.
func (a *Adapter) variant(l line) (string, error) {
	found := a.spellings(l)
	switch {
	case len(found) > 1:
		return "", fmt.Errorf("the variants %q are one line; spell it in one way", found)
	case len(found) == 1:
		return found[0], nil
	case l.isDefault():
		return "", nil
	case l.name == "":
		return l.id, nil
	}
	return l.name, nil
}

// lineOf finds the line of a key: among those that the list has records of, else
// among those that the domain's plan has.
func (a *Adapter) lineOf(ctx context.Context, op string, key record.Key, v *view) (line, error) {
	preset := line{defaultLine, a.edition.line}
	if preset.is(key.Variant) {
		return preset, nil
	}
	for _, l := range v.lines {
		if l.is(key.Variant) {
			return l, nil
		}
	}
	lines, err := a.planLines(ctx)
	if err != nil {
		return line{}, err
	}
	names := make([]string, len(lines))
	for i, l := range lines {
		if l.is(key.Variant) {
			return l, nil
		}
		names[i] = fmt.Sprintf("%s (%s)", l.name, l.id)
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d others", len(lines)-most))
	}
	return line{}, &provider.Error{
		Class: provider.Permanent, Op: op, Err: fmt.Errorf("the domain's plan has no line %q", key.Variant),
		Hint: "correct variant; the lines are " + strings.Join(names, ", "),
	}
}

// planLines lists the lines that the domain's plan has.
func (a *Adapter) planLines(ctx context.Context) ([]line, error) {
	op := fmt.Sprintf("list the lines of domain %s", a.zone)
	if a.domainKnown().grade == "" {
		if _, err := a.describeDomain(ctx); err != nil {
			return nil, err
		}
	}
	var out linesReply
	err := a.do(ctx, request{op: op, action: "DescribeRecordLineList", params: linesParams{a.name(), a.domainKnown().grade}}, &out)
	if err != nil {
		return nil, err
	}
	lines := make([]line, len(out.Lines))
	for i, l := range out.Lines {
		lines[i] = line{l.ID, l.Name}
	}
	return lines, nil
}

// lineField is a line's id as it stands in a parked copy, whose fields have no
// equals sign in them; lineOfField reads it.
func lineField(id string) string      { return strings.ReplaceAll(id, "=", "-") }
func lineOfField(field string) string { return strings.ReplaceAll(field, "-", "=") }
