package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Ping is a dead man's switch: a URL of a service that raises the alarm when it is
// not called any more. It is safe for concurrent use, and prints as its host.
type Ping struct{ r *Receiver }

// NewPing makes one. It sends nothing, and its error shows no more of the URL than
// its scheme.
func NewPing(text string, insecure bool) (*Ping, error) {
	r, err := Parse(Settings{URL: text, Insecure: insecure})
	if err != nil || schemes[r.url.Scheme] != Webhook {
		if u, wrong := url.Parse(text); err == nil || wrong == nil && schemes[u.Scheme] != Webhook {
			return nil, errors.New("expected a URL that begins with https:// or http://")
		}
		return nil, err
	}
	r.kind = Webhook // whoever's host it is
	return &Ping{r}, nil
}

// Host is who is called.
func (p *Ping) Host() string { return p.r.host }

// String is the host.
func (p *Ping) String() string { return p.r.host }

// Masked is a URL of the same host that holds no secret. NewPing takes it.
func (p *Ping) Masked() string { return p.r.Masked() }

// Send calls once, by GET. An answer of status 2xx is one; the error holds no secret.
func (p *Ping) Send(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	to := p.r.target()
	request, err := http.NewRequestWithContext(within, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return p.r.failed(false, 0, "make the request: the URL cannot be used") // the error shows it
	}
	response, err := p.r.do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return p.r.failed(true, 0, "read the answer, status %d: %v", response.StatusCode, err)
	}
	_, err = p.r.judge(response, text)
	return err
}
