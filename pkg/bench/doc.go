// Package bench measures the whole daemon under load, beside a floor, and holds
// it against goals. `make bench` builds and runs it; it takes eleven minutes,
// wants root for ICMP, and exits 1 when a goal is missed. `make test` never
// measures how fast anything is.
//
// # The parts
//
// The target is a process with a listener on each of 10,000 loopback addresses,
// 127.1.0.1 and on. One thread answers, and notes when each connection or echo
// request came. It can be told to break single targets: refuse, hang, answer
// 500, reset. It needs 20,000 open files.
//
// The floor is the least that a prober can be: one thread, one epoll, fixed
// bytes, no memory of what it saw, waking up on the same grid of 10 ms as the
// daemon. It has no thresholds, no zone, no socket for commands. What costs the
// kernel costs both, so ratios to it mean the same on another machine, and on a
// busy one. For ICMP it sends and reads packet by packet over one socket.
//
// The daemon is `sidestep run` as users run it, with a config of ten answers to
// a record set, in a zone file that the embedded name server does not serve.
//
// Peers are gdnsd, HAProxy and the blackbox exporter as Debian packages them, on the
// same HTTP targets at the same interval, with -peers. `make results` measures them
// all and writes RESULTS.md. HAProxy and gdnsd are C with one event loop; the exporter
// is the nearest to a prober in Go by net/http, and the CPU of who asks it is not
// counted.
//
// # What is measured
//
// CPU is the user and system time of the prober's process over a window, after
// it has warmed up, divided by the probes that the target saw. Loopback charges
// the prober for the work of the target's kernel side too. Memory is the highest
// resident set since the start, loading included. Gaps are those between two
// arrivals of one target. A window is a whole number of intervals. Rounds of
// floor, daemon and peers follow each other directly; each ratio is of one
// round, and the median of the rounds counts. A ratio may miss its goal by 15 %,
// which is what rounds differ by.
//
// Detection breaks single targets at random moments, and waits for the line in
// the daemon's log that says they are down. Beside it stands the ideal: the time
// to the target's next slot, and the intervals and timeouts that follow.
//
// Endurance is one daemon for half an hour (-endure, `make endure`), which is scraped
// every minute, while 200 other targets are broken in four ways. What the last half
// of it needs of memory, descriptors and goroutines may not be a tenth more than what
// the first did.
//
// The plan of a zone is compared with a map of what is there and a look-up of
// what is wanted, in this process.
//
// # What it never does
//
// It never touches another network than 127.1.0.0/16, never writes outside a
// temporary directory unless -results names a file, and leaves no process
// behind: children are ended by their process id, and by the kernel should this
// process be killed.
package bench
