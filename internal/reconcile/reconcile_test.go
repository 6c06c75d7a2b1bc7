package reconcile_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

const aDay = 24 * time.Hour

// each runs a test for each provider, in a shop with some payments, refunds and subscriptions.
func each(t *testing.T, test func(t *testing.T, s *shop, sold []made)) {
	t.Helper()
	t.Parallel()
	for name := range payapi.Dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, name)
			var sold []made
			for n := range 12 {
				sold = append(sold, s.Payment(n, 1200, s.now.Add(-15*aDay+time.Duration(n)*time.Minute)))
			}
			s.sells(t, sold...)
			for n := range 3 {
				s.sells(t, s.Refund(sold[n], n, 500, s.now.Add(-3*aDay)), s.Subscription(n, "active", s.now.Add(10*aDay),
					s.now.Add(-20*aDay)))
			}
			s.sells(t, s.Subscription(3, "canceled", s.now.Add(-40*aDay), s.now.Add(-40*aDay)))
			test(t, s, sold)
		})
	}
}

func TestTablesThatHaveWhatTheProviderHasDoNotDiffer(t *testing.T) {
	each(t, func(t *testing.T, s *shop, sold []made) {
		for n := range 120 { // several pages
			sold = append(sold, s.Payment(100+n, 1200, s.now.Add(-10*aDay+time.Duration(n)*time.Minute)))
		}
		s.sells(t, sold[12:]...)
		result := s.compare(t)
		require.Empty(t, result.Found)
		require.True(t, result.Holds())
		require.Equal(t, len(sold), result.Payments)
		require.GreaterOrEqual(t, result.Subscriptions, 3)
		require.GreaterOrEqual(t, result.Refunds, 3)
	})
}

func TestALostEventOfAPaymentIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		lost := s.Payment(900, 700, s.now.Add(-5*aDay))
		s.Has(lost)
		d := requireOne(t, s.compare(t), reconcile.MissingPayment)
		require.EqualValues(t, 700, *d.Provider.Amount)
		require.Equal(t, "EUR", d.Provider.Currency)
		require.True(t, lost.At.Equal(d.At))
		if s.Provider == "creem" {
			require.Contains(t, d.Repair, "send its event again from the dashboard")
		} else {
			require.Equal(t, "u_900", d.User)
			require.Equal(t, fmt.Sprintf("ingest pull %s --since %s", s.Provider, lost.At.Add(-time.Hour).Format(time.RFC3339)), d.Repair)
		}
		s.deliver(t, lost)
		s.apply(t)
		require.True(t, s.compare(t).Holds())
	})
}

func TestALostRefundIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, sold []made) {
		lost := s.Refund(sold[5], 900, 300, s.now.Add(-5*aDay))
		s.Has(lost)
		d := requireOne(t, s.compare(t), reconcile.MissingRefund)
		require.EqualValues(t, 300, *d.Provider.Amount)
		require.Equal(t, "u_5", d.User)
		s.deliver(t, lost)
		s.apply(t)
		require.True(t, s.compare(t).Holds())
	})
}

func TestASubscriptionThatEndedUnseenIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		ended := s.Subscription(1, "canceled", s.now.Add(10*aDay), s.now.Add(-2*aDay))
		s.Has(ended)
		d := requireOne(t, s.compare(t), reconcile.OtherStatus)
		require.Equal(t, "canceled", d.Provider.Status)
		require.Equal(t, "active", d.Tables.Status)
		require.Equal(t, "u_1", d.User)
		s.deliver(t, ended)
		s.apply(t)
		require.True(t, s.compare(t).Holds())
	})
}

func TestARenewalThatWasNotSeenIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.Has(s.Subscription(1, "active", s.now.Add(40*aDay), s.now.Add(-2*aDay)))
		d := requireOne(t, s.compare(t), reconcile.OtherPeriod)
		require.True(t, s.now.Add(40*aDay).Equal(d.Provider.Until))
		require.True(t, s.now.Add(10*aDay).Equal(d.Tables.Until))
	})
}

func TestASubscriptionThatTheTablesDoNotHaveIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.Has(s.Subscription(900, "active", s.now.Add(10*aDay), s.now.Add(-2*aDay)))
		d := requireOne(t, s.compare(t), reconcile.MissingSubscription)
		require.Equal(t, "u_900", d.User)
	})
}

func TestAPaymentThatTheProviderDoesNotKnowIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		forged := s.Payment(900, 99900, s.now.Add(-5*aDay))
		s.deliver(t, forged)
		s.apply(t)
		d := requireOne(t, s.compare(t), reconcile.UnknownPayment)
		require.EqualValues(t, 99900, *d.Tables.Amount)
		require.Equal(t, "u_900", d.User)
		require.Contains(t, d.Repair, "projector explain "+d.Event)
		order := ""
		if fixture.Number(s.ctx, t, s.tables, "select count(*) from payment where transaction_id = '"+d.Payment+"'") == 0 {
			order = " --order" // ingest take finds the payment by its order only
		}
		require.Contains(t, d.Repair, "ingest take --user u_900 --payment "+d.Payment+order+" --all --reason 'WHY' ")
	})
}

func TestASubscriptionThatTheProviderDoesNotKnowIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.deliver(t, s.Subscription(900, "active", s.now.Add(10*aDay), s.now.Add(-2*aDay)))
		s.apply(t)
		requireOne(t, s.compare(t), reconcile.UnknownSubscription)
	})
}

func TestARefundThatTheProviderDoesNotKnowIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, sold []made) {
		s.deliver(t, s.Refund(sold[5], 900, 300, s.now.Add(-5*aDay)))
		s.apply(t)
		what := reconcile.UnknownRefund
		if s.Provider == "creem" { // it lists only the sum
			what = reconcile.OtherRefund
		}
		d := requireOne(t, s.compare(t), what)
		require.EqualValues(t, 300, *d.Tables.Amount)
	})
}

func TestAnotherAmountIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		at := s.now.Add(-5 * aDay)
		s.deliver(t, s.Payment(900, 1200, at))
		s.apply(t)
		s.Has(s.Payment(900, 1900, at))
		d := requireOne(t, s.compare(t), reconcile.OtherAmount)
		require.EqualValues(t, 1900, *d.Provider.Amount)
		require.EqualValues(t, 1200, *d.Tables.Amount)
	})
}

func TestTheKeyOfAnotherStoreIsSaidFirst(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		other := newServer(t, s.Provider)
		for n := range 40 {
			other.Has(other.Payment(5000+n, 800, s.now.Add(-5*aDay)))
		}
		s.server = other
		result := s.compare(t)
		require.True(t, result.Stranger)
		require.False(t, result.Holds())
		require.Equal(t, 10, result.Asked)
		require.Empty(t, result.Found, "no advice to pull the events of another store")
	})
}

func TestTheKeyOfTheOtherModeIsSaidFirst(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.server = newServer(t, s.Provider)
		require.True(t, s.compare(t).Stranger)
	})
}

// Nothing was sold in the time that is compared: neither by the shop, nor by the store of the key.
func TestAStrangersKeyIsSaidInAQuietTime(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		known, err := s.reconcile(t, s.now.Add(-5*aDay))
		require.NoError(t, err)
		require.False(t, known.Stranger)
		s.server = newServer(t, s.Provider)
		result, err := s.reconcile(t, s.now.Add(-5*aDay))
		require.NoError(t, err)
		require.True(t, result.Stranger)
		require.False(t, result.Holds())
	})
}

func TestOneUnknownPaymentMakesNoStranger(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.deliver(t, s.Payment(900, 99900, s.now.Add(-2*aDay))) // the only one of the time, and others are known
		s.apply(t)
		result, err := s.reconcile(t, s.now.Add(-3*aDay+time.Hour))
		require.NoError(t, err)
		requireOne(t, result, reconcile.UnknownPayment)

		young := newShop(t, s.Provider)
		young.deliver(t, young.Payment(900, 99900, young.now.Add(-2*aDay)))
		young.apply(t)
		requireOne(t, young.compare(t), reconcile.UnknownPayment)
	})
}

// A request that the provider refuses says nothing of the name: the provider may know it.
func TestALookUpThatIsRefusedIsAnError(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			each(t, func(t *testing.T, s *shop, sold []made) {
				s.deliver(t, s.Payment(900, 99900, s.now.Add(-5*aDay)))
				s.apply(t)
				s.fault = func(w http.ResponseWriter, r *http.Request) bool {
					if isFind(r) {
						http.Error(w, `{}`, status)
					}
					return isFind(r)
				}
				_, err := s.reconcile(t, s.now.Add(-20*aDay))
				require.ErrorContains(t, err, fmt.Sprintf("is answered %d", status))
			})
		})
	}
}

func TestWhatTheProviderHasJustMadeIsOnItsWay(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		s.Has(s.Payment(900, 700, s.now.Add(-10*time.Minute)))
		result := s.compare(t)
		require.Len(t, result.Found, 1)
		require.Equal(t, reconcile.Young, result.Found[0].Lagging)
		require.Equal(t, 1, result.OnItsWay)
		require.True(t, result.Holds())
	})
}

func TestWhatTheLogHasIsOnItsWay(t *testing.T) {
	each(t, func(t *testing.T, s *shop, sold []made) {
		all := []made{
			s.Payment(900, 700, s.now.Add(-5*aDay)), s.Refund(sold[5], 900, 300, s.now.Add(-5*aDay)),
			s.Subscription(1, "canceled", s.now.Add(10*aDay), s.now.Add(-2*aDay)),
		}
		s.Has(all...)
		s.deliver(t, all...)
		result := s.compare(t)
		require.Len(t, result.Found, 3)
		require.Equal(t, 3, result.OnItsWay)
		require.True(t, result.Holds())
	})
}

// What arrives between the list and the end is no difference, in either direction.
func TestWhatArrivesMeanwhileIsNoDifference(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		late := s.Payment(900, 700, s.now.Add(-5*aDay))
		s.Has(late)
		once := false
		s.meanwhile = func(r *http.Request) {
			if !once && isFind(r) {
				once = true
				s.deliver(t, late)
				s.apply(t)
			}
		}
		result := s.compare(t)
		require.True(t, once)
		require.Empty(t, result.Found)
		require.True(t, result.Holds())
	})
}

func TestAPaymentWhoseEventIsTooOldIsCompletedByHand(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		lost := s.Payment(900, 700, s.now.Add(-100*aDay))
		s.Has(lost)
		result, err := s.reconcile(t, s.now.Add(-120*aDay))
		require.NoError(t, err)
		d := requireOne(t, result, reconcile.MissingPayment)
		order := ""
		if s.Provider == "stripe" { // this server does not tell the payments of an invoice
			order = " --order"
		}
		if s.Provider != "creem" {
			require.Equal(t, fmt.Sprintf("its event is too old for ingest pull: ingest complete %s%s --user u_900 "+
				"--bought %s --reason 'WHY'", d.Payment, order, d.At.Format(time.RFC3339)), d.Repair)
		}
	})
}

func TestARejectedEventIsNamed(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		rejected := s.Payment(900, 700, s.now.Add(-5*aDay))
		one := &rejected.Events[0]
		one.Object = asTest(one.Object)
		s.Has(rejected)
		s.deliver(t, rejected)
		s.rules = projections.Rules{Mode: projections.ModeLive}
		_, err := s.tables.Pool().Exec(s.ctx, "update payfold.schema_state set fold_id = $1", s.rules.FoldID())
		require.NoError(t, err)
		s.apply(t)
		result := s.compare(t)
		if s.Provider != "stripe" && s.Provider != "creem" { // nothing in a body tells the mode
			require.True(t, result.Holds())
			return
		}
		d := requireOne(t, result, reconcile.MissingPayment)
		require.Equal(t, "rejected", d.Outcome)
		require.Equal(t, "wrong_mode", d.Reason)
		require.Equal(t, fmt.Sprintf("projector explain %s shows why", d.Event), d.Repair)
	})
}

// asTest returns a copy of an object that says that it is a test.
func asTest(of object) object {
	out := maps.Clone(of)
	out["livemode"], out["mode"] = false, "test"
	return out
}

// An extension by the shop itself is no difference, and an earlier end than the provider's is one.
func TestAnExtensionByTheShopIsNoDifference(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		own := ownevents.Event{
			ID: "own_1", Type: ownevents.Subscription, Time: s.now, User: "u_1", Subscription: s.Subscription(1, "active",
				s.now, s.now).Object["id"].(string),
			ExtendedUntil: s.now.Add(25 * aDay), Reason: "two days of downtime",
		}
		s.append(t, events.OwnEvents, "own_1", string(own.Body()))
		s.apply(t)
		require.True(t, s.compare(t).Holds())
		s.Has(s.Subscription(1, "active", s.now.Add(40*aDay), s.now.Add(-2*aDay)))
		requireOne(t, s.compare(t), reconcile.OtherPeriod)
	})
}

// Whatever goes wrong: an error, and never the answer that nothing differs.
func TestAnAnswerThatCannotBeUsedIsAnError(t *testing.T) {
	t.Parallel()
	for name := range payapi.Dialects {
		for fault, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
			"a key that is refused": func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{}`,
					http.StatusUnauthorized)
			},
			"a key without rights": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{}`, http.StatusForbidden) },
			"too many requests": func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{}`,
					http.StatusTooManyRequests)
			},
			"a failure": func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{}`,
					http.StatusInternalServerError)
			},
			"no list": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) },
			"another list": func(w http.ResponseWriter, _ *http.Request) {
				_,
					_ = w.Write([]byte(`{"data":[7],"items":[7]}`))
			},
			"a cut answer": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = w.Write([]byte(`{"data":[],"items":[`))
			},
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				s := newShop(t, name)
				s.fault = func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
				result, err := s.reconcile(t, s.now.Add(-aDay))
				require.Error(t, err)
				require.NotContains(t, err.Error(), payapi.Key)
				require.Zero(t, result.Differences)
			})
		}
	}
}

// A list that ends in an error after its first page is no shorter list.
func TestALostPageIsAnError(t *testing.T) {
	each(t, func(t *testing.T, s *shop, _ []made) {
		requests := 0
		s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
			if requests++; requests > 1 {
				http.Error(w, `{}`, http.StatusForbidden)
			}
			return requests > 1
		}
		_, err := s.reconcile(t, s.now.Add(-20*aDay))
		require.True(t, providerapi.KeyRefused(err), "%v", err)
	})
}

func TestMoreDifferencesThanAreLookedAtAreSaid(t *testing.T) {
	t.Parallel()
	s := newShop(t, "stripe")
	for n := range 1001 {
		s.Has(s.Payment(n, 1200, s.now.Add(-5*aDay)))
	}
	result := s.compare(t)
	require.True(t, result.More)
	require.Equal(t, 1000, result.Differences)
	require.False(t, result.Holds())
}
