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
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+o.addr+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+reader)
	response, err := o.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	stream := bufio.NewReader(response.Body)
	read := func(want string) {
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
