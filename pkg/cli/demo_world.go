package cli

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sidestep/pkg/lab"
)

// demoWorld is what the demo runs on: backends, a zone file and a config.
type demoWorld struct {
	dir      string
	config   string
	socket   string
	zone     string
	dns      string // address of the name server
	listen   string // address of the dashboard
	token    string // that it asks for
	backends []*lab.Backend
	control  *lab.Control
}

func newDemoWorld(dir string, script bool) (*demoWorld, error) {
	w := &demoWorld{
		dir: dir, config: filepath.Join(dir, "sidestep.yaml"),
		socket: socketIn(dir), zone: filepath.Join(dir, "demo.test.zone"),
	}
	err := w.startBackends()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: %w", err), w.close())
	}
	w.token = crand.Text()
	for _, addr := range []*string{&w.dns, &w.listen} {
		if *addr, err = freeAddr(); err != nil {
			return nil, errors.Join(fmt.Errorf("demo: %w", err), w.close())
		}
	}
	w.control = lab.NewControl(slog.New(slog.DiscardHandler), w.backends...)
	if err := w.control.Listen("127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("demo: %w", err), w.close())
	}
	if err := w.writeFiles(timesOf(script)); err != nil {
		return nil, errors.Join(fmt.Errorf("demo: %w", err), w.close())
	}
	return w, nil
}

func socketIn(dir string) string { return filepath.Join(dir, "control.sock") }

// page is the URL of the dashboard, with the token where browsers send it to nobody.
func (w *demoWorld) page() string { return "http://" + w.listen + "/#token=" + w.token }

// freeAddr finds a port of 127.0.0.1 that is free for UDP and for TCP. It is
// below those that the kernel gives to outgoing connections (ip(7): 32768 and
// up), of which the probes make many before the daemon listens.
func freeAddr() (string, error) {
	const first, last, tries = 20000, 32000, 100
	var err error
	for range tries {
		addr := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first))
		if err = isFree(addr); err == nil {
			return addr, nil
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}

func isFree(addr string) error {
	udp, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, udp.Close())
	}
	return errors.Join(udp.Close(), tcp.Close())
}

func (w *demoWorld) startBackends() error {
	addrs, err := lab.FreeAddrs(3)
	if err != nil {
		return err
	}
	for i, addr := range addrs {
		b := lab.NewBackend(fmt.Sprintf("b%d", i+1), addr)
		if err := b.Start(); err != nil {
			return err
		}
		w.backends = append(w.backends, b)
	}
	return nil
}

func (w *demoWorld) close() error {
	var errs []error
	for _, b := range w.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// ip is the address of a backend without its port, as the zone has it.
func (w *demoWorld) ip(i int) string {
	host, _, _ := net.SplitHostPort(w.backends[i].Addr())
	return host
}

func (w *demoWorld) port() string {
	_, port, _ := net.SplitHostPort(w.backends[0].Addr())
	return port
}

func (w *demoWorld) serverList() string {
	var list []string
	for _, b := range w.backends {
		list = append(list, b.Name()+" at "+b.Addr())
	}
	return strings.Join(list, ", ")
}

// writeFiles makes the zone and the config, anew at each demo.
func (w *demoWorld) writeFiles(t demoTimes) error {
	if err := os.WriteFile(w.config, []byte(w.configText(t)), 0o600); err != nil {
		return err
	}
	return os.WriteFile(w.zone, []byte(w.zoneText()), 0o600)
}

func (w *demoWorld) zoneText() string {
	return fmt.Sprintf(`$ORIGIN demo.test.
$TTL 60
@     IN SOA ns hostmaster 1 3600 600 86400 30
@     IN NS  ns
ns    IN A   127.0.0.1
; Every line that sidestep has no business with stays as it is.
www 30 IN A  %[1]s
www 30 IN A  %[2]s
www 30 IN A  %[3]s
app 30 IN A  %[1]s
@     IN MX  10 mail
mail  IN A   %[1]s
`, w.ip(0), w.ip(1), w.ip(2))
}

func (w *demoWorld) configText(t demoTimes) string {
	return fmt.Sprintf(`# The config of the demo: an ordinary one, only faster than a real zone wants.
node: {name: demo}
state: {dir: %[1]s}
control:
  socket: %[2]s
  listen: %[13]s
  tokens: [{name: demo, role: operate, token: %[14]s}]
reconcile: {debounce: %[3]s}
adopt: auto   # a real zone asks first
zones:
  - {zone: demo.test, provider: local, file: %[4]s, listen: "%[5]s"}
checks:
  web:
    http: {url: "http://www.demo.test:%[6]s/healthz", json: {status: ok}}
    interval: %[7]s
    timeout: %[8]s
    fall: 3
    rise: 2
sites:
  east: {signals: {access: {check: web, targets: [%[9]s, %[10]s]}}}
  west: {signals: {access: {check: web, targets: [%[11]s]}}}
scenarios:
  east-reached: {all: [east]}
  west-reached: {all: [west]}
records:
  - name: www.demo.test
    ttl: 30s
    check: web
    answers:
      - {value: %[9]s, site: east, when: east-reached}
      - {value: %[10]s, site: east, when: east-reached}
      - {value: %[11]s, site: west, when: west-reached}
  - name: app.demo.test
    ttl: 30s
    policy: priority
    check: web
    answers:
      - {value: %[9]s, site: east, when: east-reached}
      - {value: %[10]s, site: east, when: east-reached}
      - {value: %[11]s, site: west, when: west-reached}
    failback: {mode: auto, hold: %[12]s}
`, filepath.Join(w.dir, "state"), w.socket, secondsText(t.debounce), w.zone, w.dns, w.port(),
		secondsText(t.interval), secondsText(t.timeout), w.ip(0), w.ip(1), w.ip(2), secondsText(t.hold), w.listen, w.token)
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
