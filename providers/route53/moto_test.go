//go:build moto

package route53

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// TestMoto writes at an emulator that this project did not write: moto_server,
// at the URL in SIDESTEP_MOTO. It judges the wire format and nothing else, since
// it compares no values: Prove has to find that out. Nothing runs it by itself.
func TestMoto(t *testing.T) {
	url := os.Getenv("SIDESTEP_MOTO")
	if url == "" {
		t.Fatal("SIDESTEP_MOTO is not set: start moto_server -H 127.0.0.1 -p 5555, and set it to http://127.0.0.1:5555")
	}
	s := provider.Settings{
		Zone: testZone, Options: map[string]string{"endpoint": url},
		Secrets: map[string]provider.Secret{"access_key_id": provider.NewSecret("k"), "secret_access_key": provider.NewSecret("s")},
	}
	client, err := connect(t, s).client()
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateHostedZone(t.Context(), &sdk.CreateHostedZoneInput{Name: aws.String(testZone), CallerReference: aws.String(t.Name())})
	if err != nil {
		t.Fatal(err)
	}
	s.Options["hosted_zone_id"] = bareID(*made.HostedZone.Id)
	a := connect(t, s)
	n := newNode(t, a)
	www := key("www", record.A)
	n.must(www, create(www, one), create(www, two))
	n.must(www, pause(www, one))
	if got := list(t, a).Set(www).Live(); !slices.Equal(got, []string{two}) {
		t.Errorf("live: %v", got)
	}
	if err := a.Prove(t.Context(), list(t, a), stamp(1000), nil); !errors.Is(err, provider.ErrNotFenced) {
		t.Errorf("it was found to compare: %v", err)
	}
}
