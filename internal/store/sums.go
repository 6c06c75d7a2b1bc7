package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sums.sql
var sumsSQL string

// SumCheck is a rule about the rows of one schema, and the number of rows that break it.
type SumCheck struct {
	Rule  string `json:"rule"`
	Wrong int64  `json:"wrong"`
}

// CheckSums counts the rows that break each rule of sums.sql, in the schema of the
// transaction's search_path.
func CheckSums(ctx context.Context, tx pgx.Tx) ([]SumCheck, error) {
	// Every table is read whole. Without statistics Postgres would look up row by row. With
	// statistics it would read in the order of an index.
	if _, err := tx.Exec(ctx, "set local enable_nestloop = off; set local enable_mergejoin = off; set local enable_sort = off"); err != nil {
		return nil, fmt.Errorf("check the sums: %w", err)
	}
	return Collect(ctx, tx, "check the sums", pgx.RowToStructByPos[SumCheck], sumsSQL)
}

//go:embed wallet_sums.sql
var walletSumsSQL string

// CheckWallet counts the rows that break each rule of wallet_sums.sql.
func CheckWallet(ctx context.Context, tx pgx.Tx) ([]SumCheck, error) {
	return Collect(ctx, tx, "check the wallet", pgx.RowToStructByPos[SumCheck], walletSumsSQL)
}
