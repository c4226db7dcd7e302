package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/libdns/libdns/libdnstest"

	"sidestep/pkg/provider"
	"sidestep/providers/local"
	"sidestep/providers/rfc2136"
	"sidestep/providers/rfc2136/rfc2136test"
	"sidestep/providers/route53"
	"sidestep/providers/route53/route53test"
)

const zoneText = `$ORIGIN example.com.
$TTL 300
@   IN SOA ns1 hostmaster 1 3600 600 86400 60
@   IN NS  ns1
ns1 IN A   127.0.0.1
`

// run plays libdns's own suite, which uses names that begin with test- only.
func run(t *testing.T, adapter provider.Adapter, skip map[string]bool) {
	t.Helper()
	four, ok := adapter.(libdnstest.RecordProvider)
	if !ok {
		t.Fatalf("%T does not have the four interfaces of libdns", adapter)
	}
	suite := libdnstest.NewTestSuite(libdnstest.WrapNoZoneLister(four), "example.com.")
	suite.SkipRRTypes = skip
	suite.RunTests(t)
}

func TestLocal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "example.com.zone")
	if err := os.WriteFile(file, []byte(zoneText), 0o600); err != nil {
		t.Fatal(err)
	}
	adapter, err := local.New(provider.Settings{Zone: "example.com.", Options: map[string]string{"file": file}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, nil)
}

func TestRFC2136AtBIND(t *testing.T) { runRFC2136(t, rfc2136test.StartBIND) }
func TestRFC2136AtKnot(t *testing.T) { runRFC2136(t, rfc2136test.StartKnot) }

// runRFC2136 leaves out the types that the server cannot do.
func runRFC2136(t *testing.T, start func(testing.TB, rfc2136test.Zone) *rfc2136test.Server, without ...string) {
	t.Helper()
	skip := map[string]bool{}
	for _, kind := range without {
		skip[kind] = true
	}
	server := start(t, rfc2136test.Zone{Name: "example.com.", Text: zoneText})
	adapter, err := rfc2136.New(provider.Settings{
		Zone:    "example.com.",
		Options: map[string]string{"server": server.Addr, "tsig.name": server.Key.Name, "tsig.algorithm": server.Key.Algorithm},
		Secrets: map[string]provider.Secret{"tsig.secret": provider.NewSecret(server.Key.Secret)},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, skip)
}

func TestRoute53(t *testing.T) {
	fake := route53test.Start(t, route53test.Options{})
	adapter, err := route53.New(provider.Settings{
		Zone:    "example.com.",
		Options: map[string]string{"endpoint": fake.Server.URL},
		Secrets: map[string]provider.Secret{
			"access_key_id":     provider.NewSecret(route53test.AccessKey),
			"secret_access_key": provider.NewSecret(route53test.SecretKey),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, nil)
}
