package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"sidestep/pkg/control"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// List lists one zone of a config, for a command that steers nothing. Only the
// config, the registry, the logger and the version of the options count.
func List(ctx context.Context, options Options, zone record.Name) (*provider.Snapshot, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Daemon{options: options, config: options.Config, log: options.Logger}
	zones, err := d.adapters()
	if err != nil {
		return nil, err
	}
	for _, z := range zones {
		if z.Name != zone {
			continue
		}
		snapshot, err := listWithin(ctx, z.Adapter)
		if err != nil {
			return nil, &control.Error{Message: err.Error(), Exit: control.ExitProvider}
		}
		return snapshot, nil
	}
	return nil, fmt.Errorf("list zone %s: no such zone", zone)
}

// listWithin lists a zone within the adapter's deadline for that.
func listWithin(ctx context.Context, adapter provider.Adapter) (*provider.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, adapter.Promises().Listing())
	defer cancel()
	return adapter.List(ctx)
}
