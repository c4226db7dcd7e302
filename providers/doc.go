// Package providers names the DNS providers that sidestep can edit a zone at:
// one map from the name in the config to the constructor, written out, so that
// which adapters are in the program is read here and nowhere else.
//
// It knows the adapters and nothing about them, and opens nothing. Each adapter
// has its package below this one and knows no other; the contract that they
// meet is pkg/provider. The road goes on in pkg/cli, which hands the map to the
// commands.
package providers
