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
	// ReloadConfig reads the config again, and returns once it is in force; by is who asked.
	ReloadConfig(ctx context.Context, by string) (Reloaded, error)
	// Events gives what happens from now on, until ctx or the backend ends, or the events
	// are not taken in time; then the channel is closed.
	Events(ctx context.Context) (<-chan StreamEvent, error)
	// Alive returns once the loop that decides has turned.
	Alive(ctx context.Context) error
}

// maxRequest bounds a request's body.
const maxRequest = 64 << 10

// maxHeader bounds a request's head.
const maxHeader = 16 << 10

// What a connection may take: somebody who opens many of them, or does not go
// on, must not use up the descriptors that probes and writes need. How long an
// answer is worked out is not bounded.
const (
	maxConnections = 32               // for the next one, one that asks nothing is cut off
	transferWithin = 10 * time.Second // for a request to come, and for an answer to be taken
	idleWithin     = time.Minute      // between two requests
)

// versionHint goes with what a daemon of the same version would understand.
const versionHint = "the command line and the daemon may be of different versions; restart the daemon after an upgrade"

// Server answers requests on a unix socket or over TCP.
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
	mux := routes(backend, anybody)
	mux.HandleFunc("/", unknown)
	if m, is := backend.(Metered); is {
		mux.HandleFunc("GET /metrics", timely(m.Metrics()))
	}
	s := newServer(listener, mux, logger)
	s.http.ConnContext = func(ctx context.Context, conn net.Conn) context.Context { return withPeer(withConn(ctx, conn), conn) }
	return s, nil
}

// timely gives an answer that this package does not write its time to be taken.
func timely(handler http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(transferWithin))
		handler.ServeHTTP(w, r)
	}
}

// newServer bounds what connections may take.
func newServer(listener net.Listener, handler http.Handler, logger *slog.Logger) *Server {
	few := newFew(listener, maxConnections)
	return &Server{listener: few, grace: graceAtEnd, http: &http.Server{
		Handler:           few.serve(handler),
		ReadHeaderTimeout: transferWithin,
		IdleTimeout:       idleWithin,
		MaxHeaderBytes:    maxHeader,
		ConnState:         few.follow,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}}
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
		return fmt.Errorf("answer requests: %w", err)
	}
	return nil
}

// Metered is a Backend that answers scrapes of its metrics, too.
type Metered interface{ Metrics() http.Handler }
