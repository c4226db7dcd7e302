package generic

import (
	"regexp"
	"strconv"
	"strings"
)

// StatusIn reads the HTTP status in the errors of a library that spells it: the
// first group of a pattern, which is digits; 0 for an error without one.
func StatusIn(pattern *regexp.Regexp) func(error) int {
	return func(err error) int {
		found := pattern.FindStringSubmatch(err.Error())
		if found == nil {
			return 0
		}
		code, err := strconv.Atoi(found[1])
		if err != nil {
			return 0
		}
		return code
	}
}

// unquote reads a TXT value. One that is written as in a zone file, as strings
// in quotes (RFC 1035 section 5.1), is read as their bytes; any other is the
// text itself, as libdns's contract has it.
func unquote(data string) (text string, quoted bool) {
	var out strings.Builder
	rest := strings.TrimSpace(data)
	for rest != "" {
		part, after, ok := quotedString(rest)
		if !ok {
			return data, false
		}
		out.WriteString(part)
		quoted, rest = true, strings.TrimLeft(after, " \t")
	}
	if !quoted {
		return data, false
	}
	return out.String(), true
}

// quotedString reads one string in quotes, and what comes after it.
func quotedString(s string) (text, after string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return out.String(), s[i+1:], true
		case s[i] != '\\':
			out.WriteByte(s[i])
		case i+3 < len(s) && digits(s[i+1:i+4]):
			out.WriteByte((s[i+1]-'0')*100 + (s[i+2]-'0')*10 + s[i+3] - '0')
			i += 3
		case i+1 < len(s):
			i++
			out.WriteByte(s[i])
		}
	}
	return "", "", false
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == "" && s <= "255"
}

// quote writes a text of ours, which is printable ASCII below 256 octets, as in
// a zone file.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
