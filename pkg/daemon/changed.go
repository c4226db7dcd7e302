package daemon

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// mostChanged is how many checks or record sets are named of those that a reload
// changed in one way.
const mostChanged = 5

// changedBy says in words what a reload changed, "check web changed, guard
// changed"; "nothing" when nothing did. Checks, record sets and the keys of a
// zone are named, of the rest only the key at the top of the file.
func changedBy(old, next *config.Config) string {
	words := changedIn("check", old.Checks, next.Checks, strings.Compare, (*check.Spec).Same)
	words = append(words, changedIn("record set", byKey(old), byKey(next), record.Key.Compare, func(a, b *steer.Spec) bool { return reflect.DeepEqual(a, b) })...)
	for i := range next.Zones {
		z := &next.Zones[i]
		if keys := keysChanged(old.Zone(z.Name), z); len(keys) > 0 {
			words = append(words, inZone(z.Name, keys))
		}
	}
	was, is := reflect.ValueOf(*old), reflect.ValueOf(*next)
	for i := range was.NumField() {
		switch name := was.Type().Field(i).Name; name {
		case "File", "Checks", "TLSFiles", "Records", "Sources", "Warnings", "Zones": // named above, or no part of what was asked for
		default:
			if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
				words = append(words, strings.ToLower(name)+" changed")
			}
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

func byKey(c *config.Config) map[record.Key]*steer.Spec {
	specs := map[record.Key]*steer.Spec{}
	for _, spec := range c.Records {
		specs[spec.Key] = spec
	}
	return specs
}

// changedIn names the things of one kind that were added, removed or changed.
func changedIn[K comparable, V any](kind string, old, next map[K]V, order func(a, b K) int, same func(a, b V) bool) []string {
	ways := []struct {
		word string
		keys []K
	}{{word: "added"}, {word: "removed"}, {word: "changed"}}
	for _, key := range slices.SortedFunc(maps.Keys(next), order) {
		if was, found := old[key]; !found {
			ways[0].keys = append(ways[0].keys, key)
		} else if !same(was, next[key]) {
			ways[2].keys = append(ways[2].keys, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(old), order) {
		if _, found := next[key]; !found {
			ways[1].keys = append(ways[1].keys, key)
		}
	}
	var words []string
	for _, way := range ways {
		for _, key := range way.keys[:min(len(way.keys), mostChanged)] {
			words = append(words, fmt.Sprintf("%s %v %s", kind, key, way.word))
		}
		if more := len(way.keys) - mostChanged; more > 0 {
			words = append(words, fmt.Sprintf("%d more %ss %s", more, kind, way.word))
		}
	}
	return words
}
