package httpapi

import (
	"strings"
	"unicode"

	"sidestep/pkg/provider"
)

// maxForeign bounds what of a text of somebody else goes into an error, in bytes:
// a few sentences, and never a page.
const maxForeign = 500

// Foreign makes a text that came over the network fit for an error, which goes to
// a log and to a terminal: one line, nothing that a terminal would act on, at
// most a few sentences, and without the credentials, which some servers repeat.
// It is given the whole text: one that was cut could end in a part of a
// credential.
func Foreign(text string, secrets ...provider.Secret) string {
	for _, s := range secrets {
		if !s.Empty() {
			text = strings.ReplaceAll(text, s.Reveal(), s.String())
		}
	}
	text = strings.Join(strings.FieldsFunc(text, unseen), " ")
	if len(text) > maxForeign {
		text = strings.ToValidUTF8(text[:maxForeign], "") + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

func unseen(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }
