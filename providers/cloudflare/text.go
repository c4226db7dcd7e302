package cloudflare

import (
	"strings"

	"sidestep/pkg/provider"
)

// unquote is the text of a TXT record. Content without quotes, which the API
// keeps as it was sent, is the text itself, and so is what is not well quoted.
func unquote(content string) string {
	if !strings.HasPrefix(content, `"`) {
		return content
	}
	text, err := provider.ParseText(content)
	if err != nil {
		return content
	}
	return text
}
