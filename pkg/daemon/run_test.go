package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// realWorld is a world outside of any bubble, with a control socket, fast checks
// and the system's clock.
func realWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, class)
	w.clock = clock.System()
	w.config.Reconcile.Debounce = 10 * time.Millisecond
	spec := w.config.Checks["web"]
	spec.Interval, spec.Timeout = 100*time.Millisecond, 50*time.Millisecond
	dir, err := os.MkdirTemp("", "sidestep") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.config.Control.Socket = filepath.Join(dir, "c.sock")
	return w
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, come func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // of a busy machine
	for !come() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The whole daemon on a real socket: a client sees the failover, and reconciles.
func TestDaemonOnItsSocket(t *testing.T) {
	w := realWorld(t)
	d := w.run()
	var client *control.Client
	eventually(t, "the socket", func() bool {
		var err error
		client, err = control.Dial(t.Context(), w.config.Control.Socket)
		return err == nil
	})
	verdict := func(i int) string {
		s, err := client.Status(t.Context(), "www")
		if err != nil {
			t.Fatal(err)
		}
		return s.Targets[i].Verdict
	}
	eventually(t, "both targets to be up", func() bool { return verdict(0) == "up" && verdict(1) == "up" })
	w.site.fail(a)
	eventually(t, "the failover", func() bool { return slices.Equal(w.zones[home].Live(www), []string{b}) })
	answer, err := client.Reconcile(t.Context(), control.PlanRequest{})
	if err != nil || len(answer.Zones) != 1 || answer.Zones[0].Exit != control.ExitDone {
		t.Errorf("reconcile: %+v (%v)", answer, err)
	}
	if _, err := client.Plan(t.Context(), control.PlanRequest{Zones: []string{"nosuch."}}); control.ExitOf(err) != control.ExitUsage {
		t.Errorf("a zone that is not there: %v", err)
	}
	if _, err := client.Approve(t.Context(), control.ApproveRequest{Target: "all"}); err != nil {
		t.Error(err)
	}
	d.end()
	if d.err != nil {
		t.Error(d.err)
	}
	if _, err := control.Dial(t.Context(), w.config.Control.Socket); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("after the end: %v", err)
	}
}

// Status, plans and reconciliations from many sides at once, while the targets
// change all the time: every answer is consistent in itself.
func TestStatusIsConsistentUnderLoad(t *testing.T) {
	w := realWorld(t)
	w.config.Checks["web"].Fall, w.config.Checks["web"].Rise = 1, 1
	w.config.Records[0].Failback.Hold = 0
	d := w.run()
	eventually(t, "the lease", func() bool { return d.status().Leader.State == "leader" })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				switch i {
				case 0:
					w.site.heal(a, b)
					w.site.fail([]string{a, b}[n%2])
					time.Sleep(30 * time.Millisecond)
				case 1:
					if _, err := d.Reconcile(ctx, control.PlanRequest{}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				case 2:
					if _, err := d.Plan(ctx, control.PlanRequest{}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				default:
					consistent(t, d.status())
					if _, err := d.Explain(ctx, control.ExplainRequest{Name: "www"}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	if err := memory.Check(w.zones[home].History()); err != nil {
		t.Error(err)
	}
	if n := d.waiting(); n > 0 {
		t.Errorf("%d of those who gave up are still waited for", n)
	}
}

// waiting counts those who wait for a state of the engine.
func (r *running) waiting() (n int) {
	r.ask(func(*engine.Engine) { n = len(r.waiters) })
	return n
}

func consistent(t *testing.T, s control.Status) {
	t.Helper()
	r := s.Records[0]
	for _, answer := range r.Answers {
		live := slices.Contains(r.Live, answer.Value)
		if live != (answer.State == "live") || slices.Contains(r.Paused, answer.Value) != (answer.State == "paused") {
			t.Errorf("answer %s is %s, live are %v, paused are %v", answer.Value, answer.State, r.Live, r.Paused)
		}
		i := slices.IndexFunc(s.Targets, func(target control.Target) bool { return target.Address == answer.Value })
		if s.Targets[i].Verdict == "unknown" {
			continue // not judged yet, or silent for three intervals, which a busy machine can be; what was known of it still counts
		}
		if up := s.Targets[i].Verdict == "up"; up != answer.Usable {
			t.Errorf("answer %s is usable: %v, its target is %s", answer.Value, answer.Usable, s.Targets[i].Verdict)
		}
	}
}

// A part that fails, such as a name server that cannot listen, ends the daemon
// with its error; the lock is free then.
func TestPartThatFailsEndsTheDaemon(t *testing.T) {
	for name, row := range map[string]struct {
		serve error
		want  string
	}{
		"fails":          {errors.New("address in use"), "name server: address in use"},
		"ends by itself": {nil, "name server: ended by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, class)
				d := w.run(func(o *Options) {
					memories := o.Registry["memory"]
					o.Registry = provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
						adapter, err := memories(s)
						return serving{adapter.(provider.Fencer), row.serve}, err
					}}
				})
				<-d.done
				if d.err == nil || d.err.Error() != row.want {
					t.Errorf("got %v, want %q", d.err, row.want)
				}
				if _, err := d.leader.dir.Acquire(t.Context()); err != nil {
					t.Errorf("the lock is not free: %v", err)
				}
			})
		})
	}
}

// serving is an adapter whose name server ends after a while.
type serving struct {
	provider.Fencer

	err error
}

func (s serving) Serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Minute):
	}
	return s.err
}

// A socket that another daemon answers on keeps a second from starting, and
// nothing of it is left running.
func TestSecondDaemonOnOneSocketDoesNotStart(t *testing.T) {
	w := realWorld(t)
	first := w.run()
	eventually(t, "the lease", func() bool { return first.status().Leader.State == "leader" })
	second := w.run()
	<-second.done
	if second.err == nil || !strings.Contains(second.err.Error(), "another sidestep answers") {
		t.Errorf("got %v", second.err)
	}
}

// Requests that come when the loop has ended are told so at once.
func TestRequestsAfterTheEnd(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		d.end()
		_, statusErr := d.Status(t.Context(), "")
		_, planErr := d.Plan(t.Context(), control.PlanRequest{})
		_, reconcileErr := d.Reconcile(t.Context(), control.PlanRequest{})
		_, approveErr := d.Approve(t.Context(), control.ApproveRequest{Target: "www"}, "ops")
		for _, err := range []error{statusErr, planErr, reconcileErr, approveErr} {
			if !errors.Is(err, errStopped) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// Who waits for targets to be judged is told when the daemon stops, and is
// forgotten when he gives up.
func TestWaitingRequests(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.site.play(a, strings.Repeat("?", 1000))
		d := w.run()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Plan(impatient, control.PlanRequest{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n := d.waiting(); n > 0 {
			t.Errorf("%d are waited for", n)
		}
		ended := make(chan error)
		go func() {
			_, err := d.Plan(t.Context(), control.PlanRequest{})
			ended <- err
		}()
		time.Sleep(time.Second)
		d.stop()
		if err := <-ended; !errors.Is(err, errStopped) {
			t.Errorf("got %v", err)
		}
	})
}

// lostLease is a lease that can be taken away.
type lostLease struct {
	mu   sync.Mutex
	lost chan struct{}
	won  chan struct{} // gets a token when it may be won again
}

func (l *lostLease) Acquire(ctx context.Context) (lease.Held, error) {
	select {
	case <-l.won:
	case <-ctx.Done():
		return nil, &lease.HeldError{Holder: "mon-2", Err: ctx.Err()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = make(chan struct{})
	return &lostHeld{lost: l.lost}, nil
}

func (l *lostLease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.lost)
}

type lostHeld struct{ lost chan struct{} }

func (h *lostHeld) Gate(time.Duration) error {
	select {
	case <-h.lost:
		return lease.ErrLost
	default:
		return nil
	}
}
func (h *lostHeld) Term() lease.Term              { return lease.Term{Epoch: 3} }
func (h *lostHeld) Until() (time.Duration, bool)  { return 2 * time.Hour, true }
func (h *lostHeld) Lost() <-chan struct{}         { return h.lost }
func (h *lostHeld) Release(context.Context) error { return nil }

// TestCase82LeaseIsLostAndComesBack loses the lease for ten minutes in which the
// first address dies: probing and saving go on, nothing is written to the zone,
// and when the lease comes back the failover is written.
func TestCase82LeaseIsLostAndComesBack(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		l := &lostLease{won: make(chan struct{}, 1)}
		l.won <- struct{}{}
		r := w.runUnder(l)
		if s := r.status().Leader; s.State != "leader" || s.Until == nil || time.Until(*s.Until) > 2*time.Hour {
			t.Errorf("status says %+v", s)
		}
		l.lose()
		synctest.Wait()
		if s := r.status().Leader; s.State != "none" {
			t.Errorf("right after the loss status says %+v", s)
		}
		time.Sleep(time.Second)
		if n := len(w.journal("leader")); n != 2 {
			t.Errorf("%d lines tell of the leader, want won and lost", n)
		}
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		if s := r.status(); s.Leader.State != "standby" || s.Leader.Holder != "mon-2" || s.Targets[0].Verdict != "down" {
			t.Errorf("status says %+v, %+v", s.Leader, s.Targets[0])
		}
		if w.touched() {
			t.Error("written without a lease")
		}
		if age := w.clock.Wall().Sub(w.saved().SavedAt); age > saveEvery || len(w.journal("verdict")) == 0 {
			t.Errorf("the last save is %s old, and the journal has %v", age, w.journal("verdict"))
		}
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, "203.0.113.7")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // and is listed
		l.won <- struct{}{}
		time.Sleep(5 * time.Second)
		w.mustLive(b, "203.0.113.7")
		if n := len(w.log.with("when the zone was listed last")); n != 1 {
			t.Errorf("that the zone was edited is said %d times: what this process saved itself is no news", n)
		}
	})
}

// serviceManager listens as one does that wants to hear of the watchdog, within
// so many microseconds.
func (w *world) serviceManager(watchdog string) *net.UnixConn {
	w.Helper()
	path := filepath.Join(filepath.Dir(w.config.Control.Socket), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	w.Setenv("NOTIFY_SOCKET", path)
	w.Setenv("WATCHDOG_USEC", watchdog)
	w.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	return conn
}

// What a service manager is told, on a real socket.
func TestServiceManagerIsTold(t *testing.T) {
	w := realWorld(t)
	conn := w.serviceManager("300000")
	status := ""
	next := func() string {
		text := make([]byte, 2000)
		for {
			if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			if line, is := strings.CutPrefix(string(text[:n]), "STATUS="); is {
				status = line
				continue
			}
			return string(text[:n])
		}
	}
	d := w.run()
	if got := next(); got != "READY=1" {
		t.Errorf("first %q", got)
	}
	for range 2 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("then %q", got)
		}
	}
	if err := d.Reload(); err == nil {
		t.Error("reloaded without a way to load")
	}
	var told []string
	for len(told) < 2 {
		if got := next(); got != "WATCHDOG=1" {
			told = append(told, got)
		}
	}
	if !strings.HasPrefix(told[0], "RELOADING=1\nMONOTONIC_USEC=") || told[1] != "READY=1" {
		t.Errorf("a reload says %q", told)
	}
	for range 300 { // thirty seconds of watchdogs
		if strings.Contains(status, "; the reload at ") {
			break
		}
		next()
	}
	if !strings.HasPrefix(status, "leader; targets: ") || !strings.Contains(status, "; the reload at ") {
		t.Errorf("after a refused reload the line of status is %q", status)
	}
	d.stop()
	for got := next(); got != "STOPPING=1"; got = next() {
		if got != "WATCHDOG=1" {
			t.Errorf("at the end %q", got)
		}
	}
}

// A loop that hangs is not vouched for.
func TestWatchdogGoesThroughTheLoop(t *testing.T) {
	w := realWorld(t)
	conn := w.serviceManager("30000")
	d, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.watchdog(ctx) }() // no loop runs
	if err := conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("told %d bytes although no loop turns", n)
	}
	stop()
	close(d.stopped)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
