package tencentcloud

import (
	"context"
	"errors"
	"fmt"

	"sidestep/pkg/provider"
)

// listAttempts is how often the zone is listed anew while it changes between
// two pages.
const listAttempts = 3

// errMoved is a list that changed while it was read.
var errMoved = errors.New("the zone changed while it was listed, each time")

// List reads the whole zone, page after page, and believes it when the pages
// follow each other and have as many records as the API counts.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	a.resolve(ctx)
	b := newBuilder(a)
	total, err := a.listAll(ctx, b.reset, b.add)
	if err != nil {
		return nil, err
	}
	return b.finish(total)
}

// listAll hands every record to add, and the lines about those that cannot be
// read. When the zone moved it calls reset and begins again.
func (a *Adapter) listAll(ctx context.Context, reset func(), add func(*listReply)) (total int, err error) {
	for range listAttempts {
		reset()
		total, err = a.listOnce(ctx, add)
		if !errors.Is(err, errMoved) {
			return total, err
		}
	}
	return 0, &provider.Error{Class: provider.Retryable, Op: a.listOp(), Code: "moved", Err: err, Hint: "the list is made again"}
}

func (a *Adapter) listOp() string { return fmt.Sprintf("list zone %s", a.zone) }

// listOnce reads page after page. Each begins with the last record of the one
// before: when it does not, something was put in or taken out between, and a
// record that nobody touched may have slipped from one page to the other.
func (a *Adapter) listOnce(ctx context.Context, add func(*listReply)) (total int, err error) {
	last := uint64(0)
	for got := 0; ; {
		page, err := a.page(ctx, max(0, got-1), maxPage)
		if err != nil {
			return 0, err
		}
		if got == 0 {
			total = *page.Counts.Total
		} else if !page.follows(last) {
			return 0, errMoved
		}
		if *page.Counts.Total != total {
			return 0, errMoved
		}
		if read := len(page.Records); read > 0 {
			last = page.Records[read-1].ID
		}
		add(page)
		n := len(page.Records) + len(page.unread)
		switch got += n; {
		case got == total && total > 0:
			return total, nil
		case got > total:
			return 0, errMoved
		case n == 0:
			return 0, a.cut("expected %d records, got %d; a domain has at least its name servers", total, got)
		}
	}
}

// follows takes the first record off a page when it is the one that the page
// before ended with. Of one that cannot be read nobody knows.
func (r *listReply) follows(last uint64) bool {
	switch {
	case len(r.unread) > 0 && (len(r.Records) == 0 || r.Records[0].ID != last):
		r.unread = r.unread[1:]
	case len(r.Records) == 0 || r.Records[0].ID != last:
		return false
	default:
		r.Records = r.Records[1:]
	}
	return true
}

func (a *Adapter) cut(format string, args ...any) error {
	e := provider.Failf(provider.Retryable, a.listOp(), "cut", format, args...)
	e.Hint = "nothing is written from such a list; it is made again"
	return e
}

// page reads one page and checks that it is whole.
func (a *Adapter) page(ctx context.Context, offset, limit int) (*listReply, error) {
	var out listReply
	params := listParams{a.name(), offset, limit, "no"}
	err := a.do(ctx, request{op: a.listOp(), action: "DescribeRecordList", params: params}, &out)
	switch {
	case code(err) == "ResourceNotFound.NoDataOfRecord":
		return nil, a.cut("the API says that there are no records; a domain has at least its name servers")
	case err != nil:
		return nil, err
	case out.Counts == nil || out.Counts.Total == nil || out.Counts.Listed == nil:
		return nil, a.cut("the answer does not say how many records there are")
	case *out.Counts.Listed != len(out.Records)+len(out.unread):
		return nil, a.cut("expected %d records on the page, got %d", *out.Counts.Listed, len(out.Records)+len(out.unread))
	}
	return &out, nil
}
