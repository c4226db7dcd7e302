package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const movingFile = "../../examples/moving-from.md"

func movingPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(movingFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfigsOfMovingFrom validates each config of the page: what it has on top,
// unless it has a zone of its own, and itself.
func TestConfigsOfMovingFrom(t *testing.T) {
	t.Setenv("CLOUDFLARE_API_TOKEN", "token")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "key")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(movingPage(t), -1)
	if len(blocks) != 5 {
		t.Fatalf("the page has %d configs, want 5", len(blocks))
	}
	for number, block := range blocks[1:] {
		text := block[1]
		if !strings.HasPrefix(text, "zones:") {
			text = blocks[0][1] + text
		}
		dir := shortDir(t)
		writeAll(t, dir, map[string]string{"sidestep.yaml": text})
		code, out, errOut := sidestepIn(t, dir, "validate", "--config", "sidestep.yaml")
		if code != 0 || strings.Contains(out, "warning") || errOut != "" {
			t.Errorf("config %d: validate exited with %d:\n%s%s", number+1, code, out, errOut)
		}
	}
}

// TestMovingFromNamesWhatIsThere looks up the keys, commands and files of the page.
func TestMovingFromNamesWhatIsThere(t *testing.T) {
	text := movingPage(t)
	for _, word := range []string{
		"requiredSuccess", "requiredFailure", "accessPeriod", "wanAccess", "onlyNew", "noResponse", "drCond", "drIfNoRecords", "fallbackRecords",
	} {
		if !strings.Contains(text, "| "+word+" |") {
			t.Errorf("the page has no row for %s", word)
		}
	}
	reference, err := os.ReadFile(filepath.Join(root, "pkg/config/CONFIG.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| .* \| (.*) \|$`).FindAllStringSubmatch(text, -1) {
		for _, key := range regexp.MustCompile("`([a-z_]+)(?::[^`]*)?`").FindAllStringSubmatch(row[1], -1) {
			if key[1] != "not" && !regexp.MustCompile("[.`]"+key[1]+"`").Match(reference) {
				t.Errorf("CONFIG.md has no key %s", key[1])
			}
		}
	}
	for _, command := range regexp.MustCompile("`sidestep ([a-z]+)").FindAllStringSubmatch(text, -1) {
		if code, _, errOut := sidestepIn(t, t.TempDir(), "help", command[1]); code != 0 {
			t.Errorf("sidestep %s: %s", command[1], errOut)
		}
	}
	for _, flag := range [][2]string{{"check", "--fail"}, {"plan", "--exit-code"}, {"run", "--read-only"}, {"drain", "--for"}, {"freeze", "--reason"}} {
		_, out, _ := sidestepIn(t, t.TempDir(), flag[0], "--help")
		if !strings.Contains(out, flag[1]) || !strings.Contains(text, fmt.Sprintf("sidestep %s", flag[0])) {
			t.Errorf("sidestep %s has no %s", flag[0], flag[1])
		}
	}
	for _, file := range quotedFile.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, file[1])); err != nil {
			t.Error(err)
		}
	}
}
