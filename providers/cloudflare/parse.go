package cloudflare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// wire is one record as the API has it. What it has none of is empty.
type wire struct {
	ID, Name, Type, Content string
	TTL                     int // seconds; 1 is automatic
	Proxied                 bool
	Private                 bool // private_routing
	Comment                 string
	Tags, Settings, Data    string // JSON
	Priority                string // JSON
	odd                     string // the first field that is not what it should be
}

// parser reads the answer to a list of records.
type parser struct {
	*scanner
	each func(*wire) // the record is the parser's own, and the next one's after the call
	head []byte
	now  wire

	count    int
	listed   bool // there was a result that is a list
	success  bool
	errors   []apiError
	info     *pageInfo
	repeated bool // something that can be there once was there twice
}

func newParser(in io.Reader, each func(*wire)) *parser {
	return &parser{scanner: newScanner(in), each: each}
}

// excerpt is as much of an answer as tells a page for people.
const excerpt = 120

// beginning is how the answer starts, for people.
func (p *parser) beginning() []byte { return p.head }

// run reads an answer to its end.
func (p *parser) run() error {
	p.head, _ = p.in.Peek(excerpt) // an error comes again with the first read
	p.head = append([]byte(nil), p.head...)
	if err := p.members('{', p.field); err != nil {
		return fmt.Errorf("read the list after %d records: %w", p.count, err)
	}
	return p.end()
}

func (p *parser) field(key string) error {
	c, err := p.next()
	if err != nil {
		return err
	}
	switch {
	case key == "result" && c == '[':
		p.repeated, p.listed = p.repeated || p.listed, true
		return p.members('[', func(string) error { return p.record() })
	case key == "success":
		return p.into(&p.success)
	case key == "errors":
		return p.into(&p.errors)
	case key == "result_info":
		p.repeated = p.repeated || p.info != nil
		return p.into(&p.info)
	}
	_, err = p.value()
	return err
}

func (p *parser) into(to any) error {
	raw, err := p.value()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// whole sees that what was read is the whole list: an answer that can be taken
// for an empty zone, or for a smaller one, is none.
func (p *parser) whole() error {
	switch {
	case p.repeated:
		return errors.New("a field came twice")
	case !p.listed:
		return errors.New("success without a list of records")
	case p.info == nil || p.info.TotalCount == nil:
		return errors.New("result_info.total_count is missing: nothing says that the list is whole")
	case *p.info.TotalCount != p.count:
		return fmt.Errorf("the list has %d records, result_info.total_count says %d", p.count, *p.info.TotalCount)
	case p.info.Count != nil && *p.info.Count != p.count:
		return fmt.Errorf("the list has %d records, result_info.count says %d", p.count, *p.info.Count)
	}
	return nil
}

// record reads one item of the list. One that is no record is handed over like
// the others, so that it is told of.
func (p *parser) record() error {
	p.count++
	p.now = wire{}
	r := &p.now
	c, err := p.next()
	if err != nil {
		return err
	}
	if c != '{' {
		if _, err := p.value(); err != nil {
			return err
		}
		r.odd = "it is no object"
	} else if err := p.members('{', func(key string) error { return p.attribute(r, key) }); err != nil {
		return err
	}
	p.each(r)
	return nil
}

func (p *parser) attribute(r *wire, key string) error {
	switch key {
	case "id":
		return p.string(r, key, &r.ID)
	case "name":
		return p.string(r, key, &r.Name)
	case "type":
		return p.string(r, key, &r.Type)
	case "content":
		return p.string(r, key, &r.Content)
	case "comment":
		return p.string(r, key, &r.Comment)
	case "ttl":
		return p.whole32(r, key, &r.TTL)
	case "proxied":
		return p.bool(r, key, &r.Proxied)
	case "private_routing":
		return p.bool(r, key, &r.Private)
	case "tags":
		return p.raw(&r.Tags)
	case "settings":
		return p.raw(&r.Settings)
	case "data":
		return p.raw(&r.Data)
	case "priority":
		return p.raw(&r.Priority)
	}
	_, err := p.value()
	return err
}

// string takes a text; null is none.
func (p *parser) string(r *wire, key string, to *string) error {
	c, err := p.next()
	if err != nil {
		return err
	}
	if c == '"' {
		*to, err = p.text()
		return err
	}
	raw, err := p.value()
	if err == nil && string(raw) != "null" {
		r.strange(key, raw)
	}
	return err
}

func (p *parser) bool(r *wire, key string, to *bool) error {
	raw, err := p.value()
	switch string(raw) {
	case "true":
		*to = true
	case "false", "null":
	default:
		r.strange(key, raw)
	}
	return err
}

func (p *parser) whole32(r *wire, key string, to *int) error {
	raw, err := p.value()
	if err != nil {
		return err
	}
	if n, bad := strconv.ParseFloat(string(raw), 64); bad == nil && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32 {
		*to = int(n)
		return nil
	}
	r.strange(key, raw)
	return nil
}

func (p *parser) raw(to *string) error {
	raw, err := p.value()
	switch string(raw) {
	case "{}", "[]", "null":
	default:
		*to = string(raw)
	}
	return err
}

func (r *wire) strange(key string, raw []byte) {
	if r.odd == "" {
		r.odd = fmt.Sprintf("%s is %.40s", key, raw)
	}
}
