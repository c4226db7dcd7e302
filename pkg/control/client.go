package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// Client talks to the daemon on one socket. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// Dial makes a client and sees whether a daemon listens; the error is
// ErrNoDaemon when none does, and another one when there is one that may not
// be talked to.
func Dial(ctx context.Context, socket string) (*Client, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	conn, err := dial(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("dial control socket %s: %w", socket, ErrNoDaemon)
	case err != nil:
		return nil, fmt.Errorf("dial control socket %s: %w; a daemon runs there: use its user or group", socket, err)
	}
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("dial control socket %s: %w", socket, err)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}}, nil
}

// Status asks for the status, of one name only when it is not empty.
func (c *Client) Status(ctx context.Context, name string) (Status, error) {
	var answer Status
	err := c.call(ctx, http.MethodGet, "/api/v1/status?name="+url.QueryEscape(name), nil, &answer)
	return answer, err
}

// Plan asks what would be written now.
func (c *Client) Plan(ctx context.Context, request PlanRequest) (Plan, error) {
	var answer Plan
	err := c.call(ctx, http.MethodPost, "/api/v1/plan", request, &answer)
	return answer, err
}

// Reconcile asks for the zones to be brought to the wanted state now.
func (c *Client) Reconcile(ctx context.Context, request PlanRequest) (Plan, error) {
	var answer Plan
	err := c.call(ctx, http.MethodPost, "/api/v1/reconcile", request, &answer)
	return answer, err
}

// Approve says yes.
func (c *Client) Approve(ctx context.Context, request ApproveRequest) error {
	return c.call(ctx, http.MethodPost, "/api/v1/approve", request, &struct{}{})
}

func (c *Client) call(ctx context.Context, method, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://sidestep"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("ask the daemon on %s: %w", c.socket, err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or not of use
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask the daemon on %s: %w", c.socket, err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.Status, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("ask the daemon on %s: read its answer: %w", c.socket, err)
	}
	return nil
}

func refusal(status string, data []byte) error {
	var no struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(data, &no); err != nil || no.Error == nil {
		return fmt.Errorf("ask the daemon: it answered %s", status)
	}
	return no.Error
}
