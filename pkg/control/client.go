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
	"time"
)

// answerWithin is how long the daemon may take for what it knows already. What
// it has to probe, list or write for takes as long as it takes.
const answerWithin = 10 * time.Second

// Client talks to the daemon on one socket. It is safe for concurrent use. Its
// errors are an *Error where the daemon said no, and wrap that of ctx where ctx
// ended.
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
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("dial control socket %s: permission denied; only the daemon's user and group may use it", socket)
	case err != nil:
		return nil, fmt.Errorf("dial control socket %s: %w", socket, err)
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
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
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
func (c *Client) Approve(ctx context.Context, request ApproveRequest) (Approval, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	var answer Approval
	err := c.call(ctx, http.MethodPost, "/api/v1/approve", request, &answer)
	return answer, err
}

// errSilent is the cause when the daemon took too long.
var errSilent = fmt.Errorf("it listens, and gave no answer within %s; its log may say why", answerWithin)

func (c *Client) call(ctx context.Context, method, path string, request, answer any) error {
	status, data, err := c.exchange(ctx, method, path, request)
	switch {
	case err != nil:
		return fmt.Errorf("ask the daemon on %s: %w", c.socket, plainly(ctx, err))
	case status != http.StatusOK:
		return c.refusal(status, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("ask the daemon on %s: read its answer: %w", c.socket, err)
	}
	return nil
}

func (c *Client) exchange(ctx context.Context, method, path string, request any) (status int, data []byte, err error) {
	var body bytes.Buffer
	if request != nil {
		if err := json.NewEncoder(&body).Encode(request); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://sidestep"+path, &body)
	if err != nil {
		return 0, nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or not of use
	data, err = io.ReadAll(response.Body)
	return response.StatusCode, data, err
}

// plainly takes the words of HTTP out of an error: there is no URL to look at.
func plainly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if of, is := errors.AsType[*url.Error](err); is {
		err = of.Err
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoDaemon
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New("it ended before it had answered; see whether it runs again: sidestep status")
	}
	return err
}

func (c *Client) refusal(status int, data []byte) error {
	var no struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(data, &no); err != nil || no.Error == nil {
		return fmt.Errorf("ask the daemon on %s: it answered %d %s, which is not sidestep's way; is it one?", c.socket, status, http.StatusText(status))
	}
	return no.Error
}
