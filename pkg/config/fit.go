package config

import (
	"fmt"
	"slices"
	"strings"
)

// kind is what a value may look like. Each part that is set accepts one shape:
// a kind with parse and elem takes one plain value or a list of them.
type kind struct {
	word   string                     // what was expected, for messages and CONFIG.md
	parse  func(string) (any, *fault) // accepts a plain value
	fields []field                    // accepts a mapping with these keys
	each   *kind                      // accepts a mapping with free keys
	labels bool                       // the free keys are names of ours: a-z, 0-9, "-"
	elem   *kind                      // accepts a list
	secret bool                       // the text is a secret, or says where it is
	path   bool                       // the text is a path of this host
}

// field is one key of the schema.
type field struct {
	name string
	kind *kind
	def  string // the default as one would write it; empty for none
	word string // the default in words, where it depends on something
	need bool   // an error when it is missing
	of   string // the only providers that have the key; empty for all
	doc  string // what it means
	text string // more of it, for CONFIG.md; only of keys at the top
}

// fault is what is wrong with one value.
type fault struct{ problem, hint string }

func faultf(format string, args ...any) *fault { return &fault{problem: fmt.Sprintf(format, args...)} }

func (f *fault) advise(hint string) *fault {
	f.hint = hint
	return f
}

// off is the value of a feature that is switched off.
type off struct{}

// field finds a key of the kind; nil when it has none such.
func (k *kind) field(name string) *field {
	for i := range k.fields {
		if k.fields[i].name == name {
			return &k.fields[i]
		}
	}
	return nil
}

// fit holds an item against its kind, all the way down.
func (l *log) fit(it *item, k *kind) {
	it.kind = k
	if it.refused {
		return
	}
	switch {
	case it.shape == scalar && k.parse != nil:
		l.fitScalar(it, k)
	case it.shape == mapping && k.fields != nil:
		l.fitFields(it, k)
	case it.shape == mapping && k.each != nil:
		l.fitEach(it, k)
	case it.shape == list && k.elem != nil:
		for _, element := range it.items {
			l.fit(element, k.elem)
		}
	default:
		l.fail(it.pos, it.path(), fmt.Sprintf("expected %s, got %s", k.word, it.shape), k.shapeHint(it))
	}
}

// shapeHint says how to write what has the wrong shape.
func (k *kind) shapeHint(it *item) string {
	switch {
	case k.fields != nil && it.shape == absent && !slices.ContainsFunc(k.fields, func(f field) bool { return f.need }):
		return "write {} for its defaults"
	case k.fields != nil:
		names := k.names()
		if len(names) > 8 {
			names = append(names[:8], "…")
		}
		return "its keys: " + strings.Join(names, ", ")
	case k.elem != nil && it.shape == scalar:
		return "a list of one is written [VALUE]" // never the text: it may be a secret
	}
	return ""
}

func (l *log) fitScalar(it *item, k *kind) {
	value, f := k.parse(it.text)
	if f != nil {
		l.fail(it.pos, it.path(), f.problem, f.hint)
		return
	}
	it.value = value
}

func (l *log) fitFields(it *item, k *kind) {
	for _, child := range it.items {
		child.key = k.field(child.name)
		if child.key == nil {
			l.fail(child.keyPos, child.path(), "unknown key", k.knownKey(child.name))
			continue
		}
		l.fit(child, child.key.kind)
	}
	for i := range k.fields {
		if f := &k.fields[i]; f.need && it.byName[f.name] == nil {
			l.fail(it.pos, join(it.path(), f.name), "missing; expected "+f.kind.word, "")
		}
	}
}

// mostPlaces is in how many places a key may be at home to be worth telling.
const mostPlaces = 3

// knownKey is a hint for a key that the kind lacks: one of its keys that is near,
// or else where the key belongs.
func (k *kind) knownKey(name string) string {
	places := schema.placesOf(name, "")
	if near := maybe(name, k.names()); near != "" || len(places) == 0 || len(places) > mostPlaces {
		return known(name, k.names())
	}
	return fmt.Sprintf("did you mean %s? known here: %s", strings.Join(places, " or "), strings.Join(slices.Sorted(slices.Values(k.names())), ", "))
}

// placesOf lists the paths, as CONFIG.md has them, at which the kind has a key.
func (k *kind) placesOf(name, path string) []string {
	var places []string
	for _, f := range k.fields {
		if f.name == name {
			places = append(places, join(path, name))
		}
		places = append(places, f.kind.placesOf(name, join(path, f.name))...)
	}
	if k.each != nil {
		places = append(places, k.each.placesOf(name, join(path, "NAME"))...)
	}
	if k.elem != nil {
		places = append(places, k.elem.placesOf(name, path+"[]")...)
	}
	return places
}

func (l *log) fitEach(it *item, k *kind) {
	for _, child := range it.items {
		if k.labels && !isLabel(child.name) {
			l.fail(child.keyPos, child.path(), "expected a name of a-z, 0-9 and -, got "+quote(child.name), "")
		}
		l.fit(child, k.each)
	}
}

func (k *kind) names() []string {
	names := make([]string, len(k.fields))
	for i, f := range k.fields {
		names[i] = f.name
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// has reports whether the file gives the key of a mapping.
func (it *item) has(name string) bool { return it.byName[name] != nil }

// at is the item of a key, or below it; one that the file lacks is returned
// absent, in the place of the mapping it would be in, and has its default.
func (it *item) at(names ...string) *item {
	for _, name := range names {
		child := it.byName[name]
		if child == nil {
			child = &item{parent: it, name: name, pos: it.pos}
			if it.kind != nil {
				child.key = it.kind.field(name)
			}
			if child.key != nil {
				child.kind = child.key.kind
			}
		}
		it = child
	}
	return it
}

// each lists the elements of an item that is one value or a list of them.
func (it *item) each() []*item {
	switch it.shape {
	case scalar:
		return []*item{it}
	case list:
		return it.items
	}
	return nil
}

// get is the item's value, or else its default: an item that did not fit was
// reported and must not lead to further errors.
func get[T any](it *item) T {
	value := it.value
	if value == nil && it.key != nil && it.key.def != "" && it.kind.parse != nil {
		value, _ = it.kind.parse(it.key.def) // a test parses every default
	}
	typed, _ := value.(T) // the zero T for what is absent and has no default
	return typed
}

// known is a hint: the nearest of the words, or all of them.
func known(word string, words []string) string {
	near := maybe(word, words)
	if near != "" || len(words) == 0 {
		return near
	}
	sorted := slices.Sorted(slices.Values(words))
	if more := len(sorted) - 24; more > 0 {
		sorted = append(sorted[:24], fmt.Sprintf("and %d more", more))
	}
	return "known: " + strings.Join(sorted, ", ")
}

// maybe is a hint: the nearest of the words, if one is near.
func maybe(word string, words []string) string {
	if near := nearest(word, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest is the word that was probably meant, empty when none is near.
func Nearest(word string, words []string) string { return nearest(word, words) }

// nearest is the word with the smallest edit distance, if that is small.
func nearest(word string, words []string) string {
	best, limit := "", 1+min(len(word), 12)/4
	if len(word) > maxLabel || len(words) > 1000 {
		return "" // not worth the time
	}
	for _, w := range words {
		if max(len(w)-len(word), len(word)-len(w)) > limit {
			continue
		}
		if d := distance(strings.ToLower(word), w); d <= limit {
			best, limit = w, d-1
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements, and the swaps of
// two neighbours, that make b of a.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
