package cloudflare

import (
	"fmt"
	"strings"
)

// quote is a text as the API wants the content of a TXT record: character
// strings in quotes, each of 255 bytes at most (RFC 1035 section 5.1).
func quote(text string) string {
	var b strings.Builder
	for {
		cut := min(255, len(text))
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		for i := range cut {
			switch c := text[i]; {
			case c == '"' || c == '\\':
				b.WriteByte('\\')
				b.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\%03d`, c)
			default:
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
		if text = text[cut:]; text == "" {
			return b.String()
		}
	}
}

// unquote is the text of a TXT record. Content without quotes, which the API
// keeps as it was sent, is the text itself, and so is what is not well quoted.
func unquote(content string) string {
	var b strings.Builder
	for rest := content; ; {
		if rest == "" || rest[0] != '"' {
			return content
		}
		end, ok := unquoteOne(&b, rest[1:])
		if !ok {
			return content
		}
		rest = rest[1+end:]
		if rest == "" {
			return b.String()
		}
		rest = strings.TrimLeft(rest, " \t")
	}
}

// unquoteOne reads to the closing quote and gives what it read, the quote
// included.
func unquoteOne(b *strings.Builder, s string) (int, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, true
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(s) && digits(s[i+1:i+4]):
			n := int(s[i+1]-'0')*100 + int(s[i+2]-'0')*10 + int(s[i+3]-'0')
			if n > 255 {
				return 0, false
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s):
			i++
			b.WriteByte(s[i])
		}
	}
	return 0, false
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
