package ovhtest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the vendor's signature
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
)

// The credential that the fake takes.
const (
	ApplicationKey    = "app-key"
	ApplicationSecret = "app-secret" //nolint:gosec // of a fake
	ConsumerKey       = "consumer-key"
)

// Fake is one account with one zone.
type Fake struct {
	httpfake.Journal

	Server *httpfake.Server

	zone      string
	mu        sync.Mutex
	records   []row
	published []row
	next      int64
}

// row is a record as the API has it. The name is relative, empty at the apex.
type row struct {
	ID     int64  `json:"id"`
	Zone   string `json:"zone"`
	Type   string `json:"fieldType"`
	Name   string `json:"subDomain"`
	TTL    int64  `json:"ttl"`
	Target string `json:"target"`
}

// Start runs the fake until the test ends.
func Start(t providertest.TB, zone string) *Fake {
	f := &Fake{zone: strings.TrimSuffix(zone, ".")}
	f.insert(row{Type: "NS", Target: "dns1.ovh.example."})
	f.publish()
	path := "/1.0/domain/zone/{zone}"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+"/record", f.list)
	mux.HandleFunc("GET "+path+"/record/{id}", f.get)
	mux.HandleFunc("POST "+path+"/record", f.create)
	mux.HandleFunc("DELETE "+path+"/record/{id}", f.remove)
	mux.HandleFunc("POST "+path+"/refresh", f.refresh)
	f.Server = httpfake.Start(f.authorised(mux))
	t.Cleanup(f.Server.Close)
	return f
}

// Endpoint is where the fake is, as the config has it.
func (f *Fake) Endpoint() string { return f.Server.URL + "/1.0" }

// Keys are the zone's keys in a config, a line each.
func (f *Fake) Keys() string {
	return fmt.Sprintf("provider: ovh\nendpoint: %s\napplication_key: %s\napplication_secret: %s\nconsumer_key: %s\n", f.Endpoint(), ApplicationKey, ApplicationSecret, ConsumerKey)
}

// Attributes lists every record with all but its id, sorted.
func (f *Fake) Attributes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, r := range f.records {
		lines = append(lines, r.attributes())
	}
	slices.Sort(lines)
	return lines
}

// attributes is the record without its id.
func (r row) attributes() string {
	return fmt.Sprintf("%s %s %s ttl=%d", cmp.Or(r.Name, "@"), r.Type, r.Target, r.TTL)
}

func (f *Fake) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/1.0/auth/time" {
			httpfake.JSON(w, http.StatusOK, time.Now().Unix())
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, "the body could not be read")
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		rest, known := strings.CutPrefix(r.URL.Path, "/1.0/domain/zone/"+f.zone+"/")
		switch {
		case r.Header.Get("X-Ovh-Signature") != f.signature(r, string(body)) || r.Header.Get("X-Ovh-Consumer") != ConsumerKey:
			refuse(w, http.StatusForbidden, "This call has not been granted")
			return
		case !known || rest == "":
			refuse(w, http.StatusNotFound, "This service does not exist")
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// signature is what the vendor's documentation has a request signed with.
func (f *Fake) signature(r *http.Request, body string) string {
	text := strings.Join([]string{
		ApplicationSecret, ConsumerKey, r.Method, "http://" + r.Host + r.URL.RequestURI(), body, r.Header.Get("X-Ovh-Timestamp"),
	}, "+")
	sum := sha1.Sum([]byte(text)) //nolint:gosec // the vendor's signature
	return "$1$" + hex.EncodeToString(sum[:])
}

func (f *Fake) list(w http.ResponseWriter, r *http.Request) {
	ids := []int64{}
	kind, name := r.URL.Query().Get("fieldType"), r.URL.Query().Get("subDomain")
	for _, o := range f.records {
		if (kind == "" || o.Type == kind) && (name == "" || strings.EqualFold(o.Name, name)) {
			ids = append(ids, o.ID)
		}
	}
	httpfake.JSON(w, http.StatusOK, ids)
}

func (f *Fake) get(w http.ResponseWriter, r *http.Request) {
	if i := f.index(r); i >= 0 {
		httpfake.JSON(w, http.StatusOK, f.records[i])
		return
	}
	refuse(w, http.StatusNotFound, "The requested object (id) does not exist")
}

var types = []string{
	"A", "AAAA", "CAA", "CNAME", "DKIM", "DMARC", "DNAME", "HTTPS", "LOC", "MX", "NAPTR", "NS", "PTR", "RP", "SPF", "SRV", "SSHFP",
	"SVCB", "TLSA", "TXT",
}

func (f *Fake) create(w http.ResponseWriter, r *http.Request) {
	var in row
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "the body is no JSON")
		return
	}
	switch {
	case !slices.Contains(types, in.Type) || in.Target == "":
		refuse(w, http.StatusBadRequest, "invalid fieldType or target")
	case in.TTL > 0 && in.TTL < 60:
		refuse(w, http.StatusBadRequest, "ttl must be 0 or at least 60")
	case in.Type == "TXT" && strings.Count(in.Target, `"`)%2 != 0:
		refuse(w, http.StatusBadRequest, "unbalanced quotes")
	default:
		if in.Type == "TXT" && !strings.HasPrefix(in.Target, `"`) {
			in.Target = `"` + in.Target + `"`
		}
		made := f.insert(in)
		f.Note("create " + made.attributes())
		httpfake.JSON(w, http.StatusOK, made)
	}
}

func (f *Fake) remove(w http.ResponseWriter, r *http.Request) {
	i := f.index(r)
	if i < 0 {
		refuse(w, http.StatusNotFound, "The requested object (id) does not exist")
		return
	}
	f.Note("delete " + f.records[i].attributes())
	f.records = slices.Delete(slices.Clone(f.records), i, i+1)
	httpfake.JSON(w, http.StatusOK, nil)
}

func (f *Fake) refresh(w http.ResponseWriter, _ *http.Request) {
	f.publish()
	f.Note("refresh")
	httpfake.JSON(w, http.StatusOK, nil)
}

func (f *Fake) publish() { f.published = slices.Clone(f.records) }

func (f *Fake) insert(r row) row {
	f.next++
	r.ID, r.Zone = f.next, f.zone
	f.records = append(f.records, r)
	return r
}

func (f *Fake) index(r *http.Request) int {
	return slices.IndexFunc(f.records, func(o row) bool { return strconv.FormatInt(o.ID, 10) == r.PathValue("id") })
}

func refuse(w http.ResponseWriter, status int, message string) {
	httpfake.JSON(w, status, map[string]string{"message": message})
}
