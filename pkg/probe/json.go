package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// field is one expected field of a JSON body.
type field struct {
	path string   // as configured: names and, for lists, positions from 0, joined by dots
	keys []string // the path, split
	text string   // the expected value as text
}

// fields lists what is expected in the order of the paths, so that of several
// mismatches the same one is reported each time.
func fields(wanted map[string]string) []field {
	list := make([]field, 0, len(wanted))
	for path, text := range wanted {
		list = append(list, field{path, strings.Split(path, "."), text})
	}
	slices.SortFunc(list, func(x, y field) int { return strings.Compare(x.path, y.path) })
	return list
}

// parseJSON reads exactly one value. Numbers keep their text, because a float
// would round large ones.
func parseJSON(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more text after the first value")
	}
	return document, nil
}

// in walks the path through a document.
func (f field) in(document any) (value any, found bool) {
	value = document
	for _, key := range f.keys {
		switch node := value.(type) {
		case map[string]any:
			if value, found = node[key]; !found {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			value = node[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// same compares a JSON value with the text of the config, in which "1", 1 and
// true cannot be told apart: strings by their text, numbers by their value,
// true, false and null by name. Objects and lists equal no text.
func same(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return v == text
	case json.Number:
		return sameNumber(v.String(), text)
	case bool:
		return strconv.FormatBool(v) == text
	case nil:
		return text == "null"
	}
	return false
}

// sameNumber compares numbers. Two integers are compared as text, for a float
// takes large neighbours for equal.
func sameNumber(x, y string) bool {
	if x == y {
		return true
	}
	if !strings.ContainsAny(x, ".eE") && !strings.ContainsAny(y, ".eE") {
		return false
	}
	fx, errX := strconv.ParseFloat(x, 64)
	fy, errY := strconv.ParseFloat(y, 64)
	return errX == nil && errY == nil && fx == fy
}

// show writes a value for a detail.
func show(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
