// Package etcdtest runs real etcd members for tests: processes of the module of
// tests that need more dependencies, since etcd's server brings dozens of them.
// Go builds it once for each test binary, from its cache after the first time.
//
// Beside them stands a Model of an etcd for schedules in virtual time, where a real
// one would have no part: its leases run out as a bubble's time goes by, and each
// node's Line to it can be slow, be cut, and stand still.
package etcdtest
