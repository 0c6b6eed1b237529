/**
 * What happened in the made-up company before somebody looks: a day ago its people approved three recommendations; two
 * were carried out on the cloud in memory and measured since, one was refused, as its owner had protected the machine
 * meanwhile. What came after waits for a decision.
 *
 * The story is played on the line itself, with the clock set back: the policies propose, the guard judges, the cloud is
 * asked, and the ledger measures. Nothing is written into a table of results. Whatever was played before is left as it
 * is, so that a load that was cut short goes on.
 */
import { checkBudget, type Budget } from '../core/budget/budget.js';
import { readPolicyDocument } from '../core/policy/document.js';
import type { Policy } from '../core/policy/policy.js';
import type { Importer, ProviderConnection } from '../core/ports.js';
import { DAY_MS, dayOf, MINUTE_MS, monthLabel, type Clock } from '../core/time.js';
import type { RecordBatch, UsageRecord } from '../core/usage.js';
import { approveAction } from '../application/action/set-action.js';
import { setBudget } from '../application/budget/set-budget.js';
import { applyPolicy } from '../application/policy/set-policy.js';
import { parseSpendQuery } from '../core/cost/spend-query.js';
import type { Stores } from '../store/stores.js';
import {
  ACTED_BEFORE_MS,
  APPROVED,
  earlierPolicies,
  EXAMPLE_CONNECTION,
  HISTORY_DAYS,
  laterPolicies,
} from './company.js';
import { loadBasics, loadedSoFar, loadPods, loadUsage, saveLoaded, type PodSource } from './example.js';

/** What the example is played on. */
export interface StoryRequest {
  readonly stores: Stores;
  readonly importer: Importer;
  readonly organisation: string;
  readonly policies: readonly Policy[];
  /** The cloud in memory of the company. */
  readonly cloud: ProviderConnection;
  /** When it began, epoch milliseconds, a whole hour. */
  readonly began: number;
  readonly clock: Clock & { set(instant: number | null): void };
  readonly pods: PodSource;
  /** Enqueues what is due of the company's cloud and its evidence. */
  readonly collect: (now: number) => Promise<void>;
  readonly drain: () => Promise<void>;
  /** Gets a sentence per step. */
  readonly onStep: (step: string) => void;
}

const BY = 'example';
/** After the approvals: what they set off, and the readings by which the cloud shows it. */
const LATER_MINUTES = [5, 15, 30];

/** Plays everything that is left of it; the clock shows the present again afterwards. */
export async function playStory(request: StoryRequest): Promise<void> {
  const { stores, organisation, clock } = request;
  try {
    if ((await loadedSoFar(stores, organisation)) !== 'acted') await playEarlier(request);
    clock.set(null);
    await playLater(request);
  } finally {
    clock.set(null);
  }
}

async function playEarlier(request: StoryRequest): Promise<void> {
  const { stores, importer, organisation, cloud, began, clock, onStep } = request;
  const acted = began - ACTED_BEFORE_MS;
  clock.set(acted);
  onStep('teams, rules, price lists');
  await loadBasics(stores, importer, organisation, began);
  onStep('nine months of a fictional company');
  const until = firstAskedOf(acted);
  await loadUsage(stores, organisation, 'example company (made up)', 'machines of an in-memory cloud', acted, () =>
    byDay(cloud.usage?.(began - HISTORY_DAYS * DAY_MS, until) ?? none()),
  );
  await apply(request, earlierPolicies(began));
  await request.collect(clock.now());
  await request.drain();
  onStep('actions that its people approved a day ago');
  await approve(request);
  for (const minutes of LATER_MINUTES) {
    clock.set(acted + minutes * MINUTE_MS);
    await request.drain();
  }
  await saveLoaded(stores, organisation, 'acted');
}

async function playLater(request: StoryRequest): Promise<void> {
  const { stores, organisation, began, clock, pods, onStep } = request;
  onStep('the recorded pods of a GPU cluster');
  const facts = await loadPods(stores, organisation, pods, began);
  onStep(
    `${facts.metered} pods of ${facts.pods} that used a GPU (${facts.unplaced} found no node), and what the cloud shows now`,
  );
  await apply(request, laterPolicies(began));
  await request.collect(clock.now());
  await request.drain();
  onStep('budgets');
  for (const budget of await budgetsOf(stores, organisation, clock.now()))
    await stores.db.transaction((tx) => setBudget(stores, tx, organisation, budget, clock.now()));
  await request.drain();
  await saveLoaded(stores, organisation, 'done');
}

/**
 * A connection is first asked for the fortnight before (pipeline/collect-usage.ts); what lies before is loaded here.
 */
const FIRST_ASKED_MS = 14 * DAY_MS;
const firstAskedOf = (now: number): number => dayOf(now - FIRST_ASKED_MS);

async function* none(): AsyncGenerator<RecordBatch> {}

/** Pieces of one run and day that follow each other are one record: nine months by the hour would only take longer. */
async function* byDay(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  const records: UsageRecord[] = [];
  for await (const batch of batches) {
    for (const next of batch.records) {
      const last = records.at(-1);
      const goesOn =
        last !== undefined &&
        last.resource === next.resource &&
        last.term === next.term &&
        last.end === next.start &&
        dayOf(last.start) === dayOf(next.start);
      if (goesOn) records[records.length - 1] = { ...last, end: next.end };
      else records.push(next);
    }
  }
  yield { records, rejects: [] };
}

async function apply(
  { stores, organisation, policies, clock }: StoryRequest,
  documents: readonly unknown[],
): Promise<void> {
  for (const document of documents.map((one) => readPolicyDocument(one, policies)))
    await stores.db.transaction(async (tx) => {
      await applyPolicy(stores, tx, organisation, policies, { document, override: null }, BY, clock.now());
    });
}

async function approve({ stores, organisation, clock }: StoryRequest): Promise<void> {
  const proposed = await stores.actions.list(organisation, { state: 'proposed' }, null, 100);
  for (const { action } of proposed) {
    const { id, target, connection } = action;
    if (connection === EXAMPLE_CONNECTION && APPROVED.includes(target))
      await stores.db.transaction((tx) => approveAction(stores, tx, organisation, id, BY, clock.now()));
  }
}

/** Assigned: one budget that is nearly spent, the others with room, by what the month has cost so far. */
const ROOM: Readonly<Record<string, number>> = { ai: 2, research: 1.06, serving: 2.5, training: 1.8, platform: 1.8 };
const LEAST_PLANNED = 1000;

async function budgetsOf(stores: Stores, organisation: string, now: number): Promise<Budget[]> {
  const fx = await stores.prices.fx(stores.db, organisation);
  const query = parseSpendQuery({ from: `${monthLabel(now, 'UTC')}-01`, groupBy: 'team', currency: 'USD' });
  const { rows } = await stores.spend.spend(organisation, query, fx);
  const spent = new Map(rows.map((row) => [row['team'] ?? '', Number(row.cost ?? 0)]));
  spent.set(
    'ai',
    [...spent.values()].reduce((sum, one) => sum + one, 0),
  );
  return Object.entries(ROOM).map(([team, room]) =>
    checkBudget({
      id: `${team}-monthly`,
      team,
      period: 'month',
      zone: 'UTC',
      currency: 'USD',
      filters: {},
      planned: {
        default: String(Math.max(LEAST_PLANNED, Math.ceil(((spent.get(team) ?? 0) * room) / 100) * 100)),
        periods: {},
      },
      includeCredits: true,
      thresholds: [
        { kind: 'actual', ratio: '0.5' },
        { kind: 'actual', ratio: '0.8' },
        { kind: 'actual', ratio: '1' },
        { kind: 'forecast', ratio: '1' },
      ],
    }),
  );
}
