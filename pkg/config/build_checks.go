package config

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
)

func (b *builder) buildChecks(root *item) {
	b.cfg.Checks = map[string]*check.Spec{}
	b.cfg.TLSFiles = map[string]TLSFiles{}
	b.cfg.Sources.Checks = map[string]Position{}
	defaults := root.at("defaults")
	b.timing("defaults", defaults, defaults)
	for _, it := range root.at("checks").items {
		if it.shape == mapping && isLabel(it.name) {
			b.check(it, defaults)
		}
	}
}

func (b *builder) check(it, defaults *item) {
	spec := b.timing(it.name, it, defaults)
	spec.Source = get[netip.Addr](it.at("source"))
	spec.Cooldown, spec.Causes = b.cooldown(it.at("cooldown"), spec.Interval), causes(it.at("causes"))
	b.oneKind(it)
	switch {
	case it.has("http"):
		spec.Kind, spec.HTTP = check.KindHTTP, b.http(spec.Name, it.at("http"))
	case it.has("tcp"):
		spec.Kind, spec.TCP = check.KindTCP, b.tcp(spec.Name, it.at("tcp"))
	case it.has("icmp"):
		spec.Kind, spec.ICMP = check.KindICMP, b.icmp(it.at("icmp"))
	}
	put(&b.cfg.Vantages.Checks, spec.Name, b.vantages(it.at("vantages")))
	b.addCheck(it, spec)
}

func (b *builder) oneKind(it *item) {
	var kinds []string
	for _, kind := range []string{"http", "tcp", "icmp"} {
		if it.has(kind) {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		b.fail(it.pos, it.path(), "expected one of http, tcp and icmp, got none", "")
	case 1:
	default:
		b.fail(it.pos, it.path(), "expected one of http, tcp and icmp, got "+strings.Join(kinds, " and "), "make a check of each and name both in the record set")
	}
}

// maxDefaultTimeout bounds the timeout that nobody gave.
const maxDefaultTimeout = 5 * time.Second

// timing reads when and how often, from the check or else from the defaults.
func (b *builder) timing(name string, it, defaults *item) *check.Spec {
	from := func(key string) *item {
		if own := it.at(key); own.value != nil {
			return own
		}
		return defaults.at(key)
	}
	interval := get[time.Duration](from("interval"))
	timeout := get[time.Duration](from("timeout"))
	if timeout == 0 {
		timeout = min(maxDefaultTimeout, interval/2)
	}
	if timeout >= interval {
		at := it.at("timeout")
		if at.value == nil {
			at = it.at("interval")
		}
		b.fail(at.pos, at.path(), fmt.Sprintf("the timeout, %s, has to be below the interval, %s", short(timeout), short(interval)), "an interval counts from start to start")
	}
	fast := it.at("fastinter")
	if get[time.Duration](fast) >= interval {
		b.fail(fast.pos, fast.path(), fmt.Sprintf("the fastinter, %s, has to be below the interval, %s", short(get[time.Duration](fast)), short(interval)), "remove it to probe at the interval always")
	}
	return &check.Spec{
		Name:      name,
		Interval:  interval,
		FastInter: get[time.Duration](fast),
		Timeout:   timeout,
		Fall:      get[int](from("fall")),
		Rise:      get[int](from("rise")),
	}
}

// cooldown reads how long a target that is down is left alone; nil where nothing
// says so.
func (b *builder) cooldown(it *item, interval time.Duration) *check.Cooldown {
	if it.shape != mapping {
		return nil
	}
	c := &check.Cooldown{
		Base:   get[time.Duration](it.at("base")),
		Factor: get[int](it.at("factor")),
		Max:    get[time.Duration](it.at("max")),
	}
	at := it.at("base")
	if !it.has("base") {
		at = it.at("max")
	}
	switch {
	case c.Max < c.Base && !it.has("max"):
		b.fail(at.pos, at.path(), fmt.Sprintf("the first pause, %s, is longer than the longest, which is %s unless max says otherwise", short(c.Base), short(c.Max)), "add max: "+short(c.Base)+", or more")
	case c.Max < c.Base:
		b.fail(at.pos, at.path(), fmt.Sprintf("the first pause, %s, is longer than the longest, %s", short(c.Base), short(c.Max)), "raise max, or lower base")
	case c.Base < interval:
		b.warn(at.pos, at.path(), fmt.Sprintf("the first pause, %s, is shorter than the interval, %s: a target that is down would be probed sooner than one that is up", short(c.Base), short(interval)), "raise base")
	}
	return c
}

// causes reads what failures count as, where it is not what they always do.
func causes(it *item) check.Causes {
	var own check.Causes
	for _, cause := range causeWords {
		counts := check.Counts(get[string](it.at(string(cause))))
		if counts == "" || counts == check.Causes(nil).Of(cause) {
			continue
		}
		if own == nil {
			own = check.Causes{}
		}
		own[cause] = counts
	}
	return own
}

func (b *builder) http(name string, it *item) *check.HTTP {
	if it.shape != mapping {
		return nil
	}
	spec := get[check.HTTP](it.at("url"))
	spec.Method = get[string](it.at("method"))
	spec.Body = get[*regexp.Regexp](it.at("body"))
	spec.BodyLimit = get[int64](it.at("body_limit"))
	spec.Headers = b.headers(it.at("headers"))
	for _, status := range it.at("status").each() {
		if r, ok := status.value.(check.StatusRange); ok {
			spec.Status = append(spec.Status, r)
		}
	}
	if it.at("status").shape == list && len(it.at("status").items) == 0 {
		b.fail(it.at("status").pos, it.at("status").path(), "expected at least one status, got an empty list", "the default is [2xx]")
	}
	if len(spec.Status) == 0 {
		spec.Status = []check.StatusRange{{Low: 200, High: 299}}
	}
	for _, want := range it.at("json").items {
		if spec.JSON == nil {
			spec.JSON = map[string]string{}
		}
		spec.JSON[want.name] = want.text
	}
	b.methodRules(it, &spec)
	b.httpTLS(name, it, &spec)
	return &spec
}

// httpTLS reads how the check speaks TLS, and which HTTP in it.
func (b *builder) httpTLS(name string, it *item, spec *check.HTTP) {
	plain, remedy := "", ""
	if spec.Scheme == "http" {
		plain, remedy = "the url begins with http://", "write https://"
	}
	spec.TLS, b.cfg.TLSFiles[name] = b.tls(it, plain, remedy)
	two := it.at("http2")
	offered := get[bool](two)
	spec.HTTP1 = plain == "" && !offered
	if plain != "" && it.has("http2") && offered {
		b.fail(two.pos, two.path(), "HTTP/2 is agreed on in the handshake of TLS, and "+plain, "write https://, or remove the key")
	}
}

func (b *builder) methodRules(it *item, spec *check.HTTP) {
	method := it.at("method")
	switch {
	case spec.Method == http.MethodConnect:
		b.fail(method.pos, method.path(), "CONNECT asks for a tunnel, not for a page", "use GET or HEAD")
	case spec.Method == http.MethodHead && (it.has("body") || it.has("json")):
		b.fail(method.pos, method.path(), "the answer to HEAD has no body that body or json could look at", "use GET")
	}
}

func (b *builder) headers(it *item) []check.Header {
	var headers []check.Header
	first := map[string]*item{}
	for _, h := range it.items {
		lower := strings.ToLower(h.name)
		other, why := first[lower], ownHeaders[lower]
		first[lower] = h
		switch {
		case !headerToken.MatchString(h.name):
			b.fail(h.keyPos, h.path(), "expected the name of a header", "")
		case why != "":
			b.fail(h.keyPos, h.path(), "this header cannot be set: "+why, "remove it")
		case other != nil:
			b.fail(h.keyPos, h.path(), fmt.Sprintf("the header is there twice, first at %s", other.keyPos), "")
		case h.value != nil:
			headers = append(headers, check.Header{Name: h.name, Value: b.headerValue(h)})
		}
	}
	return headers
}

func (b *builder) headerValue(h *item) string {
	value := b.secret(h).Reveal()
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		b.fail(h.pos, h.path(), "the value has a line break or another control character in it", "")
	}
	return value
}

// webPorts are where a server usually speaks HTTP, so that an open port says
// little.
var webPorts = []int{80, 443, 8080, 8443}

func (b *builder) tcp(name string, it *item) *check.TCP {
	if it.shape != mapping {
		return nil
	}
	port := get[int](it.at("port"))
	spec := &check.TCP{
		Port:   uint16(port), // 1 to 65535 by the schema
		Send:   get[string](it.at("send")),
		Expect: get[*regexp.Regexp](it.at("expect")),
	}
	if slices.Contains(webPorts, port) && spec.Expect == nil {
		b.warn(it.at("port").pos, it.at("port").path(), fmt.Sprintf("port %d is a web port: a server that answers nothing but errors still accepts connections", port), "use an http check")
	}
	secure := get[bool](it.at("tls"))
	plain, remedy := "", ""
	if !secure {
		plain, remedy = "tls is false", "add tls: true"
	}
	tls, files := b.tls(it, plain, remedy)
	b.cfg.TLSFiles[name] = files
	if secure {
		spec.TLS = &tls
	}
	if at := it.at("tls"); secure && !it.has("server_name") {
		b.warn(at.pos, at.path(), "without server_name the certificate has to name every address that is probed (or the name, where a name is the target)", "add server_name: HOST")
	}
	return spec
}

func (b *builder) icmp(it *item) *check.ICMP {
	if it.shape != mapping {
		return nil
	}
	spec := &check.ICMP{Count: get[int](it.at("count")), MaxLoss: get[int](it.at("max_loss"))}
	if spec.MaxLoss == 100 {
		b.warn(it.at("max_loss").pos, it.at("max_loss").path(), "a loss of 100% would pass without a reply", "one reply is asked for all the same")
	}
	return spec
}
