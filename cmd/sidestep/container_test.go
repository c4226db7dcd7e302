package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/lease/etcd/etcdtest"
)

const containerfile = "../../deploy/container/Containerfile"

// image is the last stage of the Containerfile: what there is to run.
type image struct {
	copies              [][2]string // from, to
	user, path          string
	entrypoint, command []string
}

// readImage reads the instructions of the Containerfile, strictly: nothing builds
// it here, as that takes a registry.
func readImage(t *testing.T) (build []string, final image) {
	t.Helper()
	text, err := os.ReadFile(containerfile)
	if err != nil {
		t.Fatal(err)
	}
	stages := 0
	for line := range strings.Lines(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(text), "")) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case word == "FROM":
			if stages++; stages == 2 && rest != "scratch" {
				t.Errorf("the last stage is FROM %s, want scratch", rest)
			}
		case stages < 2:
			build = append(build, line)
		case word == "COPY":
			fields := strings.Fields(strings.Replace(rest, "--chown=65532:65532 ", "", 1))
			if len(fields) != 3 || fields[0] != "--from=build" {
				t.Fatalf("cannot read %q", line)
			}
			final.copies = append(final.copies, [2]string{fields[1], fields[2]})
		case word == "USER":
			final.user = rest
		case word == "ENV":
			final.path = rest
		case word == "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &final.entrypoint)
		case word == "CMD":
			err = json.Unmarshal([]byte(rest), &final.command)
		case word != "VOLUME":
			t.Fatalf("line %q: a stage without a shell has no such instruction", line)
		}
		if err != nil {
			t.Fatalf("line %q is not in the form without a shell: %v", line, err)
		}
	}
	if stages != 2 {
		t.Fatalf("the Containerfile has %d stages, want 2", stages)
	}
	return build, final
}

// TestContainerfileBuildsWhatMakeDoes holds the first stage to copy what the build
// needs, and to stamp it.
func TestContainerfileBuildsWhatMakeDoes(t *testing.T) {
	build, final := readImage(t)
	for _, line := range build {
		fields := strings.Fields(line)
		if fields[0] != "COPY" {
			continue
		}
		for _, name := range fields[1 : len(fields)-1] {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
	}
	want := `RUN make build VERSION="$VERSION" BUILT="$SOURCE_DATE_EPOCH" && mkdir -p /empty`
	if last := build[len(build)-1]; last != want {
		t.Errorf("it builds by %q, want %q", last, want)
	}
	if final.user != "65532:65532" || !slices.Equal(final.entrypoint, []string{"/usr/bin/sidestep"}) {
		t.Errorf("it runs %q as %q", final.entrypoint, final.user)
	}
}

const containedConfig = `node: {name: mon-1}
zones: [{zone: example.com, provider: local, file: /var/lib/sidestep/example.com.zone, listen: ""}]
checks: {web: {tcp: {port: 9}}}
records: [{name: www.example.com, check: web, answers: [127.0.0.1]}]
`

// packageContained puts together by hand what the last stage of the Containerfile
// has, with the binary of the package, and runs it as the image would: alone, as
// nobody in particular.
func packageContained(t *testing.T, deb string) {
	if os.Geteuid() != 0 && os.Getenv("SIDESTEP_TEST_REAL") != "require" {
		t.Skip("needs root, to change the root directory")
	}
	_, final := readImage(t)
	unpacked, dir := t.TempDir(), t.TempDir()
	mustRun(t, "dpkg-deb", "-x", deb, unpacked)
	for _, c := range final.copies {
		assemble(t, unpacked, dir, c[0], c[1])
	}
	id, err := strconv.Atoi(strings.Split(final.user, ":")[0])
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, filepath.Join(dir, "var/lib/sidestep"), map[string]string{"example.com.zone": bootZone})
	if err := os.MkdirAll(filepath.Join(dir, "etc/sidestep"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "etc/sidestep/sidestep.yaml")
	if err := os.WriteFile(config, []byte(containedConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"run/sidestep", "var/lib/sidestep", "var/lib/sidestep/example.com.zone"} {
		if err := os.Chown(filepath.Join(dir, file), id, id); err != nil {
			t.Fatal(err)
		}
	}
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.Command(final.entrypoint[0], args...)
		cmd.Dir, cmd.Env = "/", []string{final.path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
		return cmd
	}
	daemon := inside(final.command...)
	log := &strings.Builder{}
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill() })
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		out, err := inside("status").Output()
		if err == nil && strings.HasPrefix(string(out), "node mon-1, leader") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("status: %v: %s", err, out)
		}
	}
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, log)
	}
}

// assemble carries out one COPY.
func assemble(t *testing.T, unpacked, dir, from, to string) {
	t.Helper()
	to = filepath.Join(dir, to)
	var err error
	switch from {
	case "/empty":
		err = os.MkdirAll(to, 0o755)
	case "/src/bin/sidestep":
		err = os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.Rename(filepath.Join(unpacked, "usr/bin/sidestep"), to)
		}
	case "/etc/ssl/certs/ca-certificates.crt": // in the image of Go; nothing here asks for it
	default:
		err = fmt.Errorf("the first stage has no %s", from)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestContainerConfigs validates the configs that are shipped for containers, with
// secrets of the test's own.
func TestContainerConfigs(t *testing.T) {
	t.Setenv("CLOUDFLARE_API_TOKEN", "token")
	manifest, err := os.ReadFile(filepath.Join(root, "deploy/kubernetes/sidestep.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	single, err := os.ReadFile(filepath.Join(root, "deploy/container/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(single), "node: {name:") {
		t.Error("the config of a container has no node.name")
	}
	dir := shortDir(t)
	certificate := etcdtest.Certificate(t)
	pair := strings.ReplaceAll(between(t, string(manifest), "  sidestep.yaml: |", "---"), "\n    ", "\n")
	pair = strings.NewReplacer(
		"/run/secrets/sidestep/etcd-ca.crt", certificate.Cert, "/run/secrets/sidestep/etcd.crt", certificate.Cert,
		"/run/secrets/sidestep/etcd.key", certificate.Key, "/run/secrets/sidestep/cloudflare-token", filepath.Join(dir, "token"),
	).Replace(strings.TrimPrefix(pair, "    "))
	writeAll(t, dir, map[string]string{"token": "token\n", "single.yaml": string(single), "pair.yaml": pair})
	for _, name := range []string{"single.yaml", "pair.yaml"} {
		code, out, errOut := sidestepIn(t, dir, "validate", "--config", name)
		if code != 0 || strings.Contains(out, "warning") || errOut != "" {
			t.Errorf("validate %s exited with %d:\n%s%s", name, code, out, errOut)
		}
	}
}
