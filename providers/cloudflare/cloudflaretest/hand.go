package cloudflaretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// Hand is a person at the dashboard of the fake's zone, and the network between.
type Hand struct {
	fake    *Fake
	tb      TB
	another func() provider.Adapter
}

var (
	_ providertest.Hand   = (*Hand)(nil)
	_ providertest.Faulty = (*Hand)(nil)
)

// Hand makes one; another makes a further adapter to the zone.
func (f *Fake) Hand(tb TB, another func() provider.Adapter) *Hand { return &Hand{f, tb, another} }

// Another is a further adapter to the same zone.
func (h *Hand) Another() provider.Adapter { return h.another() }

// Put adds a record, as it is written in a zone file.
func (h *Hand) Put(rr providertest.RR) {
	h.tb.Helper()
	h.fake.Put(h.tb, h.parse(rr))
}

// Remove deletes the record of a name, type and data.
func (h *Hand) Remove(rr providertest.RR) {
	h.tb.Helper()
	want := h.parse(rr)
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	z := h.fake.zones[0]
	if want.TTL < z.plan.MinTTL {
		want.TTL = 1 // it is not compared
	}
	if failed := z.normal(&want); failed != nil {
		h.tb.Fatalf("remove %v: %v", rr, failed)
	}
	tx := h.fake.begin(z)
	for _, r := range z.records {
		if r.Name == want.Name && r.Type == want.Type && r.Content == want.Content {
			if _, failed := tx.remove(r.ID); failed != nil {
				h.tb.Fatalf("remove %v: %v", rr, failed)
			}
		}
	}
	tx.commit("hand")
}

// parse reads a record's data as a zone file has it.
func (h *Hand) parse(rr providertest.RR) Record {
	h.tb.Helper()
	r := Record{Name: rr.Name, Type: rr.Type, TTL: int(rr.TTL / time.Second), Content: rr.Data}
	words := strings.Fields(rr.Data)
	number := func(i int) float64 {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			h.tb.Fatalf("%v: %v", rr, err)
		}
		return float64(n)
	}
	data := map[string]any{}
	switch rr.Type {
	case "MX":
		priority := number(0)
		r.Priority, r.Content = &priority, words[1]
	case "SRV":
		data = map[string]any{"priority": number(0), "weight": number(1), "port": number(2), "target": strings.TrimSuffix(words[3], ".")}
	case "CAA":
		data = map[string]any{"flags": number(0), "tag": words[1], "value": strings.Trim(words[2], `"`)}
	case "HTTPS", "SVCB":
		data = map[string]any{"priority": number(0), "target": words[1], "value": strings.Join(words[2:], " ")}
	}
	if len(data) > 0 {
		text, err := json.Marshal(data)
		if err != nil {
			h.tb.Fatalf("%v: %v", rr, err)
		}
		r.Content, r.Data = "", string(text)
	}
	return r
}

// Dump lists the zone as a zone file has it.
func (h *Hand) Dump() []providertest.RR {
	var rrs []providertest.RR
	for _, r := range h.fake.Records() {
		if r.raw == "" {
			rrs = append(rrs, providertest.RR{Name: r.Name + ".", Type: r.Type, TTL: time.Duration(r.TTL) * time.Second, Data: shown(r)})
		}
	}
	return rrs
}

func shown(r Record) string {
	switch r.Type {
	case "CNAME", "NS":
		return r.Content + "."
	case "MX":
		return fmt.Sprintf("%v %s.", *r.Priority, r.Content)
	case "SRV":
		return fmt.Sprintf("%v %s.", *r.Priority, r.Content)
	}
	return r.Content
}

// Live is what a name server of the zone answers with (RFC 1034 section 4.3.2,
// RFC 4592 for wildcards).
func (h *Hand) Live(key record.Key) []string {
	records := h.fake.Records()
	name := key.Name.Unrooted()
	for !exists(records, name) {
		_, parent, found := strings.Cut(name, ".")
		if !found {
			return nil
		}
		if exists(records, parent) || parent == h.fake.zones[0].name {
			name = "*." + parent
			break
		}
		name = parent
	}
	var values []string
	for _, r := range records {
		if r.Name == name && r.Type == string(key.Type) {
			value, err := record.ParseValue(key.Type, r.Content)
			if err == nil {
				values = append(values, value)
			}
		}
	}
	slices.Sort(values)
	return values
}

// exists reports whether a name has records, or one below it has.
func exists(records []Record, name string) bool {
	return slices.ContainsFunc(records, func(r Record) bool { return r.Name == name || strings.HasSuffix(r.Name, "."+name) })
}

// IsList picks the requests that read records, IsWrite those that change some.
func IsList(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/dns_records")
}

// IsWrite picks the requests that would change the zone.
func IsWrite(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet }

// Fault arms one fault for the next request of its kind.
func (h *Hand) Fault(fault providertest.Fault) bool {
	match := IsWrite
	switch fault {
	case providertest.ThrottledRead, providertest.CutList, providertest.EmptyList, providertest.HangRead, providertest.RefusedRead:
		match = IsList
	}
	h.fake.Server.Arm(match, 0, h.fake.fault(fault))
	return true
}

func (f *Fake) fault(fault providertest.Fault) httpfake.Fault {
	switch fault {
	case providertest.ThrottledRead, providertest.ThrottledWrite:
		return Throttled("1")
	case providertest.RefusedRead, providertest.RefusedWrite:
		return f.refusal(refuse(http.StatusForbidden, 10000, "Authentication error"))
	case providertest.CutList:
		whole := f.page()
		return httpfake.Fault{Name: "cut", Status: http.StatusOK, Body: string(whole[:len(whole)/2])}
	case providertest.EmptyList:
		return f.ShortList(0)
	case providertest.HangRead, providertest.HangWrite:
		return httpfake.Fault{Name: "hang", Hang: true}
	case providertest.LostReply:
		return httpfake.Fault{Name: "lost-reply", Apply: true, Drop: true}
	default:
		return httpfake.Fault{Name: "lost-request", Drop: true}
	}
}

// Throttled is the answer to one request too many; after is its Retry-After
// header, none when empty.
func Throttled(after string) httpfake.Fault {
	failed := refuse(http.StatusTooManyRequests, 971, "Please wait and consider throttling your request speed")
	fault := httpfake.Fault{Name: "throttled", Status: failed.status, Body: string(failed.body())}
	if after != "" {
		fault.Header = http.Header{"Retry-After": {after}}
	}
	return fault
}

// Refusal is an answer with an error of the API, for those that no rule of the
// fake raises.
func (f *Fake) Refusal(status, code int, message string) httpfake.Fault {
	return f.refusal(refuse(status, code, message))
}

func (f *Fake) refusal(failed *apiError) httpfake.Fault {
	return httpfake.Fault{Name: strconv.Itoa(failed.code), Status: failed.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: string(failed.body())}
}

// ShortList is a list of the zone as it is now that has only its first n records
// and yet tells how many there are.
func (f *Fake) ShortList(n int) httpfake.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := paged(f.zones[0].records, 1, maxPage)
	out.Result, out.ResultInfo.Count = f.zones[0].records[:n], n
	if n == 0 {
		out.Result = []*Record{}
	}
	return httpfake.Fault{Name: "short", Status: http.StatusOK, Body: string(out.marshal())}
}

// page is the whole zone as the list has it.
func (f *Fake) page() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(paged(f.zones[0].records, 1, maxPage).marshal())
}

// ListBody is the answer to a list of the whole zone.
func (f *Fake) ListBody() []byte { return f.page() }
