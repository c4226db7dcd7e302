package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/lease/file"
	"sidestep/providers/rfc2136/rfc2136test"
)

// TestCase19StoppedAndContinued stops the process for four intervals while one
// probe is under way and every server is healthy. One failure would bring a
// target down here: none is booked, nothing is made up for, nothing is written.
func TestCase19StoppedAndContinued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.interval, w.fall = 2*time.Second, 1
	proxy := rfc2136test.StartProxy(t, w.server)
	w.upstream = proxy.Addr
	w.write()
	p := w.run()
	w.waitUp(2)
	serial := w.server.Serial()
	w.stopInProbe(p, 1)
	time.Sleep(4 * w.interval) // the length of the stop is the case itself
	requests := []int64{w.backends[0].Requests(), w.backends[1].Requests()}
	p.signal(t, syscall.SIGCONT)
	began := time.Now()
	time.Sleep(w.interval * 9 / 10)
	for i, b := range w.backends {
		most := 2 + int64(time.Since(began)/w.interval) // one may have been connected and not have asked yet
		if n := b.Requests() - requests[i]; n > most {
			t.Errorf("server %d was probed %d times in the first %s", i, n, time.Since(began))
		}
	}
	w.wait("two rounds after it", func() bool {
		return w.backends[0].Requests() >= requests[0]+2 && w.backends[1].Requests() >= requests[1]+2
	})
	s := w.mustStatus()
	for _, target := range s.Targets {
		if target.Verdict != "up" || target.Fails > 0 || target.Passes < 3 {
			t.Errorf("after the standstill: %+v", target)
		}
	}
	if s.Schedule.Gaps == 0 || len(s.Writes) > 0 || proxy.Updates() > 0 || w.server.Serial() != serial {
		t.Errorf("schedule %+v, writes %+v, %d updates", s.Schedule, s.Writes, proxy.Updates())
	}
	if journal, err := os.ReadFile(filepath.Join(w.state(), "journal.jsonl")); err != nil || strings.Contains(string(journal), `"to":"down"`) {
		t.Errorf("the journal, %v:\n%s", err, journal)
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// TestCase19LeadershipIsAskedAgain lets somebody else take the lock while the
// leader is stopped, and a server die. The one that was stopped finds that out
// before its first write: it sends none, and stands by.
func TestCase19LeadershipIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	proxy := rfc2136test.StartProxy(t, w.server)
	w.upstream = proxy.Addr
	w.write()
	p := w.run()
	w.waitUp(2)
	p.signal(t, syscall.SIGSTOP)
	if err := os.Remove(filepath.Join(w.state(), file.Name)); err != nil {
		t.Fatal(err)
	}
	held, err := file.New(file.Options{Dir: w.state(), Node: "mon-2"}).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGCONT)
	w.wait("it to stand by", func() bool {
		s := w.mustStatus()
		return s != nil && s.Targets[0].Verdict == "down" && s.Leader.State == "standby" && strings.Contains(s.Leader.Holder, "mon-2")
	})
	if n := proxy.Updates(); n > 0 {
		t.Errorf("it sent %d updates without the lease", n)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitLive(ip(w.backends[1])) // it leads again, and does what has to be done
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// stopInProbe stops the process while a probe of one server is under way, and
// lets that server, which is healthy, answer nobody meanwhile.
func (w *world) stopInProbe(p *process, i int) {
	w.t.Helper()
	b := w.backends[i]
	if err := b.Break(lab.Hang); err != nil {
		w.t.Fatal(err)
	}
	asked := b.Requests()
	w.wait("a probe under way", func() bool { return b.Requests() > asked })
	p.signal(w.t, syscall.SIGSTOP)
	w.wait("all of the process to stand still", p.stopped)
	if err := b.Mend(); err != nil {
		w.t.Fatal(err)
	}
}

// stopped reports whether no thread of the process runs (proc_pid_stat(5)).
func (p *process) stopped() bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil || !strings.Contains(string(text), ") T ") {
			return false
		}
	}
	return true
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
