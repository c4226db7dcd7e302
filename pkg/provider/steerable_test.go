package provider

import (
	"testing"

	"sidestep/pkg/record"
)

func TestSteerable(t *testing.T) {
	const zone = record.Name("example.com.")
	for _, row := range []struct {
		key      record.Key
		variants bool
		ok       bool
	}{
		{key: record.Key{Zone: zone, Name: "www.example.com.", Type: record.A}, ok: true},
		{key: record.Key{Zone: zone, Name: zone, Type: record.CNAME}, ok: true},
		{key: record.Key{Zone: zone, Name: "www.example.com.", Type: record.A, Variant: "eu"}, variants: true, ok: true},
		{key: record.Key{Zone: zone, Name: "www.example.com.", Type: record.A, Variant: "eu"}},
		{key: record.Key{Zone: zone, Name: "www.example.com.", Type: "MX"}},
		{key: record.Key{Zone: zone, Name: "www.example.com.", Type: "a"}},
		{key: record.Key{Zone: zone, Name: "www.example.com."}},
		{key: record.Key{Zone: zone, Name: "www.example.net.", Type: record.A}},
		{key: record.Key{Zone: "www.example.com.", Name: "www.example.com.", Type: record.A}},
	} {
		err := Steerable("write", zone, row.key, row.variants)
		if (err == nil) != row.ok || err != nil && ClassOf(err) != Permanent {
			t.Errorf("%s: got %v", row.key, err)
		}
	}
}
