package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExamplesAreValid validates each example in a copy, with the secrets that it
// names.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../../examples/*/config.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("found the examples %v, %v", folders, err)
	}
	for _, file := range folders {
		example := filepath.Dir(file)
		t.Run(filepath.Base(example), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
				t.Fatal(err)
			}
			const key = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
			writeAll(t, dir, map[string]string{"tsig.key": key, "tsig": key})
			w := &world{t: t, dir: dir, config: filepath.Join(dir, "config.yaml"), env: []string{
				"CREDENTIALS_DIRECTORY=" + dir, "TENCENTCLOUD_SECRET_ID=id", "TENCENTCLOUD_SECRET_KEY=key",
				"CLOUDFLARE_API_TOKEN=token", "SLACK_URL=https://hooks.slack.com/services/T0/B0/x", "SIDESTEP_TOKEN=3f1c9a7e5b2d8f604c1e7a9b3d5f8061", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key",
			}}
			if code, out, errOut := w.sidestep("validate"); code != 0 {
				t.Errorf("validate exited with %d:\n%s%s", code, out, errOut)
			}
		})
	}
}
