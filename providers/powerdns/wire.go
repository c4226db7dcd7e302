package powerdns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// rrset is a record set as the API has it, read and written.
type rrset struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	TTL      uint32    `json:"ttl"`
	Records  []member  `json:"records"`
	Comments []comment `json:"comments"`
}

// member is one record of a set, in presentation form: "192.0.2.1", `"a text"`.
type member struct {
	Content  string `json:"content"`
	Disabled bool   `json:"disabled"`
}

type comment struct {
	Content  string `json:"content"`
	Account  string `json:"account"`
	Modified int64  `json:"modified_at,omitempty"` // Unix time; the server's own when it is left out
}

// patch is one set of a PATCH. Records or Comments that are nil stay what they are
// in the zone; those that are there replace all.
type patch struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	TTL        *uint32    `json:"ttl,omitempty"` // with Records only
	ChangeType string     `json:"changetype"`
	Records    *[]member  `json:"records,omitempty"`
	Comments   *[]comment `json:"comments,omitempty"`
}

// head is what the answer says of the zone beside its record sets.
type head struct {
	Name       string
	Kind       string
	Serial     uint64
	DNSSEC     bool
	APIRectify bool
	SOAEditAPI string
}

// copied are the kinds of zones whose content comes from another server: what is
// written to them is gone with the next transfer.
var copied = []string{"slave", "secondary", "consumer"}

func (h head) copied() bool { return slices.Contains(copied, strings.ToLower(h.Kind)) }

// readZone reads one zone as it comes, and hands out its sets one after the other.
// A set of a shape that is not the API's is handed to broken with whatever could be
// read of it, and does not end the reading.
func readZone(body io.Reader, visit func(rrset), broken func(rrset, error)) (head, error) {
	var h head
	d := json.NewDecoder(body)
	if err := expect(d, '{'); err != nil {
		return h, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return h, err
		}
		switch key {
		case "rrsets":
			err = readSets(d, visit, broken)
		case "name":
			err = d.Decode(&h.Name)
		case "kind":
			err = d.Decode(&h.Kind)
		case "serial":
			err = d.Decode(&h.Serial)
		case "dnssec":
			err = d.Decode(&h.DNSSEC)
		case "api_rectify":
			err = d.Decode(&h.APIRectify)
		case "soa_edit_api":
			err = d.Decode(&h.SOAEditAPI)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return h, fmt.Errorf("field %v: %w", key, err)
		}
	}
	return h, expect(d, '}')
}

func readSets(d *json.Decoder, visit func(rrset), broken func(rrset, error)) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	for d.More() {
		var set rrset
		var odd *json.UnmarshalTypeError
		err := d.Decode(&set)
		switch {
		case err == nil:
			visit(set)
		case errors.As(err, &odd): // the value was read to its end all the same
			broken(set, odd)
		default:
			return err
		}
	}
	return expect(d, ']')
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("expected %v, got %v", want, token)
	}
	return nil
}
