package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

var _ provider.Inspector = (*Adapter)(nil)

const editDNS = "#dns_records:edit"

// Inspect asks the API about the tokens, the zone and the right to read its
// records, and writes nothing. Whether the token may edit is told where the zone
// says so; the first write tells in any case.
func (a *Adapter) Inspect(ctx context.Context) ([]string, error) {
	lines, err := a.inspectTokens(ctx)
	if err != nil {
		return lines, err
	}
	zone, err := a.inspectZone(ctx)
	switch {
	case err != nil:
		return lines, err
	case zone == nil:
		lines = append(lines, fmt.Sprintf("zone: %s, by its id; the token may not read it, or there is no such id, so that its name was not compared", a.zoneID))
	default:
		lines = append(lines, zone.describe()...)
	}
	snap, err := a.List(ctx)
	if err != nil {
		return lines, err
	}
	lines = append(lines, fmt.Sprintf("records: %d, of which the token may read all", snap.Records))
	if zone == nil || len(zone.Permissions) == 0 {
		return append(lines, "permission: whether the token may edit records is seen at the first write"), nil
	}
	return a.inspectRights(lines, zone)
}

// inspectRights says whether the token that writes may do so, where it is the
// token that read the zone.
func (a *Adapter) inspectRights(lines []string, zone *zoneInfo) ([]string, error) {
	if a.finder.Reveal() != a.token.Reveal() {
		return append(lines, "permission: whether api_token may edit records is seen at the first write"), nil
	}
	if !slices.Contains(zone.Permissions, editDNS) {
		failed := provider.Failf(provider.Permanent, "inspect zone "+string(a.zone), "", "the token may not edit DNS records of the zone: it has %s", strings.Join(zone.Permissions, " "))
		failed.Hint = hintScope
		return lines, failed
	}
	return append(lines, "permission: may edit DNS records"), nil
}

func (a *Adapter) inspectTokens(ctx context.Context) ([]string, error) {
	line, err := a.verify(ctx, "api_token", a.token)
	if err != nil {
		return nil, err
	}
	lines := []string{line}
	if a.finder.Reveal() != a.token.Reveal() {
		line, err = a.verify(ctx, "zone_token", a.finder)
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// verify asks what the API says of a token of a user ("Verify Token"). A token
// that belongs to an account is not known there, and may be good nevertheless.
func (a *Adapter) verify(ctx context.Context, name string, token provider.Secret) (string, error) {
	op := fmt.Sprintf("verify %s of zone %s", name, a.zone)
	answer, err := a.do(ctx, call{op: op, method: http.MethodGet, path: "/user/tokens/verify", token: token})
	var failed *provider.Error
	if errors.As(err, &failed) && failed.Code == "1000" {
		return name + ": not known as a user's token; a token of an account is not, and is seen to work by what follows", nil
	}
	if err != nil {
		return "", err
	}
	var said struct {
		Status    string `json:"status"`
		ExpiresOn string `json:"expires_on"`
	}
	if err := json.Unmarshal(answer.Result, &said); err != nil || said.Status == "" {
		return "", httpapi.Unreadable(op, false, http.StatusOK, errors.Join(errors.New("expected the status of a token"), err))
	}
	if said.Status != "active" {
		failed := provider.Failf(provider.Permanent, op, "", "the token is %s", said.Status)
		failed.Hint = hintToken
		return "", failed
	}
	if said.ExpiresOn != "" {
		return fmt.Sprintf("%s: active until %s", name, said.ExpiresOn), nil
	}
	return name + ": active, without an end", nil
}

// inspectZone reads the zone; nil when it is given by its id and the token may
// not read it.
func (a *Adapter) inspectZone(ctx context.Context) (*zoneInfo, error) {
	if a.zoneID == "" {
		return a.lookUpZone(ctx)
	}
	op := fmt.Sprintf("read zone %s at Cloudflare", a.zone)
	answer, err := a.do(ctx, call{op: op, method: http.MethodGet, path: "/zones/" + url.PathEscape(a.zoneID), token: a.finder})
	var failed *provider.Error
	switch {
	case errors.As(err, &failed) && (failed.Code == "9109" || failed.Code == "10000"):
		return nil, nil //nolint:nilnil // no zone and no error: it is not to be seen
	case err != nil:
		return nil, err
	}
	zone := new(zoneInfo)
	if err := json.Unmarshal(answer.Result, zone); err != nil {
		return nil, httpapi.Unreadable(op, false, http.StatusOK, err)
	}
	if !strings.EqualFold(zone.Name, a.zone.Unrooted()) {
		failed := provider.Failf(provider.Permanent, op, "", "zone_id is that of the zone %s", zone.Name)
		failed.Hint = hintZoneID
		return nil, failed
	}
	return zone, nil
}

// describe tells of a zone what decides over its use.
func (z *zoneInfo) describe() []string {
	lines := []string{fmt.Sprintf("zone: %s (%s), %s, plan %s, account %s", z.Name, z.ID, z.Status, z.Plan.Name, z.Account.Name)}
	if z.Status != "active" {
		lines = append(lines, "zone: it is not active, so that nobody is answered with what is written to it")
	}
	if z.Type == "secondary" {
		lines = append(lines, "zone: it is a secondary of another provider's, and its records cannot be edited here")
	}
	return lines
}
