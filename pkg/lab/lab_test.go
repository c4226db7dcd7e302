package lab

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fresh is a client that opens a new connection for each request.
func fresh() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}, Timeout: 20 * time.Second}
}

func start(t *testing.T, name, addr string) *Backend {
	t.Helper()
	b := NewBackend(name, addr)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func get(t *testing.T, client *http.Client, target string) (status int, body string) {
	t.Helper()
	r, err := client.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	return finish(t, r)
}

func finish(t *testing.T, r *http.Response) (status int, body string) {
	t.Helper()
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

func TestBackendAnswers(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/healthz": {200, `{"status":"ok","backend":"b1"}` + "\n"},
		"/":        {200, "this is backend b1\n"},
		"/other":   {404, "404 page not found\n"},
	} {
		if status, body := get(t, fresh(), "http://"+b.Addr()+path); status != want.status || body != want.body {
			t.Errorf("%s: %d %q, want %d %q", path, status, body, want.status, want.body)
		}
	}
	if b.Requests() != 3 {
		t.Errorf("%d requests counted, want 3", b.Requests())
	}
}

// failure is how a new request to a backend fails; nil when it does not.
func failure(b *Backend, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.Addr()+"/healthz", nil)
	if err != nil {
		return err
	}
	r, err := fresh().Do(req)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

func TestBackendIsBrokenAndMended(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	addr := b.Addr()
	for _, c := range []struct {
		mode    Mode
		want    error
		timeout time.Duration // a hanging backend is waited for no longer
	}{
		{Refuse, syscall.ECONNREFUSED, 20 * time.Second},
		{Reset, syscall.ECONNRESET, 20 * time.Second},
		{Hang, context.DeadlineExceeded, 200 * time.Millisecond},
		{Refuse, syscall.ECONNREFUSED, 20 * time.Second},
		{Refuse, syscall.ECONNREFUSED, 20 * time.Second},
	} {
		if err := b.Break(c.mode); err != nil {
			t.Fatal(err)
		}
		if err := failure(b, c.timeout); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.mode, err, c.want)
		}
		if b.Mode() != c.mode || b.Addr() != addr {
			t.Errorf("mode %s on %s, want %s on %s", b.Mode(), b.Addr(), c.mode, addr)
		}
	}
	if err := b.Break(Status(503)); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, fresh(), "http://"+addr+"/healthz"); status != 503 || !strings.Contains(body, "b1") {
		t.Errorf("%d %q, want 503 and the name", status, body)
	}
	if err := b.Mend(); err != nil {
		t.Fatal(err)
	}
	if err := failure(b, 20*time.Second); err != nil {
		t.Errorf("after Mend: %v", err)
	}
}

func TestBackendModesHoldOnKeptConnections(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	client := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	target := "http://" + b.Addr() + "/"
	get(t, client, target)
	if err := b.Break(Status(500)); err != nil {
		t.Fatal(err)
	}
	if status, _ := get(t, client, target); status != 500 {
		t.Errorf("status %d on the kept connection, want 500", status)
	}
	if err := b.Break(Refuse); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(target); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want refused: the kept connection is gone as well", err)
	}
}

func TestMendFreesWhatHangs(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	if err := b.Break(Hang); err != nil {
		t.Fatal(err)
	}
	hung := make(chan error, 1)
	go func() { hung <- failure(b, 20*time.Second) }()
	for b.Requests() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := b.Mend(); err != nil {
		t.Fatal(err)
	}
	if err := <-hung; !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want EOF: the request that hung is cut", err)
	}
}

func TestMendTellsThatTheAddressIsTaken(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	if err := b.Break(Refuse); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Mend(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error %v, want address in use", err)
	}
	if b.Mode() != Refuse {
		t.Errorf("mode %s after a Mend that failed, want refuse", b.Mode())
	}
	other.Close()
	if err := b.Mend(); err != nil {
		t.Error(err)
	}
}

// An address that refuses connections is still the backend's: nobody who asks
// for any free port gets it. A socket without SO_REUSEADDR is in their place.
func TestRefusingKeepsTheAddress(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	if err := b.Break(Refuse); err != nil {
		t.Fatal(err)
	}
	plain := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var failed error
		err := conn.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) })
		return errors.Join(err, failed)
	}}
	listen := func() error {
		listener, err := plain.Listen(t.Context(), "tcp", b.Addr())
		if err == nil {
			err = listener.Close()
		}
		return err
	}
	if err := listen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("while it refuses: error %v, want address in use", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := listen(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestBackendLife(t *testing.T) {
	b := NewBackend("b1", "127.0.0.1:0")
	if err := b.Break(Hang); err == nil {
		t.Error("Break before Start: no error")
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close before Start: %v", err)
	}
	for range 2 {
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err == nil {
			t.Error("second Start: no error")
		}
		if err := b.Break("nonsense"); err == nil {
			t.Error("an unknown mode: no error")
		}
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := NewBackend("b2", "192.0.2.1:1").Start(); err == nil {
		t.Error("Start on an address that is not ours: no error")
	}
}

func TestBackendUnderManyHands(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	var hands sync.WaitGroup
	for _, mode := range []Mode{OK, Refuse, Hang, Reset, Status(503)} {
		hands.Go(func() {
			for range 20 {
				if err := b.Break(mode); err != nil {
					t.Error(err)
				}
				_ = failure(b, 5*time.Millisecond) // any outcome is fine
			}
		})
	}
	hands.Wait()
	if err := b.Mend(); err != nil {
		t.Fatal(err)
	}
	if err := failure(b, 20*time.Second); err != nil {
		t.Error(err)
	}
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]Mode{
		"ok": OK, "refuse": Refuse, "hang": Hang, "reset": Reset, "503": "status 503", "status 404": "status 404", " 200 ": "status 200",
	} {
		if got, err := ParseMode(text); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "broken", "status", "status x", "100", "600", "-1", "OK"} {
		if got, err := ParseMode(text); err == nil {
			t.Errorf("%q: %q, want an error", text, got)
		}
	}
}

func TestControl(t *testing.T) {
	b1, b2 := start(t, "b1", "127.0.0.1:0"), start(t, "b2", "127.0.0.1:0")
	c := NewControl(nil, b1, b2)
	if err := c.Serve(t.Context()); err == nil {
		t.Error("Serve before Listen: no error")
	}
	if err := c.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := c.Listen("127.0.0.1:0"); err == nil {
		t.Error("second Listen: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	for _, step := range []struct {
		method, path string
		status       int
		body         string
		mode         Mode // of b1 afterwards
	}{
		{"GET", "/", 200, "b2", OK},
		{"GET", "/", 200, "curl -X POST 'http://" + c.Addr() + "/break?backend=NAME'", OK},
		{"POST", "/break?backend=b1", 200, "backend b1 on " + b1.Addr() + ": refuse", Refuse},
		{"GET", "/", 200, "refuse", Refuse},
		{"POST", "/break?backend=b1&mode=hang", 200, "hang", Hang},
		{"POST", "/break?backend=b1&mode=503", 200, "status 503", Status(503)},
		{"POST", "/break?backend=b1&mode=status+404", 200, "status 404", Status(404)},
		{"POST", "/break?backend=b1&mode=nonsense", 400, "nonsense", Status(404)},
		{"POST", "/break?backend=b9", 404, "there are: b1, b2", Status(404)},
		{"GET", "/mend?backend=b1", 405, "", Status(404)},
		{"POST", "/mend?backend=b1", 200, "ok", OK},
		{"GET", "/else", 404, "", OK},
	} {
		req, err := http.NewRequest(step.method, "http://"+c.Addr()+step.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := fresh().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := finish(t, r); status != step.status || !strings.Contains(body, step.body) {
			t.Errorf("%s %s: %d %q, want %d and %q", step.method, step.path, status, body, step.status, step.body)
		}
		if b1.Mode() != step.mode || b2.Mode() != OK {
			t.Errorf("%s %s: modes %s, %s; want %s, ok", step.method, step.path, b1.Mode(), b2.Mode(), step.mode)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestControlRefusesOtherOrigins(t *testing.T) {
	b := start(t, "b1", "127.0.0.1:0")
	c := NewControl(nil, b)
	if err := c.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	req, err := http.NewRequest(http.MethodPost, "http://"+c.Addr()+"/break?"+url.Values{"backend": {"b1"}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://evil.example")
	r, err := fresh().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := finish(t, r); status != 403 || b.Mode() != OK {
		t.Errorf("status %d, mode %s; want 403, ok", status, b.Mode())
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFreeAddrs(t *testing.T) {
	addrs, err := FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, text := range addrs {
		addr, err := netip.ParseAddrPort(text)
		if err != nil {
			t.Fatal(err)
		}
		if first := netip.MustParseAddrPort(addrs[0]); addr.Port() != first.Port() || addr.Port() == 0 {
			t.Errorf("port %d, the first has %d", addr.Port(), first.Port())
		}
		hosts = append(hosts, addr.Addr().String())
		start(t, text, text)
	}
	if got := strings.Join(hosts, " "); got != "127.0.0.11 127.0.0.12 127.0.0.13" {
		t.Errorf("addresses %s", got)
	}
	for _, n := range []int{0, -1, 1000} {
		if _, err := FreeAddrs(n); err == nil {
			t.Errorf("%d addresses: no error", n)
		}
	}
}
