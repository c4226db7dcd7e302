package powerdnstest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// row is one record as the database has it.
type row struct {
	name, kind, ttl, content string
	disabled                 bool
}

// String is the row as a line.
func (r row) String() string {
	content := r.content
	if fields := strings.Fields(content); r.kind == "SOA" && len(fields) > 2 {
		fields[2] = "SERIAL"
		content = strings.Join(fields, " ")
	}
	line := r.name + " " + r.ttl + " " + r.kind + " " + content
	if r.disabled {
		line += " disabled"
	}
	return line
}

func (f *Fake) rows() []row {
	var rows []row
	for _, line := range f.sql("SELECT name, type, ttl, coalesce(prio, 0), disabled, content FROM records WHERE type IS NOT NULL") {
		columns := strings.SplitN(line, "\t", 6)
		if len(columns) != 6 {
			f.t.Errorf("read a row of the database: %q", line)
			continue
		}
		r := row{name: columns[0] + ".", kind: columns[1], ttl: columns[2], content: columns[5], disabled: columns[4] == "1"}
		if r.kind == "MX" || r.kind == "SRV" {
			r.content = columns[3] + " " + r.content
		}
		rows = append(rows, r)
	}
	return rows
}

// text is a string of SQL.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// stored is data as PowerDNS keeps it: names in it without their final dot, the
// priority in a column of its own.
func stored(kind, data string) (prio, content string) {
	prio, content = "0", data
	if kind == "MX" || kind == "SRV" {
		prio, content, _ = strings.Cut(data, " ")
	}
	switch kind {
	case "CNAME", "NS", "MX", "SRV", "ALIAS":
		content = strings.TrimSuffix(content, ".")
	}
	return prio, content
}

// Hand is the operator of the zone. another makes a further adapter to it.
func (f *Fake) Hand(t providertest.TB, another func() provider.Adapter) *Hand {
	return &Hand{fake: f, t: t, another: another}
}

// Hand edits the server's database and asks the server over the DNS.
type Hand struct {
	fake    *Fake
	t       providertest.TB
	another func() provider.Adapter
}

var (
	_ providertest.Hand   = (*Hand)(nil)
	_ providertest.Faulty = (*Hand)(nil)
)

// Live asks the server over the DNS.
func (h *Hand) Live(key record.Key) []string {
	h.t.Helper()
	// A request may be looked at while its test ends, and with it the test's context.
	answer, err := insist(context.WithoutCancel(h.t.Context()), h.fake.Real.Addr, string(key.Name), dns.StringToType[string(key.Type)])
	if err != nil {
		h.t.Fatalf("%v", err)
	}
	var values []string
	for _, rr := range answer {
		value, err := record.ParseValue(key.Type, strings.TrimPrefix(rr.String(), rr.Header().String()))
		if err != nil {
			h.t.Fatalf("%v", err)
		}
		values = append(values, value)
	}
	slices.Sort(values)
	return values
}

// Put inserts a record. PowerDNS wants names in small letters in its database.
func (h *Hand) Put(rr providertest.RR) {
	h.t.Helper()
	prio, content := stored(rr.Type, rr.Data)
	name, ttl := text(strings.TrimSuffix(strings.ToLower(rr.Name), ".")), int(rr.TTL/time.Second)
	h.fake.SQL(fmt.Sprintf("INSERT INTO records(domain_id,name,type,content,ttl,prio,disabled,auth) SELECT id,%s,%s,%s,%d,%s,0,1 FROM domains; UPDATE records SET ttl=%d WHERE name=%s AND type=%s",
		name, text(rr.Type), text(content), ttl, prio, ttl, name, text(rr.Type)))
}

// Remove deletes the live record.
func (h *Hand) Remove(rr providertest.RR) {
	h.t.Helper()
	_, content := stored(rr.Type, rr.Data)
	h.fake.SQL(fmt.Sprintf("DELETE FROM records WHERE name=%s AND type=%s AND content=%s AND disabled=0",
		text(strings.TrimSuffix(strings.ToLower(rr.Name), ".")), text(rr.Type), text(content)))
}

// Dump reads the database. What is disabled says so in its data.
func (h *Hand) Dump() []providertest.RR {
	h.t.Helper()
	var rrs []providertest.RR
	for _, r := range h.fake.rows() {
		ttl, err := strconv.Atoi(r.ttl)
		if err != nil {
			h.t.Fatalf("read the TTL of %v: %v", r, err)
		}
		rr := providertest.RR{Name: strings.ToLower(r.name), Type: r.kind, TTL: time.Duration(ttl) * time.Second, Data: r.content}
		if r.disabled {
			rr.Data += " ; disabled"
		}
		rrs = append(rrs, rr)
	}
	return rrs
}

// Another is a further adapter to the zone.
func (h *Hand) Another() provider.Adapter { return h.another() }

// Reads picks the requests that change nothing.
func Reads(r *http.Request, _ []byte) bool { return r.Method == http.MethodGet }

// Writes picks the others.
func Writes(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet }

// Fault arms a fault for the next request of its kind.
func (h *Hand) Fault(fault providertest.Fault) bool {
	throttled := httpfake.Fault{Status: http.StatusTooManyRequests}
	refused := httpfake.Fault{Status: http.StatusUnauthorized, Body: "Unauthorized"}
	begin := fmt.Sprintf(`{"kind": "Native", "name": %q, "rrsets": [`, h.fake.Zone)
	faults := map[providertest.Fault]httpfake.Fault{
		providertest.ThrottledRead:  throttled,
		providertest.CutList:        {Status: http.StatusOK, Body: begin + `{"name": "www`},
		providertest.EmptyList:      {Status: http.StatusOK, Body: begin + `], "serial": 7}`},
		providertest.HangRead:       {Hang: true},
		providertest.RefusedRead:    refused,
		providertest.ThrottledWrite: throttled,
		providertest.RefusedWrite:   refused,
		providertest.HangWrite:      {Hang: true},
		providertest.LostReply:      {Apply: true, Drop: true},
		providertest.LostRequest:    {Drop: true},
	}
	f, found := faults[fault]
	if !found {
		return false
	}
	match := Writes
	if slices.Contains([]providertest.Fault{providertest.ThrottledRead, providertest.CutList, providertest.EmptyList, providertest.HangRead, providertest.RefusedRead}, fault) {
		match = Reads
	}
	f.Name = string(fault)
	h.fake.Arm(match, 0, f)
	return true
}
