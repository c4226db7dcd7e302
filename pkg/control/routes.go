package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Role is what a token is good for.
type Role string

// The roles.
const (
	RoleRead    Role = "read"    // to look: nothing changes by it
	RoleOperate Role = "operate" // to look and to change
)

// covers reports whether who has this role may do what needs another.
func (r Role) covers(needed Role) bool { return r == needed || r == RoleOperate }

// route is one request of the protocol, with what API.md says of it.
type route struct {
	method, path string
	role         Role
	does         string   // in a sentence
	query        []string // "NAME: what it picks", of a request without a body
	asks         any      // the zero value of its body; nil for none
	answers      any      // of its answer
	serve        func(Backend, http.ResponseWriter, *http.Request)
}

func (r route) pattern() string { return r.method + " " + r.path }

// read is a request whose answer depends on its query alone.
func read[A any](path, does string, query []string, ask func(Backend, *http.Request) (A, error)) route {
	var answer A
	return route{http.MethodGet, path, RoleRead, does, query, nil, answer, func(b Backend, w http.ResponseWriter, r *http.Request) {
		reply(w)(ask(b, r))
	}}
}

// post is a request with a body.
func post[Q, A any](path string, role Role, does string, ask func(Backend, *http.Request, Q) (A, error)) route {
	var request Q
	var answer A
	return route{http.MethodPost, path, role, does, nil, request, answer, func(b Backend, w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[Q](w, r); ok {
			reply(w)(ask(b, r, request))
		}
	}}
}

// protocol is every request, on the socket and over TCP.
func protocol() []route {
	return slices.Concat(looking(), acting())
}

// looking is every request that changes nothing.
func looking() []route {
	return []route{
		read("/api/v1/status", "What is so: record sets, answers, targets, sites, who leads, overrides, the last writes.",
			[]string{"`name`: only this record set, with what it rests on"},
			func(b Backend, r *http.Request) (Status, error) {
				return b.Status(r.Context(), r.URL.Query().Get("name"))
			}),
		read("/api/v1/explain", "Why a name answers as it does, from the probes' results to the name servers' answers.",
			[]string{"`name`: the record set", "`type`: its type, where a name has several"},
			func(b Backend, r *http.Request) (Explanation, error) {
				query := r.URL.Query()
				return b.Explain(r.Context(), ExplainRequest{Name: query.Get("name"), Type: query.Get("type")})
			}),
		{http.MethodGet, "/api/v1/history", RoleRead, "What happened, from the journal, oldest first.",
			[]string{
				"`since`, `until`: from this time on, and before this one (RFC 3339)", "`kind`: only events of this kind; may be repeated",
				"`target`, `name`, `zone`: only what is about it", "`last`: only the newest so many",
			}, nil, History{}, sendHistory},
		{http.MethodGet, "/api/v1/events", RoleRead,
			"What happens from now on, as server-sent events until the client goes: `journal` has a line of the journal, `status` says that a status asked for now may be another. Who does not keep up is cut off, and sixteen at most may listen.",
			nil, nil, nil, sendEvents},
		read("/api/v1/overrides", "What operators said, and until when it holds.", nil,
			func(b Backend, r *http.Request) (Overrides, error) { return b.Overrides(r.Context()) }),
		post("/api/v1/plan", RoleRead, "What would be written now, and why; it probes first, and writes nothing.",
			func(b Backend, r *http.Request, q PlanRequest) (Plan, error) { return b.Plan(r.Context(), q) }),
	}
}

// acting is every request that may change something.
func acting() []route {
	return []route{
		post("/api/v1/reconcile", RoleOperate, "Probe, plan, write and verify once, now. The answer comes when all is done.",
			func(b Backend, r *http.Request, q PlanRequest) (Plan, error) { return b.Reconcile(r.Context(), q) }),
		post("/api/v1/approve", RoleOperate, "Say yes to what waits for a person.",
			func(b Backend, r *http.Request, q ApproveRequest) (Approval, error) {
				return b.Approve(r.Context(), q, peer(r.Context()))
			}),
		post("/api/v1/override", RoleOperate, "Set an override: drain, freeze, pin, force-up and the others.",
			func(b Backend, r *http.Request, q OverrideRequest) (Overruled, error) {
				return b.Override(r.Context(), q, peer(r.Context()))
			}),
		post("/api/v1/override/clear", RoleOperate, "Take overrides back.",
			func(b Backend, r *http.Request, q ClearRequest) (Overruled, error) {
				return b.ClearOverride(r.Context(), q, peer(r.Context()))
			}),
		post("/api/v1/reload", RoleOperate, "Read the config again, as SIGHUP does. The answer comes once it is in force; one that is refused is an error, and the one before stays.",
			func(b Backend, r *http.Request, _ ReloadRequest) (Reloaded, error) {
				return b.ReloadConfig(r.Context(), peer(r.Context()))
			}),
	}
}

// routes serves the protocol to those whom let lets. What is not below /api/ is the
// caller's.
func routes(b Backend, let func(Role, http.HandlerFunc) http.HandlerFunc) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range protocol() {
		mux.HandleFunc(route.pattern(), let(route.role, func(w http.ResponseWriter, r *http.Request) { route.serve(b, w, r) }))
	}
	mux.HandleFunc("/api/", unknown)
	return mux
}

// anybody lets everybody do everything: who may use a socket is for the file system to
// say.
func anybody(_ Role, serve http.HandlerFunc) http.HandlerFunc { return serve }

func unknown(w http.ResponseWriter, r *http.Request) {
	fail(w, http.StatusNotFound, &Error{
		Message: fmt.Sprintf("%s %s: this sidestep has no such request", r.Method, r.URL.Path),
		Hint:    versionHint,
		Exit:    ExitFailure,
	})
}

func decode[T any](w http.ResponseWriter, r *http.Request) (T, bool) {
	var request T
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(transferWithin)) // what does not have one ends by itself
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&request)
	if err == nil {
		if _, more := decoder.Token(); errors.Is(more, io.EOF) { // of a request that is not whole, the rest is awaited no longer
			_ = connection.SetReadDeadline(time.Time{})
			return request, true
		}
		err = errors.New("something follows the JSON value")
	}
	no, status := &Error{Message: "read request: " + err.Error(), Hint: versionHint, Exit: ExitUsage}, http.StatusBadRequest
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		no.Message, no.Hint = fmt.Sprintf("read request: it has more than %d bytes", tooLarge.Limit), ""
		status = http.StatusRequestEntityTooLarge
	}
	fail(w, status, no)
	return request, false
}

// reply writes an answer, or the error that stands beside it.
func reply(w http.ResponseWriter) func(answer any, err error) {
	return func(answer any, err error) {
		if err == nil {
			write(w, http.StatusOK, answer)
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Message: err.Error(), Exit: ExitFailure}
		}
		fail(w, http.StatusUnprocessableEntity, e)
	}
}

func fail(w http.ResponseWriter, status int, e *Error) {
	write(w, status, struct {
		Error *Error `json:"error"`
	}{e})
}

func write(w http.ResponseWriter, status int, answer any) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(transferWithin))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client went away
}
