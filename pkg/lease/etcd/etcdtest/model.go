package etcdtest

import (
	"cmp"
	"maps"
	"slices"
	"sort"
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

// Model is an etcd without a process and without sockets, as far as a lease and nodes
// that share ask one: keys, of which some hang on leases that run out, transactions
// that compare revisions, and watches. Its time is that of package time, so that
// in a bubble of testing/synctest hours go by at once. It may be used from many
// goroutines.
type Model struct {
	pace time.Duration // percent by which its clock runs fast

	mu       sync.Mutex
	revision int64
	granted  int64 // the last id of a lease
	leases   map[int64]*modelLease
	keys     map[string]modelKey
	changes  []*clientv3.Event // every one, the oldest first
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
	case *pb.PutRequest:
		m.revision++
		if err := m.put(line, r); err != nil {
			return nil, err
		}
		return &pb.PutResponse{Header: m.header()}, nil
	case *pb.DeleteRangeRequest:
		return m.delete(r), nil
	case *pb.TxnRequest:
		return m.transact(line, r)
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

// transact carries out one of two lists, whose changes all have one revision.
func (m *Model) transact(line string, r *pb.TxnRequest) (any, error) {
	out := &pb.TxnResponse{Succeeded: true}
	for _, c := range r.Compare {
		out.Succeeded = out.Succeeded && m.holds(c)
	}
	ops, changed := r.Failure, false
	if out.Succeeded {
		ops = r.Success
	}
	for _, op := range ops {
		change := op.GetRequestRange() == nil
		if change && !changed {
			changed = true
			m.revision++
		}
		switch {
		case op.GetRequestPut() != nil:
			if err := m.put(line, op.GetRequestPut()); err != nil {
				return nil, err
			}
			out.Responses = append(out.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}})
		case change:
			done := m.delete(op.GetRequestDeleteRange())
			out.Responses = append(out.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: done}})
		default:
			read := m.read(string(op.GetRequestRange().Key), string(op.GetRequestRange().RangeEnd))
			out.Responses = append(out.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: read}})
		}
	}
	out.Header = m.header()
	return out, nil
}

// holds compares a revision of a key with what it is to be; that of one that is not
// there is 0.
func (m *Model) holds(c *pb.Compare) bool {
	var has mvccpb.KeyValue
	if kv, there := m.keys[string(c.Key)]; there {
		has.CreateRevision, has.ModRevision = kv.CreateRevision, kv.ModRevision
	}
	if c.Target == pb.Compare_MOD {
		return has.ModRevision == c.GetModRevision()
	}
	return has.CreateRevision == c.GetCreateRevision()
}

// put writes a key at the present revision.
func (m *Model) put(line string, r *pb.PutRequest) error {
	if r.Lease != 0 && m.leases[r.Lease] == nil {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	kv := &mvccpb.KeyValue{Key: r.Key, Value: r.Value, Lease: r.Lease, Version: 1, CreateRevision: m.revision, ModRevision: m.revision}
	if before, there := m.keys[string(r.Key)]; there {
		kv.Version, kv.CreateRevision = before.Version+1, before.CreateRevision
	}
	m.keys[string(r.Key)] = modelKey{kv, line}
	m.tell(&clientv3.Event{Type: mvccpb.Event_PUT, Kv: kv})
	m.turn()
	return nil
}

// delete removes one key, or those up to an end.
func (m *Model) delete(r *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	found := m.read(string(r.Key), string(r.RangeEnd)).Kvs
	for _, kv := range found {
		m.remove(string(kv.Key))
	}
	return &pb.DeleteRangeResponse{Header: m.header(), Deleted: int64(len(found))}
}

// tell lets watches know of a change.
func (m *Model) tell(e *clientv3.Event) {
	m.changes = append(m.changes, e)
	close(m.more)
	m.more = make(chan struct{})
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
	m.tell(&clientv3.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: m.revision}})
	m.turn()
}

// next is the revision that the next change will have.
func (m *Model) next() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.revision + 1
}

// since lists the changes from a revision on of one key, or of those up to an end, and
// the revision to go on from; more is closed when there may be others. The keys of who
// leads are put once, and their watches ask for deletions alone.
func (m *Model) since(from int64, key, end string) (events []*clientv3.Event, next int64, more <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := sort.Search(len(m.changes), func(i int) bool { return m.changes[i].Kv.ModRevision >= from })
	for _, e := range m.changes[first:] {
		name := string(e.Kv.Key)
		led := e.Type == mvccpb.Event_PUT && strings.Contains(name, "/leader/")
		if !led && (name == key || end != "" && name >= key && name < end) {
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
