package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"
)

// mailbox is how mail goes out.
type mailbox struct {
	addr     string // of the server, with port
	from     string
	to       []string
	user     string
	password string
	implicit bool // TLS from the first byte
	plain    bool // without TLS, on the operator's word
}

// prepareMail reads smtp://USER:PASSWORD@HOST:PORT?from=ADDRESS&to=ADDRESS,ADDRESS.
func (r *Receiver) prepareMail(insecure bool) error {
	query := r.url.Query()
	box := &mailbox{implicit: r.url.Scheme == "smtps", plain: insecure && r.url.Scheme == "smtp"}
	box.addr = hostPort(r.url, map[bool]string{true: "465", false: "587"}[box.implicit])
	from, err := mail.ParseAddress(query.Get("from"))
	if err != nil {
		return errors.New("expected from=ADDRESS in the URL, an address such as sidestep@example.com")
	}
	box.from = from.Address
	for _, text := range query["to"] {
		list, err := mail.ParseAddressList(text)
		if err != nil {
			return errors.New("expected to=ADDRESS in the URL, or several with commas between them, such as ops@example.com")
		}
		for _, one := range list {
			box.to = append(box.to, one.Address)
		}
	}
	for key := range query {
		if key != "from" && key != "to" {
			return fmt.Errorf("expected from= and to= in the URL, got %q too; write & in a password as %%26", cut(escape(key), 20))
		}
	}
	if len(box.to) == 0 {
		return errors.New("expected to=ADDRESS in the URL, got nobody")
	}
	if strings.Trim(r.url.Path, "/") != "" {
		return errors.New("expected nothing between host and ?, got a path; write / in a password as %2F")
	}
	if user := r.url.User; user != nil {
		box.user = user.Username()
		box.password, _ = user.Password()
	}
	r.mail = box
	return nil
}

func (r *Receiver) sendMail(ctx context.Context, m Message) (string, error) {
	body, err := r.mail.message(m)
	if err != nil {
		return "", r.failed(false, 0, "%v", err)
	}
	answer, err := r.deliver(ctx, body)
	if err == nil {
		return r.safe(answer), nil
	}
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return "", r.failed(said.Code < 500, 0, "%v", err) // RFC 5321 section 4.2.1
	}
	_, lasting := errors.AsType[*lastingError](err)
	return "", r.failed(!lasting, 0, "%v", err)
}

// lastingError is one that another try does not mend.
type lastingError struct{ error }

func (r *Receiver) deliver(ctx context.Context, body []byte) (answer string, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.mail.addr)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	secure := &tls.Config{ServerName: r.url.Hostname(), MinVersion: tls.VersionTLS12, RootCAs: r.roots}
	if r.mail.implicit {
		conn = tls.Client(conn, secure)
	}
	client, err := smtp.NewClient(conn, r.url.Hostname())
	if err != nil {
		return "", fmt.Errorf("greeting: %w", err)
	}
	if err := client.Hello(helloName()); err != nil {
		return "", fmt.Errorf("EHLO: %w", err)
	}
	if err := r.startTLS(client, secure); err != nil {
		return "", err
	}
	if err := r.signIn(client); err != nil {
		return "", err
	}
	return r.mail.hand(client, body)
}

// startTLS is needed everywhere but on this machine.
func (r *Receiver) startTLS(client *smtp.Client, secure *tls.Config) error {
	offered, _ := client.Extension("STARTTLS")
	switch {
	case r.mail.implicit || r.mail.plain:
		return nil
	case offered:
		if err := client.StartTLS(secure); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
		return nil
	case isLoopback(r.url.Hostname()):
		return nil
	}
	return &lastingError{errors.New("the server offers no STARTTLS; write smtps:// if it speaks TLS from the start, or insecure: true if a plain connection is meant")}
}

func (r *Receiver) signIn(client *smtp.Client) error {
	if r.mail.user == "" {
		return nil
	}
	offered, ways := client.Extension("AUTH")
	var auth smtp.Auth
	switch words := strings.Fields(strings.ToUpper(ways)); {
	case offered && slices.Contains(words, "PLAIN"):
		auth = &plainAuth{r.mail.user, r.mail.password}
	case offered && slices.Contains(words, "LOGIN"):
		auth = &loginAuth{r.mail.user, r.mail.password}
	default:
		return &lastingError{fmt.Errorf("the server offers no AUTH PLAIN and no AUTH LOGIN, got %q", ways)}
	}
	if err := client.Auth(auth); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// plainAuth is AUTH PLAIN (RFC 4616). That of net/smtp refuses a plain connection
// that the operator asked for.
type plainAuth struct{ user, password string }

func (a *plainAuth) Start(*smtp.ServerInfo) (string, []byte, error) {
	return "PLAIN", []byte("\x00" + a.user + "\x00" + a.password), nil
}

func (a *plainAuth) Next(_ []byte, more bool) ([]byte, error) {
	if more {
		return nil, errors.New("the server asks more than AUTH PLAIN has")
	}
	return nil, nil
}

// loginAuth is AUTH LOGIN, which some servers offer alone: they ask for the name,
// then for the password.
type loginAuth struct{ user, password string }

func (a *loginAuth) Start(*smtp.ServerInfo) (string, []byte, error) { return "LOGIN", nil, nil }

func (a *loginAuth) Next(asked []byte, more bool) ([]byte, error) {
	switch {
	case !more:
		return nil, nil
	case strings.HasPrefix(strings.ToLower(string(asked)), "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(strings.ToLower(string(asked)), "pass"):
		return []byte(a.password), nil
	}
	return nil, errors.New("the server asks something else than a name and a password")
}

func (b *mailbox) hand(client *smtp.Client, body []byte) (string, error) {
	if err := client.Mail(b.from); err != nil {
		return "", fmt.Errorf("MAIL FROM: %w", err)
	}
	taken, refused := 0, error(nil)
	for _, to := range b.to {
		if err := client.Rcpt(to); err != nil {
			refused = fmt.Errorf("RCPT TO: %w", err)
			continue
		}
		taken++
	}
	if taken == 0 {
		return "", refused
	}
	w, err := client.Data()
	if err != nil {
		return "", fmt.Errorf("DATA: %w", err)
	}
	if _, err = w.Write(body); err != nil {
		return "", fmt.Errorf("send the text: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("after the text: %w", err)
	}
	_ = client.Quit() // the server has taken the message
	answer := fmt.Sprintf("taken for %d of %d addresses", taken, len(b.to))
	if refused != nil {
		answer += fmt.Sprintf(", not for all: %v", refused)
	}
	return answer, nil
}

// helloName is what this machine calls itself (RFC 5321 section 4.1.1.1).
func helloName() string {
	name, err := os.Hostname()
	if err != nil || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" {
		name = ""
	}
	return cmp.Or(name, "localhost")
}

// message is a mail with its header. What comes from others is in the subject, which
// is encoded as soon as it holds anything but plain characters, and in the body.
func (b *mailbox) message(m Message) ([]byte, error) {
	var out bytes.Buffer
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	_, domain, _ := strings.Cut(b.from, "@")
	for _, header := range [][2]string{
		{"From", (&mail.Address{Name: "sidestep", Address: b.from}).String()},
		{"To", strings.Join(b.to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", cut(escape(m.Title()), mostText))},
		{"Date", m.At.Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%x@%s>", id, domain)},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
		{"Auto-Submitted", "auto-generated"},
	} {
		fmt.Fprintf(&out, "%s: %s\r\n", header[0], header[1])
	}
	out.WriteString("\r\n")
	w := quotedprintable.NewWriter(&out)
	text := strings.ReplaceAll(cut(m.Text(), kindLimits[Mail].text), "\n", "\r\n")
	if _, err := w.Write([]byte(text + "\r\n")); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
