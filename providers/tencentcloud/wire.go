package tencentcloud

import (
	"encoding/json"
	"fmt"
)

// The states of a record.
const (
	enabled  = "ENABLE"
	disabled = "DISABLE"
)

// maxPage is the most records that DescribeRecordList gives at once.
const maxPage = 3000

// item is a record as DescribeRecordList gives it: everything that the vendor
// says of it. What is null there is the zero value here.
type item struct {
	ID      uint64  `json:"RecordId"`
	Name    string  `json:"Name"` // below the zone, "@" for the apex
	Type    string  `json:"Type"`
	Value   string  `json:"Value"`
	Status  string  `json:"Status"`
	Line    string  `json:"Line"`
	LineID  string  `json:"LineId"`
	TTL     uint32  `json:"TTL"`
	MX      uint16  `json:"MX"`
	Weight  *uint32 `json:"Weight"`
	Remark  string  `json:"Remark"`
	Monitor string  `json:"MonitorStatus"`
	Default bool    `json:"DefaultNS"`
}

func (i *item) String() string {
	return fmt.Sprintf("%s %d %s %q (record %d)", i.Name, i.TTL, i.Type, i.Value, i.ID)
}

func (i *item) live() bool { return i.Status == enabled }

// line is a group of resolvers that is answered in its own way. The id is the
// same in both editions, the name is not.
type line struct{ id, name string }

func (i *item) line() line { return line{i.LineID, i.Line} }

type counts struct {
	Listed *int `json:"ListCount"`
	Total  *int `json:"TotalCount"`
}

// listParams asks for one page. Without ErrorOnEmpty the API makes an error of
// an empty one.
type listParams struct {
	Domain       string
	Offset       int
	Limit        int
	ErrorOnEmpty string
}

type listReply struct {
	answer

	Counts  *counts `json:"RecordCountInfo"`
	Records []item  `json:"RecordList"`

	unread []string // records that could not be decoded, a line each
}

// decodeSlowly decodes record by record and leaves out those that have another
// shape than the vendor says: one odd record must not hide all others.
func (r *listReply) decodeSlowly(body []byte) error {
	var raw struct {
		Response struct {
			answer

			Counts  *counts           `json:"RecordCountInfo"`
			Records []json.RawMessage `json:"RecordList"`
		}
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return err
	}
	*r = listReply{answer: raw.Response.answer, Counts: raw.Response.Counts}
	for _, text := range raw.Response.Records {
		var i item
		if err := json.Unmarshal(text, &i); err != nil {
			r.unread = append(r.unread, fmt.Sprintf("a record that cannot be read: %v: %.200s", err, text))
			continue
		}
		r.Records = append(r.Records, i)
	}
	return nil
}

// recordParams names one record.
type recordParams struct {
	Domain   string
	RecordID uint64 `json:"RecordId"`
}

// info is a record as DescribeRecord gives it.
type info struct {
	ID      uint64  `json:"Id"`
	Name    string  `json:"SubDomain"`
	Type    string  `json:"RecordType"`
	Line    string  `json:"RecordLine"`
	LineID  string  `json:"RecordLineId"`
	Value   string  `json:"Value"`
	Weight  *uint32 `json:"Weight"`
	MX      uint16  `json:"MX"`
	TTL     uint32  `json:"TTL"`
	Enabled *int    `json:"Enabled"`
	Remark  string  `json:"Remark"`
}

type recordReply struct {
	answer

	Info *info `json:"RecordInfo"`
}

type statusParams struct {
	Domain   string
	RecordID uint64 `json:"RecordId"`
	Status   string
}

type remarkParams struct {
	Domain   string
	RecordID uint64 `json:"RecordId"`
	Remark   string // an empty one deletes it
}

// fullParams are all attributes that CreateRecord and ModifyRecord take. What
// is left out is not kept: ModifyRecord resumes a record without Status and
// drops the weight of one without Weight.
type fullParams struct {
	Domain       string
	RecordID     uint64 `json:"RecordId,omitempty"` // of ModifyRecord
	SubDomain    string
	RecordType   string
	RecordLine   string // wanted by the API, of no effect beside the id
	RecordLineID string `json:"RecordLineId"`
	Value        string
	MX           uint16  `json:",omitempty"` // of MX, HTTPS and SVCB, where it is never 0
	TTL          uint32  `json:",omitempty"`
	Weight       *uint32 `json:",omitempty"`
	Status       string
	Remark       string
}

type domainParams struct{ Domain string }

type domainInfo struct {
	ID       uint64   `json:"DomainId"`
	Domain   string   `json:"Domain"`
	Status   string   `json:"Status"`
	Grade    string   `json:"Grade"`
	Title    string   `json:"GradeTitle"`
	DNS      string   `json:"DnsStatus"`
	Records  int      `json:"RecordCount"`
	Actual   []string `json:"ActualNsList"`
	Expected []string `json:"DnspodNsList"`
}

type domainReply struct {
	answer

	Info *domainInfo `json:"DomainInfo"`
}

type linesParams struct{ Domain, DomainGrade string }

type linesReply struct {
	answer

	Lines []struct {
		Name string `json:"Name"`
		ID   string `json:"LineId"`
	} `json:"LineList"`
}
