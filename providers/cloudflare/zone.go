package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

// zoneInfo is what an answer tells of a zone.
type zoneInfo struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Type    string `json:"type"`
	Account struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"account"`
	Plan struct {
		Name string `json:"name"`
	} `json:"plan"`
	Permissions []string `json:"permissions"`
}

// findZone gives the zone's id, and asks the API for it once.
func (a *Adapter) findZone(ctx context.Context) (string, error) {
	if a.zoneID != "" {
		return a.zoneID, nil
	}
	if id := a.found.Load(); id != nil {
		return *id, nil
	}
	zone, err := a.lookUpZone(ctx)
	if err != nil {
		return "", err
	}
	a.found.Store(&zone.ID)
	return zone.ID, nil
}

// forgetZone lets the zone be looked up again when the API refused its id: it
// may have been deleted and made anew.
func (a *Adapter) forgetZone(err error) {
	if provider.ClassOf(err) == provider.Permanent {
		a.found.Store(nil)
	}
}

// zonesPage is the largest page of zones that the API gives ("List Zones").
const zonesPage = 50

// lookUpZone finds the one zone of the configured name that the token sees.
func (a *Adapter) lookUpZone(ctx context.Context) (*zoneInfo, error) {
	op := fmt.Sprintf("find zone %s at Cloudflare", a.zone)
	var named []zoneInfo
	for page := 1; ; page++ {
		list, more, err := a.zonesNamed(ctx, op, page)
		if err != nil {
			return nil, err
		}
		for _, z := range list {
			if name, err := record.ParseName(z.Name); err == nil && name == a.zone {
				named = append(named, z)
			}
		}
		if !more {
			break
		}
	}
	return a.only(op, named)
}

// zonesNamed asks for one page of the zones of the name.
func (a *Adapter) zonesNamed(ctx context.Context, op string, page int) (list []zoneInfo, more bool, err error) {
	query := url.Values{"name": {a.zone.Unrooted()}, "per_page": {strconv.Itoa(zonesPage)}, "page": {strconv.Itoa(page)}}
	answer, err := a.do(ctx, call{op: op, method: http.MethodGet, path: "/zones", query: query, token: a.finder})
	if err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(answer.Result, &list); err != nil {
		return nil, false, httpapi.Unreadable(op, false, http.StatusOK, err)
	}
	if list == nil || answer.ResultInfo == nil || answer.ResultInfo.TotalPages == nil {
		return nil, false, httpapi.Unreadable(op, false, http.StatusOK, errors.New("expected a list of zones with result_info.total_pages"))
	}
	return list, page < *answer.ResultInfo.TotalPages, nil
}

// only picks the zone, or says why none can be picked.
func (a *Adapter) only(op string, named []zoneInfo) (*zoneInfo, error) {
	switch len(named) {
	case 0:
		failed := provider.Failf(provider.Permanent, op, "", "the token sees no zone of this name")
		failed.Hint = "the token needs the permission Zone:Read for it (or give zone_token, or zone_id); see also whether the zone is in another account"
		return nil, failed
	case 1:
		if !idText.MatchString(named[0].ID) {
			return nil, httpapi.Unreadable(op, false, http.StatusOK, fmt.Errorf("a zone with the id %q", a.said(named[0].ID)))
		}
		return &named[0], nil
	}
	var found []string
	for _, z := range named {
		found = append(found, fmt.Sprintf("%s in account %q (%s)", z.ID, z.Account.Name, z.Status))
	}
	failed := provider.Failf(provider.Permanent, op, "", "the token sees %d zones of this name: %s", len(named), a.said(strings.Join(found, ", ")))
	failed.Hint = "set zone_id on the zone to the one that is meant"
	return nil, failed
}
