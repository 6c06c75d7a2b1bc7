package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
)

const (
	repository   = "../../.."
	stripeSecret = "whsec_of_the_portal"
)

// portal is examples/portal, on tables of a payfold of its own.
type portal struct {
	*world
	url    string
	admin  *pgx.Conn // of the owner of the tables
	dsn    string    // of the app's role
	stripe string    // where ingest takes deliveries
}

// setupPortal starts everything as the README of the example says.
func setupPortal(t *testing.T) *portal {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(repository, "examples/portal"))
	require.NoError(t, err)
	w := startShop(t, "STRIPE_WEBHOOK_SECRET="+stripeSecret, "CATALOGUE_FILE="+filepath.Join(folder, "catalogue.json"))
	roles, err := os.ReadFile(filepath.Join(repository, "deploy/postgres/roles.sql"))
	require.NoError(t, err)
	p := &portal{world: w, admin: w.database(), stripe: strings.Replace(w.provider.URL, "/provider/", "/stripe/", 1)}
	p.sql(string(roles))
	p.sql("create role shop login password 'shop' in role payfold_portal")
	dsn, err := os.ReadFile(filepath.Join(w.dir, "postgres.dsn"))
	require.NoError(t, err)
	database, err := url.Parse(strings.TrimSpace(string(dsn)))
	require.NoError(t, err)
	database.User = url.UserPassword("shop", "shop")
	p.dsn = database.String()
	_, port, _ := strings.Cut(ports.Free(t), ":")
	p.url = "http://127.0.0.1:" + port
	node := exec.Command("node", "server.mjs")
	node.Dir = folder
	env := []string{"DATABASE_URL=" + p.dsn, "PUBLIC_URL=" + p.url, "PORT=" + port}
	testenv.StartCommand(t, node, env).WaitFor(t, "the shop is open at "+p.url)
	return p
}

func (p *portal) sql(statements string) {
	p.t.Helper()
	_, err := p.admin.Exec(p.t.Context(), statements, pgx.QueryExecModeSimpleProtocol)
	require.NoError(p.t, err)
}

// signIn opens a tab in which a user is signed in.
func (p *portal) signIn(user string) *tab {
	p.t.Helper()
	tab := (&console{url: p.url}).strangersTab(p.t)
	require.Equal(p.t, http.StatusOK, tab.open("/"))
	tab.requireAccessible()
	tab.load(fill("[name=user]", user), click("main button"))
	tab.awaitTrue(has("Make a picture"))
	return tab
}

// checkout goes to the checkout of a product and on to the page after it, and returns the event of the purchase.
func (p *portal) checkout(tab *tab, product string) (event string) {
	p.t.Helper()
	tab.open("/pricing")
	tab.follow("Buy " + product)
	tab.requireAccessible()
	_, event, found := strings.Cut(ask[string](tab, `document.querySelector("pre").textContent`), "<<'EVENT'\n")
	require.True(p.t, found)
	tab.follow("the page after the checkout")
	return strings.TrimSuffix(event, "\nEVENT")
}

// sendStripe posts a delivery of Stripe, signed by its package.
func (p *portal) sendStripe(body string) {
	p.t.Helper()
	question, err := json.Marshal(map[string]any{
		"do": "sign", "by": "stripe", "secrets": []string{stripeSecret}, "at": time.Now().Unix(), "body": body,
	})
	require.NoError(p.t, err)
	node := exec.Command("node", "sign.mjs")
	node.Dir = filepath.Join(repository, "internal/providers/official")
	node.Stdin, node.Stderr = bytes.NewReader(question), os.Stderr
	output, err := node.Output()
	require.NoError(p.t, err)
	var signed struct{ Headers map[string]string }
	require.NoError(p.t, json.Unmarshal(output, &signed))
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.stripe, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range signed.Headers {
		r.Header.Set(name, value)
	}
	answer, err := p.provider.Client.Do(r)
	require.NoError(p.t, err)
	require.NoError(p.t, answer.Body.Close())
	require.Equal(p.t, http.StatusOK, answer.StatusCode)
}

// buy buys a product, and returns the event of the purchase. The page after the checkout is open before the event
// comes, and shows the purchase without being loaded again.
func (p *portal) buy(tab *tab, product string) (event string) {
	p.t.Helper()
	event = p.checkout(tab, product)
	tab.awaitTrue(has("We are waiting for your payment."))
	tab.requireAccessible()
	listener := p.database()
	_, err := listener.Exec(p.t.Context(), "listen payfold_changed")
	require.NoError(p.t, err)
	tab.do(chromedp.Evaluate[chromedp.Void](`window.shown = new Promise((resolve) =>
		new MutationObserver(() => { if (` + has(product) + `) resolve(performance.timeOrigin + performance.now()) })
			.observe(document.querySelector("main"), {childList: true, subtree: true}))`))
	committed := make(chan time.Time, 1)
	go func() {
		if _, err := listener.WaitForNotification(p.t.Context()); err == nil {
			committed <- time.Now()
		}
		close(committed)
	}()
	p.sendStripe(event)
	answered := time.Now()
	heard := <-committed
	require.False(p.t, heard.IsZero(), "the test hears of the commit")
	shown := time.UnixMicro(int64(ask[float64](tab, `window.shown`) * 1000))
	p.t.Logf("the page showed the purchase %s after the test heard of the commit, %s after the answer to the provider",
		shown.Sub(heard).Round(time.Millisecond), shown.Sub(answered).Round(time.Millisecond))
	tab.requireNoFaults()
	return event
}

// spend presses the button and waits for the answer.
func (p *portal) spend(tab *tab, answer string) {
	p.t.Helper()
	require.Equal(p.t, http.StatusOK, tab.load(click("#spend")))
	require.Equal(p.t, answer, ask[string](tab, `document.querySelector("[role=status]").textContent`))
}

// requireBalance waits until the page shows a balance.
func requireBalance(tab *tab, credits int) {
	tab.t.Helper()
	tab.awaitTrue(fmt.Sprintf(`document.querySelector("#balance").textContent === "%d"`, credits))
}

// refund is the event of a refund of a part of a purchase.
func refund(t *testing.T, purchase string, amount int) string {
	t.Helper()
	intent := regexp.MustCompile(`pi_[\w-]+`).FindString(purchase)
	require.NotEmpty(t, intent)
	text, err := os.ReadFile(filepath.Join(repository, "examples/stripe/refund.created.json"))
	require.NoError(t, err)
	var body struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Created int64  `json:"created"`
		Data    struct {
			Object map[string]any `json:"object"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(text, &body))
	body.Created, body.Data.Object["payment_intent"], body.Data.Object["amount"] = time.Now().Unix(), intent, amount
	changed, err := json.Marshal(body)
	require.NoError(t, err)
	return string(changed)
}
