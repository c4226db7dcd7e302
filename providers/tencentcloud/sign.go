package tencentcloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// The words of the signature, of the page "Signature Method v3" in the vendor's
// documentation.
const (
	algorithm     = "TC3-HMAC-SHA256"
	service       = "dnspod"
	terminator    = "tc3_request"
	signedHeaders = "content-type;host;x-tc-action"
	contentType   = "application/json; charset=utf-8"
)

// credential is what signs.
type credential struct {
	id, key, token provider.Secret
}

// sign finishes a request whose body is payload, as of now. Action and content
// type are in its headers; the host that is signed is the one that it is sent to.
func (c credential) sign(r *http.Request, payload []byte, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("X-TC-Timestamp", stamp)
	if !c.token.Empty() {
		r.Header.Set("X-TC-Token", c.token.Reveal())
	}
	canonical := strings.Join([]string{
		r.Method, r.URL.EscapedPath(), r.URL.RawQuery,
		"content-type:" + r.Header.Get("Content-Type"),
		"host:" + r.URL.Host,
		"x-tc-action:" + strings.ToLower(r.Header.Get("X-TC-Action")),
		"", signedHeaders, digest(payload),
	}, "\n")
	day := now.UTC().Format(time.DateOnly)
	scope := day + "/" + service + "/" + terminator
	text := strings.Join([]string{algorithm, stamp, scope, digest([]byte(canonical))}, "\n")
	key := []byte("TC3" + c.key.Reveal())
	for _, part := range []string{day, service, terminator} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+c.id.Reveal()+"/"+scope+
		", SignedHeaders="+signedHeaders+", Signature="+hex.EncodeToString(mac(key, text)))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// said makes a text of the API fit for an error.
func (a *Adapter) said(text string) string {
	return httpapi.Foreign(text, a.credential.key, a.credential.token, a.credential.id)
}
