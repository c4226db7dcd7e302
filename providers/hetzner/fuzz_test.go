package hetzner

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
	f.Add(200, []byte(`{"zones":[{"id":"z1","name":"example.com"}]}`),
		[]byte(`{"records":[{"id":"r1","type":"A","name":"www","value":"192.0.2.1","ttl":60},{"id":"r2","type":"TXT","name":"_sidestep-paused.www","value":"\"v=sidestep1 type=A value=192.0.2.2 ttl=60\"","ttl":60},{"type":"MX","name":"@","value":"10 mail"}]}`))
	f.Add(200, []byte(`{"zones":[]}`), []byte(`{"records":[null]}`))
	f.Add(200, []byte(`{"zones":[{}]}`), []byte(`{"records":[{"ttl":-1,"name":"*","type":"SRV","value":"x"}]}`))
	f.Add(401, []byte(`{"message":"m"}`), []byte(``))
	f.Fuzz(func(t *testing.T, status int, first, second []byte) {
		httpfake.Answer(t, func(r *http.Request) (int, []byte) {
			if strings.HasSuffix(r.URL.Path, "/zones") {
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
