package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Kind is a form of message, with the way on which it is sent.
type Kind string

// The kinds.
const (
	Slack    Kind = "slack"
	DingTalk Kind = "dingtalk"
	WeCom    Kind = "wecom"
	Feishu   Kind = "feishu"
	Mail     Kind = "mail"
	Webhook  Kind = "webhook"
)

// schemes are the schemes of URLs that say the kind themselves.
var schemes = map[string]Kind{
	"slack": Slack, "dingtalk": DingTalk, "wecom": WeCom, "feishu": Feishu,
	"smtp": Mail, "smtps": Mail, "https": Webhook, "http": Webhook,
}

// Schemes lists what a URL may begin with, sorted.
func Schemes() []string {
	list := []string{}
	for scheme := range schemes {
		list = append(list, scheme)
	}
	slices.Sort(list)
	return list
}

// vendors are the hosts of the vendors, so that a URL can be taken as they show it.
var vendors = map[string]Kind{
	"hooks.slack.com":     Slack,
	"hooks.slack-gov.com": Slack,
	"oapi.dingtalk.com":   DingTalk,
	"qyapi.weixin.qq.com": WeCom,
	"open.feishu.cn":      Feishu,
	"open.larksuite.com":  Feishu,
}

// limits is what a kind bears.
type limits struct {
	text int           // longest text, in bytes
	pace time.Duration // from one message to the next
}

// kindLimits are what the vendors say, with room to spare. Robots of DingTalk and
// WeCom take 20 messages a minute, and that of DingTalk none for ten minutes after
// more; WeCom takes 2048 bytes; Slack asks for one a second; Feishu takes 100 a
// minute and 20 kB.
var kindLimits = map[Kind]limits{
	Slack:    {text: 3500, pace: 1200 * time.Millisecond},
	DingTalk: {text: 3500, pace: 4 * time.Second},
	WeCom:    {text: 2000, pace: 4 * time.Second},
	Feishu:   {text: 3500, pace: 1200 * time.Millisecond},
	Mail:     {text: 16 << 10, pace: time.Second},
	Webhook:  {text: 16 << 10, pace: time.Second},
}

// Receiver is one place where messages go. It is safe for concurrent use, and prints
// as its kind and host: the URL is a secret.
type Receiver struct {
	kind   Kind
	host   string // with a port where one was given
	full   string // the URL as it was given
	url    *url.URL
	secret string // signs what is sent to a robot; empty for no signature
	mail   *mailbox
	plain  bool // no TLS
	form   *template.Template
	hidden []string // what no text may show
	roots  *x509.CertPool
}

// Settings are what a receiver is made of.
type Settings struct {
	URL      string // a secret
	Template string // of a webhook: its body, empty for the whole shape as JSON
	Insecure bool   // the operator's word that a connection without TLS is meant
}

// Parse makes a receiver. It sends nothing. The error says what was expected, and
// shows no more of the URL than its scheme.
func Parse(s Settings) (*Receiver, error) {
	u, err := url.Parse(strings.TrimSpace(s.URL))
	if err != nil {
		return nil, errors.New("expected a URL, got a text that cannot be read as one; look at its spaces and percent signs")
	}
	r := &Receiver{full: u.String(), url: u, kind: schemes[u.Scheme], host: u.Host}
	if r.kind == Webhook {
		r.kind = cmp.Or(vendors[u.Hostname()], Webhook)
	}
	switch {
	case u.Scheme == "":
		return nil, fmt.Errorf("expected a URL that begins with one of %s, each with ://, got a text without", strings.Join(Schemes(), ", "))
	case r.kind == "":
		return nil, fmt.Errorf("expected a URL that begins with one of %s, each with ://, got %q", strings.Join(Schemes(), ", "), cut(escape(u.Scheme), 20))
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("expected a host name in the URL")
	case u.Fragment != "":
		return nil, errors.New("a fragment (#…) in the URL is never sent; write # as %23")
	}
	own := schemes[u.Scheme] != Webhook // it does not say whether TLS is meant
	r.plain = u.Scheme == "http" || own && (s.Insecure || isLoopback(u.Hostname()))
	if u.Scheme == "http" && !s.Insecure && !isLoopback(u.Hostname()) {
		return nil, errors.New("http to another host: anybody between here and there could read it, the URL too; write https, or insecure: true if that is meant")
	}
	if err := r.prepare(s); err != nil {
		return nil, err
	}
	r.hide()
	return r, nil
}

// prepare takes what the kind wants to know out of the URL.
func (r *Receiver) prepare(s Settings) error {
	if s.Template != "" && r.kind != Webhook {
		return fmt.Errorf("a template is for a webhook, and this is %s; remove it", r.kind)
	}
	switch r.kind {
	case Mail:
		return r.prepareMail(s.Insecure)
	case Webhook:
		return r.prepareForm(s.Template)
	}
	query := r.url.Query()
	if r.secret = query.Get("secret"); r.secret != "" {
		query.Del("secret")
		r.url.RawQuery = query.Encode()
	}
	switch {
	case r.secret != "" && r.kind != DingTalk && r.kind != Feishu:
		return fmt.Errorf("%s signs nothing: remove secret= from the URL", r.kind)
	case r.kind == DingTalk && query.Get("access_token") == "":
		return errors.New("expected access_token= in the URL of a DingTalk robot, as DingTalk shows it")
	case r.kind == WeCom && query.Get("key") == "":
		return errors.New("expected key= in the URL of a WeCom robot, as WeCom shows it")
	case (r.kind == Slack || r.kind == Feishu) && strings.Trim(r.url.Path, "/") == "":
		return fmt.Errorf("expected a path behind the host, as %s shows it", r.kind)
	}
	return nil
}

// target is where HTTP goes.
func (r *Receiver) target() url.URL {
	u := *r.url
	u.Scheme, u.User = "https", nil
	if r.plain {
		u.Scheme = "http"
	}
	return u
}

// ID tells receivers apart without their URLs.
func (r *Receiver) ID() string {
	sum := sha256.Sum256([]byte(r.full))
	return string(r.kind) + "-" + hex.EncodeToString(sum[:8])
}

// Pace is the least time from one message to the next.
func (r *Receiver) Pace() time.Duration { return kindLimits[r.kind].pace }

// Kind is the kind.
func (r *Receiver) Kind() Kind { return r.kind }

// Host is where messages go, with the port if one was given.
func (r *Receiver) Host() string { return r.host }

// String is the kind and the host.
func (r *Receiver) String() string { return string(r.kind) + " at " + r.host }

// Format keeps every verb from the URL.
func (r *Receiver) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.String())) }

// Masked is a URL of the same kind and host that holds no secret, for a person who
// looks at a config. Parse takes it.
func (r *Receiver) Masked() string {
	scheme := r.url.Scheme
	rest := map[Kind]string{
		Slack: "/***", Feishu: "/***", Webhook: "/***", DingTalk: "/***?access_token=***", WeCom: "/***?key=***",
		Mail: "?from=***@***&to=***@***",
	}[r.kind]
	return scheme + "://" + r.host + rest
}

// hide collects what no text may show: whatever of the URL is not its host.
func (r *Receiver) hide() {
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= 4 {
				r.hidden = append(r.hidden, text)
			}
		}
	}
	add(r.secret, url.QueryEscape(r.secret))
	if user := r.url.User; user != nil {
		password, _ := user.Password()
		add(password, url.PathEscape(password), user.String())
		for _, sent := range []string{password, user.Username() + ":" + password, "\x00" + user.Username() + "\x00" + password} {
			add(base64.StdEncoding.EncodeToString([]byte(sent))) // as HTTP, AUTH LOGIN and AUTH PLAIN carry it
		}
	}
	for _, values := range r.url.Query() {
		for _, value := range values {
			add(value, url.QueryEscape(value))
		}
	}
	add(r.url.RawQuery, r.url.RequestURI())
	for segment := range strings.SplitSeq(r.url.Path, "/") {
		if strings.ContainsAny(segment, "0123456789") || len(segment) > 12 {
			add(segment, url.PathEscape(segment))
		}
	}
	slices.SortFunc(r.hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// safe is a text of the other side, or an error, without secrets and on one line.
func (r *Receiver) safe(text string) string {
	for _, secret := range r.hidden {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return Clean(text)
}

// Error is why a message was not delivered. Its text holds no secret.
type Error struct {
	To    string        // kind and host
	Text  string        // what went wrong, as far as known in the words of the other side
	Again bool          // it may go well later
	After time.Duration // not before so long; 0 for nothing said
}

func (e *Error) Error() string { return e.To + ": " + e.Text }

// failed makes an Error.
func (r *Receiver) failed(again bool, after time.Duration, format string, args ...any) *Error {
	return &Error{To: r.String(), Text: r.safe(fmt.Sprintf(format, args...)), Again: again, After: after}
}

// Send delivers a message, or says why not by an *Error. The answer is what the other
// side said. It ends with ctx.
func (r *Receiver) Send(ctx context.Context, m Message) (answer string, err error) {
	if r.kind == Mail {
		return r.sendMail(ctx, m)
	}
	return r.post(ctx, m)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// hostPort adds a port where the URL has none.
func hostPort(u *url.URL, port string) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
}
