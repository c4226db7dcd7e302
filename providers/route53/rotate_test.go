package route53

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/providers/route53/route53test"
)

// shared is a file of AWS credentials, in whose profile dns a key is.
type shared struct {
	testing.TB
	path string
}

func newShared(t *testing.T) shared {
	s := shared{t, filepath.Join(t.TempDir(), "credentials")}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", s.path)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	return s
}

func (s shared) put(key string) {
	s.Helper()
	s.write(fmt.Sprintf("[dns]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key, route53test.SecretKey))
}

func (s shared) write(text string) {
	s.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// TestCase74SharedFileIsReadAgain: the key of ~/.aws/credentials is deleted at AWS
// while the daemon runs, in each way that AWS says so, and another is put into the
// file. The next call goes out with that one, and no call was repeated.
func TestCase74SharedFileIsReadAgain(t *testing.T) {
	for name, refuse := range map[string]string{"deleted": "", "expired": "ExpiredToken", "without rights": "AccessDenied", "wrong secret": "SignatureDoesNotMatch"} {
		t.Run(name, func(t *testing.T) {
			file := newShared(t)
			f := route53test.Start(t, route53test.Options{})
			s := settings(f)
			s.Secrets, s.Options["profile"] = nil, "dns"
			a := connect(t, s)
			file.put(route53test.AccessKey)
			list(t, a)
			if refuse == "" {
				refuse = "InvalidClientTokenId"
			}
			f.Server.Arm(route53test.Reads, 0, route53test.Refuse(403, refuse, "no"))
			before := a.way
			_, err := a.List(t.Context())
			fails(t, err, provider.Permanent, refuse)
			file.put("AKIASOMEBODYELSE")
			if a.way == before {
				t.Error("the key before is still in use")
			}
			_, err = a.List(t.Context())
			fails(t, err, provider.Permanent, "InvalidClientTokenId")
			file.put(route53test.AccessKey)
			list(t, a)
		})
	}
}

// A reload takes a key up before the one in use is refused; a file that cannot be
// read takes nothing away, and a key of the config has nothing to do with it.
func TestRenewReadsTheSharedFile(t *testing.T) {
	file := newShared(t)
	f := route53test.Start(t, route53test.Options{})
	given := connect(t, settings(f))
	s := settings(f)
	s.Secrets, s.Options["profile"] = nil, "dns"
	a := connect(t, s)
	file.put(route53test.AccessKey)
	list(t, a)
	file.write("[dn")
	if err := a.Renew(); err == nil {
		t.Error("a broken file is taken up")
	}
	list(t, a)
	file.put("AKIASOMEBODYELSE")
	list(t, a)
	for _, adapter := range []*Adapter{a, given} {
		if err := adapter.Renew(); err != nil {
			t.Error(err)
		}
	}
	_, err := a.List(t.Context())
	fails(t, err, provider.Permanent, "InvalidClientTokenId")
	list(t, given)
}
