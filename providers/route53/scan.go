package route53

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner walks a document of XML as the API writes it: elements and text, no
// DTD. Every element has to be closed by its own name, so that a document that
// was cut off is never read as a whole one. Attributes, comments and processing
// instructions are passed over, namespaces are not told apart. It exists because
// a large zone is tens of megabytes of it, and encoding/xml takes seconds.
type scanner struct {
	data []byte
	at   int
	open []byte // the name of an element that closes itself: its end is still to come
}

type token uint8

const (
	startTag token = iota
	endTag
	charData
)

var errCut = errors.New("the document ends early")

// next is the next tag or text; the bytes are the name, or the raw text.
func (s *scanner) next() (token, []byte, error) {
	if s.open != nil {
		name := s.open
		s.open = nil
		return endTag, name, nil
	}
	for s.at < len(s.data) {
		if s.data[s.at] != '<' {
			end := bytes.IndexByte(s.data[s.at:], '<')
			if end < 0 {
				end = len(s.data) - s.at
			}
			text := s.data[s.at : s.at+end]
			s.at += end
			return charData, text, nil
		}
		rest := s.data[s.at:]
		switch {
		case bytes.HasPrefix(rest, []byte("<?")):
			if err := s.pass("?>"); err != nil {
				return 0, nil, err
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			if err := s.pass("-->"); err != nil {
				return 0, nil, err
			}
		case bytes.HasPrefix(rest, []byte("<!")):
			return 0, nil, errors.New("a declaration where only elements and text are expected")
		default:
			return s.tag()
		}
	}
	return 0, nil, errCut
}

func (s *scanner) pass(until string) error {
	i := bytes.Index(s.data[s.at:], []byte(until))
	if i < 0 {
		return errCut
	}
	s.at += i + len(until)
	return nil
}

func (s *scanner) tag() (token, []byte, error) {
	end := bytes.IndexByte(s.data[s.at:], '>')
	if end < 0 {
		return 0, nil, errCut
	}
	inside := s.data[s.at+1 : s.at+end]
	s.at += end + 1
	kind := startTag
	if len(inside) > 0 && inside[0] == '/' {
		kind, inside = endTag, inside[1:]
	} else if len(inside) > 0 && inside[len(inside)-1] == '/' {
		inside = inside[:len(inside)-1]
		defer func() { s.open = inside }()
	}
	if i := bytes.IndexAny(inside, " \t\r\n"); i >= 0 {
		inside = inside[:i]
	}
	if len(inside) == 0 {
		return 0, nil, errors.New("a tag without a name")
	}
	return kind, inside, nil
}

// root enters the one element of the document.
func (s *scanner) root(name string) error {
	for {
		kind, text, err := s.next()
		switch {
		case err != nil:
			return err
		case kind == charData && len(bytes.TrimSpace(text)) == 0:
			continue
		case kind != startTag || string(text) != name:
			return fmt.Errorf("expected the element %s, got %.40q", name, text)
		}
		return nil
	}
}

// children calls do for each element in the one that was entered last, until that
// ends. do has to read its element to the end: by text, children or skip.
func (s *scanner) children(of string, do func(name string) error) error {
	for {
		kind, text, err := s.next()
		switch {
		case err != nil:
			return err
		case kind == charData:
			continue
		case kind == endTag:
			if string(text) != of {
				return fmt.Errorf("expected the end of %s, got that of %.40q", of, text)
			}
			return nil
		}
		if err := do(elementName(text)); err != nil {
			return err
		}
	}
}

// elementName spares an allocation for the names that come by the thousand.
func elementName(b []byte) string {
	switch string(b) {
	case "ResourceRecordSet":
		return "ResourceRecordSet"
	case "Name":
		return "Name"
	case "Type":
		return "Type"
	case "TTL":
		return "TTL"
	case "ResourceRecords":
		return "ResourceRecords"
	case "ResourceRecord":
		return "ResourceRecord"
	case "Value":
		return "Value"
	}
	return string(b)
}

// maxDepth is more than any answer of the API is deep.
const maxDepth = 50

// skip reads an element to its end.
func (s *scanner) skip(name string) error {
	for open := []string{name}; len(open) > 0; {
		kind, text, err := s.next()
		switch {
		case err != nil:
			return err
		case kind == startTag && len(open) == maxDepth:
			return fmt.Errorf("elements %d deep in %s", maxDepth, name)
		case kind == startTag:
			open = append(open, string(text))
		case kind == endTag && string(text) != open[len(open)-1]:
			return fmt.Errorf("expected the end of %s, got that of %.40q", open[len(open)-1], text)
		case kind == endTag:
			open = open[:len(open)-1]
		}
	}
	return nil
}

// text is the content of an element that has only text.
func (s *scanner) text(of string) (string, error) {
	var all []byte
	for {
		kind, text, err := s.next()
		switch {
		case err != nil:
			return "", err
		case kind == startTag:
			return "", fmt.Errorf("expected text in %s, got the element %.40q", of, text)
		case kind == endTag && string(text) != of:
			return "", fmt.Errorf("expected the end of %s, got that of %.40q", of, text)
		case kind == endTag:
			return unescape(all)
		case all == nil:
			all = text
		default:
			all = append(bytes.Clone(all), text...)
		}
	}
}

// unescape replaces the references of XML.
func unescape(b []byte) (string, error) {
	if bytes.IndexByte(b, '&') < 0 {
		return string(b), nil
	}
	var text strings.Builder
	for len(b) > 0 {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			text.Write(b)
			break
		}
		text.Write(b[:i])
		b = b[i+1:]
		end := bytes.IndexByte(b, ';')
		if end < 0 {
			return "", fmt.Errorf("a reference without its end: %.20q", b)
		}
		r, err := reference(string(b[:end]))
		if err != nil {
			return "", err
		}
		text.WriteRune(r)
		b = b[end+1:]
	}
	return text.String(), nil
}

func reference(name string) (rune, error) {
	switch name {
	case "amp":
		return '&', nil
	case "lt":
		return '<', nil
	case "gt":
		return '>', nil
	case "quot":
		return '"', nil
	case "apos":
		return '\'', nil
	}
	digits, decimal := strings.CutPrefix(name, "#")
	base := 10
	if hex, found := strings.CutPrefix(digits, "x"); found {
		digits, base = hex, 16
	}
	n, err := strconv.ParseInt(digits, base, 32)
	if !decimal || err != nil || !utf8.ValidRune(rune(n)) {
		return 0, fmt.Errorf("an unknown reference: &%.20s;", name)
	}
	return rune(n), nil
}
