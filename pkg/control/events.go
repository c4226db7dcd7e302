package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// StreamEvent is a line of the journal as it is written, of the name "journal"; or
// says by the name "status" that a status asked for now may be another.
type StreamEvent struct {
	Name string
	Data json.RawMessage // one line of JSON
}

// stillThere is how often a stream without events shows that it lives.
const stillThere = 15 * time.Second

// sendEvents streams events until the client goes, its token is taken away, or the
// backend ends the stream: a client that does not keep up is cut off, and asks anew for
// what it missed (server-sent events, html.spec.whatwg.org section 9.2).
func sendEvents(b Backend, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events, err := b.Events(ctx)
	if err != nil {
		reply(w)(nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to gather them
	connection := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		_ = connection.SetWriteDeadline(time.Now().Add(transferWithin))
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && connection.Flush() == nil
	}
	quiet := time.NewTicker(stillThere)
	defer quiet.Stop()
	for sent := send(": follow\n\n"); sent; {
		select {
		case e, more := <-events:
			sent = more && stillLetIn(ctx) && send("event: %s\ndata: %s\n\n", e.Name, e.Data)
		case <-quiet.C:
			sent = stillLetIn(ctx) && send(": still there\n\n")
		case <-ctx.Done():
			return
		}
	}
}
