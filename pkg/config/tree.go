package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// shape is what a YAML node looks like; absent is a key that the file lacks.
type shape int

const (
	absent shape = iota
	scalar
	mapping
	list
)

// String says what came, for messages.
func (s shape) String() string {
	return [...]string{"nothing", "a plain value", "a mapping", "a list"}[s]
}

// item is one node of the file. tree.go makes it, fit.go adds what the schema
// says about it.
type item struct {
	parent  *item
	name    string   // the key that leads here; empty for an element of a list
	index   int      // the place among the elements of a list
	pos     Position // of a plain value or an element itself, else of the key
	keyPos  Position // of the key
	shape   shape
	text    string           // of a scalar
	items   []*item          // of a mapping or a list, in the order of the file
	byName  map[string]*item // of a mapping
	refused bool             // reported already; what it would have meant cannot be told

	kind  *kind  // what fit.go held it against
	key   *field // the schema's entry of the key; nil for elements and free keys
	value any    // what the kind made of the text; nil when it did not fit
}

// path is the key path of the item, as messages have it: zones[0].tsig.secret.
func (it *item) path() string {
	switch {
	case it.parent == nil:
		return ""
	case it.name == "":
		return it.parent.path() + "[" + strconv.Itoa(it.index) + "]"
	}
	return join(it.parent.path(), plainKey(it.name))
}

// plainKey quotes a key that would not be told from the rest of a message.
func plainKey(key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.<") != "" {
		return quote(key)
	}
	return key
}

// maxFile bounds what is read: a config of a hundred thousand answers is far
// below it.
const maxFile = 64 << 20

// readTree turns a file into items. It reports what makes YAML surprising and
// returns nil when there is nothing to go on with.
func (l *log) readTree(data []byte) *item {
	node := l.readDocument(data)
	if node == nil {
		return nil
	}
	root := l.readNode(node, &item{}, 0)
	if root.shape == mapping {
		return root
	}
	l.fail(root.pos, "", "expected a mapping of keys such as zones, checks and records, got "+root.shape.String(), "")
	return nil
}

func (l *log) readDocument(data []byte) *yaml.Node {
	whole := Position{File: l.file}
	if at := invalidUTF8(data); at >= 0 {
		l.fail(l.positionOf(data, at), "", "expected UTF-8, got a byte that is none", "save the file as UTF-8")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		l.fail(whole, "", "expected zones, checks and records, got an empty file", "")
		return nil
	}
	if err != nil {
		l.syntax(data, err)
		return nil
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		l.fail(Position{l.file, max(second.Line, 1), max(second.Column, 1)}, "", "expected one document, got a second one", `remove the line "---" and what follows`)
	case !errors.Is(err, io.EOF):
		l.syntax(data, err)
	}
	return document.Content[0]
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// positionOf tells line and column of a byte.
func (l *log) positionOf(data []byte, at int) Position {
	before := data[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{l.file, bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1}
}

var (
	syntaxLine    = regexp.MustCompile(`^line (\d+): `)
	tabIndent     = regexp.MustCompile(`(?m)^ *\t`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax reports what the YAML parser says. The parser names the line before
// the one where it missed something, and none at all for the first line; the
// name of an alias may be half a secret that somebody forgot to quote.
func (l *log) syntax(data []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	pos := Position{l.file, 1, 1}
	if m := syntaxLine.FindStringSubmatch(text); m != nil {
		pos.Line, _ = strconv.Atoi(m[1]) // the pattern holds digits only
		text = strings.TrimPrefix(text, m[0])
		if strings.HasPrefix(text, "did not find expected") {
			pos.Line++
		}
	}
	hint := "look at the quotes, brackets and indentation here and above"
	if strings.Contains(text, "cannot start any token") || strings.Contains(text, "tab character") {
		hint = "YAML takes no tab for indentation, and no word that begins with @, ` or %"
		for _, at := range tabIndent.FindAllIndex(data, -1) {
			if tab := l.positionOf(data, at[1]-1); tab.Line == pos.Line || tab.Line == pos.Line+1 {
				pos, text, hint = tab, "a tab for indentation", "indent with spaces"
				break
			}
		}
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			pos = l.positionOf(data, at)
		}
		text, hint = "an alias without an anchor", `quote a value that begins with "*"`
	}
	l.fail(pos, "", "not YAML: "+text, hint)
}

// maxDepth is deeper than any key of the schema.
const maxDepth = 16

// readNode fills it from a node that is so many levels below the root.
func (l *log) readNode(n *yaml.Node, it *item, depth int) *item {
	it.pos = Position{l.file, max(n.Line, 1), max(n.Column, 1)}
	if depth > maxDepth {
		it.refused = true
		l.fail(it.pos, it.path(), "nested deeper than any key is", "")
		return it
	}
	l.refuseSurprises(n, it)
	switch n.Kind {
	case yaml.ScalarNode:
		l.readScalar(n, it)
	case yaml.SequenceNode:
		it.shape = list
		it.items = make([]*item, 0, len(n.Content))
		for i, c := range n.Content {
			it.items = append(it.items, l.readNode(c, &item{parent: it, index: i}, depth+1))
			n.Content[i] = nil // so that a large config is never in memory twice
		}
	case yaml.MappingNode:
		it.shape = mapping
		it.byName = make(map[string]*item, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			l.readEntry(n.Content[i], n.Content[i+1], it, depth+1)
			n.Content[i], n.Content[i+1] = nil, nil
		}
	}
	return it
}

func (l *log) refuseSurprises(n *yaml.Node, it *item) {
	if n.Kind == yaml.AliasNode {
		it.refused = true
		l.fail(it.pos, it.path(), "aliases are not read", `write the value out, use defaults:, or quote a text that begins with "*"`)
	}
	if n.Anchor != "" {
		l.fail(it.pos, it.path(), "anchors are not read", `write the value out, use defaults:, or quote a text that begins with "&"`)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		l.fail(it.pos, it.path(), "YAML tags are not read", `remove the tag, or quote a text that begins with "!"`)
	}
}

// octal is a number that YAML 1.1, YAML 1.2 and people read differently.
var octal = regexp.MustCompile(`^[-+]?0[0-9]+$`)

func (l *log) readScalar(n *yaml.Node, it *item) {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if plain && n.Tag == "!!null" {
		return
	}
	it.shape, it.text = scalar, n.Value
	if plain && octal.MatchString(n.Value) {
		it.refused = true
		l.fail(it.pos, it.path(), "a number with a leading zero is octal to some programs", "remove the zero, or quote it when it is a text")
	}
}

func (l *log) readEntry(key, value *yaml.Node, into *item, depth int) {
	pos := Position{l.file, max(key.Line, 1), max(key.Column, 1)}
	child := &item{parent: into, name: key.Value, pos: pos, keyPos: pos}
	switch {
	case key.Kind != yaml.ScalarNode:
		l.fail(pos, into.path(), "expected a word as key, got something else", "")
		return
	case key.Tag == "!!merge":
		l.fail(pos, child.path(), "merge keys are not read", "write the keys out, or use defaults:")
		return
	case key.Value == "":
		l.fail(pos, into.path(), "expected a word as key, got nothing", "")
		return
	}
	l.refuseSurprises(key, child)
	child = l.readNode(value, child, depth)
	if child.shape != scalar {
		child.pos = pos
	}
	if first, twice := into.byName[key.Value]; twice {
		l.fail(pos, child.path(), fmt.Sprintf("the key is there twice, first at %s", first.pos), "remove one of them")
		return
	}
	into.byName[key.Value] = child
	into.items = append(into.items, child)
}
