package check

import (
	"net/netip"
	"regexp"
	"time"
)

// Kind is the way a check probes.
type Kind string

// The kinds of checks.
const (
	KindHTTP Kind = "http"
	KindTCP  Kind = "tcp"
	KindICMP Kind = "icmp"
)

// MinInterval is the smallest interval that a check may have.
const MinInterval = 100 * time.Millisecond

// Spec is one check: what to send, what to expect, how often, and how many
// results in a row change a verdict. It is read-only once it was made, so that
// many probes can share it.
type Spec struct {
	Name     string
	Kind     Kind
	HTTP     *HTTP // set for KindHTTP
	TCP      *TCP  // set for KindTCP
	Interval time.Duration
	Timeout  time.Duration // one deadline over everything a probe does; below Interval
	Fall     int           // failures in a row to go down, at least 1
	Rise     int           // passes in a row to come up, at least 1
	Source   netip.Addr    // the address probes leave from; the zero Addr lets the kernel choose
}

// HTTP is what an HTTP check asks and expects. The URL gives Host, SNI and
// certificate name; the connection goes to the address under test.
type HTTP struct {
	Scheme    string // "http" or "https"
	Host      string // host name of the URL without port, A-labels; also SNI and certificate name
	Port      uint16 // of the URL, else 80 or 443
	Authority string // the Host header as the URL has it, with a port that is not the scheme's own
	Path      string // path and query, at least "/"
	Method    string // GET by default
	Headers   []Header
	Status    []StatusRange     // any of them passes; 200 to 299 by default
	Body      *regexp.Regexp    // must match within BodyLimit; nil asks nothing
	JSON      map[string]string // dotted path of a field to its expected value; empty asks nothing
	BodyLimit int64             // bytes read at most for Body and JSON, 64 KiB by default
}

// Header is one request header. Values are treated as secrets: they reach the
// wire and nothing else.
type Header struct{ Name, Value string }

// StatusRange is an inclusive range of HTTP status codes.
type StatusRange struct{ Low, High int }

// TCP is what a TCP check does: it connects, and no more.
type TCP struct {
	Port uint16
}

// Target is one thing probed by one check.
type Target struct {
	Check   string
	Address string // canonical address, or a name once names can be probed
}

// ID is the target's name everywhere: CHECK@ADDRESS.
func (t Target) ID() string { return t.Check + "@" + t.Address }
