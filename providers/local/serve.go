package local

import (
	"context"
	"os"
	"sync"
	"time"

	"sidestep/pkg/authority"
)

// pollEvery is how often a served file is looked at for another's change.
const pollEvery = time.Second

// Serve answers queries from the file until the context ends; without an
// address to listen on it only waits. A file that cannot be read or served is
// logged, once for each of its states, and the last good zone stays; before
// there was one, queries are refused.
func (a *Adapter) Serve(ctx context.Context) error {
	if a.listen == "" {
		<-ctx.Done()
		return nil
	}
	server := authority.New(authority.Options{Logger: a.log})
	if err := server.Listen(a.listen); err != nil {
		return a.failed("serve", err)
	}
	a.attach(server)
	defer a.attach(nil)
	polling, stop := context.WithCancel(ctx)
	var poll sync.WaitGroup
	defer poll.Wait()
	defer stop()
	trouble := a.refresh(ctx, "")
	poll.Go(func() { a.poll(polling, trouble) })
	if err := server.Serve(ctx); err != nil {
		return a.failed("serve", err)
	}
	return nil
}

// Servers is the address that Serve listens on, while it runs.
func (a *Adapter) Servers() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.server == nil {
		return nil
	}
	return []string{a.server.Addr()}
}

// Listens is the address that Serve is to listen on, whether it runs or not.
func (a *Adapter) Listens() string { return a.listen }

// attach begins to serve the file, or with nil ends it.
func (a *Adapter) attach(server *authority.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server, a.shown = server, identity{}
}

// poll shows the file whenever it has changed, until ctx ends.
func (a *Adapter) poll(ctx context.Context, trouble string) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			trouble = a.refresh(ctx, trouble)
		}
	}
}

// refresh shows the file when it is another one than the one shown. It returns
// why it could not, and logs that when it is not the trouble of the last time.
func (a *Adapter) refresh(ctx context.Context, trouble string) string {
	err := a.show(ctx)
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil || err.Error() == trouble:
		return trouble
	}
	log := a.log.With("zone", string(a.zone), "file", a.path, "error", err)
	if a.lastShown() == (identity{}) {
		log.Error("the zone file cannot be served; nothing is until it can")
	} else {
		log.Error("the zone file is not served as it is now, the last good one is")
	}
	return err.Error()
}

// show serves the file as it is now.
func (a *Adapter) show(ctx context.Context) error {
	a.showing.Lock()
	defer a.showing.Unlock()
	if info, err := os.Stat(a.path); err == nil && identityOf(info) == a.lastShown() {
		return nil
	}
	src, err := readFile(ctx, a.path)
	if err != nil {
		return err
	}
	doc, err := a.parse(src)
	if err != nil {
		return err
	}
	zone, err := a.zoneOf(doc)
	if err != nil {
		return err
	}
	a.publish(src.id, zone)
	return nil
}

// wrote serves our own write at once.
func (a *Adapter) wrote(id identity, zone *authority.Zone) {
	a.showing.Lock()
	defer a.showing.Unlock()
	a.publish(id, zone)
}

// publish hands a zone to the server, if there is one. showing is held.
func (a *Adapter) publish(id identity, zone *authority.Zone) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.server != nil {
		a.server.SetZone(zone)
		a.shown = id
	}
}

func (a *Adapter) lastShown() identity {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown
}

func (a *Adapter) zoneOf(doc *document) (*authority.Zone, error) {
	return authority.NewZone(a.zone, doc.records())
}
