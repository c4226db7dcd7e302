package vendordata

import (
	"reflect"
	"testing"

	"github.com/libdns/libdns"
)

func TestDataComesBack(t *testing.T) {
	for _, r := range []libdns.Record{
		libdns.Address{}, libdns.CAA{}, libdns.CNAME{}, libdns.MX{}, libdns.NS{}, libdns.SRV{}, libdns.ServiceBinding{}, libdns.TXT{},
	} {
		if got := Of(r); got != nil {
			t.Errorf("%T has %v before anything is put in", r, got)
		}
		with := Put(r, "data")
		if got := Of(with); got != "data" || reflect.TypeOf(with) != reflect.TypeOf(r) {
			t.Errorf("%T came back as %T with %v", r, with, got)
		}
	}
	if r := Put(libdns.RR{Name: "x"}, "data"); Of(r) != nil || r.RR().Name != "x" {
		t.Errorf("a record without room became %+v", r)
	}
}
