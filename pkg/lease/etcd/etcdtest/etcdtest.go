package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"sidestep/pkg/provider/providertest/realserver"
)

// Options are how members are run. The zero value is one member without TLS.
type Options struct {
	Members  int    // 1 when it is 0
	Cert     string // PEM file with the certificate for clients; empty for no TLS
	Key      string // PEM file with its key
	ClientCA string // PEM file: clients have to show a certificate that it signed
}

// Cluster is some members that know each other.
type Cluster struct {
	Members []*Member

	scheme string
}

// Member is one process of etcd.
type Member struct {
	*realserver.Process

	t testing.TB
}

// Start runs members until the test ends, and waits until they have a leader,
// unless clients need a certificate.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	program := Program(t)
	c := &Cluster{scheme: "http"}
	if options.Cert != "" {
		c.scheme = "https"
	}
	peers, names := []string{}, []string{}
	for i := range max(1, options.Members) {
		peers = append(peers, "http://"+realserver.FreeAddr(t))
		names = append(names, fmt.Sprintf("m%d=%s", i+1, peers[i]))
	}
	for i := range peers {
		c.Members = append(c.Members, &Member{t: t, Process: realserver.Start(t, realserver.Program{
			Name: program,
			Configure: func(dir, addr string) ([]string, error) {
				return []string{
					"-name", fmt.Sprintf("m%d", i+1), "-dir", filepath.Join(dir, "data"), "-client", c.scheme + "://" + addr,
					"-peer", peers[i], "-cluster", strings.Join(names, ","),
					"-cert", options.Cert, "-key", options.Key, "-client-ca", options.ClientCA,
				}, nil
			},
			Ready: func(ctx context.Context, addr string) bool {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				return err == nil && conn.Close() == nil
			},
		})})
	}
	if c.scheme == "http" {
		c.wait(t)
	}
	return c
}

// wait asks until the cluster answers.
func (c *Cluster) wait(t testing.TB) {
	t.Helper()
	client := c.Client(t)
	defer func() { _ = client.Close() }()
	end := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := client.Get(ctx, "ready")
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("etcd does not answer: %v\n%s", err, c.Members[0].Log())
		}
	}
}

// Endpoints are the URLs of the members.
func (c *Cluster) Endpoints() []string {
	var urls []string
	for _, m := range c.Members {
		urls = append(urls, c.scheme+"://"+m.Addr)
	}
	return urls
}

// Client is a client of a cluster without TLS and users, to be closed.
func (c *Cluster) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Put puts a key.
func (c *Cluster) Put(t testing.TB, key, value string) {
	t.Helper()
	client := c.Client(t)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Put(ctx, key, value); err != nil {
		t.Fatal(err)
	}
}

// Users switches authentication on: root has the password "root", and a user may
// read and write below a prefix.
func (c *Cluster) Users(t testing.TB, user, password, prefix string) {
	t.Helper()
	client := c.Client(t)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, root := client.UserAdd(ctx, "root", "root")
	_, rootRole := client.UserGrantRole(ctx, "root", "root")
	_, added := client.UserAdd(ctx, user, password)
	_, role := client.RoleAdd(ctx, user)
	_, granted := client.RoleGrantPermission(ctx, user, prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
	_, has := client.UserGrantRole(ctx, user, user)
	_, on := client.AuthEnable(ctx)
	if err := errors.Join(root, rootRole, added, role, granted, has, on); err != nil {
		t.Fatalf("switch authentication on: %v", err)
	}
}

// BuildAnew ends the members, and starts them from nothing at the same addresses: the
// id of the cluster, which follows from these, is the same, and revisions begin
// again.
func (c *Cluster) BuildAnew(t testing.TB) {
	t.Helper()
	for _, m := range c.Members {
		m.Kill()
		if err := os.RemoveAll(filepath.Join(m.Dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range c.Members {
		m.Restart()
	}
	c.wait(t)
}

// Grow counts the revision on.
func (c *Cluster) Grow(t testing.TB, by int) {
	t.Helper()
	client := c.Client(t)
	defer func() { _ = client.Close() }()
	for range by {
		if _, err := client.Put(t.Context(), "grow", ""); err != nil {
			t.Fatal(err)
		}
	}
}

// Pause lets the member stand still (SIGSTOP); its connections stay open.
func (m *Member) Pause() { m.Signal(m.t, syscall.SIGSTOP) }

// Resume ends a Pause.
func (m *Member) Resume() { m.Signal(m.t, syscall.SIGCONT) }

// program is where the server was built to, once for each test binary.
var program = sync.OnceValues(func() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built := filepath.Join(dir, "etcdserver")
	module := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "providers", "conformance")
	command := exec.Command("go", "build", "-C", module, "-o", built, "./etcdserver")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	// Nobody tells a package that its tests are over. So the file is removed now,
	// and lives on for as long as this process has it open.
	open, err := syscall.Open(built, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), open), nil
})

// Program is the path of a member's program, for whoever runs it in another way; it
// is there for as long as this process is.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("build the etcd of the tests: %v", err)
	}
	return path
}
