package ovh

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
	f.Add(200, []byte(`[1,2]`), []byte(`{"id":1,"fieldType":"A","subDomain":"www","target":"192.0.2.1","ttl":60,"zone":"example.com"}`))
	f.Add(200, []byte(`[1]`), []byte(`{"id":1,"fieldType":"TXT","subDomain":"_sidestep-paused.www","target":"\"v=sidestep1 type=A value=192.0.2.2 ttl=60\"","ttl":0}`))
	f.Add(200, []byte(`[-1,18446744073709551616]`), []byte(`null`))
	f.Add(403, []byte(`{"class":"Client::Forbidden","message":"m","errorCode":"e"}`), []byte(`7`))
	f.Fuzz(func(t *testing.T, status int, first, second []byte) {
		httpfake.Answer(t, func(r *http.Request) (int, []byte) {
			if strings.HasSuffix(r.URL.Path, "/auth/time") {
				return http.StatusOK, []byte("1767323045")
			}
			if strings.HasSuffix(r.URL.Path, "/record") {
				return status, first
			}
			return http.StatusOK, second
		})
		secret := provider.NewSecret("s")
		a, err := New(provider.Settings{Zone: zone, Secrets: map[string]provider.Secret{"application_key": secret, "application_secret": secret, "consumer_key": secret}})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := a.List(t.Context())
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
