package observe

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/check"
)

// TestAHangingServerEndsNothing lets a backend go silent, as a stopped process
// does: it sent nothing, so it is our time that ended the connection, which was
// open and waited for headers.
func TestAHangingServerEndsNothing(t *testing.T) {
	for range 5 { // the library's end of the connection and ours come in either order
		world := newWorld(t, false)
		var answered atomic.Bool
		over := world.hangs(t, siteA, func(*http.Request) bool { return answered.Load() })
		watching(t, world.options(t, "/", "header:x-backend"), func(next func() (Sample, []Event), w *Watcher, _ *Timeline) {
			if s, _ := next(); !s.Kept.Reached() {
				t.Fatalf("kept %+v", s.Kept)
			}
			answered.Store(true)
			w.o.Timeout = 300 * time.Millisecond // of requests that get no answer however long they wait
			s, _ := next()
			if k := s.Kept; k.Phase != check.PhaseHeaders || k.Cause != check.CauseTimeout || k.Requests != 2 || k.Opened.IsZero() || k.Ended == nil || k.Ended.By != ByUs {
				t.Errorf("kept %+v, ended %+v", k, k.Ended)
			}
		})
		over()
	}
}

// TestAnOldServerClosesAfterEachAnswer is one that speaks HTTP/1.0.
func TestAnOldServerClosesAfterEachAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
			conn.Close()
		}
	}()
	world := newWorld(t, false)
	o := world.options(t, "/", "header:x-backend")
	o.Request.HTTP.Port = netip.MustParseAddrPort(listener.Addr().String()).Port()
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
		for range 20 { // the end may be seen before the answer is
			s, _ := next()
			if e := s.Kept.Ended; e == nil || e.By != ByServer || !strings.HasSuffix(e.How, "(HTTP/1.0 without keep-alive)") {
				t.Fatalf("kept %+v, ended %+v", s.Kept, e)
			}
		}
	})
}
