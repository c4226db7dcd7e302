package generic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

const zoneName = record.Name("example.com.")

// store is a zone in memory. Its records have absolute names; a TXT is its text.
type store struct {
	mu      sync.Mutex
	records []libdns.RR
	shown   []libdns.RR // what a list shows, where lists lag
	reads   []providertest.Fault
	writes  []providertest.Fault
	calls   []string // "get", "append www A 192.0.2.1", "delete …"
}

// habits are how a library departs from libdns's contract, or from others.
type habits struct {
	quoted   bool                                             // TXT in the quotes of a zone file
	absolute func(string) string                              // nil: names are relative
	oneTTL   bool                                             // a set has one TTL
	lags     bool                                             // lists show the past until Settle
	deaf     bool                                             // ignores the context
	typed    bool                                             // errors tell an HTTP status
	listing  func([]libdns.RR) []libdns.RR                    // what becomes of a list
	writing  func(op string, rr libdns.RR) (libdns.RR, error) // what becomes of a write; a TTL below 0 swallows it
	byName   bool                                             // delete takes the first record of name and type
}

// library is a libdns provider over a store.
type library struct {
	*store
	habits

	release chan struct{} // ends what hangs in a deaf library
}

func newLibrary(t providertest.TB, s *store, h habits) *library {
	l := &library{store: s, habits: h, release: make(chan struct{})}
	t.Cleanup(func() { close(l.release) })
	return l
}

type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the API said no (%d)", int(e)) }

func status(err error) int {
	var s statusError
	errors.As(err, &s)
	return int(s)
}

// meet is the fault that is armed for a request; it reports whether the request
// is carried out.
func (l *library) meet(ctx context.Context, write bool) (carriedOut bool, err error) {
	l.mu.Lock()
	queue := &l.reads
	if write {
		queue = &l.writes
	}
	fault := providertest.Fault("")
	if len(*queue) > 0 {
		fault, *queue = (*queue)[0], (*queue)[1:]
	}
	l.mu.Unlock()
	switch fault {
	case "":
		return true, nil
	case providertest.HangRead, providertest.HangWrite:
		if l.deaf {
			<-l.release
			return false, errors.New("the end")
		}
		<-ctx.Done()
		return false, ctx.Err()
	case providertest.LostReply:
		return true, errors.New("connection reset by peer")
	case providertest.RefusedRead, providertest.RefusedWrite:
		return false, statusError(403)
	case providertest.ThrottledRead, providertest.ThrottledWrite:
		return false, statusError(429)
	case providertest.EmptyList:
		return false, nil
	}
	return false, errors.New("connection reset by peer")
}

func (l *library) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	ok, err := l.meet(ctx, false)
	if err != nil || !ok {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "get")
	records := slices.Clone(l.records)
	if l.lags {
		records = slices.Clone(l.shown)
	}
	if l.listing != nil {
		records = l.listing(records)
	}
	var out []libdns.Record
	for _, rr := range records {
		out = append(out, l.out(rr, zone))
	}
	return out, nil
}

// out is a record of the store as the library gives it.
func (l *library) out(rr libdns.RR, zone string) libdns.Record {
	if l.absolute != nil {
		rr.Name = l.absolute(rr.Name)
	} else {
		rr.Name = libdns.RelativeName(rr.Name, zone)
	}
	if rr.Type == "TXT" && l.quoted {
		rr.Data = quote(rr.Data)
	}
	return rr
}

// in is a record as the store has it.
func (l *library) in(r libdns.Record, zone string) libdns.RR {
	rr := r.RR()
	if !strings.HasSuffix(rr.Name, strings.TrimSuffix(zone, ".")) {
		rr.Name = libdns.AbsoluteName(rr.Name, zone)
	}
	rr.Name = strings.TrimSuffix(rr.Name, ".") + "."
	if rr.Type == "TXT" && l.quoted {
		rr.Data, _ = unquote(rr.Data)
	}
	return rr
}

func (l *library) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return l.write(ctx, "append", recs, func(r libdns.Record) {
		rr := l.in(r, zone)
		if l.oneTTL {
			for i, o := range l.records {
				if o.Name == rr.Name && o.Type == rr.Type {
					l.records[i].TTL = rr.TTL
				}
			}
		}
		l.records = append(l.records, rr)
	})
}

func (l *library) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return l.write(ctx, "delete", recs, func(r libdns.Record) {
		rr, done := l.in(r, zone), false
		l.records = slices.DeleteFunc(l.records, func(o libdns.RR) bool {
			match := o.Name == rr.Name && o.Type == rr.Type && (l.byName && !done || o.Data == rr.Data && o.TTL == rr.TTL)
			done = done || match
			return match
		})
	})
}

func (l *library) write(ctx context.Context, op string, recs []libdns.Record, do func(libdns.Record)) ([]libdns.Record, error) {
	ok, err := l.meet(ctx, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	var done []libdns.Record
	for _, r := range recs {
		rr := r.RR()
		l.calls = append(l.calls, fmt.Sprintf("%s %s %s %s", op, rr.Name, rr.Type, rr.Data))
		if l.writing != nil {
			var failed error
			if rr, failed = l.writing(op, rr); failed != nil {
				return nil, failed
			}
		}
		if ok && rr.TTL >= 0 {
			do(rr)
		}
		done = append(done, rr)
	}
	return done, err
}

// hand is the console of the store.
type hand struct {
	t       providertest.TB
	library *library
	known   Known
}

func (h *hand) Live(key record.Key) []string {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	var values []string
	for _, rr := range h.library.records {
		name, _ := record.ParseName(rr.Name)
		value, err := record.ParseValue(key.Type, rr.Data)
		if name == key.Name && rr.Type == string(key.Type) && err == nil {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func (h *hand) Put(rr providertest.RR) {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	h.library.records = append(h.library.records, libdns.RR{Name: rr.Name, Type: rr.Type, TTL: rr.TTL, Data: data(rr)})
}

func (h *hand) Remove(rr providertest.RR) {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	h.library.records = slices.DeleteFunc(h.library.records, func(o libdns.RR) bool {
		return strings.EqualFold(o.Name, rr.Name) && o.Type == rr.Type && o.Data == data(rr)
	})
}

func data(rr providertest.RR) string {
	if rr.Type != "TXT" {
		return rr.Data
	}
	text, _ := unquote(rr.Data)
	return text
}

func (h *hand) Dump() []providertest.RR {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	var rrs []providertest.RR
	for _, o := range h.library.records {
		rr := providertest.RR{Name: strings.ToLower(o.Name), Type: o.Type, TTL: o.TTL, Data: o.Data}
		if o.Type == "TXT" {
			rr.Data = quote(o.Data)
		}
		rrs = append(rrs, rr)
	}
	return rrs
}

func (h *hand) Another() provider.Adapter {
	return New(provider.Settings{Zone: zoneName}, newLibrary(h.t, h.library.store, h.library.habits), h.known)
}

func (h *hand) Settle() {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	h.library.shown = slices.Clone(h.library.records)
}

func (h *hand) Fault(fault providertest.Fault) bool {
	reads := []providertest.Fault{
		providertest.ThrottledRead, providertest.CutList, providertest.EmptyList, providertest.HangRead, providertest.RefusedRead,
	}
	refused := fault == providertest.RefusedRead || fault == providertest.RefusedWrite || fault == providertest.ThrottledWrite
	if refused && !h.library.typed || fault == providertest.HangWrite && h.library.deaf {
		return false // its errors tell nothing; a second write waits for the first
	}
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	if slices.Contains(reads, fault) {
		h.library.reads = append(h.library.reads, fault)
	} else {
		h.library.writes = append(h.library.writes, fault)
	}
	return true
}

// libraries are the kinds that keep the contract, or depart from it in ways that
// an adapter can live with.
var libraries = map[string]struct {
	habits
	known Known
}{
	"by-the-contract": {},
	"quoted":          {habits: habits{quoted: true}, known: Known{Quoted: true}},
	"absolute":        {habits: habits{absolute: func(name string) string { return strings.TrimSuffix(name, ".") }}},
	"fqdn":            {habits: habits{absolute: func(name string) string { return name }}},
	"one-ttl":         {habits: habits{oneTTL: true}, known: Known{OneTTL: true}},
	"lagging":         {habits: habits{lags: true}},
	"deaf":            {habits: habits{deaf: true}},
	"typed-errors":    {habits: habits{typed: true}, known: Known{Status: status, Settled: true}},
}

func TestConformance(t *testing.T) {
	for name, kind := range libraries {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, providertest.World{
				Zone: zoneName,
				New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
					h := &hand{t: t, library: newLibrary(t, &store{}, kind.habits), known: kind.known}
					return New(provider.Settings{Zone: zoneName, Lag: time.Millisecond}, h.library, h.known), h
				},
			})
		})
	}
}

var www = record.Key{Zone: zoneName, Name: "www.example.com.", Type: record.A}

const (
	one = "192.0.2.1"
	two = "192.0.2.2"
)

func rr(name, kind, data string) libdns.RR {
	return libdns.RR{Name: name, Type: kind, TTL: 5 * time.Minute, Data: data}
}
