package control

import (
	"context"
	"net/http"
	"time"
)

// ReloadRequest asks the daemon to read its config again.
type ReloadRequest struct{}

// Reloaded is the answer, once what was read is in force. A config that is refused is
// an error, and the one before stays in force.
type Reloaded struct {
	File    string    `json:"file"`    // what was read
	Loaded  time.Time `json:"loaded"`  // when it came into force
	Changed string    `json:"changed"` // what differs from the one before, in words, such as "control changed", or "nothing"
}

// Reload lets the daemon read its config again, and waits until it is in force.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	var answer Reloaded
	err := c.call(ctx, http.MethodPost, "/api/v1/reload", ReloadRequest{}, &answer)
	return answer, err
}
