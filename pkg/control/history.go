package control

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// HistoryRequest picks events of the journal; its zero value picks all.
type HistoryRequest struct {
	Since  time.Time // inside; zero for no bound
	Until  time.Time // outside; zero for no bound
	Kinds  []string  // of HistoryKinds; empty for every kind
	Target string    // a site, an address, CHECK@ADDRESS, a scenario, a record set
	Name   string    // a record set, and what its answers rest on by the config
	Zone   string
	Last   int // the newest so many; 0 for all
}

// HistoryKinds are the kinds of events, in the order in which help and completion
// name them.
func HistoryKinds() []string {
	return []string{"verdict", "override", "plan", "write", "verify", "leader", "guard", "config", "site", "vantage"}
}

// History is the answer of history. The events are the lines of the journal, oldest
// first; each has "at" and "kind", and more by its kind.
type History struct {
	Events  []json.RawMessage `json:"events"`
	Begins  *time.Time        `json:"begins"`  // the oldest event of the journal, picked or not; null when it is empty
	Damaged int               `json:"damaged"` // lines that could not be read, and are left out
	Error   string            `json:"error"`   // why it could not be read to its end; empty when it was
}

// History asks for events of the journal.
func (c *Client) History(ctx context.Context, request HistoryRequest) (History, error) {
	var answer History
	err := c.call(ctx, http.MethodGet, "/api/v1/history?"+request.query().Encode(), nil, &answer)
	return answer, err
}

func (h HistoryRequest) query() url.Values {
	query := url.Values{"kind": h.Kinds}
	for key, text := range map[string]string{"target": h.Target, "name": h.Name, "zone": h.Zone} {
		if text != "" {
			query.Set(key, text)
		}
	}
	for key, at := range map[string]time.Time{"since": h.Since, "until": h.Until} {
		if !at.IsZero() {
			query.Set(key, at.Format(time.RFC3339Nano))
		}
	}
	if h.Last > 0 {
		query.Set("last", strconv.Itoa(h.Last))
	}
	return query
}

// sendHistory writes History piece by piece: a journal may be larger than what the
// daemon should hold in memory. What fails halfway is said at its end.
func sendHistory(b Backend, w http.ResponseWriter, r *http.Request) {
	request, err := readHistoryRequest(r.URL.Query())
	if err != nil {
		reply(w)(nil, err)
		return
	}
	connection, sent := http.NewResponseController(w), 0
	end, err := b.History(r.Context(), request, func(event json.RawMessage) error {
		between := ","
		if sent++; sent == 1 {
			w.Header().Set("Content-Type", "application/json")
			between = `{"events":[`
		}
		_ = connection.SetWriteDeadline(time.Now().Add(transferWithin))
		_, err := io.WriteString(w, between+string(event))
		return err
	})
	if sent == 0 {
		end.Events = []json.RawMessage{}
		reply(w)(end, err)
		return
	}
	if err != nil {
		end.Error = err.Error()
	}
	rest, _ := json.Marshal(end) // plain fields: it cannot fail
	_, _ = fmt.Fprintf(w, "],%s", rest[len(`{"events":null,`):])
}

// readHistoryRequest is the other end of query.
func readHistoryRequest(query url.Values) (HistoryRequest, error) {
	h := HistoryRequest{Kinds: query["kind"], Target: query.Get("target"), Name: query.Get("name"), Zone: query.Get("zone")}
	for key, at := range map[string]*time.Time{"since": &h.Since, "until": &h.Until} {
		text := query.Get(key)
		if text == "" {
			continue
		}
		var err error
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return h, &Error{Message: key + ": expected a time such as 2026-01-02T22:00:00Z, got " + strconv.Quote(text), Exit: ExitUsage}
		}
	}
	if text := query.Get("last"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return h, &Error{Message: "last: expected a whole number above 0, got " + strconv.Quote(text), Exit: ExitUsage}
		}
		h.Last = n
	}
	return h, nil
}
