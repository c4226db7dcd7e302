package rfc2136test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Key is a TSIG key (RFC 8945).
type Key struct {
	Name      string // "test." or "test"
	Algorithm string // "hmac-sha256"
	Secret    string // base64
}

// TestKey is a key for tests; it protects nothing.
var TestKey = Key{Name: "test.", Algorithm: "hmac-sha256", Secret: "c2lkZXN0ZXAgdGVzdCBrZXksIHByb3RlY3RzIG5vdGhpbmc="}

// Zone is what a server is started with. The zero values of all but Name and
// Text are what most tests want.
type Zone struct {
	Name       string // "example.com."
	Text       string // in master file form (RFC 1035 section 5), SOA and NS included
	Key        Key    // may transfer and update the zone; the zero value stands for TestKey
	NoTransfer bool   // the key may not transfer the zone
	NoUpdate   bool   // the key may not update the zone
}

// Server is one running name server.
type Server struct {
	Addr string // 127.0.0.1:PORT, UDP and TCP
	Zone string
	Key  Key
	Dir  string // of its files, gone after the test

	t       testing.TB
	program string
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
func Require(t testing.TB, program string) string {
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
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatalf("%s is not installed, and SIDESTEP_TEST_REAL=require; Debian: apt-get install bind9 bind9-dnsutils knot", program)
	}
	t.Skipf("%s is not installed; Debian: apt-get install bind9 bind9-dnsutils knot", program)
	return ""
}

// configure writes a server's files for an address and returns the arguments
// to start it with.
type configure func(dir, addr string, zone Zone) (args []string, err error)

// start runs the program until it answers for its zone. It tries again on
// another port when the one it found free was taken meanwhile.
func start(t testing.TB, program string, zone Zone, files configure) *Server {
	t.Helper()
	path := Require(t, program)
	if zone.Key == (Key{}) {
		zone.Key = TestKey
	}
	zone.Name, zone.Key.Name = dns.CanonicalName(zone.Name), dns.CanonicalName(zone.Key.Name)
	var last error
	for range attempts {
		s := &Server{Zone: zone.Name, Key: zone.Key, Dir: tempDir(t), t: t, program: path, log: &output{}, Addr: freeAddr(t)}
		if s.args, last = files(s.Dir, s.Addr, zone); last != nil {
			break
		}
		t.Cleanup(s.Stop)
		if last = s.run(); last == nil {
			return s
		}
		s.Stop()
	}
	t.Fatalf("start %s: %v", program, last)
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

// freeAddr finds a port that is free for UDP and TCP at this moment.
func freeAddr(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	for range 50 {
		tcp, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
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

func (s *Server) run() error {
	process := exec.Command(s.program, s.args...) //nolint:noctx // it outlives the call; Stop ends it
	process.Stdout, process.Stderr, process.Dir = s.log, s.log, s.Dir
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
			_, _ = fmt.Fprintf(s.log, "ended: %v\n", err)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start: %w", err)
	}
	s.mu.Lock()
	s.process, s.ended = process, ended
	s.mu.Unlock()
	return s.wait(ended)
}

// wait asks for the zone's SOA until the server has it.
func (s *Server) wait(ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.answers(ctx) {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended at once, with this log:\n%s", s.log)
		case <-ctx.Done():
			return fmt.Errorf("no answer for %s within %v, log:\n%s", s.Zone, readyWithin, s.log)
		case <-tick.C:
		}
	}
}

func (s *Server) answers(ctx context.Context) bool {
	query := new(dns.Msg)
	query.SetQuestion(s.Zone, dns.TypeSOA)
	client := dns.Client{Net: "tcp", Timeout: time.Second}
	reply, _, err := client.ExchangeContext(ctx, query, s.Addr)
	return err == nil && reply.Rcode == dns.RcodeSuccess && len(reply.Answer) > 0
}

// Stop ends the server in order, and waits for it. It may be called again.
func (s *Server) Stop() {
	s.mu.Lock()
	process, ended := s.process, s.ended
	s.process = nil
	s.mu.Unlock()
	if process == nil {
		return
	}
	_ = process.Process.Signal(syscall.SIGTERM) // it may have ended by itself, which the wait below finds
	select {
	case <-ended:
	case <-time.After(stopWithin):
		_ = process.Process.Kill()
		<-ended
	}
}

// Kill ends the server at once, as a power cut would.
func (s *Server) Kill() {
	s.mu.Lock()
	process, ended := s.process, s.ended
	s.process = nil
	s.mu.Unlock()
	if process != nil {
		_ = process.Process.Kill()
		<-ended
	}
}

// Restart stops the server and starts it again on the same address with the
// zone as it was.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.run(); err != nil {
		s.t.Fatalf("restart %s: %v", s.program, err)
	}
}

// Log is what the server has written so far.
func (s *Server) Log() string { return s.log.String() }

// Dig asks the server with dig, an independent reader of what is in the zone,
// and returns the lines of its answer, trimmed, none empty. The transport is
// TCP.
func (s *Server) Dig(args ...string) []string {
	s.t.Helper()
	path := Require(s.t, "dig")
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	full := append([]string{"@" + host, "-p", port, "-y", s.Key.Algorithm + ":" + s.Key.Name + ":" + s.Key.Secret, "+tcp", "+time=30", "+tries=1"}, args...)
	out, err := exec.CommandContext(s.t.Context(), path, full...).CombinedOutput() //nolint:gosec // arguments of the test itself
	if err != nil {
		s.t.Fatalf("dig %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if text := strings.TrimSpace(line); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Short asks for one name and type, and returns the data alone.
func (s *Server) Short(name, kind string) []string {
	s.t.Helper()
	return s.Dig("+short", name, kind)
}

// Serial asks for the zone's serial.
func (s *Server) Serial() uint32 {
	s.t.Helper()
	lines := s.Short(s.Zone, "SOA")
	if len(lines) != 1 || len(strings.Fields(lines[0])) != 7 {
		s.t.Fatalf("ask for the SOA of %s: got %q", s.Zone, lines)
	}
	serial, err := strconv.ParseUint(strings.Fields(lines[0])[2], 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	return uint32(serial)
}

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
