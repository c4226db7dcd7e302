package memory_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

func TestConformance(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) { providertest.Run(t, world(class)) })
	}
}

func world(class memory.Class) providertest.World {
	return providertest.World{
		Zone: "example.com.",
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			zone := memory.NewZone("example.com.", memory.Options{Class: class})
			h := newHand(t, zone)
			return zone.Adapter("node-1"), h
		},
	}
}

// hand is the console of a zone in memory.
type hand struct {
	t     providertest.TB
	zone  *memory.Zone
	nodes int
	armed []memory.Fault
	reads []memory.Fault
}

func newHand(t providertest.TB, zone *memory.Zone) *hand {
	h := &hand{t: t, zone: zone, nodes: 1}
	zone.Faults(h.next)
	return h
}

func (h *hand) next(op memory.Op, _ int) memory.Fault {
	queue := &h.armed
	if !op.Write() {
		queue = &h.reads
	}
	if len(*queue) == 0 || op == memory.OpLook {
		return memory.Fault{}
	}
	fault := (*queue)[0]
	*queue = (*queue)[1:]
	return fault
}

func (h *hand) Live(key record.Key) []string { return h.zone.Live(key) }

func (h *hand) Put(rr providertest.RR) {
	h.t.Helper()
	h.edit(memory.Put(rr.Name, rr.Type, rr.TTL, data(rr)))
}

func (h *hand) Remove(rr providertest.RR) {
	h.t.Helper()
	for _, r := range h.zone.Records() {
		if strings.EqualFold(r.Name, rr.Name) && r.Type == rr.Type && r.Value == data(rr) {
			h.edit(memory.Delete(rr.Name, rr.Type, data(rr)))
			return
		}
	}
}

func (h *hand) edit(edit memory.Edit) {
	h.t.Helper()
	if err := h.zone.EditByHand(edit); err != nil {
		h.t.Fatalf("%v", err)
	}
}

func (h *hand) Dump() []providertest.RR {
	var rrs []providertest.RR
	for _, r := range h.zone.Records() {
		rr := providertest.RR{Name: strings.ToLower(r.Name), Type: r.Type, TTL: r.TTL, Data: r.Value}
		if r.Type == "TXT" {
			rr.Data = `"` + r.Value + `"`
		}
		rrs = append(rrs, rr)
	}
	return rrs
}

func (h *hand) Another() provider.Adapter {
	h.nodes++
	return h.zone.Adapter("node-" + strconv.Itoa(h.nodes))
}

func (h *hand) Fault(fault providertest.Fault) bool {
	kinds := map[providertest.Fault]memory.Kind{
		providertest.ThrottledRead: memory.Throttled, providertest.CutList: memory.Short,
		providertest.EmptyList: memory.Empty, providertest.HangRead: memory.Hang,
		providertest.ThrottledWrite: memory.Throttled, providertest.HangWrite: memory.Hang,
		providertest.RefusedRead: memory.Refused, providertest.RefusedWrite: memory.Refused,
		providertest.LostReply: memory.LostReply, providertest.LostRequest: memory.LostRequest,
	}
	reads := []providertest.Fault{providertest.ThrottledRead, providertest.CutList, providertest.EmptyList, providertest.HangRead, providertest.RefusedRead}
	if slices.Contains(reads, fault) {
		h.reads = append(h.reads, memory.Fault{Kind: kinds[fault]})
	} else {
		h.armed = append(h.armed, memory.Fault{Kind: kinds[fault]})
	}
	return true
}

// data is what the zone keeps of a record: TXT without its outer quotes, which
// is enough for a store that never looks inside a foreign text.
func data(rr providertest.RR) string {
	if rr.Type == "TXT" {
		return strings.TrimSuffix(strings.TrimPrefix(rr.Data, `"`), `"`)
	}
	return rr.Data
}
