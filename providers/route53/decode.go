package route53

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go/middleware"
)

// fastList lets pages of record sets be read by the scanner instead of the SDK's
// own reader. Errors are left to the SDK.
func fastList(x *exchange) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		slow, found := stack.Deserialize.Get(deserializer)
		if !found {
			return fmt.Errorf("the SDK has no middleware %s", deserializer)
		}
		_, err := stack.Deserialize.Swap(deserializer, &pageReader{x, slow})
		return err
	}
}

const deserializer = "OperationDeserializer"

// pageReader takes the place of the SDK's reader of one operation.
type pageReader struct {
	exchange *exchange
	slow     middleware.DeserializeMiddleware
}

// ID is the name of what it replaces.
func (*pageReader) ID() string { return deserializer }

// HandleDeserialize reads an answer.
func (p *pageReader) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	if err != nil {
		return out, metadata, err
	}
	if reply := p.exchange.reply; reply.Status >= 200 && reply.Status < 300 {
		out.Result, err = readPage(reply.Body)
		return out, metadata, err
	}
	return p.slow.HandleDeserialize(ctx, in, middleware.DeserializeHandlerFunc(func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error) {
		return out, metadata, nil
	}))
}

// pageDecoder reads one page.
type pageDecoder struct {
	scanner
	err error // the first one; after it nothing that was read is believed
}

func readPage(body []byte) (*sdk.ListResourceRecordSetsOutput, error) {
	d := &pageDecoder{scanner: scanner{data: body}}
	out := new(sdk.ListResourceRecordSetsOutput)
	const root = "ListResourceRecordSetsResponse"
	if err := d.root(root); err != nil {
		return nil, err
	}
	return out, d.each(root, func(name string) {
		switch name {
		case "ResourceRecordSets":
			out.ResourceRecordSets = make([]rrset, 0, pageSize)
			d.keep(d.each(name, func(name string) { out.ResourceRecordSets = append(out.ResourceRecordSets, d.set(name)) }))
		case "IsTruncated":
			out.IsTruncated = d.boolean(name)
		case "NextRecordName":
			out.NextRecordName = d.str(name)
		case "NextRecordType":
			out.NextRecordType = types.RRType(*d.str(name))
		case "NextRecordIdentifier":
			out.NextRecordIdentifier = d.str(name)
		case "MaxItems":
			out.MaxItems = d.int32(name)
		default:
			d.keep(d.skip(name))
		}
	})
}

// each is children with one error for all of the page.
func (d *pageDecoder) each(of string, do func(name string)) error {
	err := d.children(of, func(name string) error {
		do(name)
		return d.err
	})
	d.keep(err)
	return d.err
}

func (d *pageDecoder) keep(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *pageDecoder) str(of string) *string {
	text, err := d.text(of)
	d.keep(err)
	return &text
}

func (d *pageDecoder) int64(of string) *int64 {
	text := d.str(of)
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		d.keep(fmt.Errorf("%s: %w", of, err))
	}
	return &n
}

func (d *pageDecoder) int32(of string) *int32 {
	text := d.str(of)
	n, err := strconv.ParseInt(*text, 10, 32)
	if err != nil {
		d.keep(fmt.Errorf("%s: %w", of, err))
	}
	return aws.Int32(int32(n))
}

func (d *pageDecoder) boolean(of string) bool {
	switch text := *d.str(of); text {
	case "true":
		return true
	case "false":
	default:
		d.keep(fmt.Errorf("%s: expected true or false, got %.20q", of, text))
	}
	return false
}

// set reads one record set. An attribute that is not known here is passed over, as
// the SDK does: a DELETE without it does not match, and is refused.
func (d *pageDecoder) set(of string) rrset {
	var s rrset
	if of != "ResourceRecordSet" {
		d.keep(fmt.Errorf("expected a ResourceRecordSet, got %.40q", of))
		return s
	}
	d.keep(d.each(of, func(name string) {
		switch name {
		case "Name":
			s.Name = d.str(name)
		case "Type":
			s.Type = types.RRType(*d.str(name))
		case "TTL":
			s.TTL = d.int64(name)
		case "ResourceRecords":
			s.ResourceRecords = d.records(name)
		default:
			d.attribute(&s, name)
		}
	}))
	return s
}

func (d *pageDecoder) records(of string) []types.ResourceRecord {
	var records []types.ResourceRecord
	d.keep(d.each(of, func(name string) {
		var r types.ResourceRecord
		d.keep(d.each(name, func(name string) {
			if name == "Value" {
				r.Value = d.str(name)
				return
			}
			d.keep(d.skip(name))
		}))
		records = append(records, r)
	}))
	return records
}

// attribute reads what only some sets have.
func (d *pageDecoder) attribute(s *rrset, name string) {
	switch name {
	case "SetIdentifier":
		s.SetIdentifier = d.str(name)
	case "Weight":
		s.Weight = d.int64(name)
	case "Region":
		s.Region = types.ResourceRecordSetRegion(*d.str(name))
	case "Failover":
		s.Failover = types.ResourceRecordSetFailover(*d.str(name))
	case "MultiValueAnswer":
		s.MultiValueAnswer = aws.Bool(d.boolean(name))
	case "HealthCheckId":
		s.HealthCheckId = d.str(name)
	case "TrafficPolicyInstanceId":
		s.TrafficPolicyInstanceId = d.str(name)
	case "AliasTarget":
		s.AliasTarget = d.alias(name)
	case "GeoLocation":
		s.GeoLocation = &types.GeoLocation{}
		d.fields(name, map[string]**string{"ContinentCode": &s.GeoLocation.ContinentCode, "CountryCode": &s.GeoLocation.CountryCode, "SubdivisionCode": &s.GeoLocation.SubdivisionCode})
	case "CidrRoutingConfig":
		s.CidrRoutingConfig = &types.CidrRoutingConfig{}
		d.fields(name, map[string]**string{"CollectionId": &s.CidrRoutingConfig.CollectionId, "LocationName": &s.CidrRoutingConfig.LocationName})
	case "GeoProximityLocation":
		s.GeoProximityLocation = d.proximity(name)
	default:
		d.keep(d.skip(name))
	}
}

// fields reads an element of texts.
func (d *pageDecoder) fields(of string, into map[string]**string) {
	d.keep(d.each(of, func(name string) {
		if at := into[name]; at != nil {
			*at = d.str(name)
			return
		}
		d.keep(d.skip(name))
	}))
}

func (d *pageDecoder) alias(of string) *types.AliasTarget {
	var a types.AliasTarget
	d.keep(d.each(of, func(name string) {
		switch name {
		case "HostedZoneId":
			a.HostedZoneId = d.str(name)
		case "DNSName":
			a.DNSName = d.str(name)
		case "EvaluateTargetHealth":
			a.EvaluateTargetHealth = d.boolean(name)
		default:
			d.keep(d.skip(name))
		}
	}))
	return &a
}

func (d *pageDecoder) proximity(of string) *types.GeoProximityLocation {
	var g types.GeoProximityLocation
	d.keep(d.each(of, func(name string) {
		switch name {
		case "AWSRegion":
			g.AWSRegion = d.str(name)
		case "LocalZoneGroup":
			g.LocalZoneGroup = d.str(name)
		case "Bias":
			g.Bias = d.int32(name)
		case "Coordinates":
			g.Coordinates = &types.Coordinates{}
			d.fields(name, map[string]**string{"Latitude": &g.Coordinates.Latitude, "Longitude": &g.Coordinates.Longitude})
		default:
			d.keep(d.skip(name))
		}
	}))
	return &g
}
