package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// prefix is the path of the API's version.
const prefix = "/client/v4"

// maxPage is the largest page of records, by the schema of the API.
const maxPage = 5_000_000

// ServeHTTP answers one request.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	body, failed := f.answer(r)
	var data []byte
	if failed != nil {
		data = failed.body()
	} else {
		data = body.marshal()
	}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if failed != nil {
		if failed.after != "" {
			w.Header().Set("Retry-After", failed.after)
		}
		w.WriteHeader(failed.status)
	}
	_, _ = w.Write(data)
}

// envelope is what every answer of the API comes in.
type envelope struct {
	Result     any       `json:"result"`
	Success    bool      `json:"success"`
	Errors     []chained `json:"errors"`
	Messages   []chained `json:"messages"`
	ResultInfo *pageInfo `json:"result_info,omitempty"`
}

type pageInfo struct {
	Page       int `json:"page"`
	PerPage    int `json:"per_page"`
	Count      int `json:"count"`
	TotalCount int `json:"total_count"`
	TotalPages int `json:"total_pages"`
}

func ok(result any) *envelope {
	return &envelope{Result: result, Success: true, Errors: []chained{}, Messages: []chained{}}
}

func (e *envelope) marshal() []byte {
	data, err := json.Marshal(e)
	if err != nil {
		return []byte(err.Error()) // which no client takes for an answer
	}
	return data
}

func (e *apiError) body() []byte {
	type withChain struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Chain   []chained `json:"error_chain,omitempty"`
	}
	data, _ := json.Marshal(struct {
		Result   any         `json:"result"`
		Success  bool        `json:"success"`
		Errors   []withChain `json:"errors"`
		Messages []chained   `json:"messages"`
	}{nil, false, []withChain{{e.code, e.message, e.chain}}, []chained{}})
	return data
}

var idText = regexp.MustCompile(`^[0-9a-f]{32}$`)

var errNoRoute = refuse(http.StatusNotFound, 7000, "No route for that URI")

func (f *Fake) answer(r *http.Request) (*envelope, *apiError) {
	path, found := strings.CutPrefix(r.URL.Path, prefix+"/")
	if !found {
		return nil, errNoRoute
	}
	token, failed := f.authenticate(r)
	parts := strings.Split(path, "/")
	switch {
	case path == "user/tokens/verify" && r.Method == http.MethodGet:
		return f.verify(token, failed)
	case failed != nil:
		return nil, failed
	case parts[0] != "zones":
		return nil, errNoRoute
	case len(parts) == 1 && r.Method == http.MethodGet:
		return f.listZones(token, r.URL.Query())
	case len(parts) < 2:
		return nil, errNoRoute
	}
	z, failed := f.zoneOf(parts[1])
	switch {
	case failed != nil:
		return nil, failed
	case len(parts) == 2 && r.Method == http.MethodGet && !token.ReadZones:
		return nil, refuse(http.StatusForbidden, 9109, "Unauthorized to access requested resource")
	case len(parts) == 2 && r.Method == http.MethodGet:
		return ok(z.json(token)), nil
	case len(parts) < 3 || parts[2] != "dns_records" || len(parts) > 4:
		return nil, errNoRoute
	}
	return f.records(z, token, r, parts[3:])
}

// authenticate finds the token of a request.
func (f *Fake) authenticate(r *http.Request) (*Token, *apiError) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, refuse(http.StatusBadRequest, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers")
	}
	text, found := strings.CutPrefix(header, "Bearer ")
	if !found || text == "" || strings.ContainsAny(text, " \t") {
		return nil, &apiError{status: http.StatusBadRequest, code: 6003, message: "Invalid request headers", chain: []chained{{6111, "Invalid format for Authorization header"}}}
	}
	token := f.tokens[text]
	if token == nil || token.Status != "active" {
		return token, refuse(http.StatusForbidden, 9109, "Invalid access token")
	}
	return token, nil
}

func (f *Fake) verify(token *Token, failed *apiError) (*envelope, *apiError) {
	if failed != nil && failed.code != 9109 {
		return nil, failed
	}
	if token == nil || token.Account {
		return nil, refuse(http.StatusUnauthorized, 1000, "Invalid API Token")
	}
	result := map[string]any{"id": "ed17574386854bf78a67040be0a770b0", "status": token.Status}
	if token.ExpiresOn != "" {
		result["expires_on"] = token.ExpiresOn
	}
	out := ok(result)
	if token.Status == "active" {
		out.Messages = []chained{{10000, "This API Token is valid and active"}}
	}
	return out, nil
}

func (f *Fake) zoneOf(id string) (*zone, *apiError) {
	if !idText.MatchString(id) {
		return nil, refuse(http.StatusNotFound, 7003, "Could not route to /zones/"+id+", perhaps your object identifier is invalid?")
	}
	i := slices.IndexFunc(f.zones, func(z *zone) bool { return z.id == id })
	if i < 0 {
		return nil, refuse(http.StatusForbidden, 9109, "Unauthorized to access requested resource")
	}
	return f.zones[i], nil
}

// json is a zone as an answer has it.
func (z *zone) json(token *Token) map[string]any {
	var permissions []string
	if token.EditDNS {
		permissions = append(permissions, "#dns_records:edit")
	}
	if token.ReadDNS {
		permissions = append(permissions, "#dns_records:read")
	}
	if token.ReadZones {
		permissions = append(permissions, "#zone:read")
	}
	return map[string]any{
		"id": z.id, "name": z.name, "status": z.status, "paused": false, "type": "full", "account": z.account,
		"plan": map[string]any{"name": z.plan.Name}, "permissions": permissions, "name_servers": []string{"ada.ns.cloudflare.com", "bob.ns.cloudflare.com"},
	}
}

func (f *Fake) listZones(token *Token, query url.Values) (*envelope, *apiError) {
	page, size, failed := paging(query, 20, 5, 50)
	if failed == nil {
		failed = known(query, "name", "status", "account.id", "account.name", "page", "per_page", "order", "direction", "match")
	}
	if failed != nil {
		return nil, failed
	}
	list := []any{}
	if query.Has("name") { // libdns's module asks with the final dot, and finds its zone
		query.Set("name", strings.TrimSuffix(query.Get("name"), "."))
	}
	for _, z := range f.zones {
		filters := map[string]string{"name": z.name, "status": z.status, "account.id": z.account.ID, "account.name": z.account.Name}
		if token.ReadZones && matches(query, filters) {
			list = append(list, z.json(token))
		}
	}
	return paged(list, page, size), nil
}

func matches(query url.Values, filters map[string]string) bool {
	for key, value := range filters {
		if query.Has(key) && query.Get(key) != value {
			return false
		}
	}
	return true
}

func known(query url.Values, names ...string) *apiError {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(names, name) {
			return invalid(9207, "Unknown parameter %s.", name)
		}
	}
	return nil
}

func paging(query url.Values, size, least, most int) (int, int, *apiError) {
	page := 1
	for key, to := range map[string]*int{"page": &page, "per_page": &size} {
		if !query.Has(key) {
			continue
		}
		n, err := strconv.Atoi(query.Get(key))
		if err != nil || n < 1 {
			return 0, 0, refuse(http.StatusBadRequest, 6003, "Invalid value for parameter "+key)
		}
		*to = n
	}
	if size < least || size > most {
		return 0, 0, refuse(http.StatusBadRequest, 6003, fmt.Sprintf("per_page must be between %d and %d", least, most))
	}
	return page, size, nil
}

func paged[T any](list []T, page, size int) *envelope {
	total := len(list)
	from := min((page-1)*size, total)
	part := list[from:min(from+size, total)]
	if part == nil {
		part = []T{}
	}
	out := ok(part)
	out.ResultInfo = &pageInfo{page, size, len(part), total, (total + size - 1) / size}
	return out
}

func (f *Fake) records(z *zone, token *Token, r *http.Request, rest []string) (*envelope, *apiError) {
	write := r.Method != http.MethodGet
	if write && !token.EditDNS || !write && !token.ReadDNS {
		return nil, refuse(http.StatusForbidden, 10000, "Authentication error")
	}
	if len(rest) == 0 && !write {
		return z.list(r.URL.Query())
	}
	if len(rest) == 1 && !write {
		i := f.begin(z).find(rest[0])
		if i < 0 {
			return nil, errMissing
		}
		return ok(z.records[i]), nil
	}
	tx := f.begin(z)
	result, failed := tx.write(r, rest)
	if failed != nil {
		return nil, failed
	}
	tx.commit("api")
	return ok(result), nil
}

func (t *transaction) write(r *http.Request, rest []string) (any, *apiError) {
	single := len(rest) == 1 && rest[0] != "batch"
	if single && r.Method == http.MethodDelete {
		gone, failed := t.remove(rest[0])
		if failed != nil {
			return nil, failed
		}
		return map[string]string{"id": gone.ID}, nil
	}
	if r.Method == http.MethodPost && len(rest) == 1 && rest[0] == "batch" {
		var b batch
		if failed := decode(r.Body, &b); failed != nil {
			return nil, failed
		}
		return t.applied(b)
	}
	var sent fields
	if failed := decode(r.Body, &sent); failed != nil {
		return nil, failed
	}
	switch {
	case r.Method == http.MethodPost && len(rest) == 0:
		return one(t.post(sent))
	case single && r.Method == http.MethodPatch:
		return one(t.patch(rest[0], sent))
	case single && r.Method == http.MethodPut:
		return one(t.put(rest[0], sent))
	}
	return nil, refuse(http.StatusMethodNotAllowed, 10405, "Method not allowed for this authentication scheme")
}

// applied is apply with the result that an answer holds.
func (t *transaction) applied(b batch) (any, *apiError) {
	out, failed := t.apply(b)
	if failed != nil {
		return nil, failed
	}
	return out, nil
}

func one(r *Record, failed *apiError) (any, *apiError) {
	if failed != nil {
		return nil, failed
	}
	return r, nil
}

// decode reads a body that has nothing unknown in it.
func decode(body io.Reader, to any) *apiError {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return badBody(err)
	}
	return nil
}

func (z *zone) list(query url.Values) (*envelope, *apiError) {
	page, size, failed := paging(query, 100, 1, maxPage)
	if failed == nil {
		failed = known(query, "name", "name.exact", "type", "content", "content.exact", "page", "per_page", "order", "direction", "match")
	}
	if failed != nil {
		return nil, failed
	}
	list := []*Record{}
	for _, r := range z.records {
		filters := map[string]string{"name": r.Name, "name.exact": r.Name, "type": r.Type, "content": r.Content, "content.exact": r.Content}
		if len(query) == 0 || matches(query, filters) {
			list = append(list, r)
		}
	}
	return paged(list, page, size), nil
}
