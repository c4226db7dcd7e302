package route53

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// pageSize is the most that Route 53 puts into one page
// (API_ListResourceRecordSets, maxitems).
const pageSize = 300

func (a *Adapter) listOp() string { return fmt.Sprintf("list zone %s", a.zone) }

// tellEvery is how often a list that takes long says in the log how far it is.
const tellEvery = 5 * time.Second

// listTries is how often a list is begun again because the zone was written
// while it was read.
const listTries = 4

// List reads the whole zone: the hosted zone, which says how many sets it has,
// then its sets by pages. Where they do not fit one page the stamp is read
// before them, so that whatever is written meanwhile makes a write that rests
// on this list fail; and once more after them, because pages of two moments
// could hide a value that moved from one to the other.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	for range listTries {
		b, err := a.attempt(ctx)
		if err != nil {
			return nil, err
		}
		if b != nil {
			return b.finish(), nil
		}
	}
	return nil, provider.Failf(provider.Retryable, a.listOp(), "", "the zone was written while it was listed, %d times in a row", listTries)
}

// attempt is one list; nil when the zone was written meanwhile.
func (a *Adapter) attempt(ctx context.Context) (*builder, error) {
	zone, err := a.hostedZone(ctx)
	if err != nil {
		return nil, err
	}
	count := aws.ToInt64(zone.ResourceRecordSetCount)
	b, err := a.read(ctx, count, count > pageSize)
	if err != nil {
		return nil, err
	}
	b.snap.ID = bareID(aws.ToString(zone.Id))
	if b.paged || int64(b.sets) < count {
		now, err := a.stampSets(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.EqualFunc(now, b.view.stamps, func(x, y rrset) bool { return same(&x, &y) }) {
			return nil, nil
		}
	}
	return b, a.whole(ctx, b, count)
}

// read lists every set. It starts again where the zone turns out not to fit one
// page and the stamp was not read before.
func (a *Adapter) read(ctx context.Context, count int64, stampFirst bool) (*builder, error) {
	b := newBuilder(a.zone)
	var stamps []rrset
	if stampFirst {
		var err error
		if stamps, err = a.stampSets(ctx); err != nil {
			return nil, err
		}
	}
	restart, told := false, time.Now()
	err := a.pages(ctx, a.listOp(), func(sets []rrset, last bool) bool {
		restart = !last && !stampFirst
		for _, s := range sets {
			b.add(s)
		}
		if now := time.Now(); !last && now.Sub(told) >= tellEvery {
			told = now
			a.log.Debug("still listing", "zone", string(a.zone), "sets", b.sets, "of", count)
		}
		return !restart
	})
	switch {
	case err != nil:
		return nil, err
	case restart:
		return a.read(ctx, count, true)
	case stampFirst:
		b.view.stamps, b.paged = stamps, true
	}
	return b, nil
}

// pages gives the sets of the zone page by page, until more says no.
func (a *Adapter) pages(ctx context.Context, op string, more func(sets []rrset, last bool) bool) error {
	id, err := a.zoneID(ctx)
	if err != nil {
		return err
	}
	input := &sdk.ListResourceRecordSetsInput{HostedZoneId: &id, MaxItems: aws.Int32(pageSize)}
	seen := map[string]bool{}
	for {
		seen[begins(input)] = true
		out, err := a.page(ctx, op, input)
		if err != nil {
			return err
		}
		if !more(out.ResourceRecordSets, !out.IsTruncated) || !out.IsTruncated {
			return nil
		}
		next := &sdk.ListResourceRecordSetsInput{
			HostedZoneId: &id, MaxItems: aws.Int32(pageSize),
			StartRecordName: out.NextRecordName, StartRecordType: out.NextRecordType, StartRecordIdentifier: out.NextRecordIdentifier,
		}
		if seen[begins(next)] || aws.ToString(next.StartRecordName) == "" || len(out.ResourceRecordSets) == 0 {
			return provider.Failf(provider.Retryable, op, "", "the list goes in a circle at %q: a page leads to one that was read already", begins(next))
		}
		input = next
	}
}

// begins is where a page begins.
func begins(in *sdk.ListResourceRecordSetsInput) string {
	return aws.ToString(in.StartRecordName) + " " + string(in.StartRecordType) + " " + aws.ToString(in.StartRecordIdentifier)
}

func (a *Adapter) page(ctx context.Context, op string, input *sdk.ListResourceRecordSetsInput) (*sdk.ListResourceRecordSetsOutput, error) {
	var out *sdk.ListResourceRecordSetsOutput
	err := a.call(ctx, request{op: op, page: true}, func(ctx context.Context, api *sdk.Client, o func(*sdk.Options)) (err error) {
		out, err = api.ListResourceRecordSets(ctx, input, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.ResourceRecordSets == nil || out.MaxItems == nil {
		return nil, provider.Failf(provider.Retryable, op, "", "the answer has no list of record sets: it is not one of the API")
	}
	return out, nil
}

// whole refuses a list that is shorter than the hosted zone says, unless it
// became so while it was read, and one without what every zone has. That count
// is not of one moment with the list, and a longer list is whole as well.
func (a *Adapter) whole(ctx context.Context, b *builder, count int64) error {
	switch {
	case b.sets == 0:
		return provider.Failf(provider.Retryable, a.listOp(), "", "the list is empty, and the hosted zone has %d record sets", count)
	case !b.soa || !b.ns:
		return provider.Failf(provider.Retryable, a.listOp(), "", "the list of %d record sets has no SOA or no NS set of the zone itself: it is not whole", b.sets)
	case int64(b.sets) >= count:
		return nil
	}
	again, err := a.hostedZone(ctx)
	if err != nil {
		return err
	}
	if now := aws.ToInt64(again.ResourceRecordSetCount); int64(b.sets) < now {
		return provider.Failf(provider.Retryable, a.listOp(), "", "the list has %d record sets, the hosted zone %d: it is not whole", b.sets, now)
	}
	return nil
}

// setsAt lists the sets of one name, of one type when that is given.
func (a *Adapter) setsAt(ctx context.Context, name record.Name, t types.RRType) ([]rrset, error) {
	id, err := a.zoneID(ctx)
	if err != nil {
		return nil, err
	}
	op := fmt.Sprintf("read %s of zone %s", name, a.zone)
	input := &sdk.ListResourceRecordSetsInput{HostedZoneId: &id, MaxItems: aws.Int32(100), StartRecordName: aws.String(string(name)), StartRecordType: t}
	out, err := a.page(ctx, op, input)
	if err != nil {
		return nil, err
	}
	var sets []rrset
	for _, s := range out.ResourceRecordSets {
		if listed, err := parseName(aws.ToString(s.Name)); err == nil && listed == name && (t == "" || s.Type == t) {
			sets = append(sets, s)
		}
	}
	return sets, nil
}

func (a *Adapter) stampSets(ctx context.Context) ([]rrset, error) {
	return a.setsAt(ctx, stampName(a.zone), types.RRTypeTxt)
}

// Stamps reads the stamps alone, by one page.
func (a *Adapter) Stamps(ctx context.Context) (*provider.Snapshot, error) {
	sets, err := a.stampSets(ctx)
	if err != nil {
		return nil, err
	}
	return &provider.Snapshot{Zone: a.zone, Stamps: stampsOf(sets), Native: &view{stamps: sets}}, nil
}

// hostedZone asks for the zone itself and sees that it is the one that is meant.
func (a *Adapter) hostedZone(ctx context.Context) (*types.HostedZone, error) {
	out, err := a.getZone(ctx)
	if err != nil {
		return nil, err
	}
	return out.HostedZone, nil
}

func (a *Adapter) getZone(ctx context.Context) (*sdk.GetHostedZoneOutput, error) {
	id, err := a.zoneID(ctx)
	if err != nil {
		return nil, err
	}
	op := fmt.Sprintf("read hosted zone %s of %s", id, a.zone)
	var out *sdk.GetHostedZoneOutput
	err = a.call(ctx, request{op: op}, func(ctx context.Context, api *sdk.Client, o func(*sdk.Options)) (err error) {
		out, err = api.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: &id}, o)
		return err
	})
	if err != nil {
		if e, ok := err.(*provider.Error); ok && e.Code == "NoSuchHostedZone" { //nolint:errorlint // call returns it unwrapped
			a.forget(id)
		}
		return nil, err
	}
	if out.HostedZone == nil || out.HostedZone.ResourceRecordSetCount == nil {
		return nil, provider.Failf(provider.Retryable, op, "", "the answer has no hosted zone: it is not one of the API")
	}
	if name, err := parseName(aws.ToString(out.HostedZone.Name)); err != nil || name != a.zone {
		e := provider.Failf(provider.Permanent, op, "", "it is the zone %s, not %s", aws.ToString(out.HostedZone.Name), a.zone)
		e.Hint = "correct hosted_zone_id on the zone"
		return nil, e
	}
	return out, nil
}

// zoneID is the hosted zone's: the config's, else that of the one public zone of
// the name.
func (a *Adapter) zoneID(ctx context.Context) (string, error) {
	a.mu.Lock()
	id := a.id
	a.mu.Unlock()
	if id != "" {
		return id, nil
	}
	id, err := a.findZone(ctx)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id = id
	return id, nil
}

// forget drops an id that was found by name and leads nowhere any more.
func (a *Adapter) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id == id {
		a.id = a.given
	}
}

func (a *Adapter) findZone(ctx context.Context) (string, error) {
	op := fmt.Sprintf("find the hosted zone of %s", a.zone)
	zones, err := a.zonesNamed(ctx, op)
	if err != nil {
		return "", err
	}
	var public, private []string
	for _, z := range zones {
		id := bareID(aws.ToString(z.Id))
		if z.Config != nil && z.Config.PrivateZone {
			private = append(private, id)
		} else {
			public = append(public, id)
		}
	}
	if len(public) == 1 {
		return public[0], nil
	}
	e := provider.Failf(provider.Permanent, op, "", "the account has no public hosted zone of that name")
	e.Hint = "see that the credential is of the account that has the zone; then: sidestep validate --online"
	if len(public) > 1 {
		e.Err = fmt.Errorf("the account has %d public hosted zones of that name: %s", len(public), strings.Join(public, ", "))
		e.Hint = "say which one is meant: hosted_zone_id: " + public[0]
	} else if len(private) > 0 {
		e.Err = fmt.Errorf("the account has no public hosted zone of that name, but private ones: %s", strings.Join(private, ", "))
		e.Hint = "if a private one is meant, say so: hosted_zone_id: " + private[0]
	}
	return "", e
}

// zonesNamed lists the hosted zones of the zone's name. They come one after the
// other, because the list is sorted by name.
func (a *Adapter) zonesNamed(ctx context.Context, op string) ([]types.HostedZone, error) {
	var zones []types.HostedZone
	input := &sdk.ListHostedZonesByNameInput{DNSName: aws.String(string(a.zone))}
	for {
		var out *sdk.ListHostedZonesByNameOutput
		err := a.call(ctx, request{op: op}, func(ctx context.Context, api *sdk.Client, o func(*sdk.Options)) (err error) {
			out, err = api.ListHostedZonesByName(ctx, input, o)
			return err
		})
		if err != nil {
			return nil, err
		}
		if out.MaxItems == nil {
			return nil, provider.Failf(provider.Retryable, op, "", "the answer has no list of hosted zones: it is not one of the API")
		}
		for _, z := range out.HostedZones {
			if name, err := parseName(aws.ToString(z.Name)); err == nil && name == a.zone {
				zones = append(zones, z)
				continue
			}
			return zones, nil
		}
		if !out.IsTruncated || out.NextHostedZoneId == nil || aws.ToString(out.NextHostedZoneId) == aws.ToString(input.HostedZoneId) {
			return zones, nil
		}
		input = &sdk.ListHostedZonesByNameInput{DNSName: out.NextDNSName, HostedZoneId: out.NextHostedZoneId}
	}
}

// bareID is an id as the console shows it: "/hostedzone/Z123" without the path.
func bareID(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
