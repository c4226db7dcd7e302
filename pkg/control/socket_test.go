package control_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

func TestSocketIsForOwnerAndGroup(t *testing.T) {
	path := socketPath(t)
	stop := serve(t, path, backend{})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket has mode %v, want 0660 (%v)", info.Mode().Perm(), err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm() != 0o750 {
		t.Errorf("its new directory has mode %v, want 0750 (%v)", dir.Mode().Perm(), err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there after the end: %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := socketPath(t)
	leaveStale(t, path)
	if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("dial said %v, want ErrNoDaemon", err)
	}
	serve(t, path, backend{status: func(context.Context, string) (control.Status, error) { return control.Status{Node: "new"}, nil }})
	if status, err := dial(t, path).Status(t.Context(), ""); err != nil || status.Node != "new" {
		t.Errorf("status: %v, %v", status.Node, err)
	}
}

// leaveStale leaves a socket as a killed process does.
func leaveStale(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLiveSocketIsRefused(t *testing.T) {
	path := socketPath(t)
	serve(t, path, backend{status: func(context.Context, string) (control.Status, error) { return control.Status{Node: "old"}, nil }})
	_, err := control.Listen(path, backend{}, nil)
	if err == nil || !strings.Contains(err.Error(), "another sidestep answers on it") || !strings.Contains(err.Error(), path) {
		t.Fatalf("a second server said %v", err)
	}
	if status, err := dial(t, path).Status(t.Context(), ""); err != nil || status.Node != "old" {
		t.Errorf("the first one is gone: %v, %v", status.Node, err)
	}
}

// TestFullSocketIsRefused finds a server that listens and accepts nothing: it
// must not be taken for a dead one.
func TestFullSocketIsRefused(t *testing.T) {
	path := socketPath(t)
	fillSocket(t, path)
	if _, err := control.Listen(path, backend{}, nil); err == nil {
		t.Fatal("a server took the socket of one that lives")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket was removed: %v", err)
	}
}

func TestOtherFileIsLeftAlone(t *testing.T) {
	path := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Listen(path, backend{}, nil); err == nil || !strings.Contains(err.Error(), "no socket is in its place") {
		t.Errorf("listen said %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestPlaceThatCannotBeWritten(t *testing.T) {
	path := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	beNobody(t)
	if _, err := control.Listen(path, backend{}, nil); err == nil || !strings.Contains(err.Error(), "control.socket") {
		t.Errorf("listen said %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	_, err := control.Dial(t.Context(), socketPath(t))
	if !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("dial said %v, want ErrNoDaemon", err)
	}
}

// TestRequestUnderWayAtTheEnd ends the server while it answers: the answer has
// to arrive, and only then is the server over.
func TestRequestUnderWayAtTheEnd(t *testing.T) {
	path := socketPath(t)
	begun, stopping, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	stop := serve(t, path, backend{plan: func(context.Context, control.PlanRequest) (control.Plan, error) {
		close(begun)
		<-stopping
		for newConnections(path) { // until the server has heard of its end
		}
		select {
		case <-over:
			t.Error("the server was over before its request was")
		case <-time.After(100 * time.Millisecond):
		}
		return control.Plan{Undecided: []string{"in time"}}, nil
	}}, func(s *control.Server) { s.SetGrace(time.Minute) }) // a second may be over before a busy machine comes to it
	client := dial(t, path)
	answered := make(chan error, 1)
	go func() {
		answer, err := client.Reconcile(context.Background(), control.PlanRequest{})
		if err == nil && len(answer.Undecided) != 1 {
			err = errors.New("the answer is empty")
		}
		answered <- err
	}()
	<-begun
	close(stopping)
	if err := stop(); err != nil {
		t.Error(err)
	}
	close(over)
	if err := <-answered; err != nil {
		t.Errorf("the request under way was answered with: %v", err)
	}
}

func newConnections(path string) bool {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// TestRequestThatOutlastsTheEnd never ends by itself: its context does, and the
// client hears that the daemon is gone.
func TestRequestThatOutlastsTheEnd(t *testing.T) {
	path := socketPath(t)
	begun := make(chan struct{})
	cut := make(chan struct{})
	stop := serve(t, path, backend{plan: func(ctx context.Context, _ control.PlanRequest) (control.Plan, error) {
		close(begun)
		<-ctx.Done()
		close(cut)
		return control.Plan{}, ctx.Err()
	}})
	client := dial(t, path)
	answered := make(chan error, 1)
	go func() {
		_, err := client.Plan(context.Background(), control.PlanRequest{})
		answered <- err
	}()
	<-begun
	if err := stop(); err != nil {
		t.Error(err)
	}
	<-cut
	if err := <-answered; err == nil || !strings.Contains(err.Error(), "ended before it had answered") {
		t.Errorf("the client heard: %v", err)
	}
}

// TestClientThatGoesAway takes its request with it.
func TestClientThatGoesAway(t *testing.T) {
	path := socketPath(t)
	begun, cut := make(chan struct{}), make(chan struct{})
	serve(t, path, backend{plan: func(ctx context.Context, _ control.PlanRequest) (control.Plan, error) {
		close(begun)
		<-ctx.Done()
		close(cut)
		return control.Plan{}, ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	client := dial(t, path)
	answered := make(chan error, 1)
	go func() {
		_, err := client.Plan(ctx, control.PlanRequest{})
		answered <- err
	}()
	<-begun
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the client heard: %v", err)
	}
	<-cut
}

// TestStrangerOnTheSocket speaks HTTP, but not this protocol.
func TestStrangerOnTheSocket(t *testing.T) {
	path := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	answer := http.NotFound
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	client := dial(t, path)
	if _, err := client.Status(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("status said %v", err)
	}
	answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }
	if _, err := client.Status(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "read its answer") {
		t.Errorf("status said %v", err)
	}
}

// TestSilentConnectionsGiveWay: whoever opens many connections and asks nothing, or not
// to the end, takes a bounded number of the daemon's descriptors, and shuts nobody out.
func TestSilentConnectionsGiveWay(t *testing.T) {
	const many = 100
	path := socketPath(t)
	serve(t, path, backend{status: func(context.Context, string) (control.Status, error) { return control.Status{Node: "n"}, nil }})
	before := descriptors(t)
	for i := range many {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if i%2 == 0 {
			_, _ = conn.Write([]byte("GET /api/v1/status HTTP/1.1\r\nHost: s\r\nX: ")) // it may be cut off by now
		}
	}
	if status, err := dial(t, path).Status(t.Context(), ""); err != nil || status.Node != "n" {
		t.Errorf("beside them: %+v, %v", status, err)
	}
	if taken := descriptors(t) - before - many; taken > many/2 {
		t.Errorf("%d connections that ask nothing were kept", taken)
	}
}

// TestBusyConnectionsAreAwaited: what is being answered is not cut off for the next.
func TestBusyConnectionsAreAwaited(t *testing.T) {
	path := socketPath(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	serve(t, path, backend{
		plan: func(context.Context, control.PlanRequest) (control.Plan, error) {
			begun <- struct{}{}
			<-goOn
			return control.Plan{Undecided: []string{"whole"}}, nil
		},
		status: func(context.Context, string) (control.Status, error) { return control.Status{Node: "n"}, nil },
	})
	answered := make(chan error, control.MaxConnections)
	client := dial(t, path)
	for range control.MaxConnections {
		go func() {
			plan, err := client.Plan(context.Background(), control.PlanRequest{})
			if err == nil && len(plan.Undecided) != 1 {
				err = errors.New("the answer is empty")
			}
			answered <- err
		}()
		<-begun
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := client.Status(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("there was room for another: %v", err)
	}
	close(goOn)
	for range control.MaxConnections {
		if err := <-answered; err != nil {
			t.Errorf("one that was being answered heard: %v", err)
		}
	}
	if status, err := client.Status(t.Context(), ""); err != nil || status.Node != "n" {
		t.Errorf("afterwards: %+v, %v", status, err)
	}
}

// descriptors counts those of this process, which is both ends.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("counting descriptors needs /proc: ", err)
	}
	return len(open)
}
