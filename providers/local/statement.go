package local

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// kind tells the statements of a file apart.
type kind uint8

const (
	blank     kind = iota // nothing but blanks and a comment
	directive             // $ORIGIN, $TTL
	entry                 // a record
)

// head is what stands before a record's data, as it is spelled: an owner and a
// TTL that are left out are taken from earlier lines.
type head struct {
	kind  kind
	owner bool // the first token is the owner
	ttl   int  // index of the TTL's token, -1 when it is left out
	kin   int  // index of the type's token; the data follows
}

// content is what a record means once everything is known that it leaves out.
// It is nil and empty for blank lines and directives.
type content struct {
	rr   dns.RR
	name string // the owner, lower case, to find it by
}

// read finds the head of a scanned statement.
func (s *statement) read() error {
	s.head = head{ttl: -1}
	switch {
	case len(s.tokens) == 0:
		return nil
	case s.text[0] != ' ' && s.text[0] != '\t':
		s.owner = true
		if s.text[0] == '$' {
			s.kind = directive
			return nil
		}
	}
	s.kind = entry
	if err := s.readHead(); err != nil {
		return &lineError{s.line, err}
	}
	return nil
}

// readHead reads [TTL] [CLASS] TYPE, the first two in either order.
func (s *statement) readHead() error {
	i, class := 0, false
	if s.owner {
		i = 1
	}
	for ; i < len(s.tokens); i++ {
		word := strings.ToUpper(s.word(i))
		switch {
		case s.ttl < 0 && word[0] >= '0' && word[0] <= '9':
			if _, err := parseTTL(word); err != nil {
				return err
			}
			s.ttl = i
		case !class && isClass(word):
			if word != "IN" && word != "CLASS1" {
				return fmt.Errorf("class %s: expected IN, the only one that is served on the internet", word)
			}
			class = true
		default:
			s.kin = i
			return s.readType(word)
		}
	}
	return errors.New("expected a record type, got the end of the line")
}

func (s *statement) readType(word string) error {
	if _, known := dns.StringToType[word]; !known && !strings.HasPrefix(word, "TYPE") {
		return fmt.Errorf("expected a record type, got %q", s.word(s.kin))
	}
	if s.kin+1 == len(s.tokens) {
		return fmt.Errorf("a record of type %s without data", word)
	}
	return nil
}

func isClass(word string) bool {
	_, known := dns.StringToClass[word]
	return known || strings.HasPrefix(word, "CLASS")
}

// data is the record's data as it is spelled, in one line.
func (s *statement) data() string {
	words := make([]string, 0, len(s.tokens))
	for i := s.kin + 1; i < len(s.tokens); i++ {
		words = append(words, s.word(i))
	}
	return strings.Join(words, " ")
}

// maxTTL is the largest TTL there is (RFC 2181 section 8).
const maxTTL = math.MaxInt32

// parseTTL reads seconds, or amounts with units as BIND has them: "1h30m".
func parseTTL(word string) (uint32, error) {
	var sum uint64
	for rest := word; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		amount, err := strconv.ParseUint(rest[:digits], 10, 32)
		unit := uint64(1)
		if rest = rest[digits:]; rest != "" {
			unit = ttlUnits[rest[0]|0x20]
			rest = rest[1:]
		} else if digits != len(word) {
			err = errors.New("a number without a unit after one that has it")
		}
		if sum += amount * unit; err != nil || unit == 0 || sum > maxTTL {
			return 0, fmt.Errorf("read TTL %q: expected 0 to %d seconds, or amounts with the units s, m, h, d, w", word, maxTTL)
		}
	}
	return uint32(sum), nil
}

var ttlUnits = map[byte]uint64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}

// fresh is a new statement for a record, with everything spelled out, so that
// it means the same wherever it stands.
func fresh(rr dns.RR, remark, eol string) (statement, error) {
	return reread(rr.String()+remark+eol, 0, rr)
}

// reread is a statement whose text was changed, to be read as rr.
func reread(text string, line int, rr dns.RR) (statement, error) {
	s, err := scan(text, line)
	if err != nil {
		return statement{}, fmt.Errorf("write the record %s as %q: %w", rr.Header().Name, text, err)
	}
	if len(s.text) != len(text) {
		return statement{}, fmt.Errorf("write the record %s as %q: it would be read as more than one", rr.Header().Name, text)
	}
	s.content = content{rr, dns.CanonicalName(rr.Header().Name)}
	return s, s.read()
}

// withOwner puts the owner in front of a statement that leaves it out.
func (s *statement) withOwner() (statement, error) {
	return reread(s.rr.Header().Name+s.text, s.line, s.rr)
}

// withTTL spells a TTL out, in the place of the one that is there.
func (s *statement) withTTL(ttl uint32) (statement, error) {
	rr := dns.Copy(s.rr)
	rr.Header().Ttl = ttl
	word := strconv.FormatUint(uint64(ttl), 10)
	if s.ttl >= 0 {
		return s.replace(s.ttl, word, rr)
	}
	first := 0
	if s.owner {
		first = 1
	}
	return s.replace(first, word+" "+s.word(first), rr)
}

// replace puts a word in the place of a token.
func (s *statement) replace(i int, word string, rr dns.RR) (statement, error) {
	t := s.tokens[i]
	return reread(s.text[:t.start]+word+s.text[t.end:], s.line, rr)
}
