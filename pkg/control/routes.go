package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// route is one request of the protocol.
type route struct {
	method, path string
	role         Role
	serve        func(Backend, http.ResponseWriter, *http.Request)
}

func (r route) pattern() string { return r.method + " " + r.path }

// read is a request whose answer depends on its query alone.
func read[A any](path string, ask func(Backend, *http.Request) (A, error)) route {
	return route{http.MethodGet, path, RoleRead, func(b Backend, w http.ResponseWriter, r *http.Request) {
		reply(w)(ask(b, r))
	}}
}

// post is a request with a body.
func post[Q, A any](path string, role Role, ask func(Backend, *http.Request, Q) (A, error)) route {
	return route{http.MethodPost, path, role, func(b Backend, w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[Q](w, r); ok {
			reply(w)(ask(b, r, request))
		}
	}}
}

// protocol is every request, on the socket and over TCP.
func protocol() []route {
	return []route{
		read("/api/v1/status", func(b Backend, r *http.Request) (Status, error) {
			return b.Status(r.Context(), r.URL.Query().Get("name"))
		}),
		read("/api/v1/explain", func(b Backend, r *http.Request) (Explanation, error) {
			query := r.URL.Query()
			return b.Explain(r.Context(), ExplainRequest{Name: query.Get("name"), Type: query.Get("type")})
		}),
		{http.MethodGet, "/api/v1/history", RoleRead, sendHistory},
		{http.MethodGet, "/api/v1/events", RoleRead, sendEvents},
		read("/api/v1/overrides", func(b Backend, r *http.Request) (Overrides, error) { return b.Overrides(r.Context()) }),
		post("/api/v1/plan", RoleRead, func(b Backend, r *http.Request, q PlanRequest) (Plan, error) { return b.Plan(r.Context(), q) }),
		post("/api/v1/reconcile", RoleOperate, func(b Backend, r *http.Request, q PlanRequest) (Plan, error) {
			return b.Reconcile(r.Context(), q)
		}),
		post("/api/v1/approve", RoleOperate, func(b Backend, r *http.Request, q ApproveRequest) (Approval, error) {
			return b.Approve(r.Context(), q, peer(r.Context()))
		}),
		post("/api/v1/override", RoleOperate, func(b Backend, r *http.Request, q OverrideRequest) (Overruled, error) {
			return b.Override(r.Context(), q, peer(r.Context()))
		}),
		post("/api/v1/override/clear", RoleOperate, func(b Backend, r *http.Request, q ClearRequest) (Overruled, error) {
			return b.ClearOverride(r.Context(), q, peer(r.Context()))
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
