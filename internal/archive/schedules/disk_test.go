package schedules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/schedule"
)

var errRefused = errors.New("the store answers 503")

// disk is what the archive's place has, and what it would have after a power cut.
type disk struct {
	objects map[string]*object
	undone  map[string]*object // were removed; a power cut may bring them back
}

type object struct {
	bytes   []byte
	durable bool
}

func newDisk() *disk { return &disk{objects: map[string]*object{}, undone: map[string]*object{}} }

// sync makes the names in a folder durable. The bytes are: a file gets its name after it was synced.
func (d *disk) sync(folder string) {
	for name, one := range d.objects {
		one.durable = one.durable || path.Dir(name) == folder
	}
	maps.DeleteFunc(d.undone, func(name string, _ *object) bool { return path.Dir(name) == folder })
}

// cutPower keeps what is durable, and of the rest what keeps says. The order of the names is always the same.
func (d *disk) cutPower(keeps func() bool) {
	for _, name := range slices.Sorted(maps.Keys(d.objects)) {
		if !d.objects[name].durable && !keeps() {
			delete(d.objects, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.undone)) {
		if !keeps() {
			d.objects[name] = d.undone[name]
		}
	}
	for _, kept := range d.objects {
		kept.durable = true
	}
	clear(d.undone)
}

// worst returns what the disk has after a power cut that loses all that may be lost, and undoes no removal.
func (d *disk) worst() *disk {
	left := &disk{objects: maps.Clone(d.objects), undone: map[string]*object{}}
	maps.DeleteFunc(left.objects, func(_ string, one *object) bool { return !one.durable })
	return left
}

// place is a disk as one process sees it. turn lets it take each step that others can see, and says what goes wrong.
type place struct {
	*disk
	turn turn
}

// turn calls do, which takes a step, or returns an error without that. Only one step is taken at a time.
type turn func(ctx context.Context, step string, do func(schedule.Fault) error) error

func (p *place) String() string { return "memory" }

// step waits for its turn, does what was asked, and returns the fault.
func (p *place) step(ctx context.Context, name string, do func() error) error {
	return p.turn(ctx, name, func(goesWrong schedule.Fault) error {
		if goesWrong == schedule.Refused {
			return errRefused
		}
		err := do()
		if goesWrong == schedule.Lost {
			return errRefused
		}
		return err
	})
}

// List implements storage.Place.
func (p *place) List(ctx context.Context, folder string) (names []string, err error) {
	err = p.step(ctx, "list "+folder, func() error {
		for name := range p.objects {
			dir, base := path.Split(name)
			switch dir = path.Clean(dir); {
			case folder == "" && !slices.Contains(names, dir):
				names = append(names, dir)
			case dir == folder:
				names = append(names, base)
			}
		}
		return nil
	})
	return names, err
}

// Create implements storage.Place: an object is whole when others see it, and durable later.
func (p *place) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	created := &object{bytes: content.Bytes()}
	err := p.step(ctx, "create "+name, func() error {
		if p.objects[name] != nil {
			return storage.ErrExists
		}
		p.objects[name] = created
		return nil
	})
	if err != nil {
		return err
	}
	return p.step(ctx, "sync "+name, func() error {
		p.sync(path.Dir(name))
		return nil
	})
}

type opened struct{ *bytes.Reader }

func (opened) Close() error { return nil }

// Open implements storage.Place. What was opened can be read to its end, whatever happens to its name.
func (p *place) Open(ctx context.Context, name string) (out storage.Object, err error) {
	err = p.step(ctx, "open "+name, func() error {
		found := p.objects[name]
		if found == nil {
			return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		out = opened{bytes.NewReader(found.bytes)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Sync implements storage.Place.
func (p *place) Sync(ctx context.Context, folder string, objects ...string) error {
	return p.step(ctx, "sync", func() error {
		for _, name := range objects {
			if p.objects[folder+"/"+name] == nil {
				return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
			}
		}
		p.sync(folder)
		return nil
	})
}

// Remove implements storage.Place: the name is gone at once, and a power cut brings it back until it is synced.
func (p *place) Remove(ctx context.Context, name string) error {
	err := p.step(ctx, "remove "+name, func() error {
		if found := p.objects[name]; found != nil && found.durable {
			p.undone[name] = found
		}
		delete(p.objects, name)
		return nil
	})
	if err != nil {
		return err
	}
	return p.step(ctx, "sync removal of "+name, func() error {
		p.sync(path.Dir(name))
		return nil
	})
}

var _ storage.Place = (*place)(nil)
