package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// imported is the answer of import: what of a zone can be steered, what is left
// out and why, and the config that says so.
type imported struct {
	Zone     string        `json:"zone"`
	Provider string        `json:"provider"`
	Records  int           `json:"records"` // that the list had, of any type
	Sets     []importedSet `json:"sets"`
	LeftOut  []importedSet `json:"left_out"`
	Unread   []string      `json:"unread"` // records that could not be read as an answer, a line each
	Config   string        `json:"config"`
	Error    string        `json:"error"` // why there is none; empty when there is

	weighted map[record.Key]bool
}

// importedSet is one record set of the zone.
type importedSet struct {
	Name    string           `json:"name"`
	Type    string           `json:"type"`
	Variant string           `json:"variant"`
	Answers []importedAnswer `json:"answers"`
	Why     string           `json:"why,omitempty"` // it is left out

	key record.Key
	ttl time.Duration
}

// importedAnswer is one value of it.
type importedAnswer struct {
	Value  string `json:"value"`
	Weight int    `json:"weight"`
	State  string `json:"state"` // live, paused (by sidestep), held (paused by somebody else)
}

// oneValue is why a set with one value is left out.
const oneValue = "one value: there is nothing to switch to"

// sortZone decides for each set of a zone whether it is imported.
func sortZone(snapshot *provider.Snapshot, name string, weights bool) imported {
	im := imported{
		Zone: string(snapshot.Zone), Provider: name, Records: snapshot.Records, Sets: []importedSet{}, LeftOut: []importedSet{},
		Unread: append([]string{}, snapshot.Skipped...), weighted: map[record.Key]bool{},
	}
	for _, set := range snapshot.Sets {
		s := importedOf(set)
		s.Why = whyLeft(snapshot, set)
		if s.Why != "" {
			im.LeftOut = append(im.LeftOut, s)
			continue
		}
		im.weighted[set.Key] = weights && s.uneven()
		im.Sets = append(im.Sets, s)
	}
	for _, f := range snapshot.Fixed {
		im.LeftOut = append(im.LeftOut, importedSet{
			Name: string(f.Key.Name), Type: string(f.Key.Type), Variant: f.Key.Variant, Answers: []importedAnswer{}, Why: f.What, key: f.Key,
		})
	}
	slices.SortStableFunc(im.LeftOut, func(a, b importedSet) int { return a.key.Compare(b.key) })
	return im
}

func importedOf(set record.Set) importedSet {
	s := importedSet{Name: string(set.Key.Name), Type: string(set.Key.Type), Variant: set.Key.Variant, key: set.Key}
	for _, a := range set.Answers {
		state := "held"
		switch {
		case a.Live:
			state = "live"
		case a.Paused && !a.Held:
			state = "paused"
		}
		s.Answers = append(s.Answers, importedAnswer{a.Value, a.Weight, state})
		if a.Live || s.ttl == 0 {
			s.ttl = a.TTL
		}
	}
	return s
}

// uneven reports whether the values that are imported have several weights.
func (s importedSet) uneven() bool {
	weights := map[int]bool{}
	for _, a := range s.Answers {
		if a.State != "held" {
			weights[a.Weight] = true
		}
	}
	return len(weights) > 1
}

// whyLeft is why a set is left out; empty for one that is imported.
func whyLeft(snapshot *provider.Snapshot, set record.Set) string {
	own := 0
	for _, a := range set.Answers {
		if a.Live || a.Paused && !a.Held {
			own++
		}
	}
	for _, o := range snapshot.Owners {
		if o.Name == set.Key.Name {
			return "claimed by " + o.Owner + ", which would write beside sidestep"
		}
	}
	for _, cut := range snapshot.Delegations {
		if cut != snapshot.Zone && set.Key.Name.In(cut) {
			return "below the delegation of " + string(cut) + ", so others answer for it"
		}
	}
	switch {
	case own < 2:
		return oneValue
	case set.Key.Type.Single():
		return "an alias with a parked value: to steer it, say in which order"
	}
	return ""
}

// configText writes the config of what was sorted.
func (im imported) configText(entry []byte, port int, now time.Time, command string) string {
	var out strings.Builder
	fmt.Fprintf(&out, importHead, im.Zone, im.Provider, now.UTC().Format(time.RFC3339),
		plural(im.Records, "record", "records"), plural(len(im.Sets), "name and type with several values is", "names and types with several values are"),
		command)
	fmt.Fprintf(&out, "\nzones:\n%s\nchecks:\n", indent(string(entry), "  "))
	fmt.Fprintf(&out, importCheck, port, strings.TrimSuffix(im.Zone, "."), port)
	out.WriteString("\nrecords:\n")
	for _, s := range im.Sets {
		im.writeSet(&out, s)
	}
	im.writeLeftOut(&out)
	return out.String()
}

const importHead = `# The zone %[1]s at %[2]s as it was at %[3]s: %[4]s in all,
# and %[5]s below. Nothing was changed there.
#
# Before sidestep writes:
#
#   1. The check is a guess, made without a probe: see what is said of it below.
#   2. sidestep validate --online   is all of it right?
#   3. sidestep check               what do the probes see? A name that serves
#                                   something else needs a check of its own.
#   4. sidestep plan                in sync while every value passes its check
#   5. sidestep run --read-only     for a week; its log says what it would write
#
# Made by: %[6]s
`

const importCheck = `  # A guess: a connection to port %[1]d. That says that something listens there, and
  # not that it works. Better is a request, dialled at each value:
  #
  #   web: {http: {url: "https://www.%[2]s/healthz"}}
  #
  # Names that serve something else need another one, such as
  #
  #   smtp: {tcp: {port: 25, expect: "^220 "}}
  web: {tcp: {port: %[1]d}}
`

func (im imported) writeSet(out *strings.Builder, s importedSet) {
	weighted := im.weighted[s.key]
	fmt.Fprintf(out, "  - name: %s\n", yamlText(s.key.Name.Unrooted()))
	if s.Variant != "" {
		fmt.Fprintf(out, "    variant: %s\n", yamlText(s.Variant))
	}
	if weighted {
		out.WriteString("    policy: weighted\n")
	}
	out.WriteString("    check: web\n")
	ttl := fmt.Sprintf("# ttl %ds, as it is", int(s.ttl/time.Second))
	if values, plain := s.plain(); plain && !weighted {
		fmt.Fprintf(out, "    answers: [%s] %s\n", strings.Join(values, ", "), ttl)
		return
	}
	fmt.Fprintf(out, "    answers: %s\n", ttl)
	for _, a := range s.Answers {
		writeAnswer(out, a, weighted)
	}
}

// plain are the values of a set of which nothing else is to be said.
func (s importedSet) plain() (values []string, plain bool) {
	for _, a := range s.Answers {
		if a.State != "live" {
			return nil, false
		}
		values = append(values, yamlText(a.Value))
	}
	return values, true
}

func writeAnswer(out *strings.Builder, a importedAnswer, weighted bool) {
	text := yamlText(a.Value)
	if weighted {
		text = fmt.Sprintf("{value: %s, weight: %d}", text, a.Weight)
	}
	switch a.State {
	case "held":
		fmt.Fprintf(out, "      # - %s   paused at the provider, and not by sidestep: name it here to see it as held\n", text)
	case "paused":
		fmt.Fprintf(out, "      - %s # paused by sidestep: comes back when its check passes\n", text)
	default:
		fmt.Fprintf(out, "      - %s\n", text)
	}
}

// writeLeftOut keeps what is not steered as comments.
func (im imported) writeLeftOut(out *strings.Builder) {
	if len(im.LeftOut)+len(im.Unread) == 0 {
		return
	}
	out.WriteString("\n# Left out. A name with one value becomes worth steering with a second one:\n#\n")
	out.WriteString("#   - {name: NAME, policy: priority, check: web, answers: [FIRST, SECOND]}\n#\n")
	for _, s := range im.LeftOut {
		fmt.Fprintf(out, "# %s: %s\n", oneLine(setWords(s.Name, s.Type, s.Variant)), oneLine(s.words()))
	}
	for _, line := range im.Unread {
		fmt.Fprintf(out, "# not steered: %s\n", oneLine(line))
	}
}

// words are the values of a set that is left out, and why it is.
func (s importedSet) words() string {
	if len(s.Answers) == 0 {
		return s.Why
	}
	var words []string
	for _, a := range s.Answers {
		word := a.Value
		if a.State != "live" {
			word += " (" + a.State + ")"
		}
		words = append(words, word)
	}
	text := strings.Join(words, ", ")
	if s.Why != oneValue {
		text += "; " + s.Why
	}
	return text
}

// oneLine keeps what comes from a zone inside its comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || !inYAML(r) {
			return ' '
		}
		return r
	}, text)
}

// inYAML reports whether a character may stand in a YAML file as it is, and ends
// no line of it (YAML 1.2 section 5.1).
func inYAML(r rune) bool {
	switch {
	case r == 0x2028, r == 0x2029, r == 0xfeff:
		return false
	case r < 0x7f:
		return r >= ' ' || r == '\t'
	}
	return 0xa0 <= r && r <= 0xd7ff || 0xe000 <= r && r <= 0xfffd || r > 0xffff
}

// plainText is what needs no quotes in YAML, in a list of values neither.
var plainText = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*\.[a-z0-9.-]*[a-z0-9]$`)

// yamlText writes a text as YAML; JSON's texts are YAML's.
func yamlText(text string) string {
	if plainText.MatchString(text) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a text has a form in JSON
		return `""`
	}
	var out strings.Builder
	for _, r := range string(quoted) {
		if inYAML(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func indent(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + line)
	}
	return out.String()
}
