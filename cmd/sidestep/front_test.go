package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/record"
)

// front stands between sidestep and a provider's API. It passes every request
// on, whatever becomes of who sent it, and looks at the zone after each: so that
// no state that a request leaves behind goes by unseen. Its script says what goes
// wrong with which request.
type front struct {
	*httpfake.Server

	t     testing.TB
	cloud *cloud
	api   *url.URL

	down atomic.Pointer[httpfake.Fault] // what every request is answered with meanwhile; nil for nothing
	late atomic.Pointer[late]           // what happens to the next request of a kind; nil for nothing
	told func(*http.Request)            // called after each request that was carried out; nil for nothing

	mu    sync.Mutex // held by a request and the look after it
	last  time.Time  // when the last request came
	known []string   // values that the zone was seen to hold, which it must not lose
}

func startFront(t testing.TB, c *cloud) *front {
	t.Helper()
	api, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{t: t, cloud: c, api: api}
	f.Server = httpfake.Start(http.HandlerFunc(f.pass))
	t.Cleanup(f.Close)
	return f
}

// late is a request that is on its way for as long as a test wants.
type late struct {
	is      func(*http.Request) bool
	sent    chan struct{} // closed when it is on its way
	arrives chan struct{} // to be closed
	done    chan struct{} // closed when it was carried out, or refused
}

func newLate(is func(*http.Request) bool) *late {
	return &late{is, make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

// pass hands a request to the API. Who sent it may be dead by then: it is
// carried out all the same, as it would be by a vendor.
func (f *front) pass(w http.ResponseWriter, r *http.Request) {
	if fault := f.down.Load(); fault != nil {
		f.refuse(w, fault)
		return
	}
	if l := f.late.Load(); l != nil && l.is(r) && f.late.CompareAndSwap(l, nil) {
		close(l.sent)
		<-l.arrives
		defer close(l.done)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Now()
	defer f.look(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Errorf("read the request: %v", err)
		return
	}
	target := *r.URL
	target.Scheme, target.Host = f.api.Scheme, f.api.Host
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		f.t.Errorf("pass the request on: %v", err)
		return
	}
	request.Header, request.Host = r.Header.Clone(), r.Host // which was signed
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		f.t.Errorf("pass %s %s on: %v", r.Method, r.URL, err)
		return
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // who sent it may be gone
}

// settle waits until what was passed on is answered and told of.
func (f *front) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
}

// refuse answers with an error, or, where it has no status, with none.
func (f *front) refuse(w http.ResponseWriter, fault *httpfake.Fault) {
	if fault.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), fault.Header)
	w.WriteHeader(fault.Status)
	_, _ = io.WriteString(w, fault.Body)
}

// look holds the state of the zone to what must be so in every one: the name
// answers, and no value that was there is gone altogether.
func (f *front) look(r *http.Request) {
	f.cloud.changed()
	if len(f.cloud.hand.Live(steeredKey)) == 0 {
		f.t.Errorf("%s answers with nothing after %s %s; the zone:\n%s", steeredKey, r.Method, r.URL, strings.Join(f.cloud.all(), "\n"))
	}
	zone := strings.Join(f.cloud.all(), "\n")
	for _, value := range f.known {
		if !strings.Contains(zone, value) {
			f.t.Errorf("%s is lost after %s %s; the zone:\n%s", value, r.Method, r.URL, zone)
		}
	}
	for _, value := range f.cloud.answers {
		if strings.Contains(zone, value) && !slices.Contains(f.known, value) {
			f.known = append(f.known, value)
		}
	}
	if f.told != nil {
		f.told(r)
	}
}

// asked is when the last request came.
func (f *front) asked() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// kinds names the requests that arrived, in order.
func (f *front) kinds(of func(httpfake.Request) string) []string {
	var kinds []string
	for _, r := range f.Requests() {
		kinds = append(kinds, of(r))
	}
	return kinds
}

// steeredKey is the record set that the hosted zones are about.
var steeredKey = record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}
