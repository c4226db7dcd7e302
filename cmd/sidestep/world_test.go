package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
	"sidestep/providers/powerdns/powerdnstest"
	"sidestep/providers/rfc2136/rfc2136test"
)

// patience is how long a test waits for something that has to happen; it says
// nothing of how fast it should.
const patience = 3 * time.Minute

// builtBinary builds sidestep once, as a user gets it.
var builtBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sidestep-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sidestep")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build sidestep: %w\n%s", err, out)
	}
	return path, nil
})

// TestMain lets the test binary be the command sidestep for the scripts.
func TestMain(m *testing.M) { testscript.Main(suite{m}, map[string]func(){"sidestep": main}) }

// suite is all the tests. What they built goes with them.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if path, err := builtBinary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	return code
}

// world is a real name server with the zone example.com, two web servers, and a
// config for them.
type world struct {
	t        *testing.T
	dir      string
	config   string
	server   *rfc2136test.Server
	backends []*lab.Backend
	// What the config says; set before write.
	upstream string // address that sidestep sends to; the server's own unless a proxy stands before it
	zone     string // keys of the zone, a line each; empty for those of rfc2136
	interval time.Duration
	fall     int
	debounce time.Duration
	extra    string // further top-level keys
	// What sidestep is run by, with its arguments; nothing by default.
	inside []string
	env    []string // beside that of the test
}

const zoneText = `$ORIGIN example.com.
$TTL 300
@    IN SOA ns1 hostmaster 1 3600 600 86400 60
@    IN NS  ns1
ns1  IN A   127.0.0.1
@    IN TXT "v=spf1 -all" "two; \"strings\""
mail IN MX  10 mx.example.net.
`

type starter func(testing.TB, rfc2136test.Zone) *rfc2136test.Server

func newWorld(t *testing.T, start starter) *world {
	t.Helper()
	w, text := newBackends(t)
	w.server = start(t, rfc2136test.Zone{Name: "example.com.", Text: text})
	w.upstream = w.server.Addr
	return w
}

// newPowerDNSWorld has a PowerDNS that is edited through its HTTP API.
func newPowerDNSWorld(t *testing.T) (*world, *powerdnstest.Fake) {
	t.Helper()
	w, text := newBackends(t)
	fake := powerdnstest.Start(t, powerdnstest.Options{Text: text})
	w.server = rfc2136test.Attach(t, fake.Real.Process, "example.com.")
	w.zone = fake.Keys() + "late: 1s\n"
	return w, fake
}

// newBackends is a world without a name server, and the text of a zone for it.
func newBackends(t *testing.T) (w *world, text string) {
	t.Helper()
	w = &world{t: t, interval: 400 * time.Millisecond, fall: 3, debounce: 200 * time.Millisecond}
	w.dir = shortDir(t)
	w.config = filepath.Join(w.dir, "sidestep.yaml")
	w.startBackends(2)
	text = zoneText
	for _, b := range w.backends {
		text += "www 60 IN A " + ip(b) + "\n"
	}
	return w, text
}

// shortDir is a directory whose name leaves room for a unix socket's path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sst-") //nolint:usetesting // the path of a unix socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w *world) startBackends(n int) {
	w.t.Helper()
	list, err := startLab(n)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range list {
		w.t.Cleanup(func() { _ = b.Close() })
	}
	w.backends = list
}

func ip(b *lab.Backend) string {
	host, _, _ := net.SplitHostPort(b.Addr())
	return host
}

func (w *world) socket() string { return filepath.Join(w.dir, "c.sock") }
func (w *world) state() string  { return filepath.Join(w.dir, "state") }

// write makes the config file.
func (w *world) write() {
	w.t.Helper()
	_, port, _ := net.SplitHostPort(w.backends[0].Addr())
	zone := w.zone
	if zone == "" {
		key := w.server.Key
		zone = fmt.Sprintf("provider: rfc2136\nserver: %s\ntsig: {name: %s, algorithm: %s, secret: %s}\n", w.upstream, key.Name, key.Algorithm, key.Secret)
	}
	zone = strings.ReplaceAll(strings.TrimSpace(zone), "\n", "\n    ")
	text := fmt.Sprintf(`node: {name: mon-1}
state: {dir: %s}
control: {socket: %s}
reconcile: {debounce: %gs, retry: {base: 200ms, max: 1s}}
%s
zones:
  - zone: example.com
    %s
checks:
  web:
    http: {url: "http://www.example.com:%s/healthz", json: {status: ok}}
    interval: %gs
    timeout: %gs
    fall: %d
    rise: 2
records:
  - {name: www.example.com, ttl: 60s, check: web, answers: [%s, %s]}
`, w.state(), w.socket(), w.debounce.Seconds(), w.extra, zone, port,
		w.interval.Seconds(), (w.interval - 10*time.Millisecond).Seconds(), w.fall, ip(w.backends[0]), ip(w.backends[1]))
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) command(path string, args ...string) *exec.Cmd {
	all := append(append(slices.Clone(w.inside), path), args...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = append(os.Environ(), w.env...)
	return cmd
}

// process is a running sidestep.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  lockedBuffer
}

// run starts the daemon; it is killed by its process id when the test ends.
func (w *world) run(args ...string) *process { return w.runTo(nil, args...) }

// runTo is run with a log that goes somewhere else.
func (w *world) runTo(log *os.File, args ...string) *process {
	w.t.Helper()
	path, err := builtBinary()
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{done: make(chan struct{})}
	p.cmd = w.command(path, append([]string{"run", "--config", w.config, "--log-format", "json"}, args...)...)
	p.cmd.Stderr = &p.log
	if log != nil {
		p.cmd.Stderr = log
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	w.t.Cleanup(func() {
		if w.t.Failed() {
			p.dump()
		}
		p.kill()
		if w.t.Failed() {
			w.t.Logf("log of sidestep (pid %d):\n%s", p.cmd.Process.Pid, p.log.String())
		}
	})
	return p
}

// dump lets a process that still runs end with the stacks of its goroutines in its
// log; one that is stopped cannot.
func (p *process) dump() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
	}
}

// kill ends the process at once, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop ends the process in order and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("sidestep did not end after SIGTERM")
	}
	return p.cmd.ProcessState.ExitCode()
}

// sidestep runs one command to its end.
func (w *world) sidestep(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	path, err := builtBinary()
	if err != nil {
		w.t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := w.command(path, append(args, "--config", w.config)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// status asks the daemon; nil while it does not answer.
func (w *world) status() *control.Status {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := control.Dial(ctx, w.socket())
	if err != nil {
		return nil
	}
	status, err := client.Status(ctx, "")
	if err != nil {
		return nil
	}
	return &status
}

// mustStatus waits until the daemon answers.
func (w *world) mustStatus() (s *control.Status) {
	w.t.Helper()
	w.wait("an answer of the daemon", func() bool { s = w.status(); return s != nil })
	return s
}

// waitUp waits until the daemon leads and judges exactly n targets to be up.
func (w *world) waitUp(n int) {
	w.t.Helper()
	w.wait(fmt.Sprintf("%d targets to be up", n), func() bool {
		s := w.status()
		if s == nil || s.Leader.State != "leader" || !s.Zones[0].Listed {
			return false
		}
		up := 0
		for _, t := range s.Targets {
			if t.Verdict == "up" {
				up++
			}
		}
		return up == n
	})
}

func (w *world) wait(what string, happened func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// live is what the name server answers for www.
func (w *world) live() []string { return w.ask("www.example.com.", record.A) }

// ask asks the name server, again if need be: it is there.
func (w *world) ask(name record.Name, kind record.Type) (values []string) {
	w.t.Helper()
	w.wait(fmt.Sprintf("the name server to answer for %s %s", name, kind), func() bool {
		answer, err := observe.Ask(context.Background(), w.server.Addr, name, kind) // ends by itself
		values = answer.Values
		return err == nil
	})
	return values
}

// parked lists the paused copies under www.
func (w *world) parked() []string { return w.ask("_sidestep-paused.www.example.com.", record.TXT) }

func (w *world) waitLive(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	defer func() {
		if w.t.Failed() {
			w.t.Logf("www.example.com answers with %v, want %v", w.live(), want)
		}
	}()
	w.wait(fmt.Sprintf("www.example.com to answer with %v", want), func() bool { return slices.Equal(w.live(), want) })
}

// sampler asks the name server for www all the time.
type sampler struct {
	asked, empty atomic.Int64
	stop         func()
}

// sample starts a sampler that asks every 5 ms until the test ends, and fails
// the test if the name was ever empty.
func (w *world) sample() *sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sampler{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			answer, err := observe.Ask(ctx, w.server.Addr, "www.example.com.", record.A)
			if err == nil {
				s.asked.Add(1)
				if len(answer.Values) == 0 {
					s.empty.Add(1)
				}
			}
			<-ticker.C
		}
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		if s.empty.Load() > 0 {
			w.t.Errorf("www.example.com was empty in %d of %d samples", s.empty.Load(), s.asked.Load())
		}
	})
	w.t.Cleanup(s.stop)
	return s
}

// lockedBuffer is a buffer that a process writes and a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// records are the zone's records of interest as dig prints them, with their
// TTLs, single spaces between the fields.
func (w *world) records(name, kind string) []string {
	var lines []string
	for _, line := range w.server.Dig(name, kind) {
		if strings.HasPrefix(line, name) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	slices.Sort(lines)
	return lines
}
