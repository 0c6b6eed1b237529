/**
 * Makes reservations: holds the high end of a quote on every planned budget above its team.
 *
 * Two callers never get the last of a budget: a reservation locks the budgets above the team, in one order, before it
 * reads the rest of them. Simultaneous requests are answered together in their order, each as if the earlier ones had
 * been answered alone, so the locks and the commit are paid once. Only granted reservations are written.
 */
import { randomBytes } from 'node:crypto';
import type { Budget } from '../../core/budget/budget.js';
import { conflict, Failure, missing } from '../../core/errors.js';
import type { FxTable } from '../../core/price/fx.js';
import { quoteInDetail, type QuoteDetail } from '../../core/quote/quote.js';
import { judgeBudgets, type BudgetFacts, type JudgedBudget } from '../../core/quote/budget.js';
import { expiryOf, RESERVATION_TAG } from '../../core/budget/reservation.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import { budgetsOverEach } from '../price/quotes.js';
import { reservationOf, evaluationItems, type Reserved, type ReserveRequest } from './reservations.js';
import type { Stores } from '../stores.js';

type Needs = Pick<Stores, 'organisations' | 'quotes'>;

/** A quote that is to be held, and what it went by. */
export interface Prepared {
  readonly request: ReserveRequest;
  readonly detail: QuoteDetail;
  readonly fx: FxTable;
  readonly asOf: number;
  readonly isTracked: boolean;
}

/** All that needs no lock: who waits for the budgets has it behind them. @throws Failure missing if it has no price */
export async function prepareReservation(
  stores: Needs,
  db: Queryable,
  organisation: string,
  request: ReserveRequest,
): Promise<Prepared> {
  const { context, asOf, trackedTags } = await stores.quotes.facts(db, organisation, { ...request, team: null });
  const detail = quoteInDetail(request.request, context);
  if ('unpriced' in detail) throw missing(`nothing is reserved: ${detail.message}`);
  return { request, detail, fx: context.fx, asOf, isTracked: trackedTags.includes(RESERVATION_TAG) };
}

/** A prepared reservation and who asks for it. */
export interface Asked {
  readonly prepared: Prepared;
  readonly by: string;
}

/** @throws Failure conflict if a budget has not enough left, its rest is unknown, or nothing is planned */
export async function reserve(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  prepared: Prepared,
  by: string,
): Promise<Reserved> {
  const [answer] = await reserveAll(stores, tx, organisation, [{ prepared, by }]);
  if (answer === undefined || answer instanceof Failure) throw answer ?? conflict('nothing is reserved');
  return answer;
}

/** A reservation that is granted and not written yet. */
interface Granted {
  readonly asked: Asked;
  readonly id: string;
  readonly amount: bigint;
  readonly expiresAt: number;
  readonly holds: readonly { readonly budget: Budget; readonly nanos: bigint }[];
}

/** Answers each in its turn: what is reserved, or the failure that `reserve` would throw. */
export async function reserveAll(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  all: readonly Asked[],
): Promise<(Reserved | Failure)[]> {
  const teams = [...new Set(all.map(({ prepared }) => prepared.request.team))];
  // As of the last of them: they are answered now, not when they were asked.
  const asOf = Math.max(...all.map(({ prepared }) => prepared.asOf));
  const now = Math.max(...all.map(({ prepared }) => prepared.request.now));
  await lockBudgetsOver(tx, organisation, teams);
  if (all.some(({ prepared }) => !prepared.isTracked)) {
    // From the first reservation on, usage is kept apart by the tag; no older record can carry it.
    await stores.organisations.trackTags(tx, organisation, [RESERVATION_TAG]);
  }
  const facts = await budgetsOverEach(tx, organisation, teams, asOf, now);
  const held = new Map<string, bigint>();
  const answers = all.map((asked) =>
    grant(
      asked,
      (facts.get(asked.prepared.request.team) ?? []).map((one) => ({
        ...one,
        reserved: one.reserved + (held.get(one.budget.id) ?? 0n),
      })),
      asOf,
      (budget, nanos) => {
        held.set(budget, (held.get(budget) ?? 0n) + nanos);
      },
    ),
  );
  const granted = answers.filter((answer): answer is Granted => !(answer instanceof Failure));
  if (granted.length > 0) await insertAll(tx, organisation, granted, asOf);
  return answers.map((answer) => (answer instanceof Failure ? answer : reservedOf(answer, asOf)));
}

function grant(
  asked: Asked,
  facts: readonly BudgetFacts[],
  asOf: number,
  hold: (budget: string, nanos: bigint) => void,
): Granted | Failure {
  const {
    request: { request, team, tags, now, holdHours, sees },
    detail,
    fx,
  } = asked.prepared;
  const { provider, sku, term, currency } = detail.quote;
  const judged = judgeBudgets(detail, facts, { asOf, provider, sku, term, tags, fx, currency });
  const refusal = refusalOf(team, judged, sees ?? (() => true));
  if (refusal !== null) return refusal;
  const holds = judged.flatMap(({ facts: { budget }, hold: nanos, planned }) =>
    planned === null || nanos === null ? [] : [{ budget, nanos }],
  );
  for (const { budget, nanos } of holds) hold(budget.id, nanos);
  return {
    asked,
    id: `res-${randomBytes(8).toString('hex')}`,
    amount: detail.costWithin().high,
    expiresAt: expiryOf(now, request.hoursHigh ?? request.hours, holdHours),
    holds,
  };
}

async function insertAll(
  tx: Transaction,
  organisation: string,
  granted: readonly Granted[],
  asOf: number,
): Promise<void> {
  const holds = granted.flatMap(({ id, expiresAt, holds: own }) =>
    own.map(({ budget, nanos }) => ({ id, expiresAt: formatInstant(expiresAt), budget, nanos: String(nanos) })),
  );
  const requests = granted.map(({ asked }) => asked.prepared.request);
  await tx.query(
    `with made as (
       insert into reservation (organisation, id, team, nanos, currency, reason, quote, created_at, created_by, expires_at)
       select $1, * from unnest($2::text[], $3::text[], $4::numeric[], $5::text[], $6::text[], $7::jsonb[], $8::timestamptz[], $9::text[], $10::timestamptz[]))
     insert into reservation_hold (organisation, budget, reservation, at, nanos, currency, expires_at)
     select $1, budget, reservation, $11, nanos, currency, expires_at from unnest($12::text[], $13::text[], $14::numeric[], $15::text[], $16::timestamptz[]) as h(budget, reservation, nanos, currency, expires_at)`,
    [
      organisation,
      granted.map(({ id }) => id),
      requests.map(({ team }) => team),
      granted.map(({ amount }) => String(amount)),
      granted.map(({ asked }) => asked.prepared.detail.quote.currency),
      requests.map(({ reason }) => reason),
      granted.map(({ asked }) => JSON.stringify(asked.prepared.detail.quote)),
      requests.map(({ now }) => formatInstant(now)),
      granted.map(({ asked }) => asked.by),
      granted.map(({ expiresAt }) => formatInstant(expiresAt)),
      formatInstant(asOf),
      holds.map(({ budget }) => budget.id),
      holds.map(({ id }) => id),
      holds.map(({ nanos }) => nanos),
      holds.map(({ budget }) => budget.currency),
      holds.map(({ expiresAt }) => expiresAt),
    ],
  );
}

function reservedOf(
  {
    asked: {
      prepared: {
        request: { team, reason, now },
        detail: { quote },
      },
      by,
    },
    id,
    amount,
    expiresAt,
    holds,
  }: Granted,
  asOf: number,
): Reserved {
  const reservation = reservationOf(
    {
      no: '',
      id,
      team,
      nanos: String(amount),
      currency: quote.currency,
      reason,
      quote,
      created: now,
      by,
      expires: expiresAt,
      released: null,
      releaser: null,
      holds: holds.map(({ budget, nanos }) => ({
        budget: budget.id,
        nanos: String(nanos),
        used: '0',
        currency: budget.currency,
      })),
    },
    now,
  );
  return {
    reservation,
    workItems: evaluationItems(
      holds.map(({ budget }) => budget),
      asOf,
    ),
  };
}

/** All of them, in one order, whatever their filters: what each has left is read after. */
async function lockBudgetsOver(tx: Transaction, organisation: string, teams: readonly string[]): Promise<void> {
  await tx.query(
    `with recursive above(id) as (
       select * from unnest($2::text[]) union select t.parent from team t join above on t.id = above.id where t.organisation = $1 and t.parent is not null)
     select b.id from budget b where b.organisation = $1 and b.team = any(array(select id from above)) order by b.id for update of b`,
    [organisation, teams],
  );
}

/** Null: they hold it. */
function refusalOf(team: string, judged: readonly JudgedBudget[], sees: (team: string) => boolean): Failure | null {
  if (!judged.some(({ planned }) => planned !== null))
    return conflict(`nothing is reserved: no planned budget over team ${team} covers this`);
  const refusals = judged.flatMap(({ refusal, view }) =>
    refusal === null
      ? []
      : [
          {
            path: `budgets/${view.budget}`,
            message: sees(view.team)
              ? refusal
              : 'has not enough left, or its state is unknown: it belongs to a team that this key may not see',
          },
        ],
  );
  return refusals.length > 0
    ? conflict(`nothing is reserved: ${refusals.length} budget(s) over team ${team} cannot hold this`, refusals)
    : null;
}
