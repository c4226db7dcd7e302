// Package hetznertest is a fake of the part of Hetzner's DNS API that
// providers/hetzner and github.com/libdns/hetzner use, for tests: records by id,
// values kept byte for byte as they were given, several records of one name and
// type side by side.
//
// It follows the vendor's description of API version 1: a list without a page
// has every record, zones by name are none or one. Not described, and so a
// guess: that a second record of the same name, type and value is refused with
// 422.
package hetznertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// Token is the credential that the fake takes.
const Token = "hetzner-token"

const zoneID = "zone-1"

// Fake is one account with one zone.
type Fake struct {
	httpfake.Journal

	Server *httpfake.Server

	zone    string
	mu      sync.Mutex
	records []row
	next    int
}

// row is a record as the API has it. The name is relative, "@" at the apex.
type row struct {
	ID     string `json:"id"`
	ZoneID string `json:"zone_id"`
	Type   string `json:"type"`
	Name   string `json:"name"`
	Value  string `json:"value"`
	TTL    int    `json:"ttl,omitempty"`
}

// Start runs the fake until the test ends, and sends there what this process
// sends to dns.hetzner.com.
func Start(t providertest.TB, zone string) *Fake {
	f := &Fake{zone: strings.TrimSuffix(zone, ".")}
	f.insert(row{Type: "SOA", Name: "@", Value: "hydrogen.ns.example. dns.example. 1 86400 10800 3600000 3600"})
	f.insert(row{Type: "NS", Name: "@", Value: "hydrogen.ns.example."})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/zones", f.zones)
	mux.HandleFunc("GET /api/v1/records", f.list)
	mux.HandleFunc("POST /api/v1/records", f.create)
	mux.HandleFunc("PUT /api/v1/records/{id}", f.update)
	mux.HandleFunc("DELETE /api/v1/records/{id}", f.remove)
	f.Server = httpfake.Start(f.authorised(mux))
	f.Server.Redirect(t, "dns.hetzner.com")
	t.Cleanup(f.Server.Close)
	return f
}

// Keys are the zone's keys in a config, a line each. The module knows no other
// address than the vendor's: only a sidestep in this process reaches the fake.
func (f *Fake) Keys() string { return fmt.Sprintf("provider: hetzner\napi_token: %s\n", Token) }

// Attributes lists every record with all but its id, sorted.
func (f *Fake) Attributes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, r := range f.records {
		lines = append(lines, r.attributes())
	}
	slices.Sort(lines)
	return lines
}

// attributes is the record without its ids.
func (r row) attributes() string {
	return fmt.Sprintf("%s %s %s ttl=%d", r.Name, r.Type, r.Value, r.TTL)
}

func (f *Fake) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Auth-API-Token") != Token {
			httpfake.JSON(w, http.StatusUnauthorized, map[string]string{"message": "Invalid authentication credentials"})
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (f *Fake) zones(w http.ResponseWriter, r *http.Request) {
	zones := []map[string]string{}
	if r.URL.Query().Get("name") == f.zone {
		zones = append(zones, map[string]string{"id": zoneID, "name": f.zone})
	}
	httpfake.JSON(w, http.StatusOK, map[string]any{"zones": zones})
}

func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("zone_id") != zoneID {
		refuse(w, http.StatusNotFound, "zone not found")
		return
	}
	httpfake.JSON(w, http.StatusOK, map[string]any{"records": f.records})
}

func (f *Fake) create(w http.ResponseWriter, r *http.Request) {
	in, ok := f.read(w, r)
	if !ok {
		return
	}
	if slices.ContainsFunc(f.records, func(o row) bool { return o.Name == in.Name && o.Type == in.Type && o.Value == in.Value }) {
		refuse(w, http.StatusUnprocessableEntity, "record already exists")
		return
	}
	made := f.insert(in)
	f.Note("create " + made.attributes())
	httpfake.JSON(w, http.StatusOK, map[string]any{"record": made})
}

func (f *Fake) update(w http.ResponseWriter, r *http.Request) {
	i := f.index(r.PathValue("id"))
	if i < 0 {
		refuse(w, http.StatusNotFound, "record not found")
		return
	}
	in, ok := f.read(w, r)
	if !ok {
		return
	}
	in.ID = f.records[i].ID
	f.records = slices.Clone(f.records)
	f.records[i] = in
	f.Note("update " + in.attributes())
	httpfake.JSON(w, http.StatusOK, map[string]any{"record": in})
}

func (f *Fake) remove(w http.ResponseWriter, r *http.Request) {
	i := f.index(r.PathValue("id"))
	if i < 0 {
		refuse(w, http.StatusNotFound, "record not found")
		return
	}
	f.Note("delete " + f.records[i].attributes())
	f.records = slices.Delete(f.records, i, i+1)
	httpfake.JSON(w, http.StatusOK, map[string]any{})
}

// types are those that the API's description names.
var types = []string{"A", "AAAA", "NS", "MX", "CNAME", "RP", "TXT", "SOA", "HINFO", "SRV", "DANE", "TLSA", "DS", "CAA"}

func (f *Fake) read(w http.ResponseWriter, r *http.Request) (row, bool) {
	var in row
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	switch {
	case err != nil || in.ZoneID != zoneID || in.Name == "" || in.Value == "" || strings.HasSuffix(in.Name, "."):
		refuse(w, http.StatusUnprocessableEntity, "invalid record")
	case !slices.Contains(types, in.Type):
		refuse(w, http.StatusUnprocessableEntity, "invalid type")
	default:
		return in, true
	}
	return in, false
}

func (f *Fake) insert(r row) row {
	f.next++
	r.ID, r.ZoneID = strconv.Itoa(f.next), zoneID
	f.records = append(f.records, r)
	return r
}

func (f *Fake) index(id string) int {
	return slices.IndexFunc(f.records, func(r row) bool { return r.ID == id })
}

func refuse(w http.ResponseWriter, status int, message string) {
	httpfake.JSON(w, status, map[string]any{"error": map[string]any{"message": message, "code": status}})
}

// Hand is an operator at the console. More makes a further adapter.
func (f *Fake) Hand(more func() provider.Adapter) providertest.Hand {
	return &hand{f, more, providertest.Names{Zone: f.zone, Apex: "@"}}
}

type hand struct {
	*Fake

	more  func() provider.Adapter
	names providertest.Names
}

func (h *hand) Another() provider.Adapter { return h.more() }

// Live is what resolvers are answered with.
func (h *hand) Live(key record.Key) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var values []string
	for _, r := range h.records {
		value, err := record.ParseValue(key.Type, r.Value)
		if err == nil && h.names.Absolute(r.Name) == string(key.Name) && r.Type == string(key.Type) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Put adds a record. A TXT is kept in the quotes that it is written with.
func (h *hand) Put(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.insert(row{Type: rr.Type, Name: h.names.Relative(rr.Name), Value: rr.Data, TTL: int(rr.TTL / time.Second)})
}

// Remove deletes a record.
func (h *hand) Remove(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = slices.DeleteFunc(h.records, func(r row) bool {
		return strings.EqualFold(r.Name, h.names.Relative(rr.Name)) && r.Type == rr.Type && r.Value == rr.Data
	})
}

// Dump lists every record.
func (h *hand) Dump() []providertest.RR {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rrs []providertest.RR
	for _, r := range h.records {
		rrs = append(rrs, providertest.RR{Name: h.names.Absolute(r.Name), Type: r.Type, TTL: time.Duration(r.TTL) * time.Second, Data: r.Value})
	}
	return rrs
}

// Fault arms a fault for the next request of its kind.
func (h *hand) Fault(fault providertest.Fault) bool {
	armed, match, ok := faultOf(fault)
	if ok {
		h.Server.Arm(match, 0, armed)
	}
	return ok
}

func reads(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/api/v1/records"
}
func writes(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet }

func faultOf(fault providertest.Fault) (httpfake.Fault, httpfake.Match, bool) {
	refusal := func(status int) httpfake.Fault {
		return httpfake.Fault{Name: string(fault), Status: status, Body: fmt.Sprintf(`{"message":%q}`, http.StatusText(status))}
	}
	switch fault {
	case providertest.ThrottledRead:
		return refusal(http.StatusTooManyRequests), reads, true
	case providertest.ThrottledWrite:
		return refusal(http.StatusTooManyRequests), writes, true
	case providertest.RefusedRead:
		return refusal(http.StatusUnauthorized), reads, true
	case providertest.RefusedWrite:
		return refusal(http.StatusForbidden), writes, true
	case providertest.CutList:
		return httpfake.Fault{Status: http.StatusOK, Body: `{"records":[{"id":"1","type":"A"`}, reads, true
	case providertest.EmptyList:
		return httpfake.Fault{Status: http.StatusOK, Body: `{"records":[]}`}, reads, true
	case providertest.HangRead:
		return httpfake.Fault{Hang: true}, reads, true
	case providertest.HangWrite:
		return httpfake.Fault{Hang: true}, writes, true
	case providertest.LostReply:
		return httpfake.Fault{Apply: true, Drop: true}, writes, true
	case providertest.LostRequest:
		return httpfake.Fault{Drop: true}, writes, true
	}
	return httpfake.Fault{}, nil, false
}
