// Package providertest is the suite that every adapter must pass: each promise
// of the contract in pkg/provider is one case here, with the promise as its
// text and a piece of the real world, altered and asked behind the adapter's
// back, as its judge.
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.World{
//			Zone: "example.com.",
//			New: func(t providertest.TB) (provider.Adapter, providertest.Hand) { … },
//		})
//	}
//
// A Hand is the judge: it asks what resolvers would be answered with and edits
// as an operator does in the provider's console. It must reach the zone on
// another way than the adapter does. What a world can do beyond that (faults,
// lists that lag) it offers in small optional interfaces; a case that needs
// one it does not have is skipped and says so.
//
// Between the last read of a call and its sending the suite steps in through
// the call's own Gate, which adapters ask last: there another node takes over
// and operators delete survivors, at every adapter alike.
//
// The suite decides nothing about clocks: it never sleeps, and deadlines in it
// only bound how long a broken adapter can hang.
//
// The cases take a small TB instead of *testing.T, so that Check can run them
// against adapters that are broken on purpose: memory's tests do so, which is
// how the suite shows that it can fail. The road goes on in pkg/provider/memory.
package providertest
