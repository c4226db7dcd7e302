package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 30 * time.Second

// serve runs a target of n addresses and gives its commander. The port is one
// that the kernel picked for the first address.
func serve(t *testing.T, n int) (*Target, *Remote) {
	t.Helper()
	target, err := NewTarget(n, freePort(t), false)
	for tries := 0; errors.Is(err, syscall.EADDRINUSE) && tries < 100; tries++ { // at another address, or by now
		target, err = NewTarget(n, freePort(t), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "control"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- target.Serve(ctx) }()
	go func() { ended <- target.Control(ctx, listener) }()
	remote, err := Dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remote.Close(); err != nil {
			t.Error(err)
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		target.Close()
	})
	return target, remote
}

// freePort is a port that was free on the first address a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", Address(0).String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// get asks target i and gives the first line of the answer.
func get(t *testing.T, target *Target, i int, within time.Duration) (string, error) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", Address(i), target.port), patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(within))
	if _, err := conn.Write(request); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func TestTargetAnswersAndNotesWhoCame(t *testing.T) {
	target, remote := serve(t, 3)
	before, err := remote.Mark()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{2, 0, 2} {
		if line, err := get(t, target, i, patience); line != "HTTP/1.1 200 OK" {
			t.Errorf("target %d: got %q, %v", i, line, err)
		}
	}
	arrivals, after, err := remote.dump()
	if err != nil {
		t.Fatal(err)
	}
	last := before
	for n, want := range []int32{2, 0, 2} {
		if n >= len(arrivals) || arrivals[n].Index != want || arrivals[n].At < last || arrivals[n].At > after {
			t.Fatalf("arrivals %v between %v and %v: want those of 2, 0, 2, in order", arrivals, before, after)
		}
		last = arrivals[n].At
	}
	if _, err := remote.Mark(); err != nil {
		t.Fatal(err)
	}
	if arrivals, err := remote.Dump(); err != nil || len(arrivals) != 0 {
		t.Errorf("after a mark: got %v, %v", arrivals, err)
	}
}

func TestTargetBreaksAndHeals(t *testing.T) {
	target, remote := serve(t, 5)
	for i, fault := range []Fault{Refuse, Hang, Err500, Reset} {
		if err := remote.Set(fault, i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := get(t, target, 0, patience); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("refuse: got %v", err)
	}
	var timeout net.Error
	if line, err := get(t, target, 1, 100*time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("hang: got %q, %v", line, err)
	}
	if line, err := get(t, target, 2, patience); line != "HTTP/1.1 500 Internal Server Error" {
		t.Errorf("500: got %q, %v", line, err)
	}
	if line, err := get(t, target, 3, patience); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("rst: got %q, %v", line, err)
	}
	if line, err := get(t, target, 4, patience); line != "HTTP/1.1 200 OK" {
		t.Errorf("beside the broken: got %q, %v", line, err)
	}
	if err := remote.Set("", 0, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if line, err := get(t, target, i, patience); line != "HTTP/1.1 200 OK" {
			t.Errorf("target %d when healed: got %q, %v", i, line, err)
		}
	}
}

func TestControlRefusesWhatItDoesNotKnow(t *testing.T) {
	_, remote := serve(t, 2)
	for line, want := range map[string]string{
		"":             "expected a command",
		"stop":         `got "stop"`,
		"fault":        "expected a kind of fault",
		"fault dead 1": `got "dead"`,
		"fault hang x": `got "x"`,
		"fault 500 2":  "no target 2, only 0 to 1",
		"heal 1 -1":    "no target -1",
	} {
		if _, _, err := remote.ask(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
	if _, err := remote.Mark(); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func TestTargetOfTooManyAddresses(t *testing.T) {
	for _, n := range []int{0, -1, maxTargets + 1} {
		if _, err := NewTarget(n, 80, false); err == nil {
			t.Errorf("%d addresses: expected an error", n)
		}
	}
}

func TestFloorProbesEveryTargetAndCounts(t *testing.T) {
	for _, kind := range []Kind{HTTP, TCP} {
		t.Run(string(kind), func(t *testing.T) {
			target, remote := serve(t, 20)
			if err := remote.Set(Refuse, 7); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			done := make(chan string)
			go func() {
				text, err := Floor(ctx, World{Kind: kind, Targets: 20, Interval: time.Second, Port: target.port}) // of which a probe may take a part, on a slow machine as well
				done <- fmt.Sprint(text, err)
			}()
			for {
				arrivals := target.Dump() // in the second round the first probes are over
				if _, seen := firsts(arrivals, 20); seen == 19 && len(arrivals) >= 2*19 || ctx.Err() != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			stop()
			var passed, failed int
			text := <-done
			if _, err := fmt.Sscanf(text, "%d passed, %d failed<nil>", &passed, &failed); err != nil || passed < 18 || failed < 1 {
				t.Errorf("got %q (%v)", text, err)
			}
			if n := len(target.Dump()); passed > n {
				t.Errorf("%d probes passed and only %d came", passed, n)
			}
		})
	}
}

func TestSlotsHoldEveryTargetOnce(t *testing.T) {
	seen := map[int32]int{}
	ring := slots(World{Targets: 1000, Interval: 2 * time.Second})
	for _, list := range ring {
		for _, i := range list {
			seen[i]++
		}
	}
	if len(ring) != 200 || len(seen) != 1000 {
		t.Errorf("got %d slots and %d targets, want 200 and 1000", len(ring), len(seen))
	}
}
