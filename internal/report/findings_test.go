package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

func TestAVerdictCountsOneThingAsOne(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]verify.Verdict{`violated: a rule (1 row)
1 message was lost with an earlier log: a mark stands for each
1 message is of the shop itself, signed with the secret of its own events
1 message was pulled from an API, without a signature; with --strict that counts as wrong
1 message was signed with a secret that was not given; with --strict that counts as wrong
1 row differs because events were applied out of the log's order; to settle: projector settle
portal up to seq 9: 1 message, 1 other row and 1 definition are wrong
`: {
		Sums: []store.SumCheck{{Rule: "a rule", Wrong: 1}}, Lost: 1, Own: 1, Pulled: 1, Unverifiable: 1, OutOfOrder: 1, Faults: 1, Differences: 1, Definitions: 1,
	}, `violated: a rule (2 rows)
2 messages were lost with an earlier log: a mark stands for each
2 messages are of the shop itself, signed with the secret of its own events
2 messages were pulled from an API, without a signature
2 messages were signed with a secret that was not given
2 rows differ because events were applied out of the log's order; to settle: projector settle
portal up to seq 9: 2 messages, 2 other rows and 2 definitions are wrong
`: {
		Sums: []store.SumCheck{{Rule: "a rule", Wrong: 2}}, Lost: 2, Own: 2, Pulled: 2, Unverifiable: 2, OutOfOrder: 2, Faults: 2, Differences: 2, Definitions: 2, Strict: true,
	}} {
		v.Schema, v.Position = store.LiveSchema, 9
		var out strings.Builder
		Findings{Out: &out}.Verdict(v)
		require.Equal(t, want, out.String())
	}
}
