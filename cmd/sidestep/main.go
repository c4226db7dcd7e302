// Command sidestep steps aside of what is dead: it probes the addresses that a
// DNS name answers with and edits the hosted zone through its provider's API.
//
// Everything is in pkg/cli; this is only where the providers meet it.
package main

import (
	"os"

	"sidestep/pkg/cli"
	"sidestep/providers"
)

// Set at build time (-ldflags "-X main.version=… -X main.built=…"): what this is
// called, and when its commit was made, in seconds since 1970.
var (
	version = "dev"
	built   = ""
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System(), providers.Registry(), cli.Build{Version: version, Seconds: built}))
}
