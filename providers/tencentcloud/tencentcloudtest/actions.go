package tencentcloudtest

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

func (f *Fake) actions() map[string]func([]byte) (map[string]any, error) {
	return map[string]func([]byte) (map[string]any, error){
		"DescribeDomain":         f.describeDomain,
		"DescribeRecordList":     f.describeRecordList,
		"DescribeRecord":         f.describeRecord,
		"DescribeRecordLineList": f.describeRecordLineList,
		"CreateRecord":           f.createRecord,
		"ModifyRecord":           f.modifyRecord,
		"ModifyRecordStatus":     f.modifyRecordStatus,
		"ModifyRecordRemark":     f.modifyRecordRemark,
		"DeleteRecord":           f.deleteRecord,
	}
}

// id is the domain's.
func (f *Fake) id() uint64 { return cmp.Or(f.options.ID, 100200300) }

// mine checks the domain that a request is about.
func (f *Fake) mine(domain *string, id *uint64) error {
	switch {
	case id != nil && *id == f.id():
	case id != nil:
		return fail("InvalidParameter.DomainIdInvalid", "The domain ID is incorrect.")
	case domain == nil || *domain == "":
		return missing("Domain")
	case !slices.Contains(f.names, strings.ToLower(*domain)):
		return fail("InvalidParameterValue.DomainNotExists", "The domain name is incorrect.")
	}
	return nil
}

// writable checks that records may be changed.
func (f *Fake) writable() error {
	switch {
	case f.locked:
		return fail("FailedOperation.DomainIsLocked", "This operation cannot be performed for a locked domain.")
	case f.status == "SPAM":
		return fail("FailedOperation.DomainIsSpam", "This operation cannot be performed for a blocked domain.")
	}
	return nil
}

func (f *Fake) describeDomain(body []byte) (map[string]any, error) {
	var p struct {
		Domain   *string
		DomainID *uint64 `json:"DomainId"`
	}
	if err := params(body, &p); err != nil {
		return nil, err
	}
	if err := f.mine(p.Domain, p.DomainID); err != nil {
		return nil, err
	}
	_, title, _ := strings.Cut(f.options.Grade, "_")
	ns := []string{"a.dnspod.com", "b.dnspod.com"}
	return map[string]any{"DomainInfo": map[string]any{
		"DomainId": f.id(), "Status": f.status, "Grade": f.options.Grade, "GradeTitle": title, "GradeLevel": 1, "GroupId": 1,
		"IsMark": "no", "TTL": f.least(), "CnameSpeedup": "DISABLE", "Remark": "", "Punycode": strings.TrimSuffix(f.options.Zone, "."), "DnsStatus": "",
		"DnspodNsList": ns, "ActualNsList": ns, "Domain": f.names[len(f.names)-1], "UserId": 1, "IsVip": "NO", "Owner": "owner@example.net",
		"CreatedOn": "2026-01-01 00:00:00", "UpdatedOn": "2026-01-01 00:00:00", "Uin": "100000000001", "RecordCount": len(f.records),
		"OwnerNick": "owner", "IsGracePeriod": "NO", "VipBuffered": "no", "VipStartAt": nil, "VipEndAt": nil, "VipAutoRenew": nil,
		"VipResourceId": nil, "IsSubDomain": false, "TagList": []any{}, "SearchEnginePush": "NO", "SlaveDNS": "no",
	}}, nil
}

func (f *Fake) describeRecordList(body []byte) (map[string]any, error) {
	var p struct {
		Domain                                          *string
		DomainID                                        *uint64 `json:"DomainId"`
		Subdomain, RecordType, RecordLine, ErrorOnEmpty string
		RecordLineID                                    string `json:"RecordLineId"`
		Offset, Limit                                   *int
	}
	if err := params(body, &p); err != nil {
		return nil, err
	}
	if err := f.mine(p.Domain, p.DomainID); err != nil {
		return nil, err
	}
	offset, limit := 0, 100
	if p.Offset != nil {
		offset = *p.Offset
	}
	if p.Limit != nil {
		limit = *p.Limit
	}
	if offset < 0 || limit < 1 || limit > 3000 {
		return nil, fail("InvalidParameterValue.LimitInvalid", "Limit has to be from 1 to 3000.")
	}
	var all []*Record
	names := map[string]bool{}
	for _, r := range f.records {
		if f.isListed(r) && (p.Subdomain == "" || p.Subdomain == r.Name) && (p.RecordType == "" || p.RecordType == r.Type) &&
			(p.RecordLineID == "" || p.RecordLineID == r.Line) && (p.RecordLine == "" || p.RecordLineID != "" || p.RecordLine == f.lineName(r.Line)) {
			all = append(all, r)
			names[r.Name] = true
		}
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	page := all[min(offset, len(all)):min(offset+limit, len(all))]
	if len(page) == 0 && p.ErrorOnEmpty != "no" {
		return nil, fail("ResourceNotFound.NoDataOfRecord", "The record list is empty.")
	}
	list := make([]map[string]any, len(page))
	for i, r := range page {
		list[i] = f.listItem(r)
	}
	return map[string]any{
		"RecordCountInfo": map[string]any{"SubdomainCount": len(names), "ListCount": len(page), "TotalCount": len(all)},
		"RecordList":      list,
	}, nil
}

// isListed reports whether lists show a record.
func (f *Fake) isListed(r *Record) bool {
	return r.ID <= f.settled || f.options.Now().Sub(r.created) >= f.options.Lag
}

func (f *Fake) listItem(r *Record) map[string]any {
	status := "ENABLE"
	if r.Paused {
		status = "DISABLE"
	}
	return map[string]any{
		"RecordId": r.ID, "Name": r.Name, "Type": r.Type, "Value": r.Value, "Status": status, "Line": f.lineName(r.Line), "LineId": r.Line,
		"TTL": r.TTL, "MX": r.MX, "Weight": r.Weight, "Remark": r.Remark, "MonitorStatus": r.Monitor, "UpdatedOn": shownTime(r.updated), "DefaultNS": r.Default,
	}
}

func shownTime(at time.Time) string { return at.In(time.FixedZone("", 8*3600)).Format(time.DateTime) }

// one is the parameters of the actions that concern one record.
type one struct {
	Domain   *string
	DomainID *uint64 `json:"DomainId"`
	RecordID *uint64 `json:"RecordId"`
}

func (f *Fake) record(p one) (*Record, error) {
	if err := f.mine(p.Domain, p.DomainID); err != nil {
		return nil, err
	}
	if p.RecordID == nil {
		return nil, missing("RecordId")
	}
	r := f.find(*p.RecordID)
	if r == nil {
		return nil, fail("InvalidParameter.RecordIdInvalid", "The record number is incorrect.")
	}
	return r, nil
}

func (f *Fake) describeRecord(body []byte) (map[string]any, error) {
	var p one
	if err := params(body, &p); err != nil {
		return nil, err
	}
	r, err := f.record(p)
	if err != nil {
		return nil, err
	}
	on := 1
	if r.Paused {
		on = 0
	}
	return map[string]any{"RecordInfo": map[string]any{
		"Id": r.ID, "SubDomain": r.Name, "RecordType": r.Type, "RecordLine": f.lineName(r.Line), "RecordLineId": r.Line, "Value": r.Value,
		"Weight": r.Weight, "MX": r.MX, "TTL": r.TTL, "Enabled": on, "MonitorStatus": r.Monitor, "Remark": r.Remark, "UpdatedOn": shownTime(r.updated), "DomainId": f.id(),
	}}, nil
}

func (f *Fake) describeRecordLineList(body []byte) (map[string]any, error) {
	var p struct {
		Domain      *string
		DomainID    *uint64 `json:"DomainId"`
		DomainGrade string
	}
	if err := params(body, &p); err != nil {
		return nil, err
	}
	if err := f.mine(p.Domain, p.DomainID); err != nil {
		return nil, err
	}
	if p.DomainGrade == "" {
		return nil, missing("DomainGrade")
	}
	var list []map[string]string
	for _, l := range lines[f.options.Edition] {
		list = append(list, map[string]string{"Name": l[1], "LineId": l[0]})
	}
	return map[string]any{"LineList": list, "LineGroupList": []any{}}, nil
}

// full is the parameters of CreateRecord and ModifyRecord.
type full struct {
	Domain       *string
	DomainID     *uint64 `json:"DomainId"`
	RecordID     *uint64 `json:"RecordId"`
	SubDomain    string
	RecordType   string
	RecordLine   string
	RecordLineID string `json:"RecordLineId"`
	Value        *string
	MX           *uint16
	TTL          *uint32
	Weight       *uint32
	Status       string
	Remark       *string
}

var (
	types     = []string{"A", "AAAA", "CNAME", "MX", "TXT", "NS", "SRV", "CAA", "HTTPS", "SVCB", "SPF", "TLSA", "PTR"}
	subdomain = regexp.MustCompile(`^(@|(\*|[^\s.*]{1,63})(\.[^\s.*]{1,63})*)$`)
)

// drawn checks parameters and makes a record of them.
func (f *Fake) drawn(p full) (*Record, error) {
	switch {
	case p.RecordType == "":
		return nil, missing("RecordType")
	case p.RecordLine == "":
		return nil, missing("RecordLine")
	case p.Value == nil:
		return nil, missing("Value")
	case !slices.Contains(types, p.RecordType):
		return nil, fail("InvalidParameter.RecordTypeInvalid", "The record type is incorrect.")
	case !subdomain.MatchString(cmp.Or(p.SubDomain, "@")):
		return nil, fail("InvalidParameter.SubdomainInvalid", "The subdomain is incorrect.")
	case p.Weight != nil && *p.Weight > 100:
		return nil, fail("InvalidParameter.InvalidWeight", "The weight has to be an integer from 0 to 100.")
	case p.TTL != nil && (*p.TTL < 1 || *p.TTL > 604800):
		return nil, fail("LimitExceeded.RecordTtlLimit", "The TTL value exceeds the limit.")
	case p.Status != "" && p.Status != "ENABLE" && p.Status != "DISABLE":
		return nil, fail("InvalidParameter.RecordStatusInvalid", "The record status is incorrect.")
	case p.Remark != nil && len([]rune(*p.Remark)) > 200:
		return nil, fail("InvalidParameter.RemarkLengthExceeded", "The remark is too long.")
	}
	line, known := f.lineID(p.RecordLineID, p.RecordLine)
	if !known {
		return nil, fail("InvalidParameter.RecordLineInvalid", "The record split zone is incorrect.")
	}
	r := &Record{Name: cmp.Or(p.SubDomain, "@"), Type: p.RecordType, Value: *p.Value, Line: line, TTL: 600, Weight: p.Weight, Paused: p.Status == "DISABLE"}
	if r.Weight != nil && *r.Weight == 0 {
		r.Weight = nil
	}
	if p.TTL != nil {
		r.TTL = *p.TTL
	}
	if p.Remark != nil {
		r.Remark = *p.Remark
	}
	return r, f.value(r, p.MX)
}

// value checks the value of a record, with what belongs to it.
func (f *Fake) value(r *Record, mx *uint16) error {
	invalid := fail("InvalidParameter.RecordValueInvalid", "The record value %q is incorrect.", r.Value)
	switch r.Type {
	case "A", "AAAA":
		if addr, err := netip.ParseAddr(r.Value); err != nil || addr.Is4() != (r.Type == "A") {
			return invalid
		}
	case "CNAME", "NS", "MX", "PTR":
		if strings.ContainsAny(r.Value, " \"") || r.Value == "" {
			return invalid
		}
		r.Value = strings.TrimSuffix(r.Value, ".") + "."
	case "TXT":
		if r.Value == "" || len(r.Value) > 4000 {
			return fail("InvalidParameter.RecordValueLengthInvalid", "The record value is too long.")
		}
	}
	if r.Type == "MX" || r.Type == "HTTPS" || r.Type == "SVCB" {
		if mx == nil || *mx < 1 {
			return fail("InvalidParameter.MxInvalid", "The MX priority is incorrect.")
		}
		r.MX = *mx
	}
	return nil
}

// fits checks a record against the others, of which instead is left out: equal
// ones, and how many the plan allows to be live at once.
func (f *Fake) fits(r, instead *Record) error {
	live := 0
	for _, other := range f.records {
		if other == instead || other.Name != r.Name || other.Type != r.Type || other.Line != r.Line {
			continue
		}
		if other.Value == r.Value && other.MX == r.MX && !f.options.Duplicates {
			return fail("InvalidParameter.DomainRecordExist", "The record already exists, and you do not need to add it again.")
		}
		if !other.Paused {
			live++
		}
	}
	if !r.Paused && f.options.Roll > 0 && live >= f.options.Roll {
		return fail("LimitExceeded.SubdomainRollLimit", "The number of load balancing records of the subdomain exceeds the limit.")
	}
	return nil
}

func (f *Fake) createRecord(body []byte) (map[string]any, error) {
	var p full
	if err := params(body, &p); err != nil {
		return nil, err
	}
	if p.RecordID != nil {
		return nil, fail("UnknownParameter", "The parameter `RecordId` is not recognized.")
	}
	if err := f.mine(p.Domain, p.DomainID); err != nil {
		return nil, err
	}
	r, err := f.drawn(p)
	if err == nil {
		err = f.writable()
	}
	if err == nil {
		err = f.fits(r, nil)
	}
	if err == nil && r.TTL < f.least() {
		if f.options.RefuseTTL {
			return nil, fail("LimitExceeded.RecordTtlLimit", "The TTL value of the record exceeds the limit.")
		}
		r.TTL = f.least()
	}
	if err != nil {
		return nil, err
	}
	f.insert(r)
	return map[string]any{"RecordId": r.ID}, nil
}

func (f *Fake) modifyRecord(body []byte) (map[string]any, error) {
	var p full
	if err := params(body, &p); err != nil {
		return nil, err
	}
	old, err := f.record(one{p.Domain, p.DomainID, p.RecordID})
	if err != nil {
		return nil, err
	}
	r, err := f.drawn(p)
	if err == nil {
		err = f.writable()
	}
	if err == nil {
		err = f.fits(r, old)
	}
	if err == nil && r.TTL < f.least() {
		err = fail("LimitExceeded.RecordTtlLimit", "The TTL value of the record exceeds the limit.")
	}
	if err != nil {
		return nil, err
	}
	r.ID, r.created, r.updated, r.Monitor, r.Default = old.ID, old.created, f.options.Now(), old.Monitor, old.Default
	if p.Remark == nil {
		r.Remark = old.Remark
	}
	*old = *r
	f.note("modify", old)
	return map[string]any{"RecordId": r.ID}, nil
}

func (f *Fake) modifyRecordStatus(body []byte) (map[string]any, error) {
	var p struct {
		one

		Status string
	}
	if err := params(body, &p); err != nil {
		return nil, err
	}
	r, err := f.record(p.one)
	if err != nil {
		return nil, err
	}
	if p.Status != "ENABLE" && p.Status != "DISABLE" {
		return nil, fail("InvalidParameter.RecordStatusInvalid", "The record status is incorrect.")
	}
	if err := f.writable(); err != nil {
		return nil, err
	}
	if p.Status == "ENABLE" && r.Paused {
		next := *r
		next.Paused = false
		if err := f.fits(&next, r); err != nil {
			return nil, err
		}
	}
	r.Paused, r.updated = p.Status == "DISABLE", f.options.Now()
	f.note(strings.ToLower(p.Status), r)
	return map[string]any{"RecordId": r.ID}, nil
}

func (f *Fake) modifyRecordRemark(body []byte) (map[string]any, error) {
	var p struct {
		one

		Remark string
	}
	if err := params(body, &p); err != nil {
		return nil, err
	}
	r, err := f.record(p.one)
	if err == nil {
		err = f.writable()
	}
	if err == nil && len([]rune(p.Remark)) > 200 {
		err = fail("InvalidParameter.RemarkLengthExceeded", "The remark is too long.")
	}
	if err != nil {
		return nil, err
	}
	r.Remark, r.updated = p.Remark, f.options.Now()
	f.note("remark", r)
	return map[string]any{"RecordId": r.ID}, nil
}

func (f *Fake) deleteRecord(body []byte) (map[string]any, error) {
	var p one
	if err := params(body, &p); err != nil {
		return nil, err
	}
	r, err := f.record(p)
	if err == nil {
		err = f.writable()
	}
	if err == nil && r.Default {
		err = fail("FailedOperation", "the name servers of the vendor cannot be deleted")
	}
	if err != nil {
		return nil, err
	}
	f.remove(r.ID)
	return map[string]any{}, nil
}

// Refusals are the codes that the fake itself can raise, sorted.
func Refusals() []string { return slices.Sorted(maps.Keys(refusals)) }

// refusals are the codes by how they come about.
var refusals = map[string]string{
	"AuthFailure.InvalidAuthorization":          "no signature",
	"AuthFailure.SecretIdNotFound":              "another SecretId",
	"AuthFailure.SignatureExpire":               "a signature older than five minutes",
	"AuthFailure.SignatureFailure":              "another SecretKey",
	"AuthFailure.TokenFailure":                  "another token",
	"FailedOperation":                           "a default NS deleted",
	"FailedOperation.DomainIsLocked":            "Lock",
	"FailedOperation.DomainIsSpam":              "SetStatus(SPAM)",
	"InvalidAction":                             "an action that is not there",
	"InvalidParameter":                          "a parameter of another type",
	"InvalidParameter.DomainIdInvalid":          "another domain id",
	"InvalidParameter.DomainRecordExist":        "an equal record",
	"InvalidParameter.InvalidWeight":            "a weight above 100",
	"InvalidParameter.MxInvalid":                "an MX without priority",
	"InvalidParameter.RecordIdInvalid":          "a record that is not there",
	"InvalidParameter.RecordLineInvalid":        "a line that is not there",
	"InvalidParameter.RecordStatusInvalid":      "a status that is none",
	"InvalidParameter.RecordTypeInvalid":        "a type that is none",
	"InvalidParameter.RecordValueInvalid":       "an A that is no address",
	"InvalidParameter.RecordValueLengthInvalid": "an empty TXT",
	"InvalidParameter.RemarkLengthExceeded":     "a remark above 200 characters",
	"InvalidParameter.SubdomainInvalid":         "a name with a blank",
	"InvalidParameterValue.DomainNotExists":     "another domain",
	"InvalidParameterValue.LimitInvalid":        "a Limit above 3000",
	"LimitExceeded.RecordTtlLimit":              "a TTL below the plan's",
	"LimitExceeded.SubdomainRollLimit":          "Options.Roll",
	"MissingParameter":                          "no Domain",
	"NoSuchVersion":                             "another version",
	"ResourceNotFound.NoDataOfRecord":           "an empty page without ErrorOnEmpty",
	"UnknownParameter":                          "a parameter that is none",
	"UnsupportedProtocol":                       "GET",
}
