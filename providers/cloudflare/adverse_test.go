package cloudflare

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// answer is a fault that answers something else.
func answer(status int, contentType, body string) httpfake.Fault {
	return httpfake.Fault{Name: "answer", Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}
}

func isZones(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/zones") }

// world is a zone with two addresses, held by a node.
func world(t *testing.T) (*cloudflaretest.Fake, *node) {
	t.Helper()
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.Put(t, address("192.0.2.10"))
	f.Put(t, address("192.0.2.20"))
	return f, newNode(t, f).hold()
}

// pause is a take-away from a list.
func (n *node) pause(seen *provider.Snapshot, value, survivor string) error {
	return n.TakeAway(n.t.Context(), provider.Call{
		Key: wwwA, Seen: seen, Next: n.next(), Survivors: []string{survivor},
		Away: []record.Change{{Action: record.Pause, Key: wwwA, Value: value}},
	})
}

// Input: after normal running, lists that are empty in different ways, for ten
// rounds; then a normal one.
func TestCase65EmptyListsAreNoEmptyZone(t *testing.T) {
	f, n := world(t)
	f.Server.Forget()
	for _, body := range []string{
		`{"success":true,"errors":[],"messages":[],"result":[]}`,
		`{"success":false,"errors":[],"result":null}`,
		`{"success":false,"errors":[],"result":[],"result_info":{"count":0,"total_count":0}}`,
		`{"success":true,"errors":[],"result":[],"result_info":{"page":1,"per_page":5000000,"count":0,"total_count":3,"total_pages":1}}`,
		`{"success":true,"result":null,"result_info":{"count":0,"total_count":0}}`,
	} {
		for range 10 {
			f.Server.Arm(cloudflaretest.IsList, 0, answer(http.StatusOK, "application/json", body))
			s, err := n.List(t.Context())
			if s != nil {
				t.Errorf("%s: got a snapshot", body)
			}
			wantClass(t, body, err, provider.Retryable)
			f.Server.Arm(cloudflaretest.IsList, 0, answer(http.StatusOK, "application/json", body))
			if _, err := n.GetRecords(t.Context(), testZone); err == nil {
				t.Errorf("libdns: %s: expected an error", body)
			}
		}
	}
	for left := range 3 {
		f.Server.Arm(cloudflaretest.IsList, 0, f.ShortList(left))
		_, err := n.List(t.Context())
		wantClass(t, "a short list", err, provider.Retryable, fmt.Sprintf("the list has %d records", left))
	}
	if got := bodies(f); len(got) > 0 {
		t.Errorf("writes: %v", got)
	}
	if got := n.list().Set(wwwA).Live(); len(got) != 2 {
		t.Errorf("the list after them: %v", got)
	}
}

// Input: replies without result_info or with a page size of 0, null, a list where
// an object belongs, for records and for zones.
func TestCase67NoReplyPanics(t *testing.T) {
	strange := []string{
		`{"success":true,"result":[]}`, `{"success":true,"result":[],"result_info":{"per_page":0}}`, `{"success":true,"result":null}`,
		`null`, `[]`, `{}`, `""`, `{"success":null}`, `{"success":true,"result":[null],"result_info":{"total_pages":1}}`, ``,
	}
	f, n := world(t)
	for _, body := range strange {
		f.Server.Arm(cloudflaretest.IsList, 0, answer(http.StatusOK, "application/json", body))
		_, err := n.List(t.Context())
		wantClass(t, "records: "+body, err, provider.Retryable)
		seen := n.list()
		f.Server.Arm(cloudflaretest.IsWrite, 0, answer(http.StatusOK, "application/json", body))
		if err := n.pause(seen, "192.0.2.10", "192.0.2.20"); err != nil {
			wantClass(t, "write: "+body, err, provider.Ambiguous)
		} else if !strings.HasPrefix(body, `{"success":true`) {
			t.Errorf("write: %s: expected an error", body)
		} else if n.After(provider.Call{Key: wwwA, Seen: seen, Next: stampOf(n.seq)}) != nil {
			t.Errorf("write: %s: the zone after it is not known", body)
		}
		fresh := connect(t, f)
		f.Server.Arm(isZones, 0, answer(http.StatusOK, "application/json", body))
		if _, err = fresh.List(t.Context()); strings.Contains(body, "total_pages") {
			wantClass(t, "zones: "+body, err, provider.Permanent)
		} else {
			wantClass(t, "zones: "+body, err, provider.Retryable)
		}
		if _, err := fresh.List(t.Context()); err != nil {
			t.Errorf("a list after zones %s: %v", body, err)
		}
	}
}

// Input: 429 with and without Retry-After, for a list and for a write, with two
// zones of one credential; and the API's own code for it with status 400.
func TestCase68OneRequestTooMany(t *testing.T) {
	for _, row := range []struct {
		fault httpfake.Fault
		after time.Duration
	}{
		{cloudflaretest.Throttled("300"), 300 * time.Second},
		{cloudflaretest.Throttled("7"), 7 * time.Second},
		{cloudflaretest.Throttled(""), 5 * time.Minute},
		{answer(http.StatusTooManyRequests, "text/html", "<html>slow down</html>"), 5 * time.Minute},
	} {
		f, n := world(t)
		s := settings(f)
		s.Limiter = provider.NewLimiter(1000, 1000, 1)
		limited, err := build(s)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := limited.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.Server.Arm(cloudflaretest.IsWrite, 0, row.fault)
		err = limited.Claim(t.Context(), seen, n.next(), nil)
		wantClass(t, "a write", err, provider.Retryable)
		if got := err.(*provider.Error).After; got != row.after { //nolint:errorlint // wantClass checked it
			t.Errorf("expected to wait %v, got %v", row.after, got)
		}
		f.Server.Forget()
		other, err := build(s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.List(t.Context())
		wantClass(t, "another zone of the credential", err, provider.Retryable, "held")
		if got := len(f.Server.Requests()); got > 0 {
			t.Errorf("%d requests during the block", got)
		}
	}
	f, n := world(t)
	f.Server.Arm(cloudflaretest.IsList, 0, f.Refusal(http.StatusBadRequest, 971, "Please wait and consider throttling your request speed"))
	_, err := n.List(t.Context())
	wantClass(t, "code 971", err, provider.Retryable, "971")
}

// Input: ten sets, of which the fourth cannot be written for a CNAME that stands
// there since the list, and the record of the seventh is gone.
func TestCase69OneBadSetStopsNoOther(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	hand := f.Hand(t, nil)
	key := func(i int) record.Key {
		return record.Key{Zone: testZone, Name: record.Name(fmt.Sprintf("pool%d.example.com.", i)), Type: record.A}
	}
	hand.Put(providertest.RR{Name: "pool4.example.com.", Type: "CNAME", TTL: time.Minute, Data: "elsewhere.example.net."})
	for i := range 10 {
		if i != 4 {
			hand.Put(providertest.RR{Name: string(key(i).Name), Type: "A", TTL: time.Minute, Data: "192.0.2.10"})
		}
	}
	n := newNode(t, f).hold()
	round := func() (failed []int) {
		for i := range 10 {
			if slices.Contains(n.list().Set(key(i)).Live(), "192.0.2.20") {
				continue
			}
			call := provider.Call{Key: key(i), Seen: n.list(), Next: n.next(), Add: []record.Change{{Action: record.Create, Key: key(i), Value: "192.0.2.20", TTL: time.Minute}}}
			if i == 7 {
				hand.Remove(providertest.RR{Name: string(key(i).Name), Type: "A", Data: "192.0.2.10"})
			}
			if err := n.Add(t.Context(), call); err != nil {
				wantClass(t, key(i).String(), err, provider.Conflict, "81054", "pool4", "CNAME")
				failed = append(failed, i)
			}
		}
		return failed
	}
	if got := round(); !slices.Equal(got, []int{4}) {
		t.Errorf("expected the fourth to fail alone, got %v", got)
	}
	f.Server.Forget()
	if got := round(); !slices.Equal(got, []int{4}) {
		t.Errorf("again: %v", got)
	}
	if got := bodies(f); len(got) != 1 || !strings.Contains(got[0], "pool4") {
		t.Errorf("the second round sends %v", got)
	}
}

// Input: a create that is applied and whose answer is lost before its headers, in
// the middle of its body, or after the deadline.
func TestCase70LostReplyMakesNoSecondRecord(t *testing.T) {
	for name, fault := range map[string]httpfake.Fault{
		"before headers": {Apply: true, Drop: true},
		"mid-body":       {Apply: true, Status: http.StatusOK, Header: http.Header{"Content-Length": {"2000"}}, Body: `{"result":{"deletes":[`},
		"too late":       {Apply: true, Hang: true},
		"gateway":        {Apply: true, Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"},
	} {
		f, n := world(t)
		f.Server.Forget()
		f.Server.Arm(cloudflaretest.IsWrite, 0, fault)
		create := record.Change{Action: record.Create, Key: wwwA, Value: "192.0.2.30", TTL: time.Minute}
		call := provider.Call{Key: wwwA, Seen: n.list(), Next: n.next(), Add: []record.Change{create}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := n.Add(ctx, call)
		cancel()
		wantClass(t, name, err, provider.Ambiguous)
		if n.After(call) != nil {
			t.Errorf("%s: nobody knows the zone after it", name)
		}
		if a, found := n.list().Set(wwwA).Find("192.0.2.30"); !found || !a.Live {
			t.Errorf("%s: the list does not show it", name)
		}
		n.must(wwwA, nil, create)
		err = n.Add(t.Context(), call)
		wantClass(t, name+": the same call once more", err, provider.FencedOut)
		made := 0
		for _, r := range f.Records() {
			if r.Content == "192.0.2.30" {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%s: %d records", name, made)
		}
	}
}

// Input: pages and noise of gateways in the place of an answer, while a value has
// to go; afterwards the API is back.
func TestCase72PagesAreNoAnswers(t *testing.T) {
	const page = "<!DOCTYPE html><html><body>error 198.51.100.66</body></html>"
	for name, fault := range map[string]httpfake.Fault{
		"502":        answer(http.StatusBadGateway, "text/html", page),
		"200 page":   answer(http.StatusOK, "text/html", page),
		"403 page":   answer(http.StatusForbidden, "text/html; charset=UTF-8", page),
		"503 empty":  answer(http.StatusServiceUnavailable, "", ""),
		"520":        answer(520, "text/plain", "error code: 520"),
		"500 JSON":   answer(http.StatusInternalServerError, "application/json", `{"success":false,"errors":[{"code":10000,"message":"internal"}],"result":null}`),
		"truncated":  answer(http.StatusOK, "application/json", `{"result":[{"id":"a","name":"www.exam`),
		"BOM":        answer(http.StatusOK, "application/json", "\xef\xbb\xbf"+`{"success":true}`),
		"gzip noise": {Name: "gzip", Status: http.StatusOK, Header: http.Header{"Content-Encoding": {"gzip"}}, Body: "\x1f\x8bnoise"},
	} {
		f, n := world(t)
		seen := n.list()
		status := "HTTP " + fmt.Sprint(fault.Status)
		f.Server.Arm(cloudflaretest.IsList, 0, fault)
		_, err := n.List(t.Context())
		wantClass(t, name, err, provider.Retryable, status)
		f.Server.Forget()
		f.Server.Arm(cloudflaretest.IsWrite, 0, fault)
		wantClass(t, name+" write", n.pause(seen, "192.0.2.10", "192.0.2.20"), provider.Ambiguous, status)
		f.Server.Forget()
		if err := n.pause(n.list(), "192.0.2.10", "192.0.2.20"); err != nil {
			t.Errorf("%s: after it: %v", name, err)
		}
		if got := len(bodies(f)); got != 1 {
			t.Errorf("%s: %d writes after it", name, got)
		}
		if strings.Contains(strings.Join(f.Attributes(), "\n"), "198.51.100.66") {
			t.Errorf("%s: a value of the page is in the zone", name)
		}
	}
}

// Input: tokens that expired, were disabled, have the wrong form or too few
// rights, before and while sidestep runs; then a good one.
func TestCase74BadTokens(t *testing.T) {
	f, n := world(t)
	for name, row := range map[string]struct {
		token cloudflaretest.Token
		parts []string
	}{
		"expired":    {cloudflaretest.Token{Status: "expired", ReadZones: true, ReadDNS: true, EditDNS: true}, []string{"9109", "validate --online"}},
		"disabled":   {cloudflaretest.Token{Status: "disabled"}, []string{"9109"}},
		"no DNS":     {cloudflaretest.Token{Status: "active", ReadZones: true}, []string{"10000", "DNS:Edit"}},
		"sees none":  {cloudflaretest.Token{Status: "active", ReadDNS: true, EditDNS: true}, []string{"no zone of this name", "Zone:Read"}},
		"other zone": {cloudflaretest.Token{Status: "active", ReadDNS: true}, []string{"no zone of this name", "zone_id"}},
	} {
		f.SetToken("other", row.token)
		s := settings(f)
		s.Secrets["api_token"] = provider.NewSecret("other")
		a, err := build(s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.List(t.Context())
		wantClass(t, name, err, provider.Permanent, row.parts...)
		if strings.Count(err.Error(), "validate --online") > 1 {
			t.Errorf("%s: the same advice twice: %v", name, err)
		}
		if _, err := a.Inspect(t.Context()); provider.ClassOf(err) != provider.Permanent {
			t.Errorf("%s: inspect: %v", name, err)
		}
	}
	seen := n.list()
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "expired"})
	f.Server.Forget()
	wantClass(t, "expired meanwhile", n.pause(seen, "192.0.2.10", "192.0.2.20"), provider.Permanent, "9109")
	if got := len(f.Server.Requests()); got != 1 {
		t.Errorf("%d requests for one call", got)
	}
	f.SetToken(cloudflaretest.DefaultToken, cloudflaretest.Token{Status: "active", ReadZones: true, ReadDNS: true, EditDNS: true})
	if err := n.pause(n.list(), "192.0.2.10", "192.0.2.20"); err != nil {
		t.Errorf("with a good token: %v", err)
	}
	s := settings(f)
	s.Secrets["api_token"] = provider.NewSecret("never-issued")
	stranger, err := build(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Inspect(t.Context()); provider.ClassOf(err) != provider.Permanent {
		t.Errorf("an unknown token: %v", err)
	}
}
