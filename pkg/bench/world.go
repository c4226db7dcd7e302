package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Kind is what a probe asks.
type Kind string

// The kinds.
const (
	HTTP Kind = "http"
	TCP  Kind = "tcp"
	ICMP Kind = "icmp"
)

// World is what a prober has to probe.
type World struct {
	Kind      Kind
	Targets   int
	Interval  time.Duration
	FastInter time.Duration // 0 for none
	Port      int
}

// Timeout of a probe: half the interval, as the config's default is.
func (w World) Timeout() time.Duration { return min(5*time.Second, w.Interval/2) }

func (w World) String() string {
	return fmt.Sprintf("%s, %d targets each %s", w.Kind, w.Targets, w.Interval)
}

// write puts a config and a zone file into dir and gives the config's path: ten
// answers to a record set, one check, the embedded name server without a socket.
func (w World) write(dir string) (string, error) {
	var config, zone strings.Builder
	config.WriteString(`node: {name: bench}
state: {dir: state}
control: {socket: control.sock}
adopt: auto
guard: {mass: 0, max_writes: 0}
zones:
  - {zone: example.com, provider: local, file: example.com.zone, listen: ""}
checks:
`)
	config.WriteString("  web: {" + w.check() + "}\nrecords:\n")
	zone.WriteString("$ORIGIN example.com.\n$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n")
	const answers = 10
	for first := 0; first < w.Targets; first += answers {
		var values []string
		for i := first; i < min(first+answers, w.Targets); i++ {
			values = append(values, Address(i).String())
			fmt.Fprintf(&zone, "h%d A %s\n", first/answers, Address(i))
		}
		fmt.Fprintf(&config, "  - {name: h%d, check: web, answers: [%s]}\n", first/answers, strings.Join(values, ", "))
	}
	path := filepath.Join(dir, "sidestep.yaml")
	if err := os.WriteFile(filepath.Join(dir, "example.com.zone"), []byte(zone.String()), 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(config.String()), 0o600)
}

func (w World) check() string {
	what := map[Kind]string{
		HTTP: fmt.Sprintf(`http: {url: "http://www.example.com:%d/"}`, w.Port),
		TCP:  fmt.Sprintf("tcp: {port: %d}", w.Port),
		ICMP: "icmp: {count: 1}",
	}[w.Kind]
	// rise: 1 makes the start short; what a probe costs does not depend on it.
	what += fmt.Sprintf(", interval: %s, timeout: %s, fall: 3, rise: 1", w.Interval, w.Timeout())
	if w.FastInter > 0 {
		what += fmt.Sprintf(", fastinter: %s", w.FastInter)
	}
	return what
}
