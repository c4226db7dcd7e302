package check

import (
	"net/netip"
	"regexp"
	"slices"
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
	ICMP     *ICMP // set for KindICMP
	Interval time.Duration
	Timeout  time.Duration // one deadline over everything a probe does; below Interval
	// FastInter takes the place of Interval after a result that contradicts the
	// verdict, until that turns or is confirmed; below Interval, 0 for none.
	FastInter time.Duration
	Fall      int        // failures in a row to go down, at least 1
	Rise      int        // passes in a row to come up, at least 1
	Source    netip.Addr // the address probes leave from; the zero Addr lets the kernel choose
	Cooldown  *Cooldown  // how long a target that is down is left alone; nil probes it at the interval
	Causes    Causes
}

// Cooldown is how long a target that went down is left alone between two
// attempts: Base at first, then Factor times the last pause, at most Max.
type Cooldown struct {
	Base   time.Duration // above 0, at most Max
	Factor int           // at least 1
	Max    time.Duration
}

// Counts is what a failure counts as.
type Counts string

// What a failure may count as.
const (
	CountFail    Counts = "fail"
	CountUnknown Counts = "unknown" // neither for the target nor against it
	CountDisable Counts = "disable" // as a failure; one that brings the target down keeps it out until a person says otherwise
)

// Causes says what a failure counts as, by its cause. A cause that is not in it
// counts as it always does: CountUnknown for CauseLocal, else CountFail.
type Causes map[Cause]Counts

// Of is what a failure of a cause counts as.
func (c Causes) Of(cause Cause) Counts {
	switch counts, found := c[cause]; {
	case found:
		return counts
	case cause == CauseLocal:
		return CountUnknown
	}
	return CountFail
}

// Vantages says whose word counts for what is probed, where several nodes look
// at it from different places, and how many of them must say down.
type Vantages struct {
	Of   []string // names, each once, in the order of the config
	Down int      // 1 to their number
}

// Up is how many of the vantages must say up: so many that Down of them could not
// say down, whatever the others said.
func (v *Vantages) Up() int { return len(v.Of) - v.Down + 1 }

// Same reports whether two rules are one. None, nil, is the same as none.
func (v *Vantages) Same(o *Vantages) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v.Down == o.Down && slices.Equal(v.Of, o.Of)
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
	TLS       TLS               // for https; the zero value trusts the system and verifies Host
	HTTP1     bool              // HTTP/2 is not offered in the handshake (ALPN, RFC 7301)
}

// TLS is how a probe makes its connection secure. The certificate of the
// server is always verified.
type TLS struct {
	ServerName string // SNI and the name the certificate must have; empty means the host of the URL, or the address under test
	CA         []byte // authorities in PEM; empty means the system's
	Cert       []byte // certificate of the client in PEM, with its chain; empty sends none
	Key        []byte // its key in PEM; a secret
}

// Header is one request header. Values are treated as secrets: they reach the
// wire and nothing else.
type Header struct{ Name, Value string }

// StatusRange is an inclusive range of HTTP status codes.
type StatusRange struct{ Low, High int }

// TCP is what a TCP check does: it connects, and where asked speaks TLS, sends
// and waits for an answer.
type TCP struct {
	Port   uint16
	TLS    *TLS           // nil speaks in the clear
	Send   string         // sent once connected; empty sends nothing
	Expect *regexp.Regexp // must match within the first ExpectLimit bytes that come; nil asks nothing
}

// ExpectLimit is how many bytes of a TCP answer are looked at.
const ExpectLimit = 64 << 10

// ICMP is how many echo requests a probe sends, and how much loss it bears.
type ICMP struct {
	Count   int // requests of one probe, 1 to 100
	MaxLoss int // percent of them, 0 to 100, whose loss still passes
}

// Target is one thing probed by one check.
type Target struct {
	Check   string
	Address string // canonical address, or a canonical name, which is probed at each of its addresses
}

// ID is the target's name everywhere: CHECK@ADDRESS.
func (t Target) ID() string { return t.Check + "@" + t.Address }
