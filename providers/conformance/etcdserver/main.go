// Command etcdserver runs one member of an etcd cluster until it is told to end,
// for the tests of the main module. It is here because only this module may
// depend on what etcd's server depends on. It syncs nothing to disk, and its
// clock ticks faster than that of a real member, so that tests wait less for
// elections.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/crypto/bcrypt"
)

// Half of a real member's defaults.
const (
	tickMs     = 50
	electionMs = 500
)

func main() {
	if err := run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "etcdserver:", err)
		os.Exit(1)
	}
}

func run() error {
	config := embed.NewConfig()
	client := flag.String("client", "", "`URL` for clients")
	peer := flag.String("peer", "", "`URL` for the other members")
	flag.StringVar(&config.Name, "name", "m1", "the member's `name`")
	flag.StringVar(&config.InitialCluster, "cluster", "", "all members: `NAME=PEER-URL,...`")
	flag.StringVar(&config.Dir, "dir", "", "data `directory`")
	tls := &config.ClientTLSInfo
	flag.StringVar(&tls.CertFile, "cert", "", "PEM `file` with the certificate for clients")
	flag.StringVar(&tls.KeyFile, "key", "", "PEM `file` with its key")
	flag.StringVar(&tls.TrustedCAFile, "client-ca", "", "PEM `file`: clients have to show a certificate that it signed")
	flag.Parse()
	tls.ClientCertAuth = tls.TrustedCAFile != ""

	config.TickMs, config.ElectionMs = tickMs, electionMs
	config.UnsafeNoFsync = true
	config.BcryptCost = uint(bcrypt.MinCost)
	config.LogLevel = "warn"
	var err error
	if config.ListenClientUrls, err = urls(*client); err != nil {
		return err
	}
	if config.ListenPeerUrls, err = urls(*peer); err != nil {
		return err
	}
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = config.ListenClientUrls, config.ListenPeerUrls
	return serve(config)
}

func urls(text string) ([]url.URL, error) {
	if text == "" {
		return nil, errors.New("expected -client URL and -peer URL")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	return []url.URL{*u}, nil
}

func serve(config *embed.Config) error {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	member, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer member.Close()
	select {
	case <-end:
		return nil
	case err := <-member.Err():
		return err
	}
}
