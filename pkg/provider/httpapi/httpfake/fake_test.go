package httpfake

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// start serves a counter: what a request changes is seen in what it counts.
func start(t *testing.T) (*Server, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	s := Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		count.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s, &count
}

// post sends on a connection of its own.
func post(ctx context.Context, s *Server, path string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader("hello"))
	if err != nil {
		return 0, "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	reply, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(data), err
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  Fault
		status int // 0: no answer
		body   string
		count  int32
	}{
		{"none", Fault{}, 201, "hello", 1},
		{"delay only", Fault{Delay: time.Millisecond}, 201, "hello", 1},
		{"answer instead", Fault{Status: 429, Body: "slow down"}, 429, "slow down", 0},
		{"apply, then another answer", Fault{Apply: true, Status: 500, Body: "oops"}, 500, "oops", 1},
		{"drop before", Fault{Drop: true}, 0, "", 0},
		{"drop after applying", Fault{Apply: true, Drop: true}, 0, "", 1},
		{"apply and nothing", Fault{Apply: true}, 0, "", 1},
		{"drop beats status", Fault{Drop: true, Status: 200}, 0, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, count := start(t)
			s.Arm(Any, 0, tt.fault)
			status, body, err := post(t.Context(), s, "/")
			if status != tt.status || body != tt.body || (err == nil) != (tt.status != 0) {
				t.Errorf("expected %d %q, got %d %q, %v", tt.status, tt.body, status, body, err)
			}
			if count.Load() != tt.count {
				t.Errorf("expected the handler to run %d times, it ran %d times", tt.count, count.Load())
			}
			if status, _, err := post(t.Context(), s, "/"); status != 201 || err != nil {
				t.Errorf("a fault is used once, got %d, %v", status, err)
			}
		})
	}
}

// Who hangs is let go by its own deadline, and by the end of the server.
func TestHang(t *testing.T) {
	s, count := start(t)
	s.Arm(Any, 0, Fault{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := post(ctx, s, "/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("expected the deadline, got %v", err)
	}
	s2 := Start(http.NotFoundHandler())
	s2.Arm(Any, 0, Fault{Hang: true})
	ended := make(chan error)
	go func() {
		_, _, err := post(context.Background(), s2, "/")
		ended <- err
	}()
	for len(s2.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s2.Close()
	if err := <-ended; err == nil {
		t.Error("expected no answer")
	}
	if count.Load() != 0 {
		t.Error("the handler ran")
	}
}

// Faults are tried in order, each meets what it matches, after those it lets
// pass, and the record says which request met which.
func TestScript(t *testing.T) {
	s, _ := start(t)
	onB := func(r *http.Request, body []byte) bool { return r.URL.Path == "/b" && string(body) == "hello" }
	s.Arm(onB, 1, Fault{Name: "second b", Status: 503, Header: http.Header{"Retry-After": {"3"}}})
	s.Arm(Any, 2, Fault{Status: 418})
	s.Arm(func(*http.Request, []byte) bool { return false }, 0, Fault{Status: 500})
	var got []int
	for _, path := range []string{"/b", "/a", "/b", "/a", "/b"} {
		status, _, err := post(t.Context(), s, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	// The first b is let pass by both; the second meets the first fault, which
	// the other never sees.
	want := []int{201, 201, 503, 418, 201}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("expected %v, got %v", want, got)
		}
	}
	requests := s.Requests()
	if len(requests) != 5 || requests[2].Fault != "second b" || requests[3].Fault != "fault" || requests[0].Fault != "" || string(requests[0].Body) != "hello" {
		t.Errorf("the record is %+v", requests)
	}
	s.Forget()
	if n := s.Disarm(); n != 1 || len(s.Requests()) != 0 {
		t.Errorf("expected 1 fault left and no request, got %d and %d", n, len(s.Requests()))
	}
}

// A redirect leads one host to the server, under its own name, and ends with the
// test.
func TestRedirect(t *testing.T) {
	s, count := start(t)
	before := http.DefaultTransport
	t.Run("while", func(t *testing.T) {
		s.Redirect(t, "api.example.net")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.net/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := reply.Body.Close(); err != nil {
			t.Error(err)
		}
		if count.Load() != 1 || reply.StatusCode != http.StatusCreated || s.Requests()[0].Path != "/x" {
			t.Errorf("got status %d after %d requests", reply.StatusCode, count.Load())
		}
	})
	if http.DefaultTransport != before {
		t.Error("the redirect did not end with its test")
	}
}
