// Package etcdtest runs real etcd members for tests: processes of the module of
// tests that need more dependencies, since etcd's server brings dozens of them.
// Go builds it once for each test binary, from its cache after the first time.
package etcdtest
