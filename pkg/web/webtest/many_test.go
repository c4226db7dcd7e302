package webtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sidestep/pkg/control"
	"sidestep/pkg/web"
)

// hostile is what a probed server, or a person, might say to harm who looks: HTML, a
// terminal's escapes, and marks that turn the direction of writing.
const hostile = `<img src=x onerror="faults.push('ran')"><script>faults.push('ran')</script> ` + "\x1b[2J\u202eevil\nline"

// fake is an API that says what a test wants.
type fake struct {
	mu     sync.Mutex
	status control.Status
	events chan string
	token  string // asked for where it is not empty
}

func (f *fake) change(how func(*control.Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how(&f.status)
}

// serve serves the dashboard and the API, and returns its address.
func (f *fake) serve(t *testing.T) string {
	t.Helper()
	page, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = json.NewEncoder(w).Encode(f.status)
	})
	mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, _ *http.Request) {
		event, _ := json.Marshal(map[string]string{"at": "2026-01-02T12:00:00Z", "kind": "verdict", "target": hostile, "from": "up", "to": "down", "detail": hostile})
		_ = json.NewEncoder(w).Encode(control.History{Events: []json.RawMessage{event}})
	})
	mux.HandleFunc("GET /api/v1/events", f.stream)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.token != "" && strings.HasPrefix(r.URL.Path, "/api/") && r.Header.Get("Authorization") != "Bearer "+f.token {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":{"message":"no such token is in control.tokens"}}`)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(f.events)
		server.Close()
	})
	return server.URL
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case event, more := <-f.events:
			if !more {
				return
			}
			_, _ = fmt.Fprintf(w, "event: %s\ndata: {}\n\n", event)
			_ = flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// many is a status with a thousand targets, of which what can be is hostile.
func many() control.Status {
	at, yes := time.Now().UTC(), true
	s := control.Status{
		Node: hostile, Leader: control.Leader{State: "leader"}, Notices: []string{hostile}, Nodes: []control.Node{},
		Zones: []control.Zone{}, Overrides: []control.Override{{Target: hostile, Kind: "drain", By: hostile, Reason: hostile, From: at, State: "in force"}},
		Sites:  []control.Site{{Name: hostile, State: hostile, Signals: map[string]*bool{hostile: &yes}}},
		Writes: []control.Write{}, Schedule: control.Schedule{Targets: 1000}, Config: control.ConfigInfo{File: hostile, Loaded: at},
		Records: []control.Record{{
			Name: "www.example.com.", Type: "A", Policy: "all", Listed: true, Reason: hostile,
			Live: []string{"192.0.2.1"}, Paused: []string{}, Wanted: []string{}, Held: []string{hostile}, Foreign: []string{hostile},
			Blocked: []control.Blocked{{Guard: hostile, Detail: hostile}}, Pending: []control.Change{{Action: "pause", Value: hostile, Reason: hostile}},
			Answers: []control.Answer{{Value: "192.0.2.1", State: "live", Verdict: "up", Reason: hostile, Override: hostile}},
		}},
	}
	for i := range 1000 {
		address := fmt.Sprintf("192.0.%d.%d", 2+i/250, 1+i%250)
		s.Targets = append(s.Targets, control.Target{
			ID: "web@" + address, Check: "web", Address: address, Verdict: "up", Detail: hostile, Since: at,
			Cooldown: control.Cooldown{State: "eligible"}, Last: &control.Last{At: at, Result: "pass", LatencyMS: float64(i)},
		})
	}
	return s
}

// TestAThousandTargetsAndHostileWords opens the page on what is large and means harm,
// and follows an event. How long both take is told and not judged: that is the
// machine's.
func TestAThousandTargetsAndHostileWords(t *testing.T) {
	f := &fake{status: many(), events: make(chan string)}
	b := open(t, f.serve(t))
	b.has("#facts", "live")
	b.has("#count", "1000 targets")
	b.has("#notices", "<script>faults.push('ran')</script>")
	b.has("#notices", `\u001b[2J\u202eevil`)
	b.accessible("a thousand")
	paint := eval[float64](b, `performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint").startTime`)

	eval[bool](b, `document.querySelector("#more").click(), true`)
	b.waitFor("all rows are there", `document.querySelectorAll("#targets .target").length === 1000`)
	f.change(func(s *control.Status) { s.Targets[700].Verdict = "down" })
	eval[bool](b, `new MutationObserver(() => window.seenAt ??= document.querySelector("#summary").innerText === "1 down" ? Date.now() : undefined).observe(document.querySelector("#summary"), {childList: true, characterData: true, subtree: true}), true`)
	said := time.Now()
	f.events <- "verdict"
	b.has("#summary", "1 down")
	b.waitFor("the target in trouble is the first", `document.querySelector("#targets .target").innerText.includes("web@192.0.4.201")`)
	t.Logf("first paint after %.0f ms; the event on the screen after %.0f ms", paint, eval[float64](b, "window.seenAt")-float64(said.UnixMilli()))
	b.sound()
}

// TestATokenIsAskedFor gives a wrong token, then the right one, and looks where it is
// kept.
func TestATokenIsAskedFor(t *testing.T) {
	f := &fake{status: many(), events: make(chan string), token: "right one"}
	url := f.serve(t)
	b := open(t, url)
	b.has("#dialog", "asks for a token")
	b.accessible("token")
	b.typeToken("wrong one")
	b.has("#dialog", "no such token is in control.tokens")
	b.typeToken("right one")
	b.has("#count", "1000 targets")
	if kept := eval[string](b, `JSON.stringify([sessionStorage.length, localStorage.length, document.cookie])`); kept != `[1,0,""]` {
		t.Errorf("the token is kept in [session, local, cookie] %s", kept)
	}
	b.sound()

	again := open(t, url+"/#token=right%20one")
	again.has("#count", "1000 targets")
	if at := eval[string](again, "location.href"); at != url+"/" {
		t.Errorf("the address still has the token: %s", at)
	}
	again.sound()
}

func (b tab) typeToken(token string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), token+"\r"))
}
