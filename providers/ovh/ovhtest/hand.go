package ovhtest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// Hand is an operator at the console. More makes a further adapter.
func (f *Fake) Hand(more func() provider.Adapter) providertest.Hand {
	return &hand{f, more, providertest.Names{Zone: f.zone, Apex: ""}}
}

type hand struct {
	*Fake

	more  func() provider.Adapter
	names providertest.Names
}

func (h *hand) Another() provider.Adapter { return h.more() }

// Live is what resolvers are answered with: the zone at its last refresh.
func (h *hand) Live(key record.Key) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var values []string
	for _, r := range h.published {
		value, err := record.ParseValue(key.Type, r.Target)
		if err == nil && h.names.Absolute(r.Name) == string(key.Name) && r.Type == string(key.Type) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Put adds a record and publishes the zone.
func (h *hand) Put(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.insert(row{Type: rr.Type, Name: h.names.Relative(rr.Name), TTL: int64(rr.TTL / time.Second), Target: rr.Data})
	h.publish()
}

// Remove deletes a record and publishes the zone.
func (h *hand) Remove(rr providertest.RR) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = slices.DeleteFunc(slices.Clone(h.records), func(r row) bool {
		return strings.EqualFold(r.Name, h.names.Relative(rr.Name)) && r.Type == rr.Type && r.Target == rr.Data
	})
	h.publish()
}

// Dump lists every record.
func (h *hand) Dump() []providertest.RR {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rrs []providertest.RR
	for _, r := range h.records {
		rrs = append(rrs, providertest.RR{Name: h.names.Absolute(r.Name), Type: r.Type, TTL: time.Duration(r.TTL) * time.Second, Data: r.Target})
	}
	return rrs
}

// Fault arms a fault for the next request of its kind. Of a refusal nothing can
// be known here but of a list: a write makes several requests.
func (h *hand) Fault(fault providertest.Fault) bool {
	armed, match, ok := faultOf(fault)
	if ok {
		h.Server.Arm(match, 0, armed)
	}
	return ok
}

func reads(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/record") && r.URL.RawQuery == ""
}

func writes(r *http.Request, _ []byte) bool {
	return r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/refresh")
}

// publishes is the last request of a write: with its reply the write's is lost.
func publishes(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/refresh") }

func faultOf(fault providertest.Fault) (httpfake.Fault, httpfake.Match, bool) {
	switch fault {
	case providertest.ThrottledRead:
		return httpfake.Fault{Status: http.StatusTooManyRequests, Body: `{"message":"too many requests"}`}, reads, true
	case providertest.RefusedRead:
		return httpfake.Fault{Status: http.StatusForbidden, Body: `{"message":"This call has not been granted"}`}, reads, true
	case providertest.CutList:
		return httpfake.Fault{Status: http.StatusOK, Body: `[1,2`}, reads, true
	case providertest.EmptyList:
		return httpfake.Fault{Status: http.StatusOK, Body: `[]`}, reads, true
	case providertest.HangRead:
		return httpfake.Fault{Hang: true}, reads, true
	case providertest.HangWrite:
		return httpfake.Fault{Hang: true}, writes, true
	case providertest.LostReply:
		return httpfake.Fault{Apply: true, Drop: true}, publishes, true
	case providertest.LostRequest:
		return httpfake.Fault{Drop: true}, writes, true
	}
	return httpfake.Fault{}, nil, false
}
