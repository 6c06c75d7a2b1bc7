package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/page"
)

func TestNumbersForPeopleHaveSeparatorsOfThousands(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"1,250,000", "-1,250", noValue}, []string{whole(1_250_000), whole(new(int64(-1250))), whole((*int64)(nil))})
	require.Equal(t, []string{"+1,000", "-1,500", "+0"}, []string{page.Signed(1000), page.Signed(-1500), page.Signed(0)})
	require.Equal(t, "past due", words("past_due"))
}
