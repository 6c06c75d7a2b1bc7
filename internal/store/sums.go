package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sums.sql
var sumsSQL string

// Sum is a rule that holds within the tables, and how many rows break it.
type Sum struct {
	Rule  string `json:"rule"`
	Wrong int64  `json:"wrong"`
}

// SumsIn checks the tables of a transaction against themselves.
func SumsIn(ctx context.Context, tx pgx.Tx) ([]Sum, error) {
	// They are read whole; where Postgres has not counted them yet it would look up row by row.
	if _, err := tx.Exec(ctx, "set local enable_nestloop = off"); err != nil {
		return nil, fmt.Errorf("check the sums: %w", err)
	}
	rows, err := tx.Query(ctx, sumsSQL)
	if err != nil {
		return nil, fmt.Errorf("check the sums: %w", err)
	}
	sums, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Sum])
	if err != nil {
		return nil, fmt.Errorf("check the sums: %w", err)
	}
	return sums, nil
}
