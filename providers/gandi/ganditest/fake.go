// Package ganditest is a fake of the part of Gandi's LiveDNS API that
// github.com/libdns/gandi uses, for tests: whole record sets by name and type,
// one TTL for each, replaced by PUT.
//
// It is strict where the vendor's documentation is: a set has a TTL of 300
// seconds to 30 days and at least one value, no value twice. Not documented, and
// so a guess: a TXT with blanks and without quotes is refused with 400, because
// what the vendor makes of it would not be the text that was meant; one without
// blanks is kept in quotes.
package ganditest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// Token is the credential that the fake takes.
const Token = "gandi-token"

// Fake is one account with one domain.
type Fake struct {
	httpfake.Journal

	Server *httpfake.Server

	zone string
	mu   sync.Mutex
	sets map[string]set
}

// set is a record set as the API has it. The name is relative, "@" at the apex.
type set struct {
	Name   string   `json:"rrset_name,omitempty"`
	Type   string   `json:"rrset_type,omitempty"`
	TTL    int      `json:"rrset_ttl"`
	Values []string `json:"rrset_values"`
}

func id(name, kind string) string { return strings.ToLower(name) + "/" + kind }

const base = "/v5/livedns/domains/"

// Start runs the fake until the test ends, and sends there what this process
// sends to api.gandi.net.
func Start(t providertest.TB, zone string) *Fake {
	f := &Fake{zone: strings.TrimSuffix(zone, "."), sets: map[string]set{}}
	f.sets[id("@", "NS")] = set{"@", "NS", 10800, []string{"ns-1.gandi.example."}}
	records := base + "{domain}/records"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"{domain}", f.domain)
	mux.HandleFunc("GET "+records, f.list)
	mux.HandleFunc("GET "+records+"/{name}/{type}", f.get)
	mux.HandleFunc("PUT "+records+"/{name}/{type}", f.put)
	mux.HandleFunc("DELETE "+records+"/{name}/{type}", f.remove)
	f.Server = httpfake.Start(f.authorised(mux))
	f.Server.Redirect(t, "api.gandi.net")
	t.Cleanup(f.Server.Close)
	return f
}

// Keys are the zone's keys in a config, a line each. The module knows no other
// address than the vendor's: only a sidestep in this process reaches the fake.
func (f *Fake) Keys() string { return fmt.Sprintf("provider: gandi\napi_token: %s\n", Token) }

// Attributes lists every set with all of it, sorted.
func (f *Fake) Attributes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, s := range f.sets {
		lines = append(lines, s.attributes())
	}
	slices.Sort(lines)
	return lines
}

func (s set) attributes() string {
	return fmt.Sprintf("%s %s %q ttl=%d", s.Name, s.Type, slices.Sorted(slices.Values(s.Values)), s.TTL)
}

func (f *Fake) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, known := strings.CutPrefix(r.URL.Path, base+f.zone)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+Token:
			refuse(w, http.StatusUnauthorized, "HTTPUnauthorized", "The server could not verify that you are authorized")
			return
		case !known || rest != "" && !strings.HasPrefix(rest, "/"):
			refuse(w, http.StatusNotFound, "domain", "The domain doesn't exist")
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (f *Fake) domain(w http.ResponseWriter, _ *http.Request) {
	url := "https://api.gandi.net" + base + f.zone
	httpfake.JSON(w, http.StatusOK, map[string]any{"fqdn": f.zone, "domain_href": url, "domain_records_href": url + "/records"})
}

func (f *Fake) list(w http.ResponseWriter, _ *http.Request) {
	sets := []set{}
	for _, key := range slices.Sorted(maps.Keys(f.sets)) {
		sets = append(sets, f.sets[key])
	}
	httpfake.JSON(w, http.StatusOK, sets)
}

func (f *Fake) get(w http.ResponseWriter, r *http.Request) {
	s, found := f.sets[id(r.PathValue("name"), r.PathValue("type"))]
	if !found {
		refuse(w, http.StatusNotFound, "dns-record", "Can't find the DNS record")
		return
	}
	httpfake.JSON(w, http.StatusOK, s)
}

func (f *Fake) put(w http.ResponseWriter, r *http.Request) {
	var in set
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusBadRequest, "dns-record", "the body is no JSON")
		return
	}
	in.Name, in.Type = r.PathValue("name"), r.PathValue("type")
	values, wrong := checked(in)
	if wrong != "" {
		refuse(w, http.StatusBadRequest, "dns-record", wrong)
		return
	}
	in.Values = values
	f.Note("replace " + in.attributes())
	f.sets[id(in.Name, in.Type)] = in
	httpfake.JSON(w, http.StatusCreated, map[string]string{"message": "DNS Record Created"})
}

var types = []string{
	"A", "AAAA", "ALIAS", "CAA", "CDS", "CNAME", "DNAME", "DS", "KEY", "LOC", "MX", "NAPTR", "NS", "OPENPGPKEY", "PTR", "RP", "SPF",
	"SRV", "SSHFP", "TLSA", "TXT", "WKS", "HTTPS", "SVCB",
}

// checked are a set's values as they are kept.
func checked(in set) (values []string, wrong string) {
	switch {
	case in.TTL < 300 || in.TTL > 2592000:
		return nil, "rrset_ttl: must be between 300 and 2592000"
	case !slices.Contains(types, in.Type):
		return nil, "rrset_type: unknown"
	case len(in.Values) == 0:
		return nil, "rrset_values: this field is required"
	}
	for _, v := range in.Values {
		if in.Type == "TXT" && !strings.HasPrefix(v, `"`) {
			if strings.ContainsAny(v, " \t") {
				return nil, "rrset_values: a text with blanks must be quoted"
			}
			v = `"` + v + `"`
		}
		if slices.Contains(values, v) {
			return nil, "rrset_values: a value is there twice"
		}
		values = append(values, v)
	}
	return values, ""
}

func (f *Fake) remove(w http.ResponseWriter, r *http.Request) {
	key := id(r.PathValue("name"), r.PathValue("type"))
	gone, found := f.sets[key]
	if !found {
		refuse(w, http.StatusNotFound, "dns-record", "Can't find the DNS record")
		return
	}
	f.Note("delete " + gone.attributes())
	delete(f.sets, key)
	w.WriteHeader(http.StatusNoContent)
}

func refuse(w http.ResponseWriter, status int, object, message string) {
	httpfake.JSON(w, status, map[string]any{"code": status, "message": message, "object": object, "cause": http.StatusText(status)})
}

// Hand is an operator at the web page. More makes a further adapter.
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
	for _, text := range h.sets[id(h.names.Relative(string(key.Name)), string(key.Type))].Values {
		if value, err := record.ParseValue(key.Type, text); err == nil {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// Put adds a value. The set takes its TTL.
func (h *hand) Put(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := id(h.names.Relative(rr.Name), rr.Type)
	s := h.sets[key]
	s.Name, s.Type, s.TTL = h.names.Relative(rr.Name), rr.Type, int(rr.TTL/time.Second)
	if !slices.Contains(s.Values, rr.Data) {
		s.Values = append(slices.Clone(s.Values), rr.Data)
	}
	h.sets[key] = s
}

// Remove takes a value out.
func (h *hand) Remove(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := id(h.names.Relative(rr.Name), rr.Type)
	s := h.sets[key]
	s.Values = slices.DeleteFunc(slices.Clone(s.Values), func(v string) bool { return v == rr.Data })
	h.sets[key] = s
	if len(s.Values) == 0 {
		delete(h.sets, key)
	}
}

// Dump lists every value.
func (h *hand) Dump() []providertest.RR {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rrs []providertest.RR
	for _, s := range h.sets {
		for _, v := range s.Values {
			rrs = append(rrs, providertest.RR{Name: h.names.Absolute(s.Name), Type: s.Type, TTL: time.Duration(s.TTL) * time.Second, Data: v})
		}
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
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/records")
}
func writes(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet }

func faultOf(fault providertest.Fault) (httpfake.Fault, httpfake.Match, bool) {
	refusal := func(status int) httpfake.Fault {
		return httpfake.Fault{Name: string(fault), Status: status, Body: fmt.Sprintf(`{"code":%d,"message":%q}`, status, http.StatusText(status))}
	}
	switch fault {
	case providertest.ThrottledRead:
		return refusal(http.StatusTooManyRequests), reads, true
	case providertest.ThrottledWrite:
		return refusal(http.StatusTooManyRequests), writes, true
	case providertest.RefusedRead:
		return refusal(http.StatusForbidden), reads, true
	case providertest.RefusedWrite:
		return refusal(http.StatusForbidden), writes, true
	case providertest.CutList:
		return httpfake.Fault{Status: http.StatusOK, Body: `[{"rrset_name":"www","rrset_`}, reads, true
	case providertest.EmptyList:
		return httpfake.Fault{Status: http.StatusOK, Body: `[]`}, reads, true
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
