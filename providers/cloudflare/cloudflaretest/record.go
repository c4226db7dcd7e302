package cloudflaretest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record is one record with what the API keeps of it.
type Record struct {
	ID             string
	Name           string // complete, without the final dot, lower case
	Type           string
	Content        string
	TTL            int // seconds; 1 is automatic
	Proxied        bool
	PrivateRouting bool
	Comment        string
	Tags           []string
	Settings       string // JSON; empty for none
	Priority       *float64
	Data           string // JSON; empty for none

	raw     string // the record itself, where it breaks the rules
	made    int
	changed int
}

// moment is a time that does not depend on the clock.
func moment(n int) string {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second).Format(time.RFC3339)
}

// newID makes one that looks like the vendor's and never comes again.
func (f *Fake) newID() string {
	f.ids++
	sum := sha256.Sum256(fmt.Appendf(nil, "id %d", f.ids))
	return hex.EncodeToString(sum[:16])
}

// MarshalJSON is the record in an answer of the API.
func (r *Record) MarshalJSON() ([]byte, error) {
	if r.raw != "" {
		return []byte(strings.Replace(r.raw, "{", `{"id":"`+r.ID+`",`, 1)), nil
	}
	out := struct {
		ID                string          `json:"id"`
		Name              string          `json:"name"`
		Type              string          `json:"type"`
		Content           string          `json:"content"`
		Priority          *float64        `json:"priority,omitempty"`
		Proxiable         bool            `json:"proxiable"`
		Proxied           bool            `json:"proxied"`
		PrivateRouting    bool            `json:"private_routing,omitempty"`
		TTL               int             `json:"ttl"`
		Data              json.RawMessage `json:"data,omitempty"`
		Settings          json.RawMessage `json:"settings"`
		Meta              struct{}        `json:"meta"`
		Comment           *string         `json:"comment"`
		Tags              []string        `json:"tags"`
		CreatedOn         string          `json:"created_on"`
		ModifiedOn        string          `json:"modified_on"`
		CommentModifiedOn string          `json:"comment_modified_on,omitempty"`
	}{
		ID: r.ID, Name: r.Name, Type: r.Type, Content: r.Content, Priority: r.Priority, Proxiable: proxiable(r.Type), Proxied: r.Proxied,
		PrivateRouting: r.PrivateRouting, TTL: r.TTL, Data: json.RawMessage(r.Data), Settings: json.RawMessage("{}"), Tags: []string{},
		CreatedOn: moment(r.made), ModifiedOn: moment(r.changed),
	}
	if r.Settings != "" {
		out.Settings = json.RawMessage(r.Settings)
	}
	if r.Comment != "" {
		out.Comment, out.CommentModifiedOn = &r.Comment, moment(r.made)
	}
	if r.Tags != nil {
		out.Tags = r.Tags
	}
	return json.Marshal(out)
}

func proxiable(kind string) bool { return kind == "A" || kind == "AAAA" || kind == "CNAME" }

// attributes is the record without its id and times.
func (r *Record) attributes() string {
	if r.raw != "" {
		return r.raw
	}
	text := fmt.Sprintf("%s %s %q ttl=%d proxied=%v private_routing=%v comment=%q tags=%q settings=%s", r.Name, r.Type, r.Content, r.TTL, r.Proxied, r.PrivateRouting, r.Comment, r.Tags, r.Settings)
	if r.Priority != nil {
		text += fmt.Sprintf(" priority=%v", *r.Priority)
	}
	if r.Data != "" {
		text += " data=" + r.Data
	}
	return text
}

// fields are what a client may send of a record. What is nil was not sent.
type fields struct {
	ID             *string          `json:"id"`
	Name           *string          `json:"name"`
	Type           *string          `json:"type"`
	Content        *string          `json:"content"`
	TTL            *float64         `json:"ttl"`
	Proxied        *bool            `json:"proxied"`
	PrivateRouting *bool            `json:"private_routing"`
	Comment        *string          `json:"comment"`
	Tags           *[]string        `json:"tags"`
	Settings       *json.RawMessage `json:"settings"`
	Priority       *float64         `json:"priority"`
	Data           *json.RawMessage `json:"data"`
}

// fieldsOf sends a record whole.
func fieldsOf(r Record) fields {
	ttl := float64(r.TTL)
	f := fields{Name: &r.Name, Type: &r.Type, Content: &r.Content, TTL: &ttl, Proxied: &r.Proxied, PrivateRouting: &r.PrivateRouting, Comment: &r.Comment, Tags: &r.Tags, Priority: r.Priority}
	if r.Settings != "" {
		raw := json.RawMessage(r.Settings)
		f.Settings = &raw
	}
	if r.Data != "" {
		raw := json.RawMessage(r.Data)
		f.Data = &raw
	}
	return f
}

// onto gives a record what was sent.
func (f fields) onto(r *Record) *apiError {
	set(&r.Name, f.Name)
	set(&r.Type, f.Type)
	set(&r.Content, f.Content)
	set(&r.Proxied, f.Proxied)
	set(&r.PrivateRouting, f.PrivateRouting)
	set(&r.Comment, f.Comment)
	if f.Tags != nil {
		r.Tags = slices.Clone(*f.Tags)
	}
	if f.Priority != nil {
		r.Priority = f.Priority
	}
	if f.TTL != nil {
		r.TTL = int(*f.TTL)
		if float64(r.TTL) != *f.TTL {
			return invalid(9021, "Invalid TTL. Must be a whole number.")
		}
	}
	if f.Data != nil {
		r.Data = compact(*f.Data)
	}
	if f.Settings != nil {
		r.Settings = compact(*f.Settings)
		return settingsAreKnown(r)
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if string(raw) == "null" || json.Compact(&out, raw) != nil || out.String() == "{}" {
		return ""
	}
	return out.String()
}

func settingsAreKnown(r *Record) *apiError {
	if r.Settings == "" {
		return nil
	}
	var known struct {
		IPv4Only     *bool `json:"ipv4_only"`
		IPv6Only     *bool `json:"ipv6_only"`
		FlattenCNAME *bool `json:"flatten_cname"`
	}
	decoder := json.NewDecoder(strings.NewReader(r.Settings))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&known); err != nil {
		return badBody(err)
	}
	if known.FlattenCNAME != nil && r.Type != "CNAME" {
		return invalid(9207, "flatten_cname is a setting of CNAME records.")
	}
	return nil
}
