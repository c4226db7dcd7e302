package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	bodyLimit = 64 << 10 // bytes of a body that the identity is looked for in
	nameLimit = 64       // characters of an identity: it is a name, and no body is printed as one
)

// Identity is where an answer says which backend made it. The zero value asks
// for none.
type Identity struct {
	text    string
	header  string
	keys    []string // of a JSON body: names and, for lists, positions from 0
	pattern *regexp.Regexp
}

// keptSecret are headers whose values nobody else should see.
var keptSecret = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie"}

// ParseIdentity reads header:NAME, json:KEY (a dotted path) or regexp:RE (over
// the body; what the first group matches, which has to be there).
func ParseIdentity(text string) (Identity, error) {
	id := Identity{text: text}
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "header" && httpguts.ValidHeaderFieldName(rest):
		id.header = http.CanonicalHeaderKey(rest)
		if slices.Contains(keptSecret, id.header) {
			return Identity{}, fmt.Errorf("read identity %q: %s holds secrets, which are never printed; name another header", text, id.header)
		}
	case kind == "json" && rest != "" && !slices.Contains(strings.Split(rest, "."), ""):
		id.keys = strings.Split(rest, ".")
	case kind == "regexp" && rest != "":
		pattern, err := regexp.Compile(rest)
		if err != nil {
			return Identity{}, fmt.Errorf("read identity %q: %w", text, err)
		}
		if pattern.NumSubexp() == 0 {
			return Identity{}, fmt.Errorf("read identity %q: expected a group around what tells the backends apart, as regexp:node ([a-z0-9]+)", text)
		}
		id.pattern = pattern
	default:
		return Identity{}, fmt.Errorf("read identity %q: expected header:NAME, json:KEY or regexp:RE, as header:X-Backend or json:node.name", text)
	}
	return id, nil
}

// IsZero reports whether no identity is asked for.
func (i Identity) IsZero() bool { return i.text == "" }

func (i Identity) String() string { return i.text }

// of finds the identity in an answer; missing says why there is none.
func (i Identity) of(response *http.Response, body []byte, whole bool) (identity, missing string) {
	switch {
	case i.IsZero():
		return "", ""
	case i.header != "":
		if identity = response.Header.Get(i.header); identity == "" {
			return "", "the answer has no header " + i.header
		}
		return identity, ""
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", "the body is encoded (" + encoding + "), though identity was asked for"
	}
	if i.pattern != nil {
		return i.match(body, whole)
	}
	return i.field(body, whole)
}

func (i Identity) match(body []byte, whole bool) (identity, missing string) {
	found := i.pattern.FindSubmatch(body)
	switch {
	case found == nil && whole:
		return "", "the body has no match of the pattern"
	case found == nil:
		return "", fmt.Sprintf("the first %d bytes of the body have no match of the pattern", bodyLimit)
	}
	return empty(string(found[1]), "the group of the pattern matched nothing")
}

// short is an identity as it is told: its first line, and no more of that than
// nameLimit, with a mark where it was cut.
func short(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if line = clean(strings.TrimRight(line, "\r")); len(line) > nameLimit-3 && (more || len(line) > nameLimit) {
		line, more = line[:nameLimit-3], true
	}
	if more {
		line += "..."
	}
	return line
}

func empty(text, missing string) (identity, why string) {
	if text == "" {
		return "", missing
	}
	return text, ""
}

func (i Identity) field(body []byte, whole bool) (identity, missing string) {
	if !whole {
		return "", fmt.Sprintf("the body is longer than %d bytes", bodyLimit)
	}
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))) // RFC 8259 section 8.1
	decoder.UseNumber()
	var node any
	if decoder.Decode(&node) != nil {
		return "", "the body is no JSON"
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "", "the body is more than one JSON value"
	}
	path := strings.Join(i.keys, ".")
	for _, key := range i.keys {
		next, found := step(node, key)
		if !found {
			return "", "the JSON has no field " + path
		}
		node = next
	}
	switch v := node.(type) {
	case string:
		return empty(v, "the field "+path+" is empty")
	case json.Number:
		return v.String(), ""
	case bool:
		return strconv.FormatBool(v), ""
	}
	return "", "the field " + path + " is no text and no number"
}

// step goes one key further into a JSON document.
func step(node any, key string) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		next, found := node[key]
		return next, found
	case []any:
		if n, err := strconv.Atoi(key); err == nil && 0 <= n && n < len(node) {
			return node[n], true
		}
	}
	return nil, false
}
