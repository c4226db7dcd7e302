package tencentcloudtest

import (
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

// hand is an operator in the console. It has faults and lets lists settle.
type hand struct {
	t       providertest.TB
	fake    *Fake
	another func() provider.Adapter
}

// Hand is an operator in the console of the fake's account; another makes a
// further adapter to it. The hand is a providertest.Faulty and Settler too.
func (f *Fake) Hand(t providertest.TB, another func() provider.Adapter) providertest.Hand {
	return &hand{t, f, another}
}

func (h *hand) Another() provider.Adapter { return h.another() }

func (h *hand) Settle() { h.fake.Settle() }

// Live lists what resolvers of the key's line are answered with.
func (h *hand) Live(key record.Key) []string {
	line, known := h.fake.lineID("", key.Variant)
	if key.Variant == "" {
		line = "0"
	} else if !known {
		line = key.Variant
	}
	var values []string
	for _, r := range h.fake.Records() {
		if r.Paused || r.Type != string(key.Type) || r.Line != line || h.name(r) != string(key.Name) {
			continue
		}
		value, err := record.ParseValue(key.Type, r.Value)
		if err != nil {
			h.t.Fatalf("the fake has the value %q: %v", r.Value, err)
		}
		values = append(values, value)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// name is a record's name in full, canonical.
func (h *hand) name(r Record) string {
	zone := h.fake.options.Zone
	if r.Name == "@" {
		return zone
	}
	return strings.ToLower(r.Name) + "." + zone
}

func (h *hand) Put(rr providertest.RR) {
	h.t.Helper()
	h.fake.Insert(h.record(rr))
}

func (h *hand) record(rr providertest.RR) Record {
	h.t.Helper()
	zone := h.fake.options.Zone
	name := strings.TrimSuffix(rr.Name[:max(0, len(rr.Name)-len(zone))], ".")
	if !strings.EqualFold(rr.Name[len(rr.Name)-min(len(zone), len(rr.Name)):], zone) {
		h.t.Fatalf("%s is not in the zone %s", rr.Name, zone)
	}
	r := Record{Name: name, Type: rr.Type, Value: rr.Data, TTL: uint32(rr.TTL / time.Second)} //nolint:gosec // a test's own
	if name == "" {
		r.Name = "@"
	}
	switch rr.Type {
	case "MX":
		priority, host, _ := strings.Cut(rr.Data, " ")
		n, err := strconv.ParseUint(priority, 10, 16)
		if err != nil {
			h.t.Fatalf("%v: %v", rr, err)
		}
		r.MX, r.Value = uint16(n), host
	case "TXT":
		r.Value = joined(rr.Data)
	}
	return r
}

func (h *hand) Remove(rr providertest.RR) {
	h.t.Helper()
	want := h.record(rr)
	for _, r := range h.fake.Records() {
		if !r.Paused && r.Line == "0" && strings.EqualFold(r.Name, want.Name) && r.Type == want.Type && r.Value == want.Value && r.MX == want.MX {
			h.fake.Delete(r.ID)
		}
	}
}

// Dump lists what is not paused.
func (h *hand) Dump() []providertest.RR {
	var rrs []providertest.RR
	for _, r := range h.fake.Records() {
		if r.Paused {
			continue
		}
		rr := providertest.RR{Name: h.name(r), Type: r.Type, TTL: time.Duration(r.TTL) * time.Second, Data: r.Value}
		switch r.Type {
		case "MX":
			rr.Data = fmt.Sprintf("%d %s", r.MX, r.Value)
		case "TXT":
			rr.Data = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Value) + `"`
		}
		rrs = append(rrs, rr)
	}
	return rrs
}

// joined reads the strings of a TXT in presentation form as one text. Bytes that
// are no printable ASCII stay escaped.
func joined(data string) string {
	var text strings.Builder
	inside := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inside = !inside
		case c == '\\' && i+3 < len(data) && data[i+1] >= '0' && data[i+1] <= '9':
			n, _ := strconv.Atoi(data[i+1 : i+4])
			if n >= ' ' && n <= '~' {
				text.WriteByte(byte(n))
			} else {
				text.WriteString(data[i : i+4])
			}
			i += 3
		case c == '\\' && i+1 < len(data):
			i++
			text.WriteByte(data[i])
		case inside || c != ' ':
			text.WriteByte(c)
		}
	}
	return text.String()
}

// Fault arms one fault.
func (h *hand) Fault(f providertest.Fault) bool {
	list, server := Action("DescribeRecordList"), h.fake.Server
	ok := httpfake.Fault{Name: string(f), Status: http.StatusOK, Header: jsonHeader}
	switch f {
	case providertest.ThrottledRead:
		server.Arm(list, 0, Refusal("RequestLimitExceeded"))
	case providertest.ThrottledWrite:
		server.Arm(Writes, 0, Refusal("RequestLimitExceeded"))
	case providertest.RefusedRead:
		server.Arm(list, 0, Refusal("UnauthorizedOperation"))
	case providertest.RefusedWrite:
		server.Arm(Writes, 0, Refusal("UnauthorizedOperation"))
	case providertest.CutList:
		ok.Body = `{"Response":{"RecordCountInfo":{"SubdomainCount":2,"ListCount":4,"TotalCount":4},"RecordList":[{"RecordId":17,"Name":"www","Type":"A"`
		server.Arm(list, 0, ok)
	case providertest.EmptyList:
		ok.Body = encode(map[string]any{"RecordCountInfo": map[string]int{"SubdomainCount": 0, "ListCount": 0, "TotalCount": 0}, "RecordList": []any{}})
		server.Arm(list, 0, ok)
	case providertest.HangRead:
		server.Arm(list, 0, httpfake.Fault{Name: string(f), Hang: true})
	case providertest.HangWrite:
		server.Arm(Writes, 0, httpfake.Fault{Name: string(f), Hang: true})
	case providertest.LostReply:
		server.Arm(Writes, 0, httpfake.Fault{Name: string(f), Apply: true, Drop: true})
	case providertest.LostRequest:
		server.Arm(Writes, 0, httpfake.Fault{Name: string(f), Drop: true})
	default:
		return false
	}
	return true
}
