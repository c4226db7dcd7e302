package tencentcloud

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// scan reads a page of a list with one look at each byte, where the standard
// library's decoder takes several: a large zone is listed in every failover. It
// reads what the vendor is known to send and gives everything else up, so that
// the standard library decides what it is.
type scan struct {
	text []byte
	at   int
	bad  bool   // it is something else
	line string // the last name of a line, which is that of most records
}

// scanPage reads a whole answer; false when it is none that this knows.
func scanPage(body []byte, out *listReply) bool {
	s, read := scan{text: body}, listReply{}
	s.object(func(key []byte) {
		if string(key) != "Response" {
			s.bad = true
			return
		}
		s.object(func(key []byte) { s.field(key, &read) })
	})
	s.space()
	if s.bad || s.at != len(body) {
		return false
	}
	*out = read
	return true
}

func (s *scan) field(key []byte, out *listReply) {
	switch string(key) {
	case "RequestId":
		out.RequestID = s.str()
	case "RecordCountInfo":
		out.Counts = &counts{}
		s.object(func(key []byte) {
			n := int(s.number(math.MaxInt32))
			switch string(key) {
			case "ListCount":
				out.Counts.Listed = &n
			case "TotalCount":
				out.Counts.Total = &n
			}
		})
	case "RecordList":
		s.list(out)
	default: // an error, or something new
		s.bad = true
	}
}

func (s *scan) list(out *listReply) {
	s.want('[')
	if s.take(']') {
		return
	}
	if out.Counts != nil && out.Counts.Listed != nil {
		out.Records = make([]item, 0, min(*out.Counts.Listed, maxPage))
	}
	for !s.bad {
		out.Records = append(out.Records, item{})
		i := &out.Records[len(out.Records)-1]
		s.object(func(key []byte) { s.record(key, i) })
		if !s.take(',') {
			s.want(']')
			return
		}
	}
}

func (s *scan) record(key []byte, i *item) {
	switch string(key) {
	case "RecordId":
		i.ID = s.number(math.MaxInt64)
	case "Name":
		i.Name = s.str()
	case "Type":
		i.Type = s.str()
	case "Value":
		i.Value = s.str()
	case "Status":
		i.Status = s.word()
	case "Line":
		i.Line = s.word()
	case "LineId":
		i.LineID = s.word()
	case "TTL":
		i.TTL = uint32(s.number(math.MaxUint32)) //nolint:gosec // bounded
	case "MX":
		i.MX = uint16(s.number(math.MaxUint16)) //nolint:gosec // bounded
	case "Weight":
		if !s.null() {
			weight := uint32(s.number(math.MaxUint32)) //nolint:gosec // bounded
			i.Weight = &weight
		}
	case "Remark":
		i.Remark = s.str()
	case "MonitorStatus":
		i.Monitor = s.word()
	case "UpdatedOn":
		s.raw()
	case "DefaultNS":
		i.Default = s.boolean()
	default:
		s.bad = true
	}
}

// object calls value for each key of an object; value reads what follows.
func (s *scan) object(value func(key []byte)) {
	s.want('{')
	if s.take('}') {
		return
	}
	for !s.bad {
		key := s.raw()
		s.want(':')
		value(key)
		if !s.take(',') {
			s.want('}')
			return
		}
	}
}

func (s *scan) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\r' || s.text[s.at] == '\t') {
		s.at++
	}
}

// take reads one byte if it is the next.
func (s *scan) take(c byte) bool {
	s.space()
	if s.bad || s.at >= len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scan) want(c byte) {
	if !s.take(c) {
		s.bad = true
	}
}

// raw is a string without escapes, as it stands.
func (s *scan) raw() []byte {
	if s.want('"'); s.bad {
		return nil
	}
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			text := s.text[s.at:i]
			s.at = i + 1
			return text
		case c == '\\' || c < ' ':
			s.bad = true
			return nil
		}
	}
	s.bad = true
	return nil
}

// str is any string, or null for an empty one.
func (s *scan) str() string {
	if s.bad || s.null() {
		return ""
	}
	s.space()
	begin := s.at
	if text := s.raw(); !s.bad {
		s.bad = !utf8.Valid(text)
		return string(text)
	}
	if begin < len(s.text) && s.text[begin] == '"' {
		return s.escaped(begin)
	}
	return ""
}

// escaped is a string with escapes in it, which the standard library reads.
func (s *scan) escaped(begin int) string {
	for i := begin + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			var text string
			s.bad = json.Unmarshal(s.text[begin:i+1], &text) != nil
			s.at = i + 1
			return text
		}
	}
	return ""
}

// words are strings that most records have.
var words = map[string]string{enabled: enabled, disabled: disabled, defaultLine: defaultLine, "默认": "默认", "Default": "Default", "": ""}

// word is a string that many records have, kept once.
func (s *scan) word() string {
	if s.bad {
		return ""
	}
	begin := s.at
	if text := s.raw(); !s.bad {
		if word, known := words[string(text)]; known {
			return word
		}
		if string(text) == s.line {
			return s.line
		}
	}
	s.at, s.bad = begin, false
	s.line = s.str()
	return s.line
}

func (s *scan) literal(text string) bool {
	s.space()
	if s.bad || s.at+len(text) > len(s.text) || string(s.text[s.at:s.at+len(text)]) != text {
		return false
	}
	s.at += len(text)
	return true
}

func (s *scan) null() bool { return s.literal("null") }

func (s *scan) boolean() bool {
	if s.literal("true") {
		return true
	}
	s.bad = s.bad || !s.literal("false")
	return false
}

// number is a whole number from 0 to most, or null for 0.
func (s *scan) number(most uint64) uint64 {
	s.space()
	if s.null() {
		return 0
	}
	begin, n := s.at, uint64(0)
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' && s.at-begin < 19 {
		n = n*10 + uint64(s.text[s.at]-'0')
		s.at++
	}
	leading := s.at-begin > 1 && s.text[begin] == '0'
	s.bad = s.bad || s.at == begin || leading || n > most
	return n
}
