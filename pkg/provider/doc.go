// Package provider is the contract between sidestep and a DNS provider's API:
// what an adapter lists, the two kinds of writes it is asked for, what it
// promises about them, and how its errors are classed.
//
// An adapter is bound to one zone. It lists the zone whole or says that it
// could not, it adds, and it takes away; it never deletes, it never repeats a
// write by itself, and it decides nothing. Adds and take-aways are apart
// because their dangers differ: an add that arrives late or twice does no
// harm, a take-away that arrives late can empty a name. A take-away therefore
// carries its survivors, the wanted answers that stay live through it, and the
// adapter makes their presence a condition of the call wherever its API can
// express one.
//
// Where the API can compare and swap, the adapter is also a Fencer: every
// write then replaces the stamp, the TXT record "_sidestep" of the zone, in
// the same atomic call, so that the provider itself refuses a write whose view
// of the zone is no longer true.
//
// Where an adapter is a Releaser, it takes sidestep out of the zone again: the
// marks, the copies and the stamp, and no answer.
//
// libdns supplies the vocabulary that most of the world's adapters speak;
// pause, batch, compare-and-swap, ids and error classes are not in it, which is
// why this contract exists beside it.
//
// pkg/reconcile is the only caller of the writes. The adapters live below
// providers/; providertest holds what each of them must prove, and memory is
// the adapter that proves the suite.
package provider
