package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestWhyTheShopGaveSomethingIsShownToThoseWhoMayReadIt(t *testing.T) {
	t.Parallel()
	body := strings.Replace(fixture.Pack("e1", "p1", "u1", 1), "{", `{"reason":"she wrote from petra@example.com",`, 1)
	ctx, shop := fixture.NewFolded(t, 1, body)
	_, err := shop.Tables.Pool().Exec(ctx, "update processed_event set provider = 'payfold'")
	require.NoError(t, err)
	for personal, said := range map[bool]string{
		true: "she wrote from petra@example.com", false: "masked; a console with CONSOLE_SHOW_PERSONAL_DATA=true shows it",
	} {
		server := run(t, console.Config{
			Log: shop.Log, Tables: shop.Tables, Guard: everybody{}, ShowPersonalData: personal, Logger: testenv.Logger(t),
		})
		_, text := get(t, server, "/events/e1")
		require.Contains(t, text, "The reason that was given: "+said)
		_, text = get(t, server, "/events/e1", "Accept", "application/json")
		require.Contains(t, text, `"shops_reason":"`+said+`"`)
	}
}
