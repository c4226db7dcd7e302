package powerdns

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

var (
	_ provider.Adapter     = (*Adapter)(nil)
	_ provider.Inspector   = (*Adapter)(nil)
	_ provider.Releaser    = (*Adapter)(nil)
	_ provider.Constructor = New
)

// Promises says that every write is one transaction over whole sets, with nothing
// compared: there is no fence.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseNative, Atomic: true, Together: true, Whole: true, Single: true,
		Late: a.late, Lag: a.lag, Call: callDeadline,
	}
}

// List reads the zone whole. The server reads comments after records: in a list that
// was overtaken by a resume between the two, a value that was ours to resume looks
// held by somebody else. The next list knows better, and a write reads again anyway.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	var b *builder
	known := a.known()
	h, err := a.read(ctx, fmt.Sprintf("list zone %s", a.zone), func() reader { b = newBuilder(a.zone, known); return b })
	if err != nil {
		return nil, err
	}
	a.learn(b)
	return b.finish(h), nil
}

// Add puts values into the answer.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	if len(call.Away) > 0 {
		return provider.Failf(provider.Permanent, a.op(call.Key), "", "an add with %d take-aways", len(call.Away))
	}
	return a.write(ctx, call)
}

// TakeAway takes values out of the answer and leaves each in its set, disabled and
// marked; what call.Add puts in rides along.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	return a.write(ctx, call)
}

func (a *Adapter) op(key record.Key) string {
	return fmt.Sprintf("write %s in zone %s", key, a.zone)
}

// reader takes the sets of one answer.
type reader interface {
	take(set rrset)
	odd(set rrset, err error)
}

// rereads is how often a zone is read that changes while it is read.
const rereads = 5

// read gets the zone whole. The answer's head and its sets are read one after the
// other by the server: where they do not have the same serial, a write came between,
// and the zone is read again, by a new reader.
func (a *Adapter) read(ctx context.Context, op string, begin func() reader) (head, error) {
	for attempt := 1; ; attempt++ {
		r := begin()
		soa := ""
		h, err := a.get(ctx, op, nil, func(set rrset) {
			if set.Type == "SOA" && len(set.Records) > 0 && a.isZone(set.Name) {
				soa = set.Records[0].Content
			}
			r.take(set)
		}, r.odd)
		if err != nil {
			return h, err
		}
		serial, err := a.whole(h, soa)
		switch {
		case err != nil:
			return h, half(op, err)
		case serial == h.Serial:
			return h, nil
		case attempt == rereads:
			return h, half(op, fmt.Errorf("the list says serial %d and has an SOA of serial %d: the zone changes faster than it can be read", h.Serial, serial))
		}
	}
}

// whole holds an answer against what a whole zone has, and returns the serial of
// its SOA.
func (a *Adapter) whole(h head, soa string) (uint64, error) {
	if !a.isZone(h.Name) {
		return 0, fmt.Errorf("the list is of %q", httpapi.Foreign(h.Name))
	}
	fields := strings.Fields(soa)
	if len(fields) < 3 {
		return 0, errors.New("the list has no SOA at the apex: it cannot be the whole zone")
	}
	serial, err := strconv.ParseUint(fields[2], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the serial of the SOA %q: %w", httpapi.Foreign(soa), err)
	}
	return serial, nil
}

func (a *Adapter) isZone(text string) bool {
	name, err := record.ParseName(text)
	return err == nil && name == a.zone
}

// get makes one request for the zone.
func (a *Adapter) get(ctx context.Context, op string, query url.Values, visit func(rrset), broken func(rrset, error)) (head, error) {
	var h head
	request := httpapi.Request{Op: op, Method: http.MethodGet, Path: a.zonePath(), Query: query, Limit: listLimit, Sign: a.sign}
	err := a.api.Stream(ctx, request, func(status int, header http.Header, body io.Reader) error {
		if status != http.StatusOK {
			text, err := io.ReadAll(io.LimitReader(body, maxRefusal))
			if err != nil {
				return err
			}
			return a.refusal(op, false, &httpapi.Reply{Status: status, Header: header, Body: text})
		}
		buffered := bufio.NewReaderSize(body, 64<<10)
		start, _ := buffered.Peek(200) // a short answer is told by the reading that follows
		if err := httpapi.Page(header, start); err != nil {
			return err
		}
		var err error
		h, err = readZone(buffered, visit, broken)
		return err
	})
	return h, a.explained(err)
}

// write is one PATCH of one record set.
func (a *Adapter) write(ctx context.Context, call provider.Call) error {
	op := a.op(call.Key)
	if err := a.steerable(op, call); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	now, err := a.look(ctx, op, call.Key)
	if err != nil {
		return err
	}
	if err := now.unchanged(op, call.Seen); err != nil {
		return err
	}
	d, err := newDraft(op, call.Key, now, a.now())
	if err != nil {
		return err
	}
	for _, change := range slices.Concat(call.Add, call.Away) {
		if err := d.apply(change); err != nil {
			return err
		}
	}
	if err := d.check(call); err != nil {
		return err
	}
	patches, err := d.patches()
	if err != nil || len(patches) == 0 {
		return err
	}
	return a.send(ctx, op, patches, call.Gate)
}

func (a *Adapter) steerable(op string, call provider.Call) error {
	if call.Seen == nil || call.Seen.Zone != a.zone {
		return provider.Failf(provider.Permanent, op, "", "the call rests on no list of this zone")
	}
	return provider.Steerable(op, a.zone, call.Key, false)
}

// send makes one PATCH, the gate asked last.
func (a *Adapter) send(ctx context.Context, op string, patches []patch, gate provider.Gate) error {
	body, err := json.Marshal(map[string][]patch{"rrsets": patches})
	if err != nil {
		return &provider.Error{Class: provider.Permanent, Op: op, Err: err}
	}
	reply, err := a.api.Do(ctx, httpapi.Request{
		Op: op, Method: http.MethodPatch, Path: a.zonePath(), Header: http.Header{"Content-Type": {"application/json"}},
		Body: body, Write: true, Gate: gate, Sign: a.sign,
	})
	if err != nil {
		return a.explained(err)
	}
	if reply.Status == http.StatusNoContent {
		return nil
	}
	return a.refusal(op, true, reply)
}
