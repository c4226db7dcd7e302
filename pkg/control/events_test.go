package control_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"sidestep/pkg/control"
)

// TestEventsAreStreamed as they come, and the stream ends when the backend cuts it.
func TestEventsAreStreamed(t *testing.T) {
	events := make(chan control.StreamEvent)
	o := serveTCP(t, backend{events: events})
	stream, read := follow(t, o)
	read(": follow\n\n")
	events <- control.StreamEvent{Name: "journal", Data: []byte(`{"kind":"write"}`)}
	read("event: journal\ndata: {\"kind\":\"write\"}\n\n")
	events <- control.StreamEvent{Name: "status", Data: []byte(`{}`)}
	read("event: status\ndata: {}\n\n")
	close(events)
	if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	if status, _ := o.ask("GET", "/api/v1/events", "", ""); status != 401 {
		t.Errorf("without a token: %d", status)
	}
}

// follow opens the stream as the reader does; read takes one block of it.
func follow(t *testing.T, o *over) (stream *bufio.Reader, read func(want string)) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+o.addr+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+reader)
	response, err := o.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	stream = bufio.NewReader(response.Body)
	read = func(want string) {
		t.Helper()
		var block strings.Builder
		for !strings.HasSuffix(block.String(), "\n\n") {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			block.WriteString(line)
		}
		if block.String() != want {
			t.Errorf("read %q, want %q", block.String(), want)
		}
	}
	return stream, read
}

// TestEventsEndWithTheToken: whoever listened with one that is taken away, or is good for
// less, hears no more; with one that stays he does.
func TestEventsEndWithTheToken(t *testing.T) {
	events := make(chan control.StreamEvent)
	o := serveTCP(t, backend{events: events})
	stream, read := follow(t, o)
	read(": follow\n\n")
	o.access.Set([]control.Token{{"renamed", control.RoleOperate, reader}}, nil)
	events <- control.StreamEvent{Name: "status", Data: []byte(`{}`)}
	read("event: status\ndata: {}\n\n")
	o.access.Set([]control.Token{{"ops", control.RoleOperate, operator}}, nil)
	events <- control.StreamEvent{Name: "journal", Data: []byte(`{"kind":"write"}`)}
	if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
		t.Errorf("after the token was taken away: %q, %v", rest, err)
	}
}
