// Package cli is the command line: one file per command, each of which reads
// its flags, asks the daemon or runs the same machine once, and prints the
// answer.
//
// The rules of what is printed: the answer goes to stdout and everything else
// to stderr, errors after "sidestep: ", without a capital or a full stop and
// with the next step. With --json the answer is JSON and nothing else. Colour
// is used on a terminal only, says nothing alone, and obeys NO_COLOR. What
// comes from probed servers was escaped and cut where it came in. Long work
// tells a terminal how far it is.
//
// Main is called by cmd/sidestep and by tests with other stdio. It decides
// nothing: the exit codes are those of pkg/control.
package cli
