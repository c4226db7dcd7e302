package etcdtest

import (
	"context"
	"io"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// reconnects is how often a client tries to, whose line is cut.
const reconnects = 500 * time.Millisecond

// Line is one node's way to a Model: it can be slow, be cut, and stand still with the
// node's process. It may be used from many goroutines.
type Line struct {
	model *Model
	name  string

	mu          sync.Mutex
	there, back time.Duration // how long a request and its answer travel
	cut         bool          // what is sent is lost
	held        chan struct{} // the process is stopped until this is closed; nil while it runs
}

// Line is a new way to the model; the name stands in Turns.
func (m *Model) Line(name string) *Line { return &Line{model: m, name: name} }

// Options make the requests of a client take this way. Nothing is dialled. Its
// watches do when it is given the line's Watcher: etcd's own cannot be in a bubble.
func (l *Line) Options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(l.unary), grpc.WithChainStreamInterceptor(l.stream)}
}

// Watcher is the one of a client that takes this way.
func (l *Line) Watcher() clientv3.Watcher { return modelWatcher{l} }

// Slow sets how long a request and its answer travel from now on.
func (l *Line) Slow(there, back time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there, l.back = there, back
}

// Cut loses everything from now on, or no more.
func (l *Line) Cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

// Hold stops the process at its end of the line, or lets it go on.
func (l *Line) Hold(stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
	}
	l.held = nil
	if stopped {
		l.held = make(chan struct{})
	}
}

// runs waits until the process runs, whatever its contexts say: nobody is there to
// notice.
func (l *Line) runs() {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (l *Line) state() (there, back time.Duration, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.there, l.back, l.cut
}

type modelAnswer struct {
	message any
	err     error
}

// ask sends one request. One that is given up may be carried out all the same.
func (l *Line) ask(ctx context.Context, request any) (any, error) {
	l.runs()
	got := make(chan modelAnswer, 1)
	go func() {
		there, back, _ := l.state()
		time.Sleep(there)
		if _, _, cut := l.state(); cut {
			return
		}
		message, err := l.model.answer(l.name, request)
		time.Sleep(back)
		if _, _, cut := l.state(); !cut {
			got <- modelAnswer{message, err}
		}
	}()
	select {
	case a := <-got:
		l.runs()
		return a.message, a.err
	case <-ctx.Done():
		l.runs()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (l *Line) unary(ctx context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
	got, err := l.ask(ctx, request)
	if err != nil {
		return err
	}
	return fill(reply, got)
}

// fill puts a message in the place of an empty one.
func fill(reply, got any) error {
	switch r := reply.(type) {
	case *pb.StatusResponse:
		from := got.(*pb.StatusResponse)
		r.Header, r.Version = from.Header, from.Version
	case *pb.RangeResponse:
		from := got.(*pb.RangeResponse)
		r.Header, r.Kvs, r.Count = from.Header, from.Kvs, from.Count
	case *pb.PutResponse:
		r.Header = got.(*pb.PutResponse).Header
	case *pb.DeleteRangeResponse:
		from := got.(*pb.DeleteRangeResponse)
		r.Header, r.Deleted = from.Header, from.Deleted
	case *pb.TxnResponse:
		from := got.(*pb.TxnResponse)
		r.Header, r.Succeeded, r.Responses = from.Header, from.Succeeded, from.Responses
	case *pb.LeaseGrantResponse:
		from := got.(*pb.LeaseGrantResponse)
		r.Header, r.ID, r.TTL = from.Header, from.ID, from.TTL
	case *pb.LeaseRevokeResponse:
		r.Header = got.(*pb.LeaseRevokeResponse).Header
	case *pb.LeaseKeepAliveResponse:
		from := got.(*pb.LeaseKeepAliveResponse)
		r.Header, r.ID, r.TTL = from.Header, from.ID, from.TTL
	default:
		return status.Errorf(codes.Unimplemented, "the model of etcd does not know %T", reply)
	}
	return nil
}

// stream is one of renewals.
func (l *Line) stream(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if method != pb.Lease_LeaseKeepAlive_FullMethodName {
		return nil, status.Errorf(codes.Unimplemented, "the model of etcd does not know %s", method)
	}
	return &modelRenewal{line: l, ctx: ctx}, nil
}

// modelRenewal is a stream of renewals: each is sent when its answer is asked for.
type modelRenewal struct {
	line    *Line
	ctx     context.Context //nolint:containedctx // of a stream
	request any
}

// Header is empty.
func (*modelRenewal) Header() (metadata.MD, error) { return metadata.MD{}, nil }

// Trailer is empty.
func (*modelRenewal) Trailer() metadata.MD { return nil }

// CloseSend does nothing.
func (*modelRenewal) CloseSend() error { return nil }

// Context is that of the call.
func (s *modelRenewal) Context() context.Context { return s.ctx }

// SendMsg keeps a request.
func (s *modelRenewal) SendMsg(m any) error {
	s.request = m
	return nil
}

// RecvMsg sends it and waits for the answer.
func (s *modelRenewal) RecvMsg(m any) error {
	if s.request == nil {
		return io.EOF
	}
	got, err := s.line.ask(s.ctx, s.request)
	if err != nil {
		return err
	}
	s.request = nil
	return fill(m, got)
}

// modelWatcher tells of changes.
type modelWatcher struct{ *Line }

// Close ends nothing: watches end with their contexts.
func (modelWatcher) Close() error { return nil }

// RequestProgress does nothing.
func (modelWatcher) RequestProgress(context.Context) error { return nil }

// Watch returns once the watch is set up, and like etcd's own, which begins anew after
// an interruption, misses nothing.
func (w modelWatcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, options...)
	told := make(chan clientv3.WatchResponse)
	from := op.Rev()
	if !w.connected(ctx) {
		close(told)
		return told
	}
	if from == 0 {
		from = w.model.next()
	}
	go func() {
		defer close(told)
		for w.connected(ctx) {
			events, next, more := w.model.since(from, key, string(op.RangeBytes()))
			if len(events) == 0 {
				select {
				case <-more:
					continue
				case <-ctx.Done():
					return
				}
			}
			_, back, _ := w.state()
			time.Sleep(back)
			if !w.connected(ctx) {
				return
			}
			select {
			case told <- clientv3.WatchResponse{Events: events}:
				from = next
			case <-ctx.Done():
				return
			}
		}
	}()
	return told
}

// connected waits until the process runs and its line is whole; false when ctx ended
// first.
func (w modelWatcher) connected(ctx context.Context) bool {
	for ctx.Err() == nil {
		w.runs()
		if _, _, cut := w.state(); !cut {
			return true
		}
		select {
		case <-time.After(reconnects):
		case <-ctx.Done():
		}
	}
	return false
}
