package route53

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/route53"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

// TestPagesOfTwoMoments: a value is resumed by another node after its set was
// read and before its copy is. Neither page has it; the list does.
func TestPagesOfTwoMoments(t *testing.T) {
	a, f, h := start(t, route53test.Options{PageSize: 2})
	www := key("www", record.A)
	put(h, www, one, two)
	n := newNode(t, a)
	n.must(www, pause(www, one))
	copies := provider.ParkedName(www.Name)
	moved := false
	f.Server.Arm(func(r *http.Request, _ []byte) bool {
		if moved || r.Method != http.MethodGet || r.URL.Query().Get("name") != string(copies) {
			return false
		}
		moved = true
		for _, rr := range h.Dump() {
			if rr.Name == string(copies) || rr.Name == string(stampName(testZone)) {
				h.Remove(rr)
			}
		}
		put(h, www, one)
		h.Put(providertest.RR{Name: string(stampName(testZone)), Type: "TXT", TTL: ttl, Data: `"` + stamp(99).String() + `"`})
		return false
	}, 0, route53test.Refuse(400, "never", "sent"))
	got := list(t, a)
	if !moved {
		t.Fatal("the copies were never asked for")
	}
	if live := got.Set(www).Live(); !slices.Equal(live, []string{one, two}) || got.Stamps[0].Nonce != stamp(99).Nonce {
		t.Errorf("listed %v under %v", live, got.Stamps)
	}
}

// TestReleaseComparesWhatItRestsOn: a live value is deleted by hand while the
// copy that is left of it is on its way out. The copy stays.
func TestReleaseComparesWhatItRestsOn(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one, two)
	copied := provider.Parked{Type: record.A, Value: one, TTL: ttl}
	h.Put(providertest.RR{Name: string(provider.ParkedName(www.Name)), Type: "TXT", TTL: ttl, Data: `"` + copied.String() + `"`})
	newNode(t, a)
	seen := list(t, a)
	if got := a.Remains(seen); len(got) != 2 {
		t.Errorf("remains %q", got)
	}
	_, err := a.Release(t.Context(), seen, func() error {
		h.Remove(providertest.RR{Name: string(www.Name), Type: "A", Data: one})
		return nil
	})
	fails(t, err, provider.Conflict, "values provided do not match")
	if got, found := list(t, a).Set(www).Find(one); !found || !got.Paused {
		t.Errorf("the copy is lost: %q", f.Attributes())
	}
}

// TestNoRequestHasTheTimeOfAWholeList: a list of many pages may take longer than
// a call, one request of it may not.
func TestNoRequestHasTheTimeOfAWholeList(t *testing.T) {
	a, _, _ := start(t, route53test.Options{})
	if p := a.Promises(); p.Listing() < 3*p.Call {
		t.Errorf("a list has %v, a call %v", p.Listing(), p.Call)
	}
	err := a.call(t.Context(), request{op: "look"}, func(ctx context.Context, _ *sdk.Client, _ func(*sdk.Options)) error {
		if end, found := ctx.Deadline(); !found || time.Until(end) > callDeadline {
			t.Errorf("until %v, %v", end, found)
		}
		return errors.New("not sent")
	})
	if err == nil {
		t.Error("expected the error of the request")
	}
}

// TestACopyOfAnotherPolicyChangesNoSet: somebody writes a parked copy of a
// weighted or a latency set for a name whose set is plain.
func TestACopyOfAnotherPolicyChangesNoSet(t *testing.T) {
	for _, extra := range []string{"weight=100", "region=us-east-1"} {
		a, f, h := start(t, route53test.Options{})
		www := key("www", record.A)
		put(h, www, one)
		text := provider.Parked{Type: record.A, Value: two, TTL: ttl}.String() + " " + extra
		h.Put(providertest.RR{Name: string(provider.ParkedName(www.Name)), Type: "TXT", TTL: ttl, Data: provider.QuoteText(text)})
		n := newNode(t, a)
		before := f.Attributes()
		fails(t, n.write(www, resume(www, two)), provider.Permanent, "parked copy", "simple", "by hand")
		if after := f.Attributes(); !slices.Equal(before, after) {
			t.Errorf("%s: the zone was\n%q, is\n%q", extra, before, after)
		}
	}
}

// TestACopyOfAPlainSetTakesTheWeight: the set was given weights while one of its
// values was paused.
func TestACopyOfAPlainSetTakesTheWeight(t *testing.T) {
	a, _, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one, two)
	n := newNode(t, a)
	n.must(www, pause(www, two))
	n.must(www, record.Change{Action: record.SetWeight, Key: www, Value: one, Weight: 5})
	n.must(www, resume(www, two))
	if got, _ := list(t, a).Set(www).Find(two); !got.Live || got.Weight != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestRefusalWithoutAnExplanation: a batch is refused, and the list that would
// say why fails as well. A claim is lost, a write has to list.
func TestRefusalWithoutAnExplanation(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one)
	n := newNode(t, a)
	seen, call := list(t, a), n.call(www, create(www, two))
	for range 2 {
		f.Server.Arm(route53test.Writes, 0, route53test.Refuse(400, codeBatch, "[because]"))
		f.Server.Arm(route53test.Reads, 0, route53test.Refuse(400, "Throttling", "Rate exceeded"))
	}
	fails(t, a.Claim(t.Context(), seen, stamp(50), nil), provider.FencedOut, "[because]")
	fails(t, n.send(call), provider.Conflict, "[because]")
}
