package route53test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([A-Za-z0-9]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9]+)/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{64}$`)

// roleKey is the access key of the session that STS gives, roleToken its token.
const (
	roleKey   = "ASIASIDESTEPTEST0002"
	roleToken = "token-of-the-role"
)

// signed refuses what AWS would not take as signed by the account.
func (f *Fake) signed(r *http.Request) *refusal {
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		return &refusal{http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	}
	token := r.Header.Get("X-Amz-Security-Token")
	switch {
	case parts[1] == roleKey && f.role:
		if token != roleToken {
			return &refusal{http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."}
		}
	case parts[1] != AccessKey || token != f.options.Token:
		return &refusal{http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid."}
	}
	if parts[4] != "route53" || !strings.Contains(parts[5], "host") || !strings.Contains(parts[5], "x-amz-date") {
		return &refusal{http.StatusForbidden, "SignatureDoesNotMatch", "Credential should be scoped to correct service: 'route53'."}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return &refusal{http.StatusForbidden, "IncompleteSignature", "Date must be in ISO-8601 'basic format'"}
	}
	now, stamp := f.now().UTC(), func(t time.Time) string { return t.Format("20060102T150405Z") }
	switch age := now.Sub(at); {
	case age > 5*time.Minute:
		return &refusal{http.StatusForbidden, "SignatureDoesNotMatch", fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 5 min.)", stamp(at), stamp(now.Add(-5*time.Minute)), stamp(now))}
	case age < -5*time.Minute:
		return &refusal{http.StatusForbidden, "SignatureDoesNotMatch", fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 5 min.)", stamp(at), stamp(now.Add(5*time.Minute)), stamp(now))}
	}
	return nil
}

// assumeRole is the one call of STS that is known.
func (f *Fake) assumeRole(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "AssumeRole" || r.Form.Get("RoleArn") == "" {
		f.refuse(w, http.StatusBadRequest, "InvalidAction", "Could not find operation "+r.Form.Get("Action"))
		return
	}
	f.role = true
	f.write(w, http.StatusOK, fmt.Sprintf(`<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>`+
		`<AccessKeyId>%s</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/x/sidestep</Arn><AssumedRoleId>AROA:sidestep</AssumedRoleId></AssumedRoleUser>`+
		`</AssumeRoleResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></AssumeRoleResponse>`,
		roleKey, roleToken, f.now().Add(time.Hour).UTC().Format(time.RFC3339), requestID))
}
