package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sidestep/pkg/clock"
	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd/etcdtest"
)

// refused is the error of a node that cannot acquire, for another reason than
// that the lease is held.
func (n *node) refused() string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	_, err := n.Acquire(ctx)
	if err == nil {
		n.t.Fatal("acquired; expected an error")
	}
	if other, held := errors.AsType[*lease.HeldError](err); held {
		n.t.Fatalf("expected an error that waiting does not cure, got %v", other)
	}
	text := err.Error()
	if strings.Contains(text, "\n") || strings.Contains(text, "s3cret") {
		n.t.Errorf("the error has more than one line or tells the password: %q", text)
	}
	n.t.Log(text)
	if said, short := errors.AsType[*Error](err); short {
		n.mustBeShort(said)
		return said.Advice
	}
	return text
}

// mustBeShort sees to it that people are told in few words, and none of gRPC's.
func (n *node) mustBeShort(said *Error) {
	n.t.Helper()
	text := said.Error()
	_, host, _ := strings.Cut(n.opts.Way.settings.Endpoints[0], "://")
	if len(text) > 120 || !strings.Contains(text, ": etcd at "+host+" ") || !strings.HasSuffix(text, "; sidestep validate --online") || said.Unwrap() == nil {
		n.t.Errorf("%d bytes, or without the address or the next command: %s", len(text), text)
	}
	for _, jargon := range []string{"rpc", "desc", "code", "context", "transport", "preface", "x509"} {
		if strings.Contains(text, jargon) {
			n.t.Errorf("%q in %s", jargon, text)
		}
	}
}

func (n *node) mustRefuse(parts ...string) {
	n.t.Helper()
	text := n.refused()
	for slow := time.Now().Add(patience); strings.Contains(text, "no answer from etcd") && !strings.Contains(parts[0], "no answer") && time.Now().Before(slow); {
		text = n.refused() // a busy machine
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			n.t.Errorf("got  %s\nwithout %q", text, part)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	c.Users(t, "sidestep", "s3cret", "/sidestep/test/")
	as := func(user, password string) func(*setup) {
		return func(o *setup) { o.way.User, o.way.Password = user, password }
	}
	a := newNode(t, c.Endpoints(), "mon-1", as("sidestep", "s3cret"))
	a.mustAcquire()
	first, _ := a.held.Until()
	eventually(t, "the lease is renewed", func() bool { until, _ := a.held.Until(); return until > first })

	newNode(t, c.Endpoints(), "mon-2", as("sidestep", "s3cret-wrong")).mustRefuse(`refused the user "sidestep" or its password`, "check etcd.user and etcd.password")
	newNode(t, c.Endpoints(), "mon-2").mustRefuse("asks for a user", "set etcd.user and etcd.password")
	newNode(t, c.Endpoints(), "mon-2", as("sidestep", "s3cret"), func(o *setup) { o.Prefix = "/other" }).
		mustRefuse(`does not let the user "sidestep" read and write below /other/`, "etcdctl role grant-permission ROLE readwrite --prefix=true /other/")
	if err := a.held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	files := etcdtest.Certificate(t)
	c := etcdtest.Start(t, etcdtest.Options{Cert: files.Cert, Key: files.Key})
	pem, err := os.ReadFile(files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	a := newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.way.TLS = &tls.Config{RootCAs: roots} })
	eventually(t, "the lease is won over TLS", func() bool { return a.acquire(t.Context()) == nil })

	newNode(t, c.Endpoints(), "mon-2").mustRefuse("TLS with etcd at https://127.0.0.1:", "x509:", "check etcd.tls")
	plain := []string{strings.Replace(c.Endpoints()[0], "https:", "http:", 1)}
	newNode(t, plain, "mon-2").mustRefuse("speaks TLS where etcd.endpoints says http")
}

// An etcd that wants to see a certificate of ours.
func TestTLSWithACertificateOfOurs(t *testing.T) {
	t.Parallel()
	files, other := etcdtest.Certificate(t), etcdtest.Certificate(t)
	c := etcdtest.Start(t, etcdtest.Options{Cert: files.Cert, Key: files.Key, ClientCA: files.Cert})
	pem, err := os.ReadFile(files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	with := func(shown ...etcdtest.Files) func(*setup) {
		config := &tls.Config{RootCAs: roots}
		for _, f := range shown {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = append(config.Certificates, pair)
		}
		return func(o *setup) { o.way.TLS = config }
	}
	a := newNode(t, c.Endpoints(), "mon-1", with(files))
	eventually(t, "the lease is won with a certificate", func() bool { return a.acquire(t.Context()) == nil })
	newNode(t, c.Endpoints(), "mon-2", with()).mustRefuse("etcd at https://127.0.0.1:", "certificate", "this node", "etcd.tls.cert")
	newNode(t, c.Endpoints(), "mon-2", with(other)).mustRefuse("etcd at https://127.0.0.1:", "certificate of this node", "etcd.tls.cert")
	if err := a.held.Gate(0); err != nil {
		t.Errorf("the gate of the holder: %v", err)
	}
}

func TestTLSWithAnEtcdThatSpeaksNone(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	newNode(t, []string{strings.Replace(c.Endpoints()[0], "http:", "https:", 1)}, "mon-1").
		mustRefuse("does not speak TLS", "write http:// in etcd.endpoints")
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	newNode(t, []string{"http://" + addr}, "mon-1").mustRefuse("ask for its version: ", "http://"+addr, "connection refused", "can this host reach them?")
}

// How a connection ends that etcd, or what is there in its place, does not want.
func TestCutOffInWords(t *testing.T) {
	for told, want := range map[string]string{
		"https error reading server preface: remote error: tls: certificate required":             "etcd at https://e:2379 asks this node for a certificate: ",
		"https error reading server preface: remote error: tls: unknown certificate authority":    "etcd at https://e:2379 does not accept the certificate of this node: ",
		"https write tcp 192.0.2.1:1->192.0.2.2:2379: write: broken pipe":                         "does it run, and does it ask for another certificate of this node (etcd.tls.cert)?",
		"https authentication handshake failed: tls: failed to verify certificate: x509: expired": "TLS with etcd at https://e:2379 failed: ",
		"https authentication handshake failed: EOF":                                              "etcd at https://e:2379 does not speak TLS: ",
		"http error reading server preface: connection reset by peer":                             "ends the connection as soon as it is made, as a proxy without a member behind it does",
		"http error reading server preface: http2: frame too large":                               "is not etcd's v3 API, which etcd 2 has not, or speaks TLS",
		"http read tcp 192.0.2.1:1->192.0.2.2:2379: connection reset by peer":                     "does a majority of its members run, and can this host reach them?",
	} {
		scheme, text, _ := strings.Cut(told, " ")
		w := NewWay(Settings{Endpoints: []string{scheme + "://e:2379"}})
		said, _ := errors.AsType[*Error](w.Explain("ask who leads", errors.New(text)))
		if got := said.Advice; !strings.HasPrefix(got, "ask who leads: ") || !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwith no %q", told, got, want)
		}
	}
}

// The client may give the connection up before the request.
func TestASilentServerIsNoForeignOne(t *testing.T) {
	for told, want := range map[string]bool{
		"error reading server preface: raw-read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection": true,
		"error reading server preface: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout":                          true,
		"error reading server preface: EOF": false,
		"use of closed network connection":  false,
	} {
		if got := silent(told); got != want {
			t.Errorf("%q silent: %v, expected %v", told, got, want)
		}
	}
}

// A server that takes the connection and says nothing.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	newNode(t, []string{"http://" + listener.Addr().String()}, "mon-1").mustRefuse("no answer from etcd at http://127.0.0.1:", "within 3s")
}

func TestNotEtcd(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	newNode(t, []string{web.URL}, "mon-1").mustRefuse("is not etcd's v3 API", web.URL)

	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"etcdserver":"2.3.8","etcdcluster":"2.3.0"}`))
	}))
	defer second.Close()
	newNode(t, []string{second.URL}, "mon-1").mustRefuse("is not etcd's v3 API", "which etcd 2 has not", second.URL)

	grpcOnly := serve(t, func(*grpc.Server) {})
	newNode(t, []string{grpcOnly}, "mon-1").mustRefuse("is not etcd's v3 API", grpcOnly)
}

type oldMember struct {
	pb.UnimplementedMaintenanceServer
}

func (oldMember) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: "3.3.27"}, nil
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	old := serve(t, func(s *grpc.Server) { pb.RegisterMaintenanceServer(s, oldMember{}) })
	newNode(t, []string{old}, "mon-1").mustRefuse("has version 3.3.27; expected 3.4 or later; update it")
	for version, want := range map[string]bool{"3.3.27": true, "2.3.8": true, "": true, "3.4.0": false, "3.7.3": false, "4.0.0-rc.1": false} {
		if got := tooOld(version); got != want {
			t.Errorf("version %q too old: %v, expected %v", version, got, want)
		}
	}
}

func serve(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return "http://" + listener.Addr().String()
}

func TestOthersUnderThePrefix(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a := newNode(t, c.Endpoints(), "mon-1")
	a.mustAcquire()
	newNode(t, c.Endpoints(), "web-1", func(o *setup) { o.Zones = []string{"example.net.", "example.org."} }).
		mustRefuse("the prefix /sidestep/test is used by mon-1 (process ", "it steers example.com., this node example.net., example.org.", "give each deployment an etcd.prefix of its own")
	said := newNode(t, c.Endpoints(), "mon-2", func(o *setup) { o.Zones = []string{"example.com.", "example.net."} }).mustWait(50 * time.Millisecond)
	if !strings.Contains(said, "mon-1") {
		t.Errorf("a node with one zone more was told %q", said)
	}

	client := c.Client(t)
	defer client.Close()
	for key, want := range map[string]struct{ value, error string }{
		"/p1/leader/x": {"hello", `the key "/p1/leader/x" is not sidestep's: expected who leads, got "hello"`},
		"/p2/leader/x": {`{"name":"a"}`, "no version and node in it"},
		"/p3/leader/x": {`{"version":2,"node":"mon-9"}`, "has version 2, and this sidestep knows version 1"},
	} {
		if _, err := client.Put(t.Context(), key, want.value); err != nil {
			t.Fatal(err)
		}
		newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.Prefix = key[:3] + "/" }).mustRefuse(want.error)
	}
}

// The later of two nodes of one name waits for as long as the earlier one could
// be a process before it, and then says so.
func TestTwoNodesOfOneName(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	a := newNode(t, c.Endpoints(), "mon-1")
	a.mustAcquire()
	clk := clock.Bubble()
	b := newNode(t, c.Endpoints(), "mon-1", func(o *setup) { o.Clock = clk })
	if said := b.mustWait(50 * time.Millisecond); !strings.Contains(said, "this node's own name") {
		t.Errorf("told %q", said)
	}
	clk.Suspend(time.Minute)
	b.mustRefuse("another node is called mon-1, too", "is alive", "give each node a node.name of its own")
	if err := a.held.Gate(0); err != nil {
		t.Errorf("the gate of the first one: %v", err)
	}
}

// Words of the gRPC library, and of etcd, are for the log of level debug: people read
// which etcd does what, and what to do next, in one short line.
func TestInFewWords(t *testing.T) {
	three := []string{"https://192.168.100.101:12379", "https://192.168.100.102:12379", "https://192.168.100.103:12379"}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for want, err := range map[string]error{
		"refuses the connection":       status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 192.168.100.101:12379: connect: connection refused"`),
		"cannot be reached":            status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 192.168.100.101:12379: i/o timeout"`),
		"gave no answer within 3s":     context.DeadlineExceeded,
		"ended the connection":         status.Error(codes.Unavailable, "error reading from server: read tcp 192.0.2.1:1->192.0.2.2:2: read: connection reset by peer"),
		"has no majority of members":   rpctypes.ErrTimeout,
		"has no leader":                rpctypes.ErrNoLeader,
		"has no space left":            rpctypes.ErrNoSpace,
		"refused user or password":     rpctypes.ErrAuthFailed,
		"asks for a user it knows":     rpctypes.ErrUserEmpty,
		"denies keys of etcd.prefix":   rpctypes.ErrPermissionDenied,
		"does not speak etcd's v3 API": status.Error(codes.Unimplemented, "unknown service etcdserverpb.KV"),
		"answered with an error":       status.Error(codes.Internal, "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data"),
	} {
		log.Reset()
		for what := range map[string]bool{"say that this node is there": true, "ask who led before": true} {
			got := NewWay(Settings{Endpoints: three, Prefix: "/sidestep/prod", Logger: logger}).Explain(what, err)
			if whole := what + ": etcd at 192.168.100.101:12379 (+2) " + want + "; sidestep validate --online"; got.Error() != whole || len(whole) > 120 {
				t.Errorf("got  %s\nwant %s, of %d bytes", got, whole, len(whole))
			}
			if !errors.Is(got, err) {
				t.Errorf("%v is hidden", err)
			}
		}
		if told := log.String(); !strings.Contains(told, "level=DEBUG") || !strings.Contains(told, three[2]) {
			t.Errorf("the log tells %q", told)
		}
	}
}
