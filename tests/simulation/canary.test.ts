/**
 * The canary: a piece of Bursar is broken on purpose, and the simulation must notice, by the law that is there for it.
 * A law that no canary can break would be no law.
 *
 * Nothing in the product knows of this: a guard is made looser by standing in for its module, everything else by
 * changing the objects that a simulated process begins with.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { reachOf } from '../../src/core/action/acting.js';
import type { GuardFacts, Verdict } from '../../src/core/action/guard.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Stage } from '../../src/pipeline/stage.js';
import type { SeenIds } from '../../src/store/usage/seen.js';
import type { Stores } from '../../src/store/stores.js';
import { BESIDE_HOURS } from './company.js';
import { simulationDatabase } from './database.js';
import { planOf, simulate } from './simulate.js';
import type { Wire } from './wire.js';
import type { Breakage } from './world.js';

const guards = vi.hoisted(() => ({ ignored: new Set<string>() }));

vi.mock('node:crypto', async (original) => (await import('./randomness.js')).seeded(await original()));
vi.mock('../../src/core/action/guard.js', async (original) => {
  const real = await original<typeof import('../../src/core/action/guard.js')>();
  const guard = (facts: GuardFacts): Verdict => {
    const verdict = real.guard(facts);
    const reasons = verdict.allowed ? [] : verdict.reasons.filter(({ code }) => !guards.ignored.has(code));
    return verdict.allowed || reasons.length > 0
      ? verdict.allowed
        ? verdict
        : { allowed: false, reasons }
      : { allowed: true, reach: reachOf(facts.action.effect, facts.seen) ?? { replicas: 0, gpus: 0 } };
  };
  // What it would refuse is told before it is asked, and then nobody asks: a guard that is blind is so in both places.
  const standingReasons: typeof real.standingReasons = (facts) =>
    real.standingReasons(facts).filter(({ code }) => !guards.ignored.has(code));
  return { ...real, guard, standingReasons };
});

/** A connection that is the wire but for what is given. */
const over = (wire: Wire, other: Partial<ProviderConnection>): ProviderConnection =>
  Object.assign(Object.create(wire) as ProviderConnection, other);

/** Notes that a provider is asked, whatever the kill switch says. */
const asksAnyway = ({ safety }: Stores): void => {
  safety.mayAsk = async (tx, organisation, { id }, now) =>
    (
      await tx.query(
        `update action set asked_at = $3 where organisation = $1 and id = $2 and state = 'intended' and asked_at is null returning id`,
        [organisation, id, new Date(now)],
      )
    ).length > 0;
};

/** Sets the kill switch without refusing what is on its way. */
const refusesNothing = ({ actions }: Stores): void => {
  actions.unasked = async () => [];
};

/** Takes every record that may have come for one that has: what a rolled back import had seen stays seen. */
const neverChecks = ({ intake }: Stores): void => {
  const { seen } = intake as unknown as { readonly seen: SeenIds };
  const { seenHours } = seen;
  seen.seenHours = async (...asked) => Object.assign(await seenHours.apply(seen, asked), { check: () => 'repeated' });
};

/** Merges small deliveries, and does something of its own to what was made of them. */
function afterMerging(merging: Stores['merging'], sql: string): void {
  const { merge } = merging;
  merging.merge = async (tx, organisation, ...asked) => {
    const next = await merge.call(merging, tx, organisation, ...asked);
    await tx.query(sql, [organisation]);
    return next;
  };
}

interface Canary {
  readonly what: string;
  /** Reasons of the guard that it does not see. */
  readonly ignored?: readonly string[];
  readonly breakage?: Breakage;
  /** What is changed in the database. */
  readonly sql?: string;
  /** The law that must notice. */
  readonly law: RegExp;
}

const CANARIES: readonly Canary[] = [
  {
    what: 'a guard that forgets what was done within the hour',
    ignored: ['gpus-per-hour', 'actions-per-hour'],
    law: /within the hour before .* are allowed/,
  },
  {
    what: 'a guard that does not look at how far an action reaches',
    ignored: ['gpus-per-action', 'replicas-per-action', 'gpus-per-hour'],
    law: /allowed at once/,
  },
  {
    what: 'a guard that does not see protection',
    ignored: ['protected', 'protected-label'],
    law: /touches what is protected/,
  },
  { what: 'a guard that does not see the floor', ignored: ['floor'], law: /fewer than its floor/ },
  {
    what: 'a guard that lets policies buy as they like',
    ignored: ['purchase-limit', 'purchase-needs-approval'],
    law: /policies bought for/,
  },
  {
    what: 'a kill switch that nobody looks at',
    ignored: ['stopped'],
    law: /although the kill switch is on/,
    breakage: {
      orders: refusesNothing,
      stores(stores) {
        asksAnyway(stores);
        stores.safety.stopsOver = async () => [];
      },
    },
  },
  {
    what: 'a kill switch that is not asked again when the request goes out',
    law: /although the kill switch is on/,
    breakage: { orders: refusesNothing, stores: asksAnyway },
  },
  {
    what: 'a kill switch that what was approved before it outlives',
    law: /approved before the kill switch was pulled/,
    breakage: { orders: refusesNothing },
  },
  {
    what: 'a request that goes out before it is committed that it does',
    breakage: {
      stores({ safety }) {
        safety.mayAsk = async () => true;
      },
    },
    law: /before it is committed/,
  },
  {
    what: 'a lost answer that has the request sent again',
    law: /sent again blindly/,
    breakage: {
      connection: (wire) =>
        over(wire, {
          apply: async (...request) => {
            const answer = await wire.apply(...request);
            return answer.kind === 'unknown' ? wire.apply(...request) : answer;
          },
        }),
    },
  },
  {
    what: 'nobody who keeps two actions off one target',
    sql: 'drop index action_live',
    law: /has \d live actions/,
    breakage: {
      stores({ safety }) {
        safety.liveOn = async () => null;
      },
    },
  },
  {
    what: 'a proof that is taken on trust',
    law: /was billed no more/,
    breakage: {
      connection: (wire) =>
        over(wire, {
          target: async (name) => {
            const seen = await wire.target(name);
            return seen === null ? null : { ...seen, billing: 'ended' };
          },
        }),
    },
  },
  {
    what: 'a work item that is lost',
    breakage: { line: (line) => line.map((stage) => (stage.name === 'action.execute' ? silent(stage) : stage)) },
    law: /nothing goes on with it/,
  },
  {
    what: 'a crossing that is not written down',
    breakage: {
      stores({ budgets }) {
        budgets.saveCrossings = async () => [];
      },
    },
    law: /without crossing/,
  },
  {
    what: 'a collector that does not look back',
    law: /and the books say/,
    breakage: {
      connection: (wire) => {
        let before = 0;
        return over(wire, {
          usage(from, to) {
            const since = Math.max(from, before);
            before = Math.floor(to / 3_600_000) * 3_600_000;
            return wire.usage(since, to);
          },
        });
      },
    },
  },
  {
    what: 'a meter that gives a repeated record another name',
    law: /and the books say/,
    breakage: {
      connection: (wire) =>
        over(wire, {
          async *usage(from, to) {
            for await (const batch of wire.usage(from, to))
              yield {
                ...batch,
                records: batch.records.map((record, at) => ({ ...record, id: `${record.id}?${to}-${at}` })),
              };
          },
        }),
    },
  },
  {
    what: 'a book that does not note what is metered beside a bill',
    breakage: {
      stores({ counting }) {
        counting.noteMetered = async () => [];
      },
    },
    law: /each counted once/,
  },
  {
    what: 'a bill that is final when its period is over',
    breakage: {
      stores({ counting }) {
        counting.settling = async () => ({ days: 0, providers: {} });
      },
    },
    law: /each counted once/,
  },
  {
    what: 'a comparison that does not look which machines are metered',
    breakage: {
      stores({ unmetered }) {
        unmetered.metered = async () => null;
      },
    },
    law: /each counted once/,
  },
  {
    what: 'a comparison that takes what is charged beside a machine for its hours',
    breakage: {
      stores({ counting }) {
        const { saveNames } = counting;
        const taken = BESIDE_HOURS.map(({ what }) => ({
          sku: `${what} fake.t4x1`,
          meterSku: 'fake.t4x1',
          meterGpuModel: '',
        }));
        counting.saveNames = (tx, organisation, bill, names) =>
          saveNames.call(counting, tx, organisation, bill, [...names, ...taken]);
      },
    },
    law: /each counted once/,
  },
  {
    what: 'an intake that remembers what was rolled back',
    law: /and the books say/,
    breakage: { stores: neverChecks },
  },
  {
    what: 'a merging that forgets by what records are known',
    law: /and the books say/,
    breakage: {
      stores: ({ merging }) =>
        afterMerging(merging, `delete from usage_id where organisation = $1 and members is not null`),
    },
  },
  {
    what: 'a merging that lets count again what a later statement has set aside',
    law: /the company's own meter makes/,
    breakage: {
      stores: ({ merging }) =>
        afterMerging(merging, `update block set set_aside = '{}' where organisation = $1 and members is not null`),
    },
  },
  {
    what: 'a ledger that forgets what was still spent',
    breakage: {
      stores({ savings }) {
        const { append } = savings;
        savings.append = (tx, organisation, team, about, lines, now) =>
          append.call(
            savings,
            tx,
            organisation,
            team,
            about,
            lines.map((line) => ({ ...line, actual: line.actual / 2n })),
            now,
          );
      },
    },
    law: /the ledger says|is not the sum of its lines/,
  },
  {
    what: 'a ledger that changes what it has written',
    breakage: {
      stores({ savings }) {
        savings.hours = async (db, organisation) => {
          await db.query(`update saving_line set actual_nanos = 0 where organisation = $1`, [organisation]);
          return [];
        };
      },
    },
    law: /append-only/,
  },
];

/** The stage, without what it enqueues. */
function silent(stage: Stage): Stage {
  const { apart } = stage;
  if (apart === undefined) throw new Error(`${stage.name} is not done apart`);
  return {
    ...stage,
    apart: async (call) => {
      const save = await apart(call);
      return async (tx, now) => (await save(tx, now)).filter(({ stage: next }) => next === stage.name);
    },
  };
}

/** Most are noticed in the first seeds; what takes two things at once, later. */
const WITHIN = 100;

describe.skipIf(process.env['BURSAR_SEED'])('the simulation notices', async () => {
  afterEach(() => guards.ignored.clear());
  const databases = { whole: await simulationDatabase(), changed: await simulationDatabase() };

  it.each(CANARIES.map((canary) => [canary.what, canary] as const))(
    '%s',
    async (_, { ignored = [], breakage = {}, sql, law }) => {
      ignored.forEach((code) => guards.ignored.add(code));
      const db = sql === undefined ? databases.whole : databases.changed;
      if (sql !== undefined) await db.query(sql);
      const told: string[] = [];
      for (let seed = 1; seed <= WITHIN && !told.some((text) => law.test(text)); seed++) {
        if (planOf(seed).kind === 'month') continue;
        await simulate(db, seed, breakage).catch((error: unknown) =>
          told.push(error instanceof Error ? error.message : String(error)),
        );
      }
      expect(told.join('\n')).toMatch(law);
    },
    300_000,
  );
});
