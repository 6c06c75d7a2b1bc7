package lag

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/payfold/payfold/internal/store"
)

//go:embed tables.sql
var tablesSQL string

// tables has the positions of the live tables, and who works on them.
type tables struct {
	logID       string
	positions   map[int]uint64
	unleased    int64 // partitions
	members     int64
	quarantined int64

	candidates []store.Schema // of rebuilds, running or complete
}

func readTables(ctx context.Context, s *store.Store) (out tables, err error) {
	var partitions []int
	var positions []int64
	err = s.Pool().QueryRow(ctx, tablesSQL, s.Schema(), s.LeaseTime()).
		Scan(&out.logID, &partitions, &positions, &out.unleased, &out.members, &out.quarantined)
	if err != nil {
		return out, fmt.Errorf("read the positions of the tables: %w", err)
	}
	out.positions = map[int]uint64{}
	for i, partition := range partitions {
		out.positions[partition] = uint64(positions[i])
	}
	schemas, err := s.Schemas(ctx)
	out.candidates = slices.DeleteFunc(schemas, func(schema store.Schema) bool {
		return slices.Contains([]string{store.LiveSchema, store.PreviousSchema, store.TransientSchema, store.VerifySchema}, schema.Name)
	})
	return out, err
}
