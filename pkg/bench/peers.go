package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// peer is another prober, as Debian packages it, that is measured beside the floor
// and the daemon when -peers asks for it and it is installed. It probes the same
// targets at the same interval, with the same timeout and thresholds, and decides
// about no zone.
type peer struct {
	name    string
	program string
	begin   func(b *bench, ctx context.Context, program, dir string, w World) (*process, error)

	most float64 // what the daemon may use of the peer's CPU; 0 for no goal
}

// The goals are what the same machine once gave for a bare prober of this design,
// with room for thresholds, metrics and state. HAProxy has none of its own: its time
// lies between those of the floor and of gdnsd.
var peers = []peer{
	{"gdnsd", "gdnsd", (*bench).startGdnsd, 1.75},
	{"haproxy", "haproxy", (*bench).startHAProxy, 0},
	{"blackbox", "prometheus-blackbox-exporter", (*bench).startBlackbox, 0.2},
}

// findPeers gives the programs of the peers that are installed, by name, and says
// which are not.
func (b *bench) findPeers() {
	b.peers = map[string]string{}
	for _, p := range peers {
		program, err := exec.LookPath(p.program)
		if err != nil {
			program, err = exec.LookPath("/usr/sbin/" + p.program)
		}
		if err != nil {
			fmt.Fprintf(b.progress, "%s is not installed, and left out\n", p.program)
			continue
		}
		b.peers[p.name] = program
	}
}

// pacePeers is one round of the peers on the world of a run. Only HTTP is common to
// all of them.
func (b *bench) pacePeers(ctx context.Context, r pacedRun, round int) error {
	if r.world.Kind != HTTP {
		return nil
	}
	for _, p := range peers {
		program, found := b.peers[p.name]
		if !found {
			continue
		}
		err := b.paceOne(ctx, r, round, func() (*process, error) {
			dir, err := os.MkdirTemp(b.dir, p.name+"-")
			if err != nil {
				return nil, err
			}
			return p.begin(b, ctx, program, dir, r.world)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeFile(dir, name, text string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// startGdnsd starts gdnsd with ten addresses to a resource, as the daemon has ten
// answers to a record set. Both its intervals are whole seconds.
func (b *bench) startGdnsd(ctx context.Context, program, dir string, w World) (*process, error) {
	port, err := unusedPort()
	if err != nil {
		return nil, err
	}
	var resources strings.Builder
	const answers = 10
	for first := 0; first < w.Targets; first += answers {
		fmt.Fprintf(&resources, "    r%d => { service_types => web", first/answers)
		for i := first; i < min(first+answers, w.Targets); i++ {
			fmt.Fprintf(&resources, ", a%d => %s", i, Address(i))
		}
		resources.WriteString(" }\n")
	}
	config := fmt.Sprintf(`options => { listen => 127.0.0.1:%d, run_dir => %s/run, state_dir => %s/state }
service_types => { web => {
  plugin => http_status, port => %d, url_path => /, vhost => www.example.com
  interval => %d, timeout => %d, down_thresh => 3, up_thresh => 1, ok_thresh => 1
} }
plugins => { multifo => {
%s} }
`, port, dir, dir, w.Port, int(w.Interval.Seconds()), int(w.Timeout().Seconds()), resources.String())
	if _, err := writeFile(dir, "config", config); err != nil {
		return nil, err
	}
	for _, inside := range []string{"run", "state", "zones"} {
		if err := os.Mkdir(filepath.Join(dir, inside), 0o700); err != nil {
			return nil, err
		}
	}
	return start(ctx, "gdnsd", nil, program, "-c", dir, "start")
}

// startHAProxy starts HAProxy with one backend of all targets, and one frontend,
// without which it refuses to start.
func (b *bench) startHAProxy(ctx context.Context, program, dir string, w World) (*process, error) {
	var servers strings.Builder
	for i := range w.Targets {
		fmt.Fprintf(&servers, "  server s%d %s:%d check\n", i, Address(i), w.Port)
	}
	config, err := writeFile(dir, "haproxy.cfg", fmt.Sprintf(`global
  maxconn 100
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect %[1]dms
  timeout check %[1]dms
frontend none
  bind unix@%[2]s/front.sock
  default_backend all
backend all
  option httpchk
  http-check send meth GET uri / ver HTTP/1.1 hdr Host www.example.com hdr Connection close
  http-check expect status 200
  default-server inter %[3]dms fall 3 rise 1
%[4]s`, w.Timeout().Milliseconds(), dir, w.Interval.Milliseconds(), servers.String()))
	if err != nil {
		return nil, err
	}
	return start(ctx, "haproxy", nil, program, "-q", "-db", "-f", config)
}

// startBlackbox starts the exporter, and what asks it for each target in turn. The
// CPU of who asks is not counted: where the exporter runs, Prometheus does that.
func (b *bench) startBlackbox(ctx context.Context, program, dir string, w World) (*process, error) {
	port, err := unusedPort()
	if err != nil {
		return nil, err
	}
	config, err := writeFile(dir, "blackbox.yml", "modules:\n  web:\n    prober: http\n    timeout: "+w.Timeout().String()+"\n    http: {method: GET}\n")
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	exporter, err := start(ctx, "blackbox", nil, program, "--config.file="+config, "--web.listen-address="+at, "--log.level=error")
	if err != nil {
		return nil, err
	}
	scraper, err := start(ctx, "scraper", nil, b.self, "scraper", "-exporter", at,
		"-targets", strconv.Itoa(w.Targets), "-interval", w.Interval.String(), "-port", strconv.Itoa(w.Port))
	if err != nil {
		exporter.stop()
		return nil, err
	}
	exporter.also = scraper
	return exporter, nil
}

// unusedPort is a port of 127.0.0.1 that nobody listened on a moment ago.
func unusedPort() (int, error) {
	c, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	return c.Addr().(*net.TCPAddr).Port, nil
}
