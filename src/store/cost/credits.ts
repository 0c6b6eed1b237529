/**
 * Granted credits, and their use: negative rows of cost_day, in a dimension of the category Credit, with `shared_from`
 * = `credit:<id>`. The use is computed again over all the days on which credits hold, in the order of days, because a
 * late record may change the share of later days. Never changes a cost. A credit counts in `actual` as far as its cost
 * does.
 */
import {
  applyCredits,
  readCredits,
  takenOf,
  type Credit,
  type Creditable,
  type CreditSpec,
} from '../../core/cost/credit.js';
import { assert } from '../../core/errors.js';
import type { FxTable } from '../../core/price/fx.js';
import { formatMoney } from '../../core/money.js';
import { divideHalfEven } from '../../core/money.js';
import { formatInstant } from '../../core/time.js';
import { copyText, type Queryable, type Transaction } from '../database.js';
import type { Dimensions } from '../usage/dimensions.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { PriceStore } from '../price/prices.js';
import { enqueueUrgent } from '../work.js';

const SETTING = 'credits';
const PREFIX = 'credit:';
const COLUMNS = ['organisation', 'team', 'day', 'dimension', 'currency', 'shared_from', 'records', 'accrued', 'actual'];

/** A row as one text. */
const ROW = `json_build_array(team, day::text, dimension::text, currency, shared_from, records::text,
  accrued::text, actual::text)::text`;

/** The one key of the stage that applies credits. */
export const CREDIT_ITEM = { stage: 'cost.credit', partition: 'credits', key: 'credits' } as const;

interface CostOfDay extends Creditable {
  readonly day: string;
  readonly dimension: string;
  /** The part of `nanos` that counts as actual; null: the bill has replaced it. */
  readonly actual: bigint | null;
}

interface Row {
  team: string;
  day: string;
  dimension: string;
  provider: string;
  currency: string;
  accrued: string;
  actual: string | null;
}

export class CreditStore {
  constructor(
    private readonly organisations: OrganisationStore,
    private readonly dimensions: Dimensions,
    private readonly prices: PriceStore,
  ) {}

  /** By which costs take of credits of other currencies. */
  async fx(db: Queryable, organisation: string): Promise<FxTable> {
    return this.prices.fx(db, organisation);
  }

  async specs(db: Queryable, organisation: string): Promise<readonly CreditSpec[]> {
    return (await this.organisations.setting<CreditSpec[]>(db, organisation, SETTING)) ?? [];
  }

  /**
   * Replaces all credits, has them applied again, and returns those before. @throws Failure invalid naming every
   * problem.
   */
  async save(tx: Transaction, organisation: string, specs: readonly CreditSpec[]): Promise<readonly CreditSpec[]> {
    readCredits(specs);
    const before = await this.specs(tx, organisation);
    await this.organisations.saveSetting(tx, organisation, SETTING, specs);
    await enqueueUrgent(tx, organisation, [CREDIT_ITEM]);
    return before;
  }

  /** Whether costs have to be looked at for credits at all. */
  async some(db: Queryable, organisation: string): Promise<boolean> {
    return (await this.specs(db, organisation)).length > 0;
  }

  /** Applies the credits again; returns the days of each team whose rows have changed. */
  async apply(tx: Transaction, organisation: string): Promise<{ team: string; days: string[] }[]> {
    const credits = readCredits(await this.specs(tx, organisation));
    const taken =
      credits.length === 0
        ? []
        : applyCredits(await this.costs(tx, organisation, credits), credits, await this.fx(tx, organisation));
    const ids = await this.creditDimensions(tx, organisation, [...new Set(taken.map(({ cost }) => cost.dimension))]);
    const rows = new Map(
      taken.map(({ cost, credit, nanos }) => {
        const actual = cost.actual === null ? null : divideHalfEven(nanos * cost.actual, cost.nanos);
        const row = [
          cost.team,
          cost.day,
          ids.get(cost.dimension) ?? '',
          cost.currency,
          PREFIX + credit.id,
          '0',
          amountOf(nanos),
          actual === null ? null : amountOf(actual),
        ] as const;
        return [JSON.stringify(row), row] as const;
      }),
    );
    const before = await tx.query<{ team: string; day: string; row: string }>(
      `select team, day::text as day, ${ROW} as row from cost_day
       where organisation = $1 and shared_from like '${PREFIX}%'`,
      [organisation],
    );
    // Rows that stay are left alone: the sums of each day that is written to are made anew (sums.ts).
    const keyOf = (row: string): string => JSON.stringify(JSON.parse(row));
    const kept = new Set(before.map(({ row }) => keyOf(row)));
    const gone = before.filter(({ row }) => !rows.has(keyOf(row)));
    const fresh = [...rows].flatMap(([key, row]) => (kept.has(key) ? [] : [row]));
    if (gone.length > 0)
      await tx.query(
        `delete from cost_day where organisation = $1 and shared_from like '${PREFIX}%' and ${ROW} = any($2::text[])`,
        [organisation, gone.map(({ row }) => row)],
      );
    await tx.copy(
      'cost_day',
      COLUMNS,
      fresh.map((row) => `${[organisation, ...row].map(copyText).join('\t')}\n`),
    );
    const changed = new Map<string, Set<string>>();
    for (const { team, day } of [...gone, ...fresh.map(([of, on]) => ({ team: of, day: on }))])
      changed.set(team, (changed.get(team) ?? new Set<string>()).add(day));
    return [...changed].map(([team, days]) => ({ team, days: [...days] }));
  }

  /** The cost of metered usage on the days on which credits hold, by day, then team, then dimension. */
  private async costs(tx: Queryable, organisation: string, credits: readonly Credit[]): Promise<CostOfDay[]> {
    const [from, to] = [Math.min(...credits.map(({ start }) => start)), Math.max(...credits.map(({ end }) => end))];
    const rows = await tx.query<Row>(
      `select c.team, c.day::text as day, c.dimension::text as dimension, d.provider, c.currency, (sum(c.accrued) * 1000000000)::numeric(40, 0)::text as accrued,
         (sum(c.actual) * 1000000000)::numeric(40, 0)::text as actual
       from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension and d.kind = 'metered' and d.category <> 'Credit'
       where c.organisation = $1 and c.day >= $2::date and c.day < $3::date and c.accrued > 0 and c.team not like 'shared:%'
       group by c.team, c.day, c.dimension, d.provider, c.currency order by c.day, c.team, c.dimension`,
      [organisation, formatInstant(from).slice(0, 10), formatInstant(to).slice(0, 10)],
    );
    return rows.map(({ accrued, actual, ...row }) => ({
      ...row,
      at: Date.parse(row.day),
      nanos: BigInt(accrued),
      actual: actual === null ? null : BigInt(actual),
    }));
  }

  /** Each dimension's own for what is credited there. */
  private async creditDimensions(
    tx: Transaction,
    organisation: string,
    ids: readonly string[],
  ): Promise<Map<string, string>> {
    const known = await this.dimensions.byIds(tx, organisation, ids);
    const wanted = ids.map((id) => {
      const dimension = known.get(id);
      assert(dimension !== undefined, 'a cost has a dimension');
      return { ...dimension, category: 'Credit' as const };
    });
    const made = await this.dimensions.idsOf(tx, organisation, wanted);
    await this.dimensions.write(tx, organisation);
    return new Map(ids.map((id, at) => [id, made[at] ?? '']));
  }
}

/** Exact, with nine digits after the point, as the sums beside it. */
function amountOf(nanos: bigint): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(10, '0');
  return `${nanos < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** A credit in the form for people: the grant and its rest. */
export interface CreditView extends CreditSpec {
  /** Decimal strings in the credit's currency. */
  readonly taken: string;
  readonly left: string;
}

/** The credits, each with what usage has taken of it so far. */
export async function creditViews(store: CreditStore, db: Queryable, organisation: string): Promise<CreditView[]> {
  const specs = await store.specs(db, organisation);
  const rows = await db.query<{ name: string; day: string; currency: string; nanos: string }>(
    `select shared_from as name, day::text as day, currency, (-accrued * 1000000000)::numeric(40, 0)::text as nanos
     from cost_day where organisation = $1 and shared_from like '${PREFIX}%'`,
    [organisation],
  );
  const fx = await store.fx(db, organisation);
  return readCredits(specs).map((credit, at) => {
    const nanos = rows
      .filter(({ name }) => name === PREFIX + credit.id)
      .reduce(
        (sum, row) =>
          sum + (takenOf(BigInt(row.nanos), { currency: row.currency, at: Date.parse(row.day) }, credit, fx) ?? 0n),
        0n,
      );
    const spec = specs[at];
    assert(spec !== undefined, 'a credit is read from its text');
    return {
      ...spec,
      taken: formatMoney({ nanos, currency: credit.currency }),
      left: formatMoney({ nanos: credit.nanos - nanos, currency: credit.currency }),
    };
  });
}
