package gandi

import (
	"net/http"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
)

// FuzzList gives any two answers to a list: none makes it panic, one that cannot be read
// is an error with a class, and no set of another zone is listed.
func FuzzList(f *testing.F) {
	f.Add(200, []byte(`{"fqdn":"example.com","domain_records_href":"https://api.gandi.net/v5/livedns/domains/example.com/records"}`),
		[]byte(`[{"rrset_name":"www","rrset_type":"A","rrset_ttl":300,"rrset_values":["192.0.2.1"]},{"rrset_name":"_sidestep-paused.www","rrset_type":"TXT","rrset_ttl":300,"rrset_values":["\"v=sidestep1 type=A value=192.0.2.2 ttl=300\""]}]`))
	f.Add(200, []byte(`{"domain_records_href":"https://api.gandi.net/r"}`), []byte(`[null,{"rrset_name":"*","rrset_type":"CNAME","rrset_ttl":-1,"rrset_values":[""]}]`))
	f.Add(200, []byte(`{"domain_records_href":":"}`), []byte(`null`))
	f.Add(404, []byte(`{"code":404,"message":"m"}`), []byte(``))
	f.Fuzz(func(t *testing.T, status int, first, second []byte) {
		httpfake.Answer(t, func(r *http.Request) (int, []byte) {
			if strings.HasSuffix(r.URL.Path, "/domains/example.com") {
				return status, first
			}
			return http.StatusOK, second
		})
		snap, err := connect(t, "token").List(t.Context())
		if err != nil {
			if provider.ClassOf(err) == provider.Ambiguous {
				t.Errorf("a list that may have changed something: %v", err)
			}
			return
		}
		for _, set := range snap.Sets {
			if !set.Key.Name.In(zone) {
				t.Errorf("a set outside the zone: %v", set)
			}
		}
	})
}
