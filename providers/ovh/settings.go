package ovh

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	libdnsovh "github.com/libdns/ovh"
	"github.com/ovh/go-ovh/ovh"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/generic"
	"sidestep/pkg/provider/httpapi"
)

var _ provider.Constructor = New

// callDeadline is for a list that makes a request for every record.
const callDeadline = time.Minute

// New makes the adapter of one zone. Its option is endpoint, a name that the
// vendor's client knows (ovh-eu, which is also the default, ovh-ca, ovh-us and
// others) or a URL; its secrets are application_key, application_secret and
// consumer_key. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	op := fmt.Sprintf("configure ovh for zone %s", s.Zone)
	for _, name := range []string{"application_key", "application_secret", "consumer_key"} {
		if s.Secrets[name].Empty() {
			return nil, provider.Failf(provider.Permanent, op, "", "%s: expected one of the three parts of the credential, got nothing", name)
		}
	}
	endpoint, err := endpointOf(s.Options["endpoint"], s.Insecure)
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "endpoint: %w", err)
	}
	l := &library{Provider: &libdnsovh.Provider{
		Endpoint: endpoint, ApplicationKey: s.Secrets["application_key"].Reveal(),
		ApplicationSecret: s.Secrets["application_secret"].Reveal(), ConsumerKey: s.Secrets["consumer_key"].Reveal(),
	}}
	return generic.New(s, l, generic.Known{Name: "ovh", MinTTL: time.Minute, Call: callDeadline, Status: status}), nil
}

// endpointOf checks a name or a URL.
func endpointOf(text string, insecure bool) (string, error) {
	text = cmp.Or(text, "ovh-eu")
	if !strings.Contains(text, "/") {
		if _, known := ovh.Endpoints[text]; !known {
			return "", fmt.Errorf("expected ovh-eu, ovh-ca, ovh-us or a URL, got %q", text)
		}
		return text, nil
	}
	base, err := httpapi.ParseEndpoint(text, insecure)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}

func status(err error) int {
	if e, ok := errors.AsType[*ovh.APIError](err); ok {
		return e.Code
	}
	return 0
}
