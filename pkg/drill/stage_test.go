package drill

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
	"sidestep/providers"
)

// patience is how long a test waits for something that has to happen; it says
// nothing of how fast it should.
const patience = 2 * time.Minute

// stage is a daemon with a zone that it serves, three web servers of two sites, and
// a cache.
type stage struct {
	t        *testing.T
	client   *control.Client
	backends []*lab.Backend
	cache    *lab.Cache
	dns      string
	socket   string
	port     uint16
	stopped  context.CancelFunc
}

// The kernel answers a TCP check, however busy the machine is.
const stageConfig = `node: {name: stage}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
reconcile: {debounce: 100ms}
adopt: auto
guard: {max_writes: 0}
zones: [{zone: stage.test, provider: local, file: %[1]s/zone, listen: "%[2]s"}]
checks: {web: {tcp: {port: %[3]d}, interval: 300ms, timeout: 290ms, fall: 2, rise: 1}}
sites:
  dc1: {signals: {access: {check: web, targets: [127.0.0.11]}}}
records:
  - {name: www.stage.test, ttl: 1s, check: web, answers: [127.0.0.11, 127.0.0.12, 127.0.0.13]}
  - name: app.stage.test
    ttl: 1s
    policy: priority
    check: web
    answers: [{value: 127.0.0.12}, {value: 127.0.0.13}]
    failback: {mode: auto, hold: 1s}
  - name: db.stage.test
    ttl: 1s
    policy: priority
    check: web
    answers: [{value: 127.0.0.11, site: dc1}, {value: 127.0.0.12}]
    failback: {mode: auto, hold: 0s}
  - {name: cdn.stage.test, ttl: 1s, check: web, answers: [{value: 127.0.0.11, site: dc1}, 127.0.0.13]}
`

func newStage(t *testing.T, instead ...string) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "sst-") //nolint:usetesting // the path of a unix socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stage{t: t}
	addrs, err := lab.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	for i, addr := range addrs {
		b := lab.NewBackend("b"+strconv.Itoa(i+1), addr)
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		s.backends = append(s.backends, b)
	}
	s.port = netip.MustParseAddrPort(addrs[0]).Port()
	s.dns = freeForDNS(t)
	text := strings.NewReplacer(instead...).Replace(fmt.Sprintf(stageConfig, dir, s.dns, s.port))
	zone := "$ORIGIN stage.test.\n@ 60 IN SOA ns h 1 60 60 60 1\n@ 60 IN NS ns\n" +
		"www 1 IN A 127.0.0.11\nwww 1 IN A 127.0.0.12\nwww 1 IN A 127.0.0.13\napp 1 IN A 127.0.0.12\ndb 1 IN A 127.0.0.11\ncdn 1 IN A 127.0.0.11\ncdn 1 IN A 127.0.0.13\n"
	for name, data := range map[string]string{"sidestep.yaml": text, "zone": zone} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.run(filepath.Join(dir, "sidestep.yaml"))
	s.cache = lab.NewCache(s.dns)
	if err := s.cache.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.serve(s.cache.Serve)
	return s
}

// nextPort is where freeForDNS looks next; it begins somewhere else in each process.
var nextPort = func() *atomic.Int32 {
	at := new(atomic.Int32)
	at.Store(int32(12000 + os.Getpid()%8000))
	return at
}()

// freeForDNS is a port below those that the kernel gives to outgoing connections,
// which no other stage gets.
func freeForDNS(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := "127.0.0.1:" + strconv.Itoa(int(nextPort.Add(1)))
		udp, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		tcp, err := net.Listen("tcp", addr)
		_ = udp.Close()
		if err == nil {
			_ = tcp.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

// serve runs something until the test ends, or the function that it gives is called.
func (s *stage) serve(run func(context.Context) error) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	return cancel
}

// run starts the daemon, and waits until it is settled.
func (s *stage) run(file string) {
	s.t.Helper()
	cfg, err := config.Load(file, config.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := daemon.New(daemon.Options{
		Config: cfg, Registry: providers.Registry(), Logger: slog.New(slog.DiscardHandler), Version: "test", Write: true,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.stopped = s.serve(d.Run)
	s.socket = cfg.Control.Socket
	s.settle()
}

// settle waits until every target is up, and every record set as it is wanted, the
// first answers in front: for longer than a debounce, as a write may be on its way.
func (s *stage) settle() {
	s.t.Helper()
	times := 0
	s.wait("the daemon to be settled", func() bool {
		if times++; !s.settled() {
			times = 0
		}
		return times >= 20
	})
	if s.cache != nil {
		s.cache.Forget()
	}
}

func (s *stage) settled() bool {
	var err error
	if s.client, err = control.Dial(s.t.Context(), s.socket); err != nil {
		return false
	}
	status, err := s.client.Status(s.t.Context(), "")
	if err != nil || status.Leader.State != "leader" || len(status.Overrides) > 0 {
		return false
	}
	for _, r := range status.Records {
		if len(r.Live) == 0 || len(r.Pending) > 0 || r.HoldEnds != nil || r.Live[0] != r.Answers[0].Value {
			return false
		}
		answer, err := observe.Ask(s.t.Context(), s.dns, record.Name(r.Name), record.A)
		if err != nil || !slices.Equal(answer.Values, r.Live) {
			return false
		}
	}
	return !slices.ContainsFunc(status.Targets, func(target control.Target) bool { return target.Verdict != "up" })
}

func (s *stage) wait(what string, happened func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// options are a rehearsal of a name, with an identity.
func (s *stage) options(name record.Name) Options {
	s.t.Helper()
	id, err := observe.ParseIdentity("header:" + lab.IdentityHeader)
	if err != nil {
		s.t.Fatal(err)
	}
	return Options{
		Daemon: s.client, Zone: "stage.test.",
		Watch: observe.Options{
			Name: name, Type: record.A, Loopback: true, Timeout: 20 * time.Second,
			Servers:   []observe.Server{{Addr: netip.MustParseAddrPort(s.dns)}},
			Resolvers: []netip.AddrPort{netip.MustParseAddrPort(s.cache.Addr())},
			Request: &observe.Request{Identity: id, HTTP: check.HTTP{
				Scheme: "http", Host: "www.stage.test", Port: s.port, Authority: fmt.Sprintf("www.stage.test:%d", s.port), Path: "/healthz",
			}},
		},
	}
}

// drains are the overrides that are in force.
func (s *stage) drains() []string {
	s.t.Helper()
	list, err := s.client.Overrides(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var reasons []string
	for _, o := range list.Overrides {
		reasons = append(reasons, o.Kind+" "+o.Target+" "+o.Reason)
	}
	return reasons
}
