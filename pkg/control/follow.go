package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// mostEvent is the longest line of a stream that is read, in bytes. A line of the
// journal is shorter by far.
const mostEvent = 1 << 20

// errMute is the cause when a stream showed no sign of life for longer than the daemon
// ever is silent.
var errMute = fmt.Errorf("nothing came for %s, not even that it is still there; its log may say why", 3*stillThere)

// Follow calls heard for what happens from now on, one event after the other, until ctx
// ends or the daemon is gone: it always gives an error. opened is called once, before
// the first event: what was asked before that may be old. (Server-sent events,
// html.spec.whatwg.org section 9.2.)
func (c *Client) Follow(ctx context.Context, opened func(), heard func(StreamEvent)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	mute := time.AfterFunc(3*stillThere, func() { cancel(errMute) })
	defer mute.Stop()
	err := c.follow(ctx, opened, heard, func() { mute.Reset(3 * stillThere) })
	if _, no := errors.AsType[*Error](err); no {
		return err
	}
	return fmt.Errorf("follow the daemon on %s: %w", c.socket, plainly(ctx, err))
}

func (c *Client) follow(ctx context.Context, opened func(), heard func(StreamEvent), alive func()) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://sidestep/api/v1/events", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or not of use
	if response.StatusCode != http.StatusOK {
		data, err := io.ReadAll(io.LimitReader(response.Body, mostEvent))
		if err != nil {
			return err
		}
		return c.refusal(response.StatusCode, data)
	}
	opened()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, mostEvent)
	var event StreamEvent
	for lines.Scan() {
		alive()
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event.Name = value
		case "data":
			event.Data = []byte(value)
		}
		if lines.Text() == "" && event.Name != "" {
			heard(event)
			event = StreamEvent{}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
