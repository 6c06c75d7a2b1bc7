// What the shop reads of payfold's tables, and how it spends; docs/app.md explains the statements. Names have their
// schema and no statement is kept, so a promotion, which replaces the tables, changes nothing here.
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

const { DATABASE_URL: connectionString } = process.env
const connection = { connectionString, application_name: 'shop', connectionTimeoutMillis: 3_000, query_timeout: 5_000 }
const pool = new pg.Pool(connection)
pool.on('error', (error) => console.error('an idle connection to Postgres was lost:', error.message))

const rows = async (text, ...values) => (await pool.query(text, values)).rows

export async function account(user) {
  const [[{ balance }], grants, entitlements] = await Promise.all([
    rows('select wallet.balance($1) as balance', user),
    rows('select sum(usable) as usable, expires_at from wallet.grants($1) where usable > 0 group by 2 order by 2', user),
    rows('select product_key, active, status, until from portal.entitlement where user_id = $1', user),
  ])
  return { balance, grants, entitlements }
}

// spend spends once for each key, or nothing if there is not enough. A real app writes its own rows in the same
// transaction. Nobody uses the keys of another user, because the user is in them.
export const spend = (user, key, amount, note) =>
  rows('select wallet.spend($1, $2, $3, $4)', user, amount, `${user} ${key}`, note)

export const spendOf = async (user, key) =>
  (await rows('select amount, state from wallet.spend where user_id = $1 and key = $2', user, `${user} ${key}`))[0]

export const statement = (user) => rows(`
  select l.at, l.what, s.note, l.delta, l.balance from wallet.statement($1) with ordinality l
  left join wallet.spend s using (key) order by l.ordinality desc limit 100`, user)

// payments are those whose event is after a place in the log, the newest first.
export const payments = (user, after) => rows(`
  select product_key, amount, currency, refunded_amount, occurred_at, stream_seq
  from portal.payment where user_id = $1 and stream_seq > $2 order by stream_seq desc limit 100`, user, after)

// The state of the invitation to GitHub is in a schema that this role does not read.
export const licence = async (user) => (await rows(`
  select l.status, l.github_username, l.activated_at, e.until from portal.pro_license l left join portal.entitlement e
  on e.user_id = l.user_id and e.product_key = coalesce(l.product_key, '') where l.user_id = $1`, user))[0]

const watchers = new Set()
// onChange calls tell whenever the user's rows may have changed, until the function that it returns is called.
export function onChange(user, tell) {
  const watcher = { user, tell }
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

function changed(payload) {
  let users // no list: anybody's rows may have changed
  try { users = JSON.parse(payload).users } catch { console.error('not a notification of payfold:', payload) }
  for (const { user, tell } of watchers) if (!Array.isArray(users) || users.includes(user)) tell()
}

// listen hears of changes, with one connection for the whole shop, and makes a new one after a loss.
export async function listen() {
  for (;;) {
    const client = new pg.Client(connection)
    client.on('error', (error) => console.error('the connection that listens was lost:', error.message))
    client.on('notification', ({ payload }) => changed(payload))
    const ended = once(client, 'end').catch(() => undefined).then(() => false)
    try {
      await client.connect()
      await client.query('listen payfold_changed')
      changed('{"all":true}') // nobody has heard the notifications before this one
      // A silent connection is asked whether its other end is still there.
      while (await Promise.race([ended, pause(10_000, true)])) await client.query('select 1')
    } catch (error) {
      console.error('listen to Postgres:', error.message)
    }
    client.end().catch(() => undefined)
    await pause(500)
  }
}
