package local

import (
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// maxString is the longest character-string of a TXT record (RFC 1035 section 3.3).
const maxString = 255

// textOf is the content of a TXT record: its strings joined, byte for byte,
// free of the escapes that a zone file writes them with. Records of other types
// have none.
func textOf(rr dns.RR) string {
	txt, ok := rr.(*dns.TXT)
	if !ok {
		return ""
	}
	var content strings.Builder
	for _, part := range txt.Txt {
		for i := 0; i < len(part); {
			c, size := unescape(part[i:])
			content.WriteByte(c)
			i += size
		}
	}
	return content.String()
}

// unescape reads the first character of a string: c, \c or \DDD.
func unescape(s string) (c byte, size int) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], 1
	}
	if len(s) >= 4 && isDigit(s[1]) && isDigit(s[2]) && isDigit(s[3]) {
		return (s[1]-'0')*100 + (s[2]-'0')*10 + s[3] - '0', 4
	}
	return s[1], 2
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// newTXT makes a TXT record of a text, in as many strings as it needs.
func newTXT(name record.Name, ttl uint32, text string) *dns.TXT {
	txt := &dns.TXT{Hdr: dns.RR_Header{Name: string(name), Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: ttl}}
	for len(text) > maxString {
		txt.Txt = append(txt.Txt, escape(text[:maxString]))
		text = text[maxString:]
	}
	txt.Txt = append(txt.Txt, escape(text))
	return txt
}

// escape spells a string as zone files have it (RFC 1035 section 5.1).
func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out.WriteString(`\` + string(rune(c)))
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, `\%03d`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
