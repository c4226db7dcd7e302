// Package store keeps what must outlive the process: a snapshot of the state,
// a journal of what happened, and notes about calls that are under way. It
// knows bytes and their age, not health: what a payload means is the business
// of pkg/engine, and pkg/daemon carries it between the two.
//
// In the directory of a store:
//
//	state.json            the newest snapshot: {"version","saved_at","sha256","payload"}
//	state.json.1          the generation before it
//	state.corrupt-TIME    a snapshot that could not be read, for a person to look at
//	state.newer-TIME      a snapshot of a newer version of the program
//	journal.jsonl         one JSON object a line: {"at","kind",…}
//	journal.jsonl.1       the journal before the last rotation
//	notes.json            the calls that are under way, in the same envelope as the snapshot
//
// The rules:
//
//   - A file is replaced whole (temporary file, fsync, rename, fsync of the
//     directory) or appended to by whole lines. Killing the process at any
//     point leaves files that can be read.
//   - What cannot be read is never trusted, never fatal and never destroyed. The
//     generation before is offered instead, and the loss is said.
//   - A full or read-only disk is an error of the call (ErrFull, ErrReadOnly), the
//     old file stays as it was, and the caller decides what may go on without.
//   - No note file, no trust: see Notes.
//
// A directory belongs to one process at a time: hold the lock of
// pkg/lease/file before writing where a second process may stand by on the
// same host. Two writers would not corrupt a file, but the later one wins.
//
// Why files and not a database: the state is small, is written whole, and must
// be repairable with an editor in the worst hour. github.com/google/renameio
// does the replacing, because its order of fsync and rename has been got wrong
// by everybody at least once; the fsync of the directory is ours.
package store
