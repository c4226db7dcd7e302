// Package vendordata reaches the ProviderData of libdns's records: what a vendor
// keeps beside a record and libdns has no word for. Each type of record has a
// field of its own for it.
//
// The adapters in providers/ that speak libdns to other programs use it;
// sidestep's own writes go by the lists of pkg/provider, which keep such things
// as they are.
package vendordata

import "github.com/libdns/libdns"

// Put gives the record with the data in it. A type that has no room for any comes
// back as it is.
func Put(r libdns.Record, data any) libdns.Record {
	switch r := r.(type) {
	case libdns.Address:
		r.ProviderData = data
		return r
	case libdns.CAA:
		r.ProviderData = data
		return r
	case libdns.CNAME:
		r.ProviderData = data
		return r
	case libdns.MX:
		r.ProviderData = data
		return r
	case libdns.NS:
		r.ProviderData = data
		return r
	case libdns.SRV:
		r.ProviderData = data
		return r
	case libdns.ServiceBinding:
		r.ProviderData = data
		return r
	case libdns.TXT:
		r.ProviderData = data
		return r
	}
	return r
}

// Of gives the data of a record; nil where there is none.
func Of(r libdns.Record) any {
	switch r := r.(type) {
	case libdns.Address:
		return r.ProviderData
	case libdns.CAA:
		return r.ProviderData
	case libdns.CNAME:
		return r.ProviderData
	case libdns.MX:
		return r.ProviderData
	case libdns.NS:
		return r.ProviderData
	case libdns.SRV:
		return r.ProviderData
	case libdns.ServiceBinding:
		return r.ProviderData
	case libdns.TXT:
		return r.ProviderData
	}
	return nil
}
