package etcdtest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Model is an etcd without a process and without sockets, as far as a lease asks one:
// keys that hang on leases, which run out. Its time is that of package time, so that
// in a bubble of testing/synctest hours go by at once. It may be used from many
// goroutines.
type Model struct {
	pace time.Duration // percent by which its clock runs fast

	mu       sync.Mutex
	revision int64
	granted  int64 // the last id of a lease
	leases   map[int64]*modelLease
	keys     map[string]modelKey
	gone     []*clientv3.Event // every deletion
	more     chan struct{}     // closed by the next
	turns    []Turn
}

type modelLease struct {
	ttl  int64 // seconds
	ends time.Time
	run  *time.Timer
}

type modelKey struct {
	*mvccpb.KeyValue

	line string // who put it
}

// Turn is when somebody's key came to be the oldest one: who leads, as etcd has it.
type Turn struct {
	Line  string // by whose line the key was put; empty when there was none any more
	Epoch uint64
	Since time.Time
}

// NewModel is an empty etcd whose clock runs fast by some percent, or slow.
func NewModel(percent int) *Model {
	return &Model{
		pace: time.Duration(percent), revision: 1,
		leases: map[int64]*modelLease{}, keys: map[string]modelKey{}, more: make(chan struct{}),
	}
}

// Turns lists who led so far, oldest first.
func (m *Model) Turns() []Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// DeleteFirst deletes the oldest key, as somebody's hand would.
func (m *Model) DeleteFirst() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, found := m.first(); found {
		m.remove(string(first.Key))
	}
}

// answer carries a request out. line is who sent it.
func (m *Model) answer(line string, request any) (any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := request.(type) {
	case *pb.StatusRequest:
		return &pb.StatusResponse{Header: m.header(), Version: "3.6.0"}, nil
	case *pb.RangeRequest:
		return m.read(string(r.Key), string(r.RangeEnd)), nil
	case *pb.LeaseGrantRequest:
		m.granted++
		m.grant(m.granted, r.TTL)
		return &pb.LeaseGrantResponse{Header: m.header(), ID: m.granted, TTL: r.TTL}, nil
	case *pb.LeaseKeepAliveRequest:
		return &pb.LeaseKeepAliveResponse{Header: m.header(), ID: r.ID, TTL: m.renew(r.ID)}, nil
	case *pb.LeaseRevokeRequest:
		if m.leases[r.ID] == nil {
			return nil, rpctypes.ErrGRPCLeaseNotFound
		}
		m.end(r.ID)
		return &pb.LeaseRevokeResponse{Header: m.header()}, nil
	case *pb.TxnRequest:
		return m.putOnce(line, r)
	}
	return nil, status.Errorf(codes.Unimplemented, "the model of etcd does not know %T", request)
}

func (m *Model) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: 1, Revision: m.revision}
}

// read lists one key, or those up to an end, the oldest first.
func (m *Model) read(key, end string) *pb.RangeResponse {
	out := &pb.RangeResponse{Header: m.header()}
	for name, kv := range m.keys {
		if name == key || end != "" && name >= key && name < end {
			out.Kvs = append(out.Kvs, kv.KeyValue)
		}
	}
	slices.SortFunc(out.Kvs, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	out.Count = int64(len(out.Kvs))
	return out
}

// putOnce is the one transaction of a lease: put a key unless it is there, else read
// it.
func (m *Model) putOnce(line string, r *pb.TxnRequest) (any, error) {
	put := r.Success[0].GetRequestPut()
	key := string(put.Key)
	if _, there := m.keys[key]; there {
		read := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: m.read(key, "")}}
		return &pb.TxnResponse{Header: m.header(), Responses: []*pb.ResponseOp{read}}, nil
	}
	if put.Lease != 0 && m.leases[put.Lease] == nil {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	m.revision++
	m.keys[key] = modelKey{&mvccpb.KeyValue{Key: put.Key, Value: put.Value, Lease: put.Lease, Version: 1, CreateRevision: m.revision, ModRevision: m.revision}, line}
	m.turn()
	return &pb.TxnResponse{Header: m.header(), Succeeded: true}, nil
}

func (m *Model) grant(id, ttl int64) {
	l := &modelLease{ttl: ttl}
	l.run = time.AfterFunc(m.lasts(ttl), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.leases[id] == l && !time.Now().Before(l.ends) { // else it was renewed this moment
			m.end(id)
		}
	})
	m.leases[id] = l
	m.renew(id)
}

// lasts is how long the model counts so many seconds.
func (m *Model) lasts(ttl int64) time.Duration {
	return time.Duration(ttl) * time.Second * 100 / (100 + m.pace)
}

// renew returns the seconds that a lease is good for from now on, 0 of one that is
// gone.
func (m *Model) renew(id int64) int64 {
	l := m.leases[id]
	if l == nil {
		return 0
	}
	l.ends = time.Now().Add(m.lasts(l.ttl))
	l.run.Reset(m.lasts(l.ttl))
	return l.ttl
}

func (m *Model) end(id int64) {
	m.leases[id].run.Stop()
	delete(m.leases, id)
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		if m.keys[key].Lease == id {
			m.remove(key)
		}
	}
}

func (m *Model) remove(key string) {
	m.revision++
	delete(m.keys, key)
	m.gone = append(m.gone, &clientv3.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: m.revision}})
	close(m.more)
	m.more = make(chan struct{})
	m.turn()
}

// next is the revision that the next change will have.
func (m *Model) next() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision + 1
}

// since lists the deletions from a revision on of one key, or of those up to an end,
// and the revision to go on from; more is closed when there may be others.
func (m *Model) since(from int64, key, end string) (events []*clientv3.Event, next int64, more <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.gone {
		if name := string(e.Kv.Key); e.Kv.ModRevision >= from && (name == key || end != "" && name >= key && name < end) {
			events = append(events, e)
		}
	}
	return events, m.revision + 1, m.more
}

func (m *Model) first() (first modelKey, found bool) {
	for key, kv := range m.keys {
		if strings.Contains(key, "/leader/") && (!found || kv.CreateRevision < first.CreateRevision) {
			first, found = kv, true
		}
	}
	return first, found
}

// turn writes down who is the first, when that changed.
func (m *Model) turn() {
	now := Turn{Since: time.Now()}
	if first, found := m.first(); found {
		now.Line, now.Epoch = first.line, uint64(first.CreateRevision) //nolint:gosec // revisions count from 1
	}
	if n := len(m.turns); n == 0 && now.Line != "" || n > 0 && m.turns[n-1].Epoch != now.Epoch {
		m.turns = append(m.turns, now)
	}
}
