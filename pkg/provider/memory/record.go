package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Record is one record of the zone, whatever its type.
type Record struct {
	ID       int    // never used twice
	Name     string // as it was typed
	Type     string
	TTL      time.Duration
	Value    string // as it was typed; of TXT the joined bytes
	Weight   int
	Variant  string // the line that the record answers; empty for the default one
	Disabled bool   // a status flag keeps it out of the answer
	Marked   bool   // and the flag was set by sidestep, as the record's remark says

	name  record.Name // canonical, empty when the name is none
	value string      // canonical where the type has a canonical form
}

// String is the record as a line of a zone file, for failures of tests.
func (r Record) String() string {
	text := fmt.Sprintf("%s %d %s %q", r.Name, int(r.TTL/time.Second), r.Type, r.Value)
	if r.Variant != "" {
		text += " on line " + r.Variant
	}
	if r.Disabled {
		text += " disabled"
	}
	return text
}

// canonical fills in what the zone compares by. A name or value that has no
// canonical form keeps its record out of every set, and out of nothing else.
func (r Record) canonical() Record {
	r.name, r.value = "", r.Value
	if name, err := record.ParseName(r.Name); err == nil {
		r.name = name
	}
	if !r.steered() {
		return r
	}
	value, err := record.ParseValue(record.Type(r.Type), r.Value)
	if err != nil {
		r.name = ""
		return r
	}
	r.value = value
	return r
}

// steered reports whether the record's type is one that can be an answer.
func (r Record) steered() bool {
	_, err := record.ParseType(r.Type)
	return err == nil && r.Type == strings.ToUpper(r.Type)
}

// in reports whether the record belongs to a set.
func (r Record) in(key record.Key) bool { return r.at(key.Name, key.Type) && r.Variant == key.Variant }

// at reports whether the record is of a name and a type.
func (r Record) at(name record.Name, t record.Type) bool {
	return r.name == name && r.Type == string(t)
}

// state is the zone at one moment. Its records are never changed in place, so
// that a copy of the struct is a copy of the zone.
type state struct {
	records []Record // in the order in which they came
	nextID  int
	serial  int
	blind   bool // conditions are not compared
	grows   bool // records is a copy of this change's own, and may grow in place
}

// set lists the records of a set, in the order in which they came.
func (s state) set(key record.Key) []Record {
	var set []Record
	for _, r := range s.records {
		if r.in(key) {
			set = append(set, r)
		}
	}
	return set
}

func (s state) byID(id int) (Record, bool) {
	i := slices.IndexFunc(s.records, func(r Record) bool { return r.ID == id })
	if i < 0 {
		return Record{}, false
	}
	return s.records[i], true
}

// insert adds a record under a new id.
func (s *state) insert(r Record) {
	s.nextID++
	r.ID = s.nextID
	if !s.grows {
		s.records, s.grows = slices.Clone(s.records), true
	}
	s.records = append(s.records, r.canonical())
}

// update replaces the record of the same id.
func (s *state) update(r Record) {
	s.records = slices.Clone(s.records)
	for i := range s.records {
		if s.records[i].ID == r.ID {
			s.records[i] = r.canonical()
		}
	}
}

func (s *state) remove(match func(Record) bool) {
	s.records = slices.DeleteFunc(slices.Clone(s.records), match)
}

// replace puts a set in the place of the one that is there. Records with an id
// keep it.
func (s *state) replace(key record.Key, set []Record) {
	s.remove(func(r Record) bool { return r.in(key) })
	for _, r := range set {
		if r.ID != 0 {
			s.records = append(s.records, r.canonical())
			continue
		}
		s.insert(r)
	}
}

// need is a condition that the provider compares when the call takes effect.
func (s *state) need(holds bool, class provider.Class, code, format string, args ...any) error {
	if holds || s.blind {
		return nil
	}
	return provider.Failf(class, "write", code, format, args...)
}

// text is one TXT record.
func text(name record.Name, ttl time.Duration, value string) Record {
	return Record{Name: string(name), Type: string(record.TXT), TTL: ttl, Value: value}
}

// answer is one record of a steered set.
func answer(key record.Key, c record.Change) Record {
	return Record{Name: string(key.Name), Type: string(key.Type), TTL: c.TTL, Value: c.Value, Weight: c.Weight, Variant: key.Variant}.canonical()
}
