// Package realserver runs real server programs for tests: each on free ports of
// 127.0.0.1, in a directory of its own that goes with the test, and ended by its
// process id and by nothing else.
//
// A machine without a program skips the test, unless the environment says
// SIDESTEP_TEST_REAL=require, where it fails. The package never touches a server
// that it did not start.
//
// It knows processes, and of PowerDNS how it is set up, because two adapters are
// tested against it. Its users are the test packages of providers/, and
// pkg/lease/etcd/etcdtest, which builds the server that it runs.
package realserver
