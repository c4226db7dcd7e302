package provider

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// StampLabel is the label of the stamp's TXT record, below the apex.
const StampLabel = "_sidestep"

// Stamp is the record that each fenced write compares and replaces. The nonce
// is what is compared; Epoch and Cluster tell a leader that was replaced without
// knowing it; the rest is for people, for status, and for the warning about two
// hosts that believe to be alone. Safety never rests on At.
type Stamp struct {
	Holder   string
	At       time.Time
	Epoch    uint64
	Cluster  uint64 // id of the store that counts the epochs; 0 where there is none, and in stamps from before there was this field
	Group    uint64 // tells nodes that share that store from others that use it, too; 0 as Cluster
	Seq      uint64
	Nonce    string // 64 random bits in hexadecimal, new in every call
	Released bool   // an orderly end: the stamp is nobody's
	Raw      string // the text as it was listed; empty for a stamp of our making
	Native   any    // opaque to all but the adapter that listed it
}

// String is the text that goes into the zone, or, for a listed stamp, the text
// that was in it byte for byte.
func (s Stamp) String() string {
	if s.Raw != "" {
		return s.Raw
	}
	text := fmt.Sprintf("v=1 holder=%s at=%d epoch=%d", field(s.Holder), s.At.Unix(), s.Epoch)
	if s.Cluster != 0 {
		text += fmt.Sprintf(" cluster=%x", s.Cluster)
	}
	if s.Group != 0 {
		text += fmt.Sprintf(" group=%x", s.Group)
	}
	text += fmt.Sprintf(" seq=%d nonce=%s", s.Seq, s.Nonce)
	if s.Released {
		text += " released=1"
	}
	return text
}

// field keeps a value from reading as two: the fields are parted by spaces.
func field(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '=' || r == '"' || r == '\\' || r > '~' {
			return '-'
		}
		return r
	}, s)
}

// ParseStamp reads a stamp's text. A text that is no stamp of a known version
// still stands for one, with only Raw set: it never looks like ours, and nobody
// writes while it is there.
func ParseStamp(text string) Stamp {
	stamp := Stamp{Raw: text}
	fields := parseFields(text)
	if fields["v"] != "1" {
		return stamp
	}
	stamp.Holder, stamp.Nonce = fields["holder"], fields["nonce"]
	stamp.Released = fields["released"] == "1"
	if at, err := strconv.ParseInt(fields["at"], 10, 64); err == nil {
		stamp.At = time.Unix(at, 0).UTC()
	}
	stamp.Epoch = parseCount(fields["epoch"], 10)
	stamp.Cluster = parseCount(fields["cluster"], 16)
	stamp.Group = parseCount(fields["group"], 16)
	stamp.Seq = parseCount(fields["seq"], 10)
	return stamp
}

// parseCount reads a number to that base: an unreadable one is 0, which says
// nothing.
func parseCount(s string, base int) uint64 {
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		return 0
	}
	return n
}

func parseFields(text string) map[string]string {
	fields := map[string]string{}
	for part := range strings.FieldsSeq(text) {
		if key, value, found := strings.Cut(part, "="); found {
			fields[key] = value
		}
	}
	return fields
}

// ParkedLabel is the label of the parked copies of a name, below that name, so
// that the empty non-terminal which a paused name becomes keeps a wildcard of
// the zone from answering in its place (RFC 4592 section 2.2.2).
const ParkedLabel = "_sidestep-paused"

// wildcardLabel stands for the asterisk, which may only be a first label.
const wildcardLabel = "_wildcard"

// ParkedName is where the parked copies of a name are kept.
func ParkedName(name record.Name) record.Name {
	if rest, found := strings.CutPrefix(string(name), "*."); found {
		return record.Name(ParkedLabel + "." + wildcardLabel + "." + rest)
	}
	return name.Below(ParkedLabel)
}

// ParkedOwner is the name that a parked copy belongs to; false when the name
// is not one of parked copies.
func ParkedOwner(name record.Name) (record.Name, bool) {
	rest, found := strings.CutPrefix(string(name), ParkedLabel+".")
	if !found {
		return "", false
	}
	if below, wild := strings.CutPrefix(rest, wildcardLabel+"."); wild {
		return record.Name("*." + below), true
	}
	return record.Name(rest), true
}

// Parked is a copy of a record that is out of the answer: everything that
// brings it back, readable in the zone by people and by any copy of sidestep.
type Parked struct {
	Type  record.Type
	Value string
	TTL   time.Duration
	Extra map[string]string // further attributes of the provider (weight, line, set identifier), kept as they are
}

// String is "v=sidestep1 type=A value=203.0.113.10 ttl=60", further attributes
// after it in the order of their names.
func (p Parked) String() string {
	text := fmt.Sprintf("v=sidestep1 type=%s value=%s ttl=%d", p.Type, p.Value, int(p.TTL/time.Second))
	for _, key := range sortedKeys(p.Extra) {
		text += " " + key + "=" + field(p.Extra[key])
	}
	return text
}

// ParseParked reads a parked copy. A text that is none, or whose value cannot
// be an answer, is an error: it is kept in the zone and never resumed.
func ParseParked(text string) (Parked, error) {
	fields := parseFields(text)
	if fields["v"] != "sidestep1" {
		return Parked{}, fmt.Errorf("read parked copy: expected v=sidestep1, got %q", text)
	}
	kind, err := record.ParseType(fields["type"])
	if err != nil {
		return Parked{}, fmt.Errorf("read parked copy %q: %w", text, err)
	}
	value, err := record.ParseValue(kind, fields["value"])
	if err != nil {
		return Parked{}, fmt.Errorf("read parked copy %q: %w", text, err)
	}
	seconds, err := strconv.ParseUint(fields["ttl"], 10, 31)
	if err != nil {
		return Parked{}, fmt.Errorf("read parked copy %q: ttl: %w", text, err)
	}
	parked := Parked{Type: kind, Value: value, TTL: time.Duration(seconds) * time.Second}
	for key, value := range fields {
		switch key {
		case "v", "type", "value", "ttl":
		default:
			if parked.Extra == nil {
				parked.Extra = map[string]string{}
			}
			parked.Extra[key] = value
		}
	}
	return parked, nil
}
