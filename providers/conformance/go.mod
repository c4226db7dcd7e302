module sidestep/providers/conformance

go 1.26.0

require (
	github.com/libdns/libdns v1.2.0-alpha.1
	sidestep v0.0.0
)

require (
	github.com/miekg/dns v1.1.73 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace sidestep => ../..
