package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// some names the first few of a list, and counts the rest.
func some(list []string) string {
	if len(list) <= mostListed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostListed], ", "), len(list)-mostListed)
}

// few keeps the first few lines, and counts the rest.
func few(lines []string, more string) []string {
	if len(lines) <= mostListed {
		return lines
	}
	return append(lines[:mostListed:mostListed], fmt.Sprintf("and %d more %s", len(lines)-mostListed, more))
}

// byCount are the keys of groups, the largest first.
func byCount(groups map[string][]string) []string {
	return slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a, b))
	})
}

func (b *book) downSection() Section {
	groups, why, sets, n := map[string][]string{}, map[string]string{}, map[string]bool{}, 0
	for _, o := range b.Outages {
		for _, target := range slices.Sorted(maps.Keys(o.Fallen)) {
			f := o.Fallen[target]
			if f.Down != notYet {
				continue
			}
			groups[f.Cause] = append(groups[f.Cause], target)
			why[f.Cause] = cmp.Or(why[f.Cause], f.Text)
			maps.Copy(sets, o.Sets)
			n++
		}
	}
	if n == 0 {
		return Section{}
	}
	var lines []string
	for _, cause := range byCount(groups) {
		line := fmt.Sprintf("%s: %s", cmp.Or(cause, "down"), some(groups[cause]))
		if len(groups) > 1 && len(groups[cause]) > 1 {
			line = fmt.Sprintf("%d %s", len(groups[cause]), line)
		}
		if why[cause] != "" {
			line += " (" + why[cause] + ")"
		}
		lines = append(lines, line)
	}
	lines = few(lines, "causes")
	if len(sets) > 0 {
		lines = append(lines, "record sets that rest on that: "+some(slices.Sorted(maps.Keys(sets))))
	}
	return Section{Topic: Down, Title: count(n, "target", "targets") + " down", Lines: lines}
}

func (b *book) upSection() Section {
	n, lines := 0, []string(nil)
	for _, o := range b.Outages {
		var back []string
		shortest, longest, still := time.Duration(0), time.Duration(0), 0
		for _, target := range slices.Sorted(maps.Keys(o.Fallen)) {
			f := o.Fallen[target]
			if f.Back.IsZero() {
				still++
			}
			if f.Back.IsZero() || f.Up != notYet {
				continue
			}
			lasted := max(f.Back.Sub(f.At), 0).Round(time.Second)
			if len(back) == 0 || lasted < shortest {
				shortest = lasted
			}
			longest = max(longest, lasted)
			back = append(back, target)
		}
		if len(back) == 0 {
			continue
		}
		n += len(back)
		lines = append(lines, o.backLine(back, shortest, longest, still))
		if o.Written > 0 {
			written := "written meanwhile: " + strings.Join(o.Writes, "; ")
			if more := o.Written - len(o.Writes); more > 0 {
				written += fmt.Sprintf("; and %d more", more)
			}
			lines = append(lines, written)
		}
	}
	if n == 0 {
		return Section{}
	}
	return Section{Topic: Up, Title: count(n, "target", "targets") + " up again", Lines: lines}
}

func (o *outage) backLine(back []string, shortest, longest time.Duration, still int) string {
	lasted := shortest.String()
	if longest > shortest {
		lasted += " to " + longest.String()
	}
	line := fmt.Sprintf("down for %s since %s: %s", lasted, o.Began.UTC().Format(time.RFC3339), some(back))
	if still > 0 {
		line += fmt.Sprintf("; of %d that went down then, %d still are", o.All, still)
	}
	return line
}

func (b *book) writeSection() Section {
	var sets, troubles []string
	changes, written := map[string][]string{}, 0
	for _, e := range b.of(Write) {
		if e.Cause != Written {
			troubles = append(troubles, e.About+": "+e.Text)
			continue
		}
		if changes[e.About] == nil {
			sets = append(sets, e.About)
		}
		changes[e.About] = append(changes[e.About], e.Text)
		written++
	}
	var titles, lines []string
	for _, set := range sets {
		lines = append(lines, set+": "+some(changes[set]))
	}
	lines = few(lines, "record sets")
	if written > 0 {
		titles = append(titles, count(written, "change", "changes")+" written")
	}
	if len(troubles) > 0 {
		titles = append(titles, cut(troubles[0], 100))
		lines = append(few(troubles, "lines"), lines...)
	}
	return Section{Topic: Write, Title: strings.Join(titles, "; "), Lines: lines}
}

func (b *book) guardSection() Section {
	var guards, lines []string
	for _, e := range b.of(Guard) {
		if !slices.Contains(guards, e.Cause) {
			guards = append(guards, e.Cause)
		}
		lines = append(lines, e.About+": "+e.Text)
	}
	titles, waits := b.waitLines()
	if len(guards) > 0 {
		titles = append(titles, "guard "+some(guards))
	}
	return Section{Topic: Guard, Title: strings.Join(titles, "; "), Lines: few(append(waits, slices.Compact(lines)...), "lines")}
}

func (b *book) leaderSection() Section {
	var lines []string
	for _, e := range b.of(Leader) {
		lines = append(lines, strings.TrimPrefix(e.About+": "+e.Text, ": "))
	}
	if len(lines) == 0 {
		return Section{}
	}
	return Section{Topic: Leader, Title: cut(lines[len(lines)-1], 100), Lines: few(lines, "lines")}
}

func (b *book) overrideSection() Section {
	var lines []string
	for _, e := range b.of(OverrideOld) {
		lines = append(lines, e.About+": "+e.Text)
	}
	if len(lines) == 0 {
		return Section{}
	}
	title := "an override is still there"
	if len(lines) > 1 {
		title = fmt.Sprintf("%d overrides are still there", len(lines))
	}
	return Section{Topic: OverrideOld, Title: title, Lines: few(lines, "overrides")}
}
