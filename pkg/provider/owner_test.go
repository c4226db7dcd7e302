package provider

import (
	"slices"
	"testing"

	"sidestep/pkg/record"
)

func TestParseOwners(t *testing.T) {
	const text = "heritage=external-dns,external-dns/owner=k8s,external-dns/resource=ingress/default/web"
	for _, c := range []struct {
		name record.Name
		text string
		want []Owner
	}{
		{"www.example.com.", text, []Owner{{"www.example.com.", "external-dns/k8s"}}},
		{"www.example.com.", `"` + text + `"`, []Owner{{"www.example.com.", "external-dns/k8s"}}},
		{"a-www.example.com.", text, []Owner{{"a-www.example.com.", "external-dns/k8s"}, {"www.example.com.", "external-dns/k8s"}}},
		{"aaaa-www.example.com.", text, []Owner{{"aaaa-www.example.com.", "external-dns/k8s"}, {"www.example.com.", "external-dns/k8s"}}},
		{"cname-www.example.com.", text, []Owner{{"cname-www.example.com.", "external-dns/k8s"}, {"www.example.com.", "external-dns/k8s"}}},
		{"a-.example.com.", text, []Owner{{"a-.example.com.", "external-dns/k8s"}}},
		{"www.example.com.", "v=spf1 -all", nil},
		{"www.example.com.", "heritage=somebody-else,external-dns/owner=k8s", nil},
	} {
		if got := ParseOwners(c.name, c.text); !slices.Equal(got, c.want) {
			t.Errorf("ParseOwners(%s, %q) = %v, want %v", c.name, c.text, got, c.want)
		}
	}
}
