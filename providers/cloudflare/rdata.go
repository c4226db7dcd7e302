package cloudflare

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sidestep/pkg/provider"
)

// parts is the data of the types that the API takes apart.
type parts struct {
	Priority *float64 `json:"priority,omitempty"`
	Weight   *float64 `json:"weight,omitempty"`
	Port     *float64 `json:"port,omitempty"`
	Flags    *float64 `json:"flags,omitempty"`
	Tag      string   `json:"tag,omitempty"`
	Target   string   `json:"target,omitempty"`
	Value    string   `json:"value,omitempty"`
}

// dataOf is a record's value in presentation form, a TXT as its bytes.
func dataOf(w wire) string {
	var p parts
	if w.Data != "" {
		if err := json.Unmarshal([]byte(w.Data), &p); err != nil {
			return w.Content
		}
	}
	switch w.Type {
	case "TXT":
		return unquote(w.Content)
	case "CNAME", "NS", "PTR":
		return rooted(w.Content)
	case "MX":
		return fmt.Sprintf("%s %s", number(priority(w, p)), rooted(w.Content))
	case "SRV":
		return fmt.Sprintf("%s %s %s %s", number(priority(w, p)), number(p.Weight), number(p.Port), rooted(p.Target))
	case "CAA":
		if p.Tag != "" {
			return fmt.Sprintf("%s %s %q", number(p.Flags), p.Tag, p.Value)
		}
	case "HTTPS", "SVCB":
		if p.Target != "" {
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", number(priority(w, p)), rooted(p.Target), p.Value))
		}
	}
	return w.Content
}

func rooted(name string) string { return strings.TrimSuffix(name, ".") + "." }

// priority stands in the data, and for some types beside it.
func priority(w wire, p parts) *float64 {
	if p.Priority != nil {
		return p.Priority
	}
	if n, err := strconv.ParseFloat(w.Priority, 64); err == nil {
		return &n
	}
	return nil
}

func number(n *float64) string {
	if n == nil {
		return "0"
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// compared is a record's value in the one form in which values are compared.
func compared(w wire) string {
	text := dataOf(w)
	switch w.Type {
	case "TXT":
		return text
	case "A", "AAAA":
		if addr, err := netip.ParseAddr(text); err == nil {
			return addr.String()
		}
	case "HTTPS", "SVCB":
		words := strings.Fields(strings.ReplaceAll(strings.ToLower(text), `"`, ""))
		if len(words) > 2 {
			slices.Sort(words[2:]) // the parameters, in any order (RFC 9460 section 2.1)
		}
		return strings.Join(words, " ")
	}
	return strings.ToLower(text)
}

// fill gives a new record its value from presentation form.
func (p *post) fill(data string) error {
	words := strings.Fields(data)
	need := map[string]int{"MX": 2, "SRV": 4, "CAA": 3, "HTTPS": 2, "SVCB": 2}[p.Type]
	if len(words) < max(need, 1) && p.Type != "TXT" {
		return fmt.Errorf("a value %q; expected %d words", data, max(need, 1))
	}
	switch p.Type {
	case "TXT":
		p.Content = provider.QuoteText(data)
		return nil
	case "CNAME", "NS", "PTR":
		p.Content = strings.TrimSuffix(data, ".")
		return nil
	case "MX":
		if _, err := strconv.ParseUint(words[0], 10, 16); err != nil {
			return fmt.Errorf("a preference: %w", err)
		}
		p.Priority, p.Content = json.RawMessage(words[0]), strings.TrimSuffix(words[1], ".")
		return nil
	case "SRV", "CAA", "HTTPS", "SVCB":
		return p.fillParts(words)
	}
	p.Content = data
	return nil
}

func (p *post) fillParts(words []string) error {
	numbers := map[string]int{"SRV": 3, "CAA": 1, "HTTPS": 1, "SVCB": 1}[p.Type]
	var n [3]float64
	for i := range numbers {
		v, err := strconv.ParseUint(words[i], 10, 16)
		if err != nil {
			return fmt.Errorf("a number of %s: %w", p.Type, err)
		}
		n[i] = float64(v)
	}
	var out parts
	switch p.Type {
	case "SRV":
		out = parts{Priority: &n[0], Weight: &n[1], Port: &n[2], Target: strings.TrimSuffix(words[3], ".")}
	case "CAA":
		value := strings.Join(words[2:], " ")
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		out = parts{Flags: &n[0], Tag: words[1], Value: value}
	default:
		target := words[1]
		if target != "." {
			target = strings.TrimSuffix(target, ".")
		}
		out = parts{Priority: &n[0], Target: target, Value: strings.Join(words[2:], " ")}
	}
	data, err := json.Marshal(out)
	p.Data = data
	return err
}
