package store

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const (
	// WalletSchema has what apps spend of the credits that the live tables grant. No promotion touches it.
	WalletSchema = "wallet"
	// TransientWallet exists only within one transaction, of a comparison of definitions.
	TransientWallet = "wallet_aside"
)

// walletDDL is the only migration that makes objects of schema wallet.
//
//go:embed migrations/002_wallet.sql
var walletDDL string

//go:embed wallet_sums.sql
var walletSumsSQL string

// MakeWallet creates schema wallet as this build makes it, under another name: its functions are texts, which have that
// name in them.
func MakeWallet(ctx context.Context, tx pgx.Tx, name string) error {
	up, _, _ := strings.Cut(walletDDL, "---- create above / drop below ----")
	if _, err := tx.Exec(ctx, strings.ReplaceAll(up, WalletSchema, name)); err != nil {
		return fmt.Errorf("create schema %s: %w", name, err)
	}
	return nil
}

// CheckWallet counts the rows that break each rule of wallet_sums.sql.
func CheckWallet(ctx context.Context, tx pgx.Tx) ([]SumCheck, error) {
	return Collect(ctx, tx, "check the wallet", pgx.RowToStructByPos[SumCheck], walletSumsSQL)
}
