// The pages. html escapes every value that is not HTML itself. What changes while a page is open is in #live.
import { products } from './checkout.mjs'

class Html extends String {}
const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (value) => (value instanceof Html ? value : String(value ?? '').replace(/[&<>"']/g, (c) => escapes[c]))
const html = (texts, ...values) =>
  new Html(String.raw({ raw: texts }, ...values.map((value) => [value].flat().map(escape).join(''))))

const nameOf = (product) => products[product]?.name ?? product
const day = (time) => time?.toISOString().slice(0, 10) ?? 'for ever'
const money = (minor, currency) => { // minor is null if no event says it, and the currency may be any text
  if (minor === null || !/^[a-z]{3}$/i.test(currency)) return minor
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits)
}
const table = (heads, lines) => html`<table><tr>${heads.map((head) => html`<th>${head}</th>`)}</tr>
${lines.map((line) => html`<tr>${line.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</table>`
const menu = html`<nav><a href="/">Account</a> <a href="/pricing">Prices</a> <a href="/history">History</a>
<a href="/licence">Licence</a> <form method="post" action="/sign-out"><button>Sign out</button></form></nav>`
const layout = (title, top, live, rest) => html`<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>${title}</title>
${live && html`<script type="module" src="/page.js"></script>`}${top}
<main><h1>${title}</h1><div id="live" aria-live="polite">${live}</div>${rest}</main></html>`

export const message = (text) => layout('Sorry', '', '', html`<p>${text}</p>`)

export const signIn = (fault) => layout('Sign in', '', '', html`<p role="alert">${fault}</p>
<form method="post" action="/sign-in"><label>User id <input name="user" required></label>
<button>Sign in</button></form>`)

export const account = ({ balance, grants, entitlements, spend, cost, key }) => layout('Account', menu, html`
<p>You have <strong id="balance">${balance}</strong> credits.</p>
${table(['credits', 'until'], grants.map((g) => [g.usable, day(g.expires_at)]))}
<h2>What you have</h2>${table(['product', 'active', 'status', 'until'], entitlements.map((e) =>
  [nameOf(e.product_key), e.active ? 'yes' : 'no', e.status, day(e.until)]))}`,
// The form is not in the part that changes: it keeps its key while the page is open.
html`<h2>Make a picture</h2><p role="status">${spend && (spend.state === 'refused'
  ? 'There are not enough credits.' : `You spent ${spend.amount} credits.`)}</p>
<form method="post" action="/spend"><input type="hidden" name="key" value="${key}">
<button id="spend">A picture for ${cost} credits</button></form>`)

const offer = ([product, { name, prices: [{ amount, currency, every }] }]) => html`<li>${name}:
${money(amount, currency)} ${every && `a ${every}`} <a href="/checkout?product=${product}">Buy ${name}</a>`
export const pricing = () => layout('Prices', menu, '', html`<ul>${Object.entries(products).map(offer)}</ul>`)

export const localCheckout = ({ command }) => layout('Checkout on your own machine', menu, '', html`
<p>This product has no link to the provider. Send what the provider would send, in the folder of payfold.
Then see <a href="/bought">the page after the checkout</a>.</p><pre tabindex="0">${command}</pre>`)

const paid = (payments) => table(['bought', 'paid', 'refunded', 'on'], payments.map((p) =>
  [nameOf(p.product_key), money(p.amount, p.currency), money(p.refunded_amount, p.currency), day(p.occurred_at)]))

export const bought = (payments) => layout('Thank you', menu,
  payments.length ? paid(payments) : html`<p>We are waiting for your payment. It will appear here.</p>`)

export const history = (payments, lines) => layout('History', menu, html`<h2>Payments</h2>${paid(payments)}
<h2>Credits</h2>${table(['on', 'what', 'credits', 'balance'], lines.map((l) =>
  [day(l.at), l.note ?? l.what, l.delta, l.balance]))}`)

export const licence = (l) => layout('Licence', menu, l
  ? table(['licence', 'since', 'until', 'for'], [[l.status, day(l.activated_at), day(l.until), l.github_username]])
  : html`<p>You have no licence.</p>`)
