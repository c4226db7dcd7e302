package generic

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
)

// A zone of which nothing is known yet is not believed to be empty until a list
// that is the lag younger says so again; a record ends the wait.
func TestFirstEmptyListIsNotBelieved(t *testing.T) {
	a, _ := setup(t, habits{}, Known{})
	var passed time.Duration
	began := time.Now()
	a.now = func() time.Time { return began.Add(passed) }
	for range 3 {
		_, err := a.List(t.Context())
		wantClass(t, err, provider.Retryable, "empty list", "any record")
		if e, _ := errors.AsType[*provider.Error](err); e.After != a.lag-passed {
			t.Errorf("after %v it should be asked again in %v, got %v", passed, a.lag-passed, e.After)
		}
		passed += 10 * time.Second
	}
	passed = a.lag
	for range 2 {
		if s := listed(t, a); s.Records != 0 {
			t.Errorf("got %d records", s.Records)
		}
		passed += time.Hour
	}
	b, l := setup(t, habits{}, Known{})
	if _, err := b.List(t.Context()); err == nil {
		t.Error("the empty list is believed")
	}
	l.records = twoAddresses()
	if s := listed(t, b); s.Records != 2 {
		t.Errorf("got %d records", s.Records)
	}
}

// What a library says in its error is told on one line, cut, and without the
// credential; what it is stays to be asked.
func TestErrorsOfALibraryAreFitToBeTold(t *testing.T) {
	cause := fmt.Errorf("\x1b[31m<html>\nlevel=error token=hunter2 %s", strings.Repeat("x", 1<<20))
	for _, library := range []Library{failing{cause}, failing{&url.Error{Op: "Get", URL: "https://api.example/?token=hunter2", Err: cause}}} {
		secrets := map[string]provider.Secret{"api_token": provider.NewSecret("hunter2")}
		a := New(provider.Settings{Zone: zoneName, Secrets: secrets}, library, Known{})
		_, err := a.List(t.Context())
		if text := err.Error(); len(text) > 300 || strings.ContainsAny(text, "\n\x1b") || strings.Contains(text, "hunter2") || !strings.Contains(text, "<html>") {
			t.Errorf("%d bytes: %.300q", len(text), text)
		}
		if !errors.Is(err, cause) {
			t.Error("the cause is gone")
		}
	}
}

// failing is a library that lists nothing but an error.
type failing struct{ err error }

func (f failing) GetRecords(context.Context, string) ([]libdns.Record, error) { return nil, f.err }

func (f failing) AppendRecords(context.Context, string, []libdns.Record) ([]libdns.Record, error) {
	return nil, f.err
}

func (f failing) DeleteRecords(context.Context, string, []libdns.Record) ([]libdns.Record, error) {
	return nil, f.err
}
