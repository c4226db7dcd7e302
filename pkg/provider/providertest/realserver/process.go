package realserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Program is a server and how it is started.
type Program struct {
	Name     string // of its executable
	Packages string // the Debian packages that it comes in

	// Configure writes the server's files for an address and returns the
	// arguments to start it with. It is asked again where the port was taken.
	Configure func(dir, addr string) (args []string, err error)

	// Ready reports whether the server does its work.
	Ready func(ctx context.Context, addr string) bool
}

// Process is one running server.
type Process struct {
	Addr string // 127.0.0.1:PORT, UDP and TCP
	Dir  string // of its files, gone after the test

	t       testing.TB
	program Program
	path    string
	args    []string
	log     *output

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // closed when the process was waited for
}

const (
	readyWithin = time.Minute
	stopWithin  = 30 * time.Second
	attempts    = 5 // of starting on a port that somebody else may take first
)

// Require skips the test when a program is missing, or fails it where the
// environment says that the real servers have to be there.
func Require(t testing.TB, program, packages string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if err == nil {
			return path
		}
		path, err = exec.LookPath(filepath.Join(dir, program))
	}
	if err == nil {
		return path
	}
	missing(t, program, packages)
	return ""
}

func missing(t testing.TB, what, packages string) {
	t.Helper()
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatalf("%s is not installed, and SIDESTEP_TEST_REAL=require; Debian: apt-get install %s", what, packages)
	}
	t.Skipf("%s is not installed; Debian: apt-get install %s", what, packages)
}

// Start runs the program until it is ready. It tries again on another port when
// the one it found free was taken meanwhile.
func Start(t testing.TB, program Program) *Process {
	t.Helper()
	path := Require(t, program.Name, program.Packages)
	var last error
	for range attempts {
		p := &Process{Addr: FreeAddr(t), Dir: tempDir(t), t: t, program: program, path: path, log: &output{}}
		if p.args, last = program.Configure(p.Dir, p.Addr); last != nil {
			break
		}
		t.Cleanup(p.Stop)
		if last = p.run(); last == nil {
			return p
		}
		p.Stop()
	}
	t.Fatalf("start %s: %v", program.Name, last)
	return nil
}

// tempDir is short: the servers' control sockets live in it, and a socket's
// path has at most 107 bytes, which t.TempDir can exceed.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ns") //nolint:usetesting // the path of t.TempDir is too long for a unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// FreeAddr finds a port that is free for UDP and TCP at this moment, below those
// that Linux gives to connections that go out (32768 and up): one of these would
// take it before the server has it, or while the server is stopped.
func FreeAddr(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	for range 50 {
		port := strconv.Itoa(10000 + rand.IntN(22768))
		tcp, err := config.Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		addr := tcp.Addr().String()
		udp, udpErr := config.ListenPacket(t.Context(), "udp", addr)
		if err := errors.Join(tcp.Close(), udpErr); err != nil {
			continue
		}
		if err := udp.Close(); err != nil {
			t.Fatal(err)
		}
		return addr
	}
	t.Fatal("found no port on 127.0.0.1 that is free for UDP and TCP")
	return ""
}

func (p *Process) run() error {
	process := exec.Command(p.path, p.args...) //nolint:noctx // it outlives the call; Stop ends it
	process.Stdout, process.Stderr, process.Dir = p.log, p.log, p.Dir
	process.SysProcAttr = tied()
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // see tied
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := process.Start()
		started <- err
		if err != nil {
			return
		}
		if err := process.Wait(); err != nil {
			_, _ = fmt.Fprintf(p.log, "ended: %v\n", err)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start: %w", err)
	}
	p.mu.Lock()
	p.process, p.ended = process, ended
	p.mu.Unlock()
	return p.wait(ended)
}

// wait asks until the server is ready.
func (p *Process) wait(ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.program.Ready(ctx, p.Addr) {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended at once, with this log:\n%s", p.log)
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v, log:\n%s", readyWithin, p.log)
		case <-tick.C:
		}
	}
}

// Stop ends the server in order, and waits for it. It may be called again.
func (p *Process) Stop() {
	p.mu.Lock()
	process, ended := p.process, p.ended
	p.process = nil
	p.mu.Unlock()
	if process == nil {
		return
	}
	_ = process.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which the wait below finds
	_ = process.Process.Signal(syscall.SIGCONT) // or stand still
	select {
	case <-ended:
	case <-time.After(stopWithin):
		_ = process.Process.Kill()
		<-ended
	}
}

// Kill ends the server at once, as a power cut would.
func (p *Process) Kill() {
	p.mu.Lock()
	process, ended := p.process, p.ended
	p.process = nil
	p.mu.Unlock()
	if process != nil {
		_ = process.Process.Kill()
		<-ended
	}
}

// Signal sends the server a signal, such as one to stand still.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		t.Fatalf("signal %s: it does not run", p.program.Name)
	}
	if err := p.process.Process.Signal(signal); err != nil {
		t.Fatalf("signal %s: %v", p.program.Name, err)
	}
	for signal == syscall.SIGSTOP && runs(p.process.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
}

// runs reports whether a thread of a process goes on: a signal to stop takes a
// moment to reach the last of them.
func runs(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return err == nil && slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(stat), ") ") // behind the name of the program
		return err == nil && rest != "" && strings.Contains("RSD", rest[:1])
	})
}

// Restart stops the server and starts it again on the same address with what
// it had.
func (p *Process) Restart() {
	p.t.Helper()
	p.Stop()
	if err := p.run(); err != nil {
		p.t.Fatalf("restart %s: %v", p.program.Name, err)
	}
}

// Log is what the server has written so far.
func (p *Process) Log() string { return p.log.String() }

// output collects what a process writes, safely for a reader beside it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
