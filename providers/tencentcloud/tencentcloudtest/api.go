package tencentcloudtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// namesOf are the names by which the API knows the domain.
func namesOf(o Options) []string {
	ascii := strings.TrimSuffix(o.Zone, ".")
	text, err := idna.ToUnicode(ascii)
	switch {
	case err != nil || text == ascii:
		return []string{ascii}
	case o.Unicode:
		return []string{text}
	}
	return []string{ascii, text}
}

// failure is an error of the API.
type failure struct{ code, message string }

func (e *failure) Error() string { return e.code + ": " + e.message }

func fail(code, format string, args ...any) error {
	return &failure{code, fmt.Sprintf(format, args...)}
}

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	fields, err := f.handle(r, body)
	now := f.options.Now()
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	var failed *failure
	switch {
	case errors.As(err, &failed):
		_, _ = io.WriteString(w, refusal(failed.code, failed.message))
	case err != nil:
		_, _ = io.WriteString(w, refusal("InternalError", err.Error()))
	default:
		_, _ = io.WriteString(w, encode(fields))
	}
}

func (f *Fake) handle(r *http.Request, body []byte) (map[string]any, error) {
	f.calls++
	if r.Method != http.MethodPost || r.URL.Path != "/" {
		return nil, fail("UnsupportedProtocol", "expected POST /, got %s %s", r.Method, r.URL.Path)
	}
	if err := f.authenticate(r, body); err != nil {
		return nil, err
	}
	if version := r.Header.Get("X-TC-Version"); version != "2021-03-23" {
		return nil, fail("NoSuchVersion", "the API has no version %q", version)
	}
	name := r.Header.Get("X-TC-Action")
	action, known := f.actions()[name]
	if !known {
		return nil, fail("InvalidAction", "The request action=`%s` is invalid.", name)
	}
	return action(body)
}

// authenticate checks the signature ("Signature Method v3").
func (f *Fake) authenticate(r *http.Request, body []byte) error {
	rest, found := strings.CutPrefix(r.Header.Get("Authorization"), "TC3-HMAC-SHA256 ")
	if !found {
		return fail("AuthFailure.InvalidAuthorization", "the Authorization header is missing or of another algorithm")
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ", ") {
		key, value, _ := strings.Cut(part, "=")
		parts[key] = value
	}
	id, scope, _ := strings.Cut(parts["Credential"], "/")
	stamp, err := strconv.ParseInt(r.Header.Get("X-TC-Timestamp"), 10, 64)
	if err != nil {
		return fail("AuthFailure.SignatureFailure", "X-TC-Timestamp is missing")
	}
	at := time.Unix(stamp, 0).UTC()
	switch {
	case id != SecretID:
		return fail("AuthFailure.SecretIdNotFound", "The SecretId is not found, please ensure that your SecretId is correct.")
	case f.options.Now().Sub(at).Abs() > 5*time.Minute:
		return fail("AuthFailure.SignatureExpire", "The provided credentials could not be validated because of exceeding the time range of 5 minutes.")
	case scope != at.Format(time.DateOnly)+"/dnspod/tc3_request":
		return fail("AuthFailure.SignatureFailure", "the credential scope %q is not that of the request", scope)
	case r.Header.Get("X-TC-Token") != f.options.Token:
		return fail("AuthFailure.TokenFailure", "The token is invalid.")
	case !hmac.Equal([]byte(parts["Signature"]), []byte(signature(r, body, parts["SignedHeaders"], stamp, scope))):
		return fail("AuthFailure.SignatureFailure", "The provided credentials could not be validated. Please check your signature is correct.")
	}
	signed := strings.Split(parts["SignedHeaders"], ";")
	if !slices.Contains(signed, "host") || !slices.Contains(signed, "content-type") {
		return fail("AuthFailure.SignatureFailure", "content-type and host have to be signed")
	}
	return nil
}

// signature is written from the vendor's page, apart from the adapter's.
func signature(r *http.Request, body []byte, signed string, stamp int64, scope string) string {
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "POST\n%s\n%s\n", (&url.URL{Path: r.URL.Path}).EscapedPath(), r.URL.RawQuery)
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.ToLower(strings.TrimSpace(value)))
	}
	fmt.Fprintf(&canonical, "\n%s\n%x", signed, sha256.Sum256(body))
	text := fmt.Sprintf("TC3-HMAC-SHA256\n%d\n%s\n%x", stamp, scope, sha256.Sum256([]byte(canonical.String())))
	key := []byte("TC3" + SecretKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	return hex.EncodeToString(keyed(key, text))
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// params decodes the parameters of an action, and knows all of them.
func params(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var mistyped *json.UnmarshalTypeError
	err := d.Decode(into)
	switch {
	case errors.As(err, &mistyped):
		return fail("InvalidParameter", "The value type of parameter `%s` is not valid.", mistyped.Field)
	case err != nil && strings.Contains(err.Error(), "unknown field"):
		return fail("UnknownParameter", "%v", err)
	case err != nil || d.More():
		return fail("InvalidParameter", "The request body is no JSON object.")
	}
	return nil
}

func missing(name string) error {
	return fail("MissingParameter", "The request is missing a required parameter `%s`.", name)
}
