package cloudflare

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// refusals are ways in which the API may say that a record of a batch is gone:
// that it stands first in the answer is nowhere promised.
var refusals = map[string]provider.Class{
	`{"code":81044,"message":"Record does not exist."}`:                                                                            provider.Conflict,
	`{"code":1004,"message":"DNS Validation Error","error_chain":[{"code":81044,"message":"Record does not exist."}]}`:             provider.Conflict,
	`{"code":9999,"message":"batch failed"},{"code":81044,"message":"Record does not exist."}`:                                     provider.Conflict,
	`{"code":9999,"message":"batch failed","error_chain":[{"code":1,"message":"x","error_chain":[{"code":81044,"message":"y"}]}]}`: provider.Conflict,
	`{"code":7003,"message":"Could not route to the record"}`:                                                                      provider.Permanent,
	`{"code":9999,"message":"batch failed"}`:                                                                                       provider.Permanent,
}

func refuse(f *cloudflaretest.Fake, status int, errors string) {
	f.Server.Arm(cloudflaretest.IsWrite, 0, answer(status, "application/json", `{"success":false,"errors":[`+errors+`],"result":null}`))
}

func TestARefusalIsKnownByTheZoneWhateverItsCode(t *testing.T) {
	for errors, class := range refusals {
		for _, status := range []int{http.StatusBadRequest, http.StatusNotFound} {
			what := fmt.Sprintf("%d %s", status, errors)
			f, n := world(t)
			seen := n.list()
			refuse(f, status, errors)
			wantClass(t, "a write: "+what, n.pause(seen, "192.0.2.10", "192.0.2.20"), class)

			refuse(f, status, errors)
			if err := n.Prove(t.Context(), seen, n.next(), nil); err != nil || !n.Promises().Fenced {
				t.Errorf("prove: %s: %v", what, err)
			}

			other := newNode(t, f)
			other.seq = 100
			other.hold()
			refuse(f, status, errors)
			wantClass(t, "a write from an old list: "+what, n.pause(seen, "192.0.2.10", "192.0.2.20"), provider.FencedOut)
			refuse(f, status, errors)
			wantClass(t, "a claim from an old list: "+what, n.Claim(t.Context(), seen, n.next(), nil), provider.FencedOut)
		}
	}
}

// TestOnlyTheAPIRefuses: what is said of the credential, or by something else,
// proves nothing of the fence and costs no look at the stamp.
func TestOnlyTheAPIRefuses(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
	}{
		{http.StatusForbidden, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`},
		{http.StatusBadRequest, `not found`},
		{http.StatusNotFound, `{"message":"no such host"}`},
	} {
		f, n := world(t)
		seen := n.list()
		f.Server.Forget()
		f.Server.Arm(cloudflaretest.IsWrite, 0, answer(row.status, "application/json", row.body))
		if err := n.Prove(t.Context(), seen, n.next(), nil); err == nil {
			t.Errorf("prove: %d %s: expected an error", row.status, row.body)
		}
		f.Server.Arm(cloudflaretest.IsWrite, 0, answer(row.status, "application/json", row.body))
		if err := n.pause(seen, "192.0.2.10", "192.0.2.20"); err == nil || provider.ClassOf(err) == provider.FencedOut {
			t.Errorf("a write: %d %s: %v", row.status, row.body, err)
		}
		if got := len(f.Server.Requests()); got != 2 {
			t.Errorf("%d %s: %d requests", row.status, row.body, got)
		}
	}
}

// TestWhatTheAPISaysIsFitForAnError: an answer that is long, that would act on a
// terminal or that repeats the token.
func TestWhatTheAPISaysIsFitForAnError(t *testing.T) {
	f, n := world(t)
	for _, text := range []string{strings.Repeat("x", 1<<20), `a\nlevel=error \u001b[31mred ` + cloudflaretest.DefaultToken} {
		inner := fmt.Sprintf(`{"code":1004,"message":"%s","error_chain":[{"code":9,"message":"%[1]s"}]}`, text)
		for _, body := range []string{
			`{"success":false,"errors":[` + inner + `,` + inner + `]}`,
			"GET / " + strings.ReplaceAll(strings.ReplaceAll(text, `\n`, "\n"), `\u001b`, "\x1b"),
		} {
			for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusTooManyRequests, http.StatusBadGateway} {
				seen := n.list()
				f.Server.Arm(cloudflaretest.IsList, 0, answer(status, "application/json", body))
				_, err := n.List(t.Context())
				fit(t, err)
				f.Server.Arm(cloudflaretest.IsWrite, 0, answer(status, "application/json", body))
				fit(t, n.pause(seen, "192.0.2.10", "192.0.2.20"))
			}
		}
	}
}

// TestATTLThatIsNotKeptHoldsNoPauseUp: the config wants a TTL of two days.
func TestATTLThatIsNotKeptHoldsNoPauseUp(t *testing.T) {
	_, n := world(t)
	ttl := record.Change{Action: record.SetTTL, Key: wwwA, Value: "192.0.2.20", TTL: 48 * time.Hour}
	call := provider.Call{
		Key: wwwA, Seen: n.list(), Next: n.next(), Survivors: []string{"192.0.2.20"},
		Away: []record.Change{ttl, {Action: record.Pause, Key: wwwA, Value: "192.0.2.10"}},
	}
	if err := n.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	set := n.list().Set(wwwA)
	if a, _ := set.Find("192.0.2.20"); !slices.Equal(set.Live(), []string{"192.0.2.20"}) || a.TTL != a.Kept(ttl.TTL) || a.TTL != n.Promises().MaxTTL {
		t.Errorf("expected the survivor with %v, got %+v", maxTTL, set)
	}
}

// TestOnlyTheNamedValueGoesLive: a parked record is edited between the list and
// the resume.
func TestOnlyTheNamedValueGoesLive(t *testing.T) {
	f, n := world(t)
	n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.Pause, Value: "192.0.2.10"})
	call := provider.Call{Key: wwwA, Seen: n.list(), Next: n.next(), Add: []record.Change{{Action: record.Resume, Key: wwwA, Value: "192.0.2.10"}}}
	f.Patch(t, "_sidestep-paused.www.example.com", "A", "192.0.2.10", func(r *cloudflaretest.Record) { r.Content = "198.51.100.7" })
	if err := n.Add(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if got := n.list().Set(wwwA).Live(); !slices.Equal(got, []string{"192.0.2.10", "192.0.2.20"}) {
		t.Errorf("live: %v", got)
	}
}

func fit(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("expected an error")
		return
	}
	text := err.Error()
	if len(text) > 1000 || strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, cloudflaretest.DefaultToken) {
		t.Errorf("%d bytes: %.300q", len(text), text)
	}
}
