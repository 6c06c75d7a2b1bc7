package browse

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestTheBeginningOfAnIDIsEnough(t *testing.T) {
	t.Parallel()
	bodies := []string{
		`{"id":"evt_1","eventType":"checkout.completed","object":{"id":"ch_12","order":{"id":"ord_1","transaction":"tran_1"},"metadata":{"kind":"one_time","user_id":"user_1","credits":100}}}`,
		`{"id":"evt_2","eventType":"refund.created","object":{"id":"refund_1","refund_amount":25,"transaction":{"id":"tran_1","amount_paid":100}}}`,
		`{"id":"evt_3","eventType":"subscription.paid","object":{"id":"sub_1","last_transaction_id":"tran_2","metadata":{"credits":10,"user_id":"user_2"}}}`,
	}
	ctx, s := setup(t, bodies...)
	for text, want := range map[string][]string{
		"evt": {"event evt_1", "event evt_2", "event evt_3"}, "user_": {"user user_1", "user user_2"}, "tran": {"payment tran_1", "payment tran_2"},
		"ord": {"payment tran_1"}, "ch_": {"payment tran_1"}, "ch_12": {"payment tran_1"}, "sub": {"subscription sub_1"}, "refund_": {"payment tran_1"}, "refund_1": {"payment tran_1"},
		"us": {}, "user_%": {}, "evt_1": {"event evt_1"}, "u_er": {}, "zzz": {},
	} {
		t.Run(text, func(t *testing.T) {
			found, err := Search(ctx, s, text, false)
			require.NoError(t, err)
			got := []string{}
			for _, hit := range found {
				got = append(got, hit.Kind+" "+hit.ID)
			}
			require.Equal(t, want, got)
		})
	}
}

func TestASearchShowsABoundedNumberOfEachKind(t *testing.T) {
	t.Parallel()
	var bodies []string
	for _, one := range "abcdefghijklmnopqrstuvwxyz" {
		bodies = append(bodies, fixture.Pack("same_"+string(one), "same_p"+string(one), "same_u"+string(one), 1))
	}
	ctx, s := setup(t, bodies...)
	found, err := Search(ctx, s, "same", false)
	require.NoError(t, err)
	require.Len(t, found, 3*maxHits)
}

func TestTheBeginningOfAGitHubNameIsEnoughWhereNamesAreShown(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, `{"id":"evt_1","eventType":"checkout.completed","object":{"order":{"id":"ord_1","transaction":"tran_1"},`+
		`"metadata":{"kind":"pro","user_id":"user_1","github_username":"Ada-Lovelace"}}}`)
	for _, text := range []string{"ada", "ADA-L", "Ada-Lovelac"} {
		found, err := Search(ctx, s, text, true)
		require.NoError(t, err)
		require.Equal(t, []Hit{{HitUser, "user_1", "its GitHub user"}}, found, text)
		found, err = Search(ctx, s, text, false)
		require.NoError(t, err)
		require.Empty(t, found, text)
	}
	found, err := Search(ctx, s, "ada-lovelace", false)
	require.NoError(t, err)
	require.Len(t, found, 1, "the whole name is found in any case")
}
