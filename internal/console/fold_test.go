package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
)

func TestWhatIsLeftAndTheNewestPaymentsAreShownFirst(t *testing.T) {
	t.Parallel()
	var grants []explain.Grant
	var payments []projections.Payment
	for i := range int64(30) {
		grants = append(grants, explain.Grant{Part: i, Usable: i % 2})
		payments = append(payments, projections.Payment{StreamSeq: i})
	}
	g := foldGrants(grants)
	require.Len(t, g.Shown, maxUnfolded)
	require.Len(t, g.Rest, 20)
	require.EqualValues(t, []int64{1, 3, 19, 21, 29, 0, 28}, []int64{
		g.Shown[0].Part, g.Shown[1].Part, g.Shown[9].Part, g.Rest[0].Part, g.Rest[4].Part, g.Rest[5].Part, g.Rest[19].Part,
	})
	p := foldPayments(payments)
	require.EqualValues(t, []int64{29, 20, 19, 0}, []int64{p.Shown[0].StreamSeq, p.Shown[9].StreamSeq, p.Rest[0].StreamSeq, p.Rest[19].StreamSeq})
	owing := foldGrants([]explain.Grant{{Part: 1}, {Part: 2, Owes: 5}, {Part: 3, Held: 1}})
	require.EqualValues(t, []int64{2, 3}, []int64{owing.Shown[0].Part, owing.Shown[1].Part})
	require.Len(t, owing.Rest, 1)
}
