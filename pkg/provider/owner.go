package provider

import (
	"strings"

	"sidestep/pkg/record"
)

// ParseOwners reads the TXT record by which external-dns claims a name, and
// lists the names that it may mean: the record's own, and, as the registry puts
// the type in front since external-dns 0.12 ("a-www" for the A set of "www"),
// the one behind that prefix. Any other text claims nothing.
func ParseOwners(name record.Name, text string) []Owner {
	fields := map[string]string{}
	for part := range strings.SplitSeq(strings.Trim(text, `"`), ",") {
		if key, value, found := strings.Cut(strings.TrimSpace(part), "="); found {
			fields[key] = value
		}
	}
	if fields["heritage"] != "external-dns" {
		return nil
	}
	owner := "external-dns/" + fields["external-dns/owner"]
	owners := []Owner{{Name: name, Owner: owner}}
	for _, prefix := range []string{"a-", "aaaa-", "cname-"} {
		if rest, found := strings.CutPrefix(string(name), prefix); found && rest != "" && rest[0] != '.' {
			owners = append(owners, Owner{Name: record.Name(rest), Owner: owner})
		}
	}
	return owners
}
