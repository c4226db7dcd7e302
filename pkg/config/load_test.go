package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// write puts a file into a folder of its own, whatever the umask.
func write(t *testing.T, name, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadRefusesWhatOthersCanWrite(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0o600: "", 0o640: "", 0o644: "", 0o400: "",
		0o660: "others can write the file (mode 0660); chmod go-w it",
		0o602: "others can write the file (mode 0602); chmod go-w it",
		0o666: "others can write the file (mode 0666); chmod go-w it",
	} {
		path := write(t, "c.yaml", small, mode)
		_, err := Load(path, Options{})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != path+": "+want) {
			t.Errorf("mode %04o: Load = %v, want %q", mode, err, want)
		}
	}
}

// owned is a file that belongs to somebody.
type owned struct {
	fs.File
	uid uint32
}

func (o owned) Stat() (fs.FileInfo, error) {
	info, err := o.File.Stat()
	return ownedInfo{info, o.uid}, err
}

type ownedInfo struct {
	fs.FileInfo
	uid uint32
}

func (o ownedInfo) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// files is a world whose files belong to uid.
func files(uid uint32, all fstest.MapFS) Options {
	opts := world()
	opts.UID = func() int { return 1000 }
	opts.Open = func(path string) (fs.File, error) {
		f, err := all.Open(strings.TrimPrefix(path, "/"))
		if err != nil {
			return nil, err
		}
		return owned{f, uid}, nil
	}
	return opts
}

func TestLoadRefusesWhatBelongsToOthers(t *testing.T) {
	for uid, want := range map[uint32]string{
		0:    "",
		1000: "",
		1001: "/c.yaml: the file belongs to user id 1001, neither root nor you (1000); chown it to root or to yourself",
	} {
		opts := files(uid, fstest.MapFS{"c.yaml": {Data: []byte(small), Mode: 0o600}})
		_, err := Load("/c.yaml", opts)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("owner %d: Load = %v, want %q", uid, err, want)
		}
	}
}

func TestLoadSaysWhichFileIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no.yaml")
	_, err := Load(path, Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("Load = %v, want one that names the file and --config", err)
	}
	if _, err := Load(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "read config") {
		t.Errorf("Load of a folder = %v", err)
	}
}

func TestLoadRefusesEndlessFiles(t *testing.T) {
	_, err := readFile(Options{}.withDefaults(), write(t, "c.yaml", small, 0o600), 10)
	if err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("readFile = %v, want an error about its size", err)
	}
}

// signed is a config with one TSIG secret.
func signed(secret string) string {
	return "zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, tsig: {name: k, secret: " + strconv.Quote(secret) + "}}]\n" +
		"checks: {c: {tcp: {port: 22}}}\nrecords: [{name: www, check: c, answers: [192.0.2.1]}]\n"
}

func TestSecretsAreReadFromWhereTheyAre(t *testing.T) {
	opts := files(1000, fstest.MapFS{
		"etc/sidestep/key":       {Data: []byte("from a file\r\n\n"), Mode: 0o600},
		"run/credentials/s/tsig": {Data: []byte(" from systemd \n"), Mode: 0o400},
		"else/where":             {Data: []byte("absolute"), Mode: 0o600},
		"etc/sidestep/empty":     {Data: []byte("\n"), Mode: 0o600},
		"etc/sidestep/huge":      {Data: make([]byte, maxSecret+1), Mode: 0o600},
	})
	opts.Getenv = func(name string) string {
		return map[string]string{"CREDENTIALS_DIRECTORY": "/run/credentials/s", "KEY": "from the environment"}[name]
	}
	for ref, want := range map[string]string{
		"env:KEY":          "from the environment",
		"file:key":         "from a file",
		"file:/else/where": "absolute",
		"credential:tsig":  " from systemd ",
		"literal":          "literal",
		"c2VjcmV0:env":     "c2VjcmV0:env",
	} {
		c := mustParse(t, "t.yaml", signed(ref), opts)
		if got := c.Zones[0].Settings.Secrets["tsig.secret"].Reveal(); got != want {
			t.Errorf("secret %s: %q, want %q", ref, got, want)
		}
	}
	for ref, want := range map[string]string{
		"env:NO":        `the environment variable "NO" is not set`,
		"file:no":       `cannot read the secret file "/etc/sidestep/no": file does not exist`,
		"file:empty":    "the secret from file:empty is empty",
		"file:huge":     "cannot read the secret file",
		"credential:no": `cannot read the secret file "/run/credentials/s/no": file does not exist`,
		"credential:":   `expected a name after credential:, got ""`,
	} {
		if _, err := Parse("t.yaml", []byte(signed(ref)), opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("secret %s: %v, want %q", ref, err, want)
		}
	}
}

func TestSkippedSecretsAreNotRead(t *testing.T) {
	opts := world()
	opts.SkipSecrets = true
	opts.Getenv = func(name string) string { t.Errorf("asked for %s", name); return "" }
	opts.Open = func(path string) (fs.File, error) { t.Errorf("opened %s", path); return nil, fs.ErrNotExist }
	for _, ref := range []string{"env:NO", "file:no", "credential:no", "literal"} {
		c := mustParse(t, "t.yaml", signed(ref), opts)
		if !c.Zones[0].Settings.Secrets["tsig.secret"].Empty() {
			t.Errorf("secret %s was read", ref)
		}
	}
}

// warnings are those of a config that has no canary, apart from that.
func warnings(c *Config) string {
	text := ""
	for _, w := range c.Warnings {
		if w.Key != "canary" {
			text += w.String()
		}
	}
	return text
}

// An etcd that does not hold the lease leaves each host a leader.
func TestEtcdWithoutLeaderWarns(t *testing.T) {
	const etcd = "etcd: {endpoints: [\"http://127.0.0.1:2379\"]}\n"
	for text, want := range map[string]string{
		etcd:                            "without leader the lock is a file of this host, and each host leads; add leader: {lock: etcd}",
		etcd + "leader: {lock: etcd}\n": "",
		etcd + "leader: {lock: file}\n": "",
	} {
		c, err := Load("/c.yaml", files(0, fstest.MapFS{"c.yaml": {Data: []byte(signed("literal") + "\n" + text), Mode: 0o600}}))
		if err != nil {
			t.Fatal(err)
		}
		if got := warnings(c); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s warns %q, expected %q", text, got, want)
		}
	}
}

func TestReadableSecretsWarn(t *testing.T) {
	for _, test := range []struct {
		ref  string
		mode fs.FileMode
		want string
	}{
		{"literal", 0o600, ""},
		{"literal", 0o640, ""},
		{"literal", 0o644, "/c.yaml:1:92: zones[0].tsig.secret: a secret stands in a file that others can read; " + literalHint},
		{"file:/closed", 0o644, ""},
		{"file:/open", 0o600, `/c.yaml:1:92: zones[0].tsig.secret: others can read the secret file "/open"; chmod o-r it`},
	} {
		opts := files(0, fstest.MapFS{
			"c.yaml": {Data: []byte(signed(test.ref)), Mode: test.mode},
			"closed": {Data: []byte("x"), Mode: 0o640},
			"open":   {Data: []byte("x"), Mode: 0o644},
		})
		c, err := Load("/c.yaml", opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := warnings(c); got != test.want {
			t.Errorf("secret %s in a file of mode %04o: warning %q, want %q", test.ref, test.mode, got, test.want)
		}
	}
}

// The adapter of PowerDNS gets the keys of its zone, the default among them.
func TestKeysOfPowerDNS(t *testing.T) {
	const text = `
zones: [{zone: example.com, provider: powerdns, endpoint: "https://pdns.example.net", api_key: "env:KEY"}]
checks: {web: {tcp: {port: 8443}}}
records: [{name: www.example.com, check: web, answers: [203.0.113.10, 203.0.113.20, 203.0.113.30]}]
`
	opts := world()
	opts.Getenv = func(string) string { return "the key" }
	c, err := Parse("sidestep.yaml", []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Zones[0].Settings
	if s.Secrets["api_key"].Reveal() != "the key" || s.Options["server_id"] != "localhost" || s.Options["endpoint"] != "https://pdns.example.net" {
		t.Errorf("got %v and %v", s.Options, s.Secrets["api_key"].Empty())
	}
}

// The adapter of DNSPod gets the keys of its zone, and each line that the records
// name, as they spell it.
func TestKeysOfTencentCloud(t *testing.T) {
	const text = `
zones:
  - {zone: example.com, provider: tencentcloud, secret_id: "env:ID", secret_key: "env:KEY", session_token: "env:TOKEN", edition: international, endpoint: "https://dnspod.example.net"}
  - {zone: example.net, provider: tencentcloud, secret_id: a, secret_key: b}
checks: {web: {tcp: {port: 8443}}}
defaults: {}
records:
  - {name: www.example.com, check: web, answers: [203.0.113.10]}
  - {name: www.example.com, check: web, variant: 电信, answers: [203.0.113.10]}
  - {name: api.example.com, check: web, variant: "10=1", answers: [203.0.113.10]}
  - {name: api.example.com, check: web, variant: 电信, answers: [203.0.113.10]}
`
	opts := world()
	opts.Getenv = func(name string) string { return "the " + name }
	c := mustParse(t, "sidestep.yaml", text, opts)
	s := c.Zones[0].Settings
	for name, want := range map[string]string{"secret_id": "the ID", "secret_key": "the KEY", "session_token": "the TOKEN"} {
		if got := s.Secrets[name].Reveal(); got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if s.Options["edition"] != "international" || s.Options["endpoint"] != "https://dnspod.example.net" || !slices.Equal(s.Variants, []string{"10=1", "电信"}) {
		t.Errorf("got %v, variants %q", s.Options, s.Variants)
	}
	if s := c.Zones[1].Settings; s.Options["edition"] != "china" || s.Variants != nil || !s.Secrets["session_token"].Empty() {
		t.Errorf("got %v, variants %q", s.Options, s.Variants)
	}
	if _, err := Parse("sidestep.yaml", []byte(strings.Replace(text, `secret_key: b`, "", 1)), opts); err == nil || !strings.Contains(err.Error(), "zones[1].secret_key: missing") {
		t.Errorf("without a key: %v", err)
	}
}
