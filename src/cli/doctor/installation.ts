/**
 * Doctor's checks of the database: the server and its clock, the queue, the line's lag, parked work, the age of the
 * fleets, and usage without a price. Reads only.
 */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { addDecimal, formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import type { QueueFacts } from '../../core/installed.js';
import { countGpus, sayGpus } from '../../core/fleet/measured-gpus.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import { notRunFor } from '../../core/policy/document.js';
import { UNALLOCATED } from '../../core/cost/allocation.js';
import { serverFacts } from '../../store/operation/administration.js';
import { recentDoubts, REMEDY, sayDoubt } from '../../store/usage/doubts.js';
import { storedOverlaps } from '../../store/usage/overlaps.js';
import { parseSpendQuery } from '../../core/cost/spend-query.js';
import { repeatedPayerLines } from '../../store/bill/payer-lines.js';
import { unmatchedUsage } from '../../store/bill/unmatched.js';
import { waitingSupplements } from '../../store/usage/scopes.js';
import type { CliContext, LocalBursar } from '../context.js';
import { grouped } from '../table.js';
import { attend, collectorFinding, ok, reasonOf, wrong, type Finding } from './finding.js';
import { teamTags } from './teams.js';

const MOST_SKEW_SECONDS = 5;
const MOST_LAG_SECONDS = 600;
const LEAST_FREE_BYTES = 2 ** 30;
const MOST_SHOWN = 20;
const DOUBT_DAYS = 92;
const MEASURED_MS = HOUR_MS;
/** How the checks of the fleets begin that have been read. */
export const FLEET = 'fleet ';

/** Everything that needs the database, and a schema that is up to date for all but the first. */
export async function examineDatabase(
  bursar: LocalBursar,
  context: CliContext,
  connected: readonly string[] | null,
): Promise<Finding[]> {
  const { migrated, findings } = await database(bursar, context);
  const own = [...findings, await queue(bursar, context)];
  if (!migrated) return own;
  return [
    ...own,
    ...(await line(bursar, context)),
    ...(await auditStream(bursar, context)),
    ...(await fleets(bursar, context, connected)),
    ...(await collected(bursar)),
    await evidence(bursar, context),
    ...(await teamTags(bursar)),
    await prices(bursar),
    ...(await unpriced(bursar, context)),
    ...(await doubts(bursar, context)),
    ...(await bills(bursar, context)),
    ...(await overlaps(bursar, context)),
  ];
}

/** Room where the embedded database lies; a server of its own watches its own disk. */
export async function disk({ environment }: CliContext): Promise<Finding> {
  if (environment['DATABASE_URL']) return ok('disk', "the database server's own");
  const folder = path.resolve(environment['BURSAR_DATA_DIR'] || '.bursar');
  for (let at = folder; ; at = path.dirname(at)) {
    const facts = await statfs(at).catch(() => null);
    if (facts !== null) {
      const free = facts.bavail * facts.bsize;
      const detail = `${(free / 2 ** 30).toFixed(1)} GiB free for ${folder}`;
      return free >= LEAST_FREE_BYTES
        ? ok('disk', detail)
        : wrong('disk', detail, 'free some space, or set BURSAR_DATA_DIR to another folder');
    }
    if (at === path.dirname(at))
      return wrong('disk', `${folder} cannot be examined`, 'set BURSAR_DATA_DIR to a folder that this user may enter');
  }
}

async function database(
  { stores }: LocalBursar,
  { clock }: CliContext,
): Promise<{ readonly migrated: boolean; readonly findings: readonly Finding[] }> {
  const before = clock.now();
  const { version, now, databaseBytes } = await serverFacts(stores.db);
  const after = clock.now();
  // Half of the question's own way is not skew.
  const skewSeconds = Math.round(Math.max(0, before - now, now - after) / 1000);
  const { migrated } = await stores.health.readiness(after);
  const isOld = Number.parseInt(version, 10) < 15;
  const skew = `this machine and the database differ by ${grouped(skewSeconds)} s`;
  return {
    migrated,
    findings: [
      isOld
        ? wrong('database', `PostgreSQL ${version}`, 'Bursar needs PostgreSQL 15 or later')
        : ok('database', `PostgreSQL ${version}, ${grouped(Math.round(databaseBytes / 2 ** 20))} MiB`),
      migrated ? ok('schema', 'up to date') : wrong('schema', 'migrations have not run', 'bursar migrate'),
      skewSeconds <= MOST_SKEW_SECONDS ? ok('clocks', skew) : wrong('clocks', skew, 'synchronise both clocks by NTP'),
    ],
  };
}

/** The queue in Redis, which needs no database. Null: it is not there. */
export async function redis({ environment, examination }: CliContext): Promise<Finding | null> {
  const url = environment['REDIS_URL'];
  if (!url) return null;
  if (examination === undefined) return ok('queue', 'in Redis');
  try {
    return judged(await examination.redis(url));
  } catch (error) {
    return wrong(
      'queue',
      reasonOf(error),
      'start the server that REDIS_URL names, or correct the variable; due work is kept in PostgreSQL and is not lost',
    );
  }
}

async function queue({ stores }: LocalBursar, context: CliContext): Promise<Finding> {
  const inRedis = await redis(context);
  if (inRedis !== null) return inRedis;
  if (context.examination === undefined) return ok('queue', 'in PostgreSQL');
  try {
    return judged(await context.examination.tables(stores));
  } catch (error) {
    return wrong('queue', reasonOf(error), 'run the version of Bursar that made these tables, or a later one');
  }
}

function judged({ kind, version, migrated, evictionPolicy }: QueueFacts): Finding {
  if (!migrated)
    return attend('queue', 'in PostgreSQL; its tables do not exist yet', 'bursar serve makes them when it starts');
  if (kind === 'postgresql') return ok('queue', 'in PostgreSQL');
  const detail = `in Redis${version === null ? '' : ` ${version}`}, which answers`;
  if (evictionPolicy === null || evictionPolicy === 'noeviction') return ok('queue', detail);
  return attend(
    'queue',
    `${detail} and evicts keys when its memory is full (${evictionPolicy})`,
    'set maxmemory-policy to noeviction: an evicted job waits for the next tick of the clock',
  );
}

async function auditStream({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const streams = (await stores.auditStream.gauges(clock.now())).filter((one) => one.organisation === organisation);
  return streams.map(({ unsent, problem }) => collectorFinding(unsent, problem));
}

async function line({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const { queueAgeSeconds } = await stores.health.readiness(clock.now());
  const waiting = (await stores.health.load(clock.now()))
    .filter((stage) => stage.waiting > 0)
    .map((stage) => `${stage.stage} ${grouped(stage.waiting)}`)
    .join(', ');
  const detail =
    queueAgeSeconds === null
      ? 'nothing is due'
      : `the oldest due work has waited ${grouped(queueAgeSeconds)} s (${waiting})`;
  const lag =
    queueAgeSeconds !== null && queueAgeSeconds > MOST_LAG_SECONDS
      ? wrong('line', detail, 'check that bursar serve runs with the role all or worker; if it does, add workers')
      : ok('line', detail);
  const parked = await stores.work.parked(organisation);
  const reasons = parked
    .slice(0, MOST_SHOWN)
    .map(({ stage, key, attempts, reason }) =>
      wrong(
        'parked work',
        `${stage} ${key}, after ${attempts} attempts: ${reason}`,
        'remove the cause; importing the data again enqueues the work',
      ),
    );
  const more = parked.length - reasons.length;
  return [
    lag,
    ...(parked.length === 0 ? [ok('parked work', 'none')] : reasons),
    ...(more > 0 ? [wrong('parked work', `and ${grouped(more)} more`, 'the same')] : []),
  ];
}

/** @param connected names of the connections of this machine's settings; null: they were not looked at */
async function fleets(
  { stores, organisation }: LocalBursar,
  { clock }: CliContext,
  connected: readonly string[] | null,
): Promise<Finding[]> {
  const now = clock.now();
  return (await stores.fleet.coverage(stores.db, organisation, now)).map(
    ({ connection, readAt, completeAt, stale, complete, targets, problems }) => {
      const check = `${FLEET}${connection}`;
      const age = (at: number | null): string =>
        at === null ? 'never' : `${grouped(Math.max(0, Math.round((now - at) / 1000)))} s ago`;
      const why = problems.length === 0 ? '' : `: ${problems.join('; ')}`;
      if (stale && connected !== null && !connected.includes(connection))
        return attend(
          check,
          `last read ${age(readAt)}, and this machine has no such connection`,
          'run doctor where the workers run; or ignore this: the reading grows old, and Bursar does not act on an old one',
        );
      if (stale)
        return wrong(
          check,
          `last read ${age(readAt)}${why}`,
          'check that bursar serve runs with the role all or worker, and the finding of its provider; Bursar does not act there meanwhile',
        );
      if (!complete)
        return attend(
          check,
          `last read ${age(readAt)}, last read completely ${age(completeAt)}${why}`,
          'remove the cause: Bursar does not act on what it cannot read completely',
        );
      return ok(check, `${grouped(targets)} targets, read ${age(readAt)}`);
    },
  );
}

/**
 * The parts of a connection's usage, bill, prices or spot that could not be read last time: the other parts are kept.
 */
async function collected({ stores, organisation }: LocalBursar): Promise<Finding[]> {
  return (await stores.collections.list(stores.db, organisation)).flatMap(({ connection, what, lacking }) =>
    lacking.length === 0
      ? []
      : [
          attend(
            `${what} ${connection}`,
            `read in part: ${lacking
              .slice(0, MOST_SHOWN)
              .map(({ part, problem }) => `${part}: ${problem}`)
              .join('; ')}${lacking.length > MOST_SHOWN ? `; and ${grouped(lacking.length - MOST_SHOWN)} more` : ''}`,
            'remove the cause: the rest is kept, and the missing parts are requested again within the hour',
          ),
        ],
  );
}

/** Measured GPUs without a known machine or team: nothing can be proposed for them. */
async function evidence({ stores, organisation, policies }: LocalBursar, { clock }: CliContext): Promise<Finding> {
  const all = await stores.measured.list(stores.db, organisation, clock.now() - MEASURED_MS, null);
  const sum = (some: typeof all): string => sayGpus(countGpus(some), '', grouped);
  const unknown = all.filter(({ target }) => target === null);
  const shared = all.filter(({ target, team }) => target !== null && team === UNALLOCATED);
  if (all.length === 0) return ok('evidence', 'no GPU was measured within an hour');
  if (unknown.length > 0)
    return attend(
      'evidence',
      `${sum(unknown)} are measured whose machine, team and price are unknown: ${[
        ...new Set(unknown.map(({ resource, detail }) => `${resource} (${detail ?? 'not joined'})`)),
      ]
        .slice(0, MOST_SHOWN)
        .join('; ')}`,
      'connect the cloud or the cluster that they run in; where two machines share a name, let the scrape add a label of the region, the account or the VPC',
    );
  const documents = policies === undefined ? null : await stores.policies.list(stores.db, organisation, policies);
  const teams = [...new Set(all.map(({ team }) => team))];
  const uncovered = teams.filter((team) => documents !== null && notRunFor(documents, team).includes('idle-stop'));
  if (uncovered.length > 0)
    return attend(
      'evidence',
      `${sum(all.filter(({ team }) => uncovered.includes(team)))} are measured for teams to which no idle-stop document applies: ${uncovered.slice(0, MOST_SHOWN).join(', ')}`,
      "add them to the teams of a document, or write teams: '*' (bursar policies)",
    );
  return shared.length > 0
    ? attend(
        'evidence',
        `${sum(shared)} are measured on machines that belong to no team`,
        'add a rule that assigns them to a team (bursar rules)',
      )
    : ok('evidence', `${sum(all)} are measured, each on a machine that is known`);
}

async function prices({ stores, organisation }: LocalBursar): Promise<Finding> {
  const { prices: known } = await stores.prices.book(stores.db, organisation);
  if (known.length === 0)
    return attend('prices', 'no price is known: metered usage stays unpriced', 'bursar prices <file...>');
  return ok(
    'prices',
    `${grouped(known.length)} prices of ${new Set(known.map((price) => price.provider)).size} providers`,
  );
}

/** Costs of the last quarter that may be counted twice. */
async function doubts({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const found = await recentDoubts(stores.db, organisation, clock.now(), DOUBT_DAYS);
  return found.length === 0
    ? [ok('double counting', `none in ${DOUBT_DAYS} days`)]
    : found.map((doubt) => attend('double counting', sayDoubt(doubt), REMEDY));
}

/** Bills that two sources have delivered, and metered accounts that no bill knows: both count beside a bill. */
async function bills({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const twice = await stores.counting.duplicates(stores.db, organisation);
  const repeated = await repeatedPayerLines(stores.db, organisation);
  const since = clock.now() - DOUBT_DAYS * DAY_MS;
  const unknown = await stores.counting.unknownAccounts(stores.db, organisation, since);
  const unmatched = await unmatchedUsage(stores.db, organisation, since);
  return [
    ...(twice.length + repeated.length === 0 ? [ok('bills twice', 'none')] : []),
    ...repeated.map(({ provider, account, sources, lines, example }) =>
      wrong(
        'bills twice',
        `${lines} line(s) of the payer${account === null ? '' : ` ${account}`} of ${provider} itself (such as ${example}) are counted twice, from ${sources.join(' and ')}`,
        'import one of the two without them: they are in both parts of the bill',
      ),
    ),
    ...twice.map(({ provider, account, period, sources }) =>
      wrong(
        'bills twice',
        `the bill of ${provider}${account === null ? '' : ` account ${account}`} from ${period} is counted twice, from ${sources.join(' and ')}`,
        'import it again with the right --source and with --replace',
      ),
    ),
    ...(await waitingSupplements(stores.db, organisation)).map(({ source, provider, account, period }) =>
      attend(
        'amortised costs',
        `those of ${provider}${account === null ? '' : ` account ${account}`} from ${period}, of the source "${source}", do not count: the bill that they supplement came from another source`,
        'import the actual-cost export with the same --source, or undo the import of the amortised one',
      ),
    ),
    ...unmatched
      .slice(0, MOST_SHOWN)
      .map(({ provider, account, sku, from, to }) =>
        attend(
          'usage beside bills',
          `${provider}${account === '' ? '' : ` ${account}`}: ${sku} was metered from ${from} to ${to}, but no line of its open bill is about it, while other usage in that bill counts: it may be counted twice until the bill is final`,
          "make the meter send the bill's SKU or resource names; if the bill only lacks these machines so far, do nothing",
        ),
      ),
    ...(unknown.length === 0 ? [ok('unknown accounts', `none in ${DOUBT_DAYS} days`)] : []),
    ...unknown.slice(0, MOST_SHOWN).map(({ provider, account, subAccount, from, to }) => {
      const name = [account, subAccount].filter((part) => part !== '').join(', sub-account ');
      return attend(
        'unknown accounts',
        `${provider} ${name === '' ? 'without an account' : name}: metered from ${from} to ${to}, but no bill of the provider names it: it is counted in addition to the bills`,
        "make the meter send the bill's BillingAccountId or SubAccountId as the account, or import the bill that has it",
      );
    }),
  ];
}

/** Use of the running month that is in no cost, by SKU. */
async function unpriced({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
  const month = new Date(asOf).toISOString().slice(0, 7);
  const fx = await stores.prices.fx(stores.db, organisation);
  const { rows } = await stores.spend.spend(
    organisation,
    parseSpendQuery({ from: month, groupBy: 'provider,sku' }),
    fx,
  );
  const hours = new Map<string, Decimal>();
  for (const row of rows) {
    const quantity = parseDecimal(row.unpricedQuantity);
    if (quantity === null || quantity.unscaled === 0n) continue;
    const name = `${row['provider'] ?? 'unknown'} ${row['sku'] ?? 'unknown'}`;
    hours.set(name, addDecimal(hours.get(name) ?? ZERO, quantity));
  }
  const shown = [...hours]
    .slice(0, MOST_SHOWN)
    .map(([name, quantity]) =>
      attend(
        'unpriced usage',
        `${name}: ${formatDecimal(quantity)} GPU-hours of ${month} are in no cost`,
        'import a price list that knows the SKU: bursar prices <file...>',
      ),
    );
  const more = hours.size - shown.length;
  return [
    ...shown,
    ...(shown.length === 0 ? [ok('unpriced usage', `none in ${month}`)] : []),
    ...(more > 0 ? [attend('unpriced usage', `and ${grouped(more)} more SKUs`, 'the same')] : []),
  ];
}

const OVERLAP_DAYS = 7;

async function overlaps({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const { warnings } = await storedOverlaps(stores.db, organisation, clock.now() - OVERLAP_DAYS * DAY_MS);
  return warnings.length === 0
    ? [ok('overlapping usage', `none in ${OVERLAP_DAYS} days`)]
    : warnings.map((warning) =>
        attend(
          'overlapping usage',
          warning,
          'undo the import of the other meter (bursar imports undo), or send a later revision',
        ),
      );
}
