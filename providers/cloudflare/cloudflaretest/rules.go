package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

// apiError is a refusal as the API words it.
type apiError struct {
	status  int
	code    int
	message string
	chain   []chained
	after   string // Retry-After
}

type chained struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s %v", e.code, e.message, e.chain) }

func refuse(status, code int, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

// invalid is the API's way to say what is wrong with a record.
func invalid(code int, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: 1004, message: "DNS Validation Error", chain: []chained{{code, fmt.Sprintf(format, args...)}}}
}

func badBody(err error) *apiError {
	return refuse(http.StatusBadRequest, 9207, "Request body is invalid. "+err.Error())
}

var errMissing = refuse(http.StatusNotFound, 81044, "Record does not exist.")

// normal gives a record the form in which it is kept, and checks it.
func (z *zone) normal(r *Record) *apiError {
	r.Name = z.complete(r.Name)
	r.Type = strings.ToUpper(r.Type)
	if r.Proxied && !proxiable(r.Type) {
		return invalid(9004, "This record type cannot be proxied.")
	}
	if failed := z.normalName(r.Name); failed != nil {
		return failed
	}
	if r.TTL != 1 && (r.TTL < z.plan.MinTTL || r.TTL > 86400) {
		return invalid(9021, "Invalid TTL. Must be between %d and 86400 seconds, or 1 for Automatic.", z.plan.MinTTL)
	}
	if r.Proxied {
		r.TTL = 1
	}
	if n := utf8.RuneCountInString(r.Comment); n > z.plan.Comment {
		return invalid(9313, "Comment is %d characters long, exceeding the limit of %d.", n, z.plan.Comment)
	}
	if len(r.Tags) > z.plan.Tags {
		return invalid(9300, "DNS record has %d tags, exceeding the quota of %d.", len(r.Tags), z.plan.Tags)
	}
	return normalContent(r)
}

// complete is a name as it is kept. One outside the zone is taken for a name
// below it.
func (z *zone) complete(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case name == "@" || name == z.name:
		return z.name
	case strings.HasSuffix(name, "."+z.name):
		return name
	}
	return name + "." + z.name
}

func (z *zone) normalName(name string) *apiError {
	if len(name) > 253 {
		return invalid(9000, "DNS name is too long.")
	}
	for i, label := range strings.Split(name, ".") {
		odd := strings.ContainsFunc(label, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' })
		if label == "" || len(label) > 63 || odd || label != "*" && strings.Contains(label, "*") || label == "*" && i > 0 {
			return invalid(9000, "DNS name is invalid.")
		}
	}
	return nil
}

func normalContent(r *Record) *apiError {
	switch r.Type {
	case "A", "AAAA":
		addr, err := netip.ParseAddr(r.Content)
		if r.Type == "A" && (err != nil || !addr.Is4()) {
			return invalid(9005, "Content for A record must be a valid IPv4 address.")
		}
		if r.Type == "AAAA" && (err != nil || !addr.Is6() || addr.Zone() != "") {
			return invalid(9006, "Content for AAAA record must be a valid IPv6 address.")
		}
		r.Content = addr.String()
	case "CNAME", "NS", "PTR":
		return hostContent(r)
	case "MX":
		if r.Priority == nil {
			return invalid(9100, "priority is a required field.")
		}
		return hostContent(r)
	case "TXT":
		return textContent(r)
	case "SRV", "CAA", "HTTPS", "SVCB":
		return dataContent(r)
	case "LOC", "NAPTR", "TLSA", "SSHFP", "URI", "CERT", "DS", "DNSKEY", "SMIMEA", "OPENPGPKEY":
		if r.Content == "" && r.Data == "" {
			return invalid(9101, "content is a required field.")
		}
	default:
		return invalid(9002, "Invalid type: must be one of A, AAAA, CNAME, HTTPS, TXT, SRV, LOC, MX, NS, CERT, DNSKEY, DS, NAPTR, SMIMEA, SSHFP, SVCB, TLSA, URI, CAA, PTR.")
	}
	return nil
}

func hostContent(r *Record) *apiError {
	r.Content = strings.ToLower(strings.TrimSuffix(r.Content, "."))
	if r.Content == "" || strings.ContainsAny(r.Content, " \t\"/:") || strings.Contains(r.Content, "..") {
		return invalid(9007, "Content for %s record is invalid.", r.Type)
	}
	if _, err := netip.ParseAddr(r.Content); err == nil {
		return invalid(9007, "Content for %s record is invalid.", r.Type)
	}
	return nil
}

// dataContent writes the content of a type that is sent in parts.
func dataContent(r *Record) *apiError {
	if r.Data == "" {
		return invalid(9102, "data is a required field.")
	}
	var d struct {
		Priority, Weight, Port, Flags float64
		Target, Tag, Value            string
	}
	if err := json.Unmarshal([]byte(r.Data), &d); err != nil {
		return badBody(err)
	}
	switch r.Type {
	case "SRV":
		if d.Target == "" {
			return invalid(9103, "data.target is a required field.")
		}
		r.Content = fmt.Sprintf("%v %v %s", d.Weight, d.Port, d.Target)
		r.Priority = &d.Priority
	case "CAA":
		if d.Tag == "" {
			return invalid(9103, "data.tag is a required field.")
		}
		r.Content = fmt.Sprintf("%v %s %q", d.Flags, d.Tag, d.Value)
	default:
		r.Content = strings.TrimSpace(fmt.Sprintf("%v %s %s", d.Priority, d.Target, d.Value))
	}
	return nil
}

// textContent splits what is too long for one string. A text without quotes
// stays without.
func textContent(r *Record) *apiError {
	if r.Content == "" {
		return invalid(9101, "content is a required field.")
	}
	if !strings.HasPrefix(r.Content, `"`) {
		return nil
	}
	var parts []string
	for rest := r.Content; rest != ""; rest = strings.TrimLeft(rest, " ") {
		if rest[0] != '"' {
			return invalid(9009, "Content for TXT record is invalid.")
		}
		end := 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return invalid(9009, "Content for TXT record is invalid.")
		}
		for text := rest[1:end]; ; {
			cut := min(255, len(text))
			parts = append(parts, `"`+text[:cut]+`"`)
			if text = text[cut:]; text == "" {
				break
			}
		}
		rest = rest[end+1:]
	}
	r.Content = strings.Join(parts, " ")
	return nil
}

// alone checks a record against the others of its name.
func alone(records []*Record, r *Record) *apiError {
	for _, o := range records {
		if o.ID == r.ID || o.Name != r.Name || o.raw != "" {
			continue
		}
		samePriority := o.Priority == nil && r.Priority == nil || o.Priority != nil && r.Priority != nil && *o.Priority == *r.Priority
		address := func(kind string) bool { return kind == "A" || kind == "AAAA" }
		switch {
		case o.Type == r.Type && o.Content == r.Content && samePriority:
			return refuse(http.StatusBadRequest, 81058, "An identical record already exists.")
		case r.Type == "CNAME" && (address(o.Type) || o.Type == "CNAME"):
			return refuse(http.StatusBadRequest, 81053, "An A, AAAA, or CNAME record with that host already exists.")
		case address(r.Type) && o.Type == "CNAME":
			return refuse(http.StatusBadRequest, 81054, "A CNAME record with that host already exists.")
		case o.Type == "NS" && r.Type != "NS" && slices.Contains([]string{"A", "AAAA", "CNAME"}, r.Type):
			return refuse(http.StatusBadRequest, 81056, "NS records with that host already exist.")
		}
	}
	return nil
}
