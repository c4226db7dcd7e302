package cloudflare

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// scanner reads JSON (RFC 8259) as it comes and keeps nothing but what it is
// asked for. It takes the time of one look at each byte, where the standard
// library's decoder takes several: a zone is listed in every failover.
type scanner struct {
	in      *bufio.Reader
	scratch []byte
}

func newScanner(in io.Reader) *scanner { return &scanner{in: bufio.NewReaderSize(in, 64<<10)} }

// next is the first byte that is no white space; it stays where it is.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return 0, ended(err)
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, s.in.UnreadByte()
		}
	}
}

// ended says that the text stops too early.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// expect takes one byte.
func (s *scanner) expect(want byte) error {
	c, err := s.next()
	if err != nil {
		return err
	}
	if c != want {
		return fmt.Errorf("expected %q, got %q", want, c)
	}
	_, err = s.in.Discard(1)
	return err
}

// end sees that nothing follows.
func (s *scanner) end() error {
	c, err := s.next()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("expected the end, got %q", c)
}

// members calls each for every item of an object or of an array, whichever
// begins with open. Items of an object come with their key.
func (s *scanner) members(open byte, each func(key string) error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	last := open + 2 // '{' and '}', '[' and ']' are two apart
	if c, err := s.next(); err != nil || c == last {
		if err == nil {
			_, err = s.in.Discard(1)
		}
		return err
	}
	for {
		if err := s.member(open, each); err != nil {
			return err
		}
		switch c, err := s.next(); {
		case err != nil:
			return err
		case c == last:
			_, err = s.in.Discard(1)
			return err
		}
		if err := s.expect(','); err != nil {
			return err
		}
	}
}

func (s *scanner) member(open byte, each func(key string) error) error {
	if open == '[' {
		return each("")
	}
	key, err := s.text()
	if err != nil {
		return err
	}
	if err := s.expect(':'); err != nil {
		return err
	}
	return each(key)
}

// text takes a string.
func (s *scanner) text() (string, error) {
	if c, err := s.next(); err != nil || c != '"' {
		return "", cmpErr(err, "expected a string, got %q", c)
	}
	s.scratch = s.scratch[:0]
	escaped, err := s.quoted()
	if err != nil {
		return "", err
	}
	raw := s.scratch
	if !escaped {
		return known(raw[1 : len(raw)-1]), nil
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return text, err
}

func cmpErr(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

// known keeps one copy of the words that come again and again.
func known(raw []byte) string {
	switch string(raw) {
	case "id":
		return "id"
	case "name":
		return "name"
	case "type":
		return "type"
	case "content":
		return "content"
	case "proxiable":
		return "proxiable"
	case "proxied":
		return "proxied"
	case "ttl":
		return "ttl"
	case "settings":
		return "settings"
	case "meta":
		return "meta"
	case "comment":
		return "comment"
	case "tags":
		return "tags"
	case "created_on":
		return "created_on"
	case "modified_on":
		return "modified_on"
	case "A":
		return "A"
	case "AAAA":
		return "AAAA"
	case "CNAME":
		return "CNAME"
	case "TXT":
		return "TXT"
	}
	return string(raw)
}

// quoted copies a string with its quotes, and reports whether it has escapes.
func (s *scanner) quoted() (escaped bool, err error) {
	c, err := s.in.ReadByte()
	if err != nil {
		return false, ended(err)
	}
	s.scratch = append(s.scratch, c)
	for {
		if err := s.plain(); err != nil {
			return false, err
		}
		if c, err = s.in.ReadByte(); err != nil {
			return false, ended(err)
		}
		s.scratch = append(s.scratch, c)
		switch {
		case c == '"':
			return escaped, nil
		case c < ' ':
			return false, errors.New("a control character in a string")
		}
		escaped = true
		if c, err = s.in.ReadByte(); err != nil {
			return false, ended(err)
		}
		s.scratch = append(s.scratch, c)
	}
}

// plain copies what of a string needs no second look.
func (s *scanner) plain() error {
	for {
		if _, err := s.in.Peek(1); err != nil {
			return ended(err)
		}
		window, err := s.in.Peek(s.in.Buffered())
		if err != nil {
			return err
		}
		n := 0
		for n < len(window) && window[n] != '"' && window[n] != '\\' && window[n] >= ' ' {
			n++
		}
		s.scratch = append(s.scratch, window[:n]...)
		if _, err := s.in.Discard(n); err != nil || n < len(window) {
			return err
		}
	}
}

// maxDepth is more than any answer of the API nests.
const maxDepth = 64

// value takes one value of any kind and gives its text, which lasts until the
// next call.
func (s *scanner) value() ([]byte, error) {
	s.scratch = s.scratch[:0]
	depth := 0
	for {
		c, err := s.next()
		if err != nil {
			return nil, err
		}
		switch c {
		case '"':
			_, err = s.quoted()
		case '{', '[':
			depth++
			err = s.copyByte()
		case '}', ']':
			depth--
			err = s.copyByte()
		case ',', ':':
			if depth == 0 {
				err = fmt.Errorf("expected a value, got %q", c)
			} else {
				err = s.copyByte()
			}
		default:
			err = s.word()
		}
		switch {
		case err != nil:
			return nil, err
		case depth < 0 || depth > maxDepth:
			return nil, fmt.Errorf("brackets that do not match, or %d of them in each other", maxDepth)
		case depth == 0:
			return s.scratch, nil
		}
	}
}

func (s *scanner) copyByte() error {
	c, err := s.in.ReadByte()
	s.scratch = append(s.scratch, c)
	return err
}

// word copies a number, true, false or null.
func (s *scanner) word() error {
	from := len(s.scratch)
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return ended(err)
		}
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			s.scratch = append(s.scratch, c)
			continue
		}
		if err := s.in.UnreadByte(); err != nil {
			return err
		}
		break
	}
	switch text := string(s.scratch[from:]); text {
	case "true", "false", "null":
		return nil
	default:
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid(s.scratch[from:]) {
			return fmt.Errorf("expected a value, got %q", text)
		}
		return nil
	}
}
