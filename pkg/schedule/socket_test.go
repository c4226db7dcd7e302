package schedule

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
)

// silentFifth is a server on every address of 127.0.1.0/24 that notes when each
// was asked, and on every fifth of them never answers.
type silentFifth struct {
	listener net.Listener
	mu       sync.Mutex
	asked    map[string][]time.Time
	held     []net.Conn
}

func (s *silentFifth) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		local, isTCP := conn.LocalAddr().(*net.TCPAddr)
		s.mu.Lock()
		if isTCP {
			s.asked[local.IP.String()] = append(s.asked[local.IP.String()], time.Now())
		}
		if isTCP && silent(local.IP.To4()[3]) {
			s.held = append(s.held, conn)
		} else {
			_, _ = conn.Write([]byte{1}) // who asked may have gone
			_ = conn.Close()
		}
		s.mu.Unlock()
	}
}

func silent(last byte) bool { return last%5 == 0 }

func (s *silentFifth) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.held {
		_ = conn.Close()
	}
}

// TestCase09SilentServersDelayNobody is the schedule over real sockets: 60
// targets, 12 of which accept and never answer, for a few intervals.
func TestCase09SilentServersDelayNobody(t *testing.T) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &silentFifth{listener: listener, asked: map[string][]time.Time{}}
	var work sync.WaitGroup
	work.Go(server.serve)
	defer work.Wait()
	defer server.close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	var results []check.Result
	s := New(Options{
		Clock: clock.System(),
		Probe: func(ctx context.Context, _ *check.Spec, address string) check.Result {
			return read(ctx, address+":"+port)
		},
		Results: func(list []check.Result) {
			mu.Lock()
			defer mu.Unlock()
			results = append(results, list...)
		},
	})
	asks := spec(1200*time.Millisecond, 900*time.Millisecond)
	s.Set(jobs(asks, 60))
	ctx, cancel := context.WithTimeout(t.Context(), 3*asks.Interval)
	defer cancel()
	s.Run(ctx)

	// A machine that starts probes late may also answer them late: then the
	// servers' silence cannot be told from its own. Virtual time has the rest.
	if st := s.Stats(); st.Gaps > 0 || st.Lag > asks.Timeout/10 {
		t.Logf("this machine is too busy for a word on times: %+v", st)
		return
	}
	for _, r := range results {
		if last := net.ParseIP(r.Target.Address).To4()[3]; r.Outcome == check.Fail && !silent(last) || r.Outcome == check.Pass && silent(last) {
			t.Errorf("%s: %+v", r.Target.ID(), r)
		}
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.asked) != 60 {
		t.Errorf("%d of 60 targets were asked", len(server.asked))
	}
	for address, times := range server.asked {
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < asks.Interval/2 || gap > 3*asks.Interval/2 {
				t.Errorf("%s: asked %v after the last time", address, gap)
			}
		}
	}
}

// read is a probe that passes when the server sends a byte.
func read(ctx context.Context, address string) check.Result {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
	if err == nil {
		defer func() { _ = conn.Close() }()
		stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
		defer stop()
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	switch {
	case err == nil:
		return check.Result{Outcome: check.Pass}
	case errors.Is(ctx.Err(), context.Canceled):
		return check.Result{Outcome: check.Unknown}
	}
	return check.Result{Outcome: check.Fail, Phase: check.PhaseHeaders, Cause: check.CauseTimeout, Detail: err.Error()}
}
