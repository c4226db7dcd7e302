// Package file is the lease of one host: an flock on leader.lock in the state
// directory.
//
// The kernel holds the lock for the open file, not for what is written in it. A
// killed process frees it at once, a stopped one keeps it, and a leftover file
// after a crash, a reboot or with a process id that means somebody else now is
// harmless: the text in the file only tells people who holds it. So the file is
// never removed.
//
// What it cannot do: a second host has a lock of its own. On a network file
// system flock may succeed on both hosts, silently; those are refused by their
// type (statfs(2)), and the way out is a lease that a service holds.
//
// A lock file that is replaced or removed under the holder protects nobody, for
// the next process locks the new one. The gate therefore compares device and
// inode of the path with the open file each time.
//
// A full or read-only disk costs no lease: the lock is taken on a file that is
// open to be read only, and who holds it stays unwritten. Only a lock file that
// is missing and cannot be made is an error, and nobody leads then: two
// processes would not see each other.
//
// The contract is in pkg/lease.
package file
