package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Backend carries requests out. Its methods are called side by side and obey
// their context. An error that is an *Error reaches the client as it is.
type Backend interface {
	// Status describes everything, or the record sets of one name.
	Status(ctx context.Context, name string) (Status, error)
	// Explain says why a name answers as it does.
	Explain(ctx context.Context, request ExplainRequest) (Explanation, error)
	// History gives events of the journal, oldest first, to each until that fails. The
	// answer has no events in it. Only an error before the first event is told.
	History(ctx context.Context, request HistoryRequest, each func(json.RawMessage) error) (History, error)
	// Plan says what would be written now and writes nothing.
	Plan(ctx context.Context, request PlanRequest) (Plan, error)
	// Reconcile plans, writes and verifies now.
	Reconcile(ctx context.Context, request PlanRequest) (Plan, error)
	// Approve takes a person's yes; by is who said it.
	Approve(ctx context.Context, request ApproveRequest, by string) (Approval, error)
	// Override takes an operator's word, and says what comes of it.
	Override(ctx context.Context, request OverrideRequest, by string) (Overruled, error)
	// ClearOverride takes operators' words back.
	ClearOverride(ctx context.Context, request ClearRequest, by string) (Overruled, error)
	// Overrides lists operators' words.
	Overrides(ctx context.Context) (Overrides, error)
}

// maxRequest bounds a request's body.
const maxRequest = 64 << 10

// What a connection may take: somebody who opens many of them, or does not go
// on, must not use up the descriptors that probes and writes need. How long an
// answer is worked out is not bounded.
const (
	maxConnections = 32               // the next one waits until one of them ends
	transferWithin = 10 * time.Second // for a request to come, and for an answer to be taken
	idleWithin     = time.Minute      // between two requests
)

// versionHint goes with what a daemon of the same version would understand.
const versionHint = "the command line and the daemon may be of different versions; restart the daemon after an upgrade"

// Server answers requests on a unix socket.
type Server struct {
	listener net.Listener
	http     *http.Server
	grace    time.Duration // graceAtEnd, or what a test gives
}

// Listen opens the socket, which its owner and group may use (mode 0660). A
// socket that a dead process left behind is replaced; one that somebody
// answers on, or that cannot be asked, is an error. A nil logger logs nothing.
func Listen(path string, backend Backend, logger *slog.Logger) (*Server, error) {
	listener, err := listen(path)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; name a place that you can write with control.socket", err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on control socket %s: %w", path, err)
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	few := &few{Listener: listener, free: make(chan struct{}, maxConnections)}
	server := &http.Server{
		Handler:           routes(backend),
		ReadHeaderTimeout: transferWithin,
		IdleTimeout:       idleWithin,
		ConnState:         few.follow,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ConnContext:       withPeer,
	}
	return &Server{listener: few, http: server, grace: graceAtEnd}, nil
}

// few is a listener with a bound on the connections that are open.
type few struct {
	net.Listener
	free chan struct{} // holds a token for each open connection
}

// Accept waits for one to end where there are too many.
func (f *few) Accept() (net.Conn, error) {
	f.free <- struct{}{}
	conn, err := f.Listener.Accept()
	if err != nil {
		<-f.free
	}
	return conn, err
}

// follow is told by the server when a connection ends.
func (f *few) follow(_ net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		<-f.free
	}
}

func listen(path string) (net.Listener, error) {
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// clearSocket removes what a dead process left behind. Only a refused
// connection proves that nobody listens: a socket of somebody else, or one
// whose queue is full, is refused to us in other ways.
func clearSocket(path string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", path)
	switch {
	case err == nil:
		return errors.Join(errors.New("another sidestep answers on it; stop that one, or name another control.socket"), conn.Close())
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("a file that is no socket is in its place; move it away, or name another control.socket")
	}
	return os.Remove(path)
}

// graceAtEnd is how long requests under way may go on after Serve was told to
// end.
const graceAtEnd = time.Second

// Serve answers until ctx ends; requests under way then have a second to end,
// before their connection is cut and their context ends. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan struct{})
	notEnded := context.AfterFunc(ctx, func() {
		defer close(ended)
		grace, cancel := context.WithTimeout(context.Background(), s.grace)
		defer cancel()
		if s.http.Shutdown(grace) != nil {
			_ = s.http.Close() // a request that does not end is cut off
		}
	})
	err := s.http.Serve(s.listener)
	if !notEnded() {
		<-ended
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control socket: %w", err)
	}
	return nil
}

// Metered is a Backend that answers scrapes of its metrics, too.
type Metered interface{ Metrics() http.Handler }

func routes(b Backend) http.Handler {
	mux := http.NewServeMux()
	if m, is := b.(Metered); is {
		metrics := m.Metrics()
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(transferWithin))
			metrics.ServeHTTP(w, r)
		})
	}
	mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, r *http.Request) {
		reply(w)(b.Status(r.Context(), r.URL.Query().Get("name")))
	})
	mux.HandleFunc("GET /api/v1/explain", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		reply(w)(b.Explain(r.Context(), ExplainRequest{Name: query.Get("name"), Type: query.Get("type")}))
	})
	mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, r *http.Request) { sendHistory(w, r, b) })
	mux.HandleFunc("POST /api/v1/plan", func(w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[PlanRequest](w, r); ok {
			reply(w)(b.Plan(r.Context(), request))
		}
	})
	mux.HandleFunc("POST /api/v1/reconcile", func(w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[PlanRequest](w, r); ok {
			reply(w)(b.Reconcile(r.Context(), request))
		}
	})
	mux.HandleFunc("POST /api/v1/approve", func(w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[ApproveRequest](w, r); ok {
			reply(w)(b.Approve(r.Context(), request, peer(r.Context())))
		}
	})
	mux.HandleFunc("POST /api/v1/override", func(w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[OverrideRequest](w, r); ok {
			reply(w)(b.Override(r.Context(), request, peer(r.Context())))
		}
	})
	mux.HandleFunc("POST /api/v1/override/clear", func(w http.ResponseWriter, r *http.Request) {
		if request, ok := decode[ClearRequest](w, r); ok {
			reply(w)(b.ClearOverride(r.Context(), request, peer(r.Context())))
		}
	})
	mux.HandleFunc("GET /api/v1/overrides", func(w http.ResponseWriter, r *http.Request) {
		reply(w)(b.Overrides(r.Context()))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, &Error{
			Message: fmt.Sprintf("%s %s: this sidestep has no such request", r.Method, r.URL.Path),
			Hint:    versionHint,
			Exit:    ExitFailure,
		})
	})
	return mux
}

func decode[T any](w http.ResponseWriter, r *http.Request) (T, bool) {
	var request T
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(transferWithin)) // what does not have one ends by itself
	defer func() { _ = connection.SetReadDeadline(time.Time{}) }()
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&request)
	if err == nil {
		return request, true
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
