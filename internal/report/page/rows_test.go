package page

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type soldThing struct {
	PaymentID string     `db:"provider_payment_id,key"`
	Amount    *int64     `db:"amount"`
	Currency  string     `db:"currency"`
	At        time.Time  `db:"occurred_at"`
	Ended     *time.Time `db:"ended_at"`
	Known     bool       `db:"known"`
	Why       string     `json:"why,omitempty"`
	Hidden    string     `json:"-" db:"hidden"`
}

func TestARowHasTheSameColumnsInEachForm(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	rows := []soldThing{{PaymentID: "p 1", Amount: new(int64(1210)), Currency: "EUR", At: at, Hidden: "x"}, {PaymentID: "p_2"}}
	require.Equal(t, []string{"provider_payment_id", "amount", "currency", "occurred_at", "ended_at", "why"}, Columns[soldThing]())
	require.Equal(t, []any{"p 1", int64(1210), "EUR", at, nil, nil}, Cells(rows[0]))
	text, err := Marshal(rows[1])
	require.NoError(t, err)
	require.Equal(t, `{"provider_payment_id":"p_2","amount":null,"currency":null,"occurred_at":null,"ended_at":null,"why":null}`, string(text))
	var p Page
	Rows(&p, rows)
	p.Row(rows[0], "provider_payment_id")
	require.Equal(t, "  payment  amount     provider's time\n"+
		"  \"p 1\"    EUR 12.10  2026-01-31 12:00:00Z\n"+
		"  p_2      -          -\n"+
		"  amount           EUR 12.10\n"+
		"  provider's time  2026-01-31 12:00:00Z\n", p.text.String())
}
