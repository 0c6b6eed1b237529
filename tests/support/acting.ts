/**
 * A world for tests of acting: a real database, the line, a policy that proposes what the test says, and a cloud in
 * memory.
 */
import { z } from 'zod';
import type { Action } from '../../src/core/action/action.js';
import type { LimitsDocument } from '../../src/core/action/limits.js';
import type { ChannelConnection } from '../../src/core/alert/channel.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy, Proposal } from '../../src/core/policy/policy.js';
import type { PolicyMode, RecommendedAction } from '../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS, type Clock } from '../../src/core/time.js';
import { approveAction, rollBack } from '../../src/application/action/set-action.js';
import { setStop } from '../../src/application/action/set-safety.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import type { Transaction } from '../../src/store/database.js';
import type { Stores } from '../../src/store/stores.js';
import { enqueue } from '../../src/store/work.js';
import { testBursar } from './bursar.js';
import { MemoryCloud } from './memory-cloud.js';

/** A Wednesday at noon. */
export const NOW = Date.UTC(2026, 10, 18, 12);

/** Applies a policy document and notes it in the audit, as the API does; enforcing needs an override before a backtest. */
export async function applied(
  stores: Stores,
  tx: Transaction,
  policies: readonly Policy[],
  document: unknown,
  at: number,
  { override = 'a test', by = 'author' }: { readonly override?: string | null; readonly by?: string } = {},
): Promise<void> {
  const read = readPolicyDocument(document, policies);
  const { detail } = await applyPolicy(stores, tx, 'default', policies, { document: read, override }, by, at);
  await stores.audit.audit(tx, 'default', by, 'policy.apply', read.name, detail);
}

/** A policy that proposes what a test says, from evidence that ends at the view's instant. */
export class Script {
  wants: {
    action: RecommendedAction;
    target: string;
    place?: Proposal['place'];
    change?: Proposal['change'];
    validDays?: number;
  }[] = [];
  evidenceAgeMs = 0;

  policy(name: string, holdsWhileProposed: boolean): Policy<Record<string, unknown>> {
    return {
      name,
      version: 1,
      description: 'as a test says',
      params: z.record(z.string(), z.unknown()),
      holdsWhileProposed,
      examples: [],
      evaluate: (view) =>
        this.wants.map(
          ({ action, target, place, change = {}, validDays = 1 }): Proposal => ({
            action,
            target,
            ...(place === undefined ? {} : { place }),
            change,
            title: `${action} ${target}`,
            monthlySavings: null,
            monthlyCost: null,
            computation: {},
            risk: { interruption: 'Low', note: '' },
            restartNeeded: false,
            implementationEffort: 'VeryLow',
            rollbackPossible: true,
            validDays,
            evidence: [
              {
                what: 'a test',
                from: formatInstant(view.asOf - HOUR_MS),
                to: formatInstant(view.asOf - this.evidenceAgeMs),
                ageSeconds: 0,
              },
            ],
          }),
        ),
    };
  }
}

export async function actingWorld({
  holds = false,
  channels,
  url,
  cloud = new MemoryCloud(),
}: {
  readonly holds?: boolean;
  /** Of a database that is there; absent: a fresh one. */
  readonly url?: string;
  readonly cloud?: MemoryCloud;
  readonly channels?: (clock: Clock) => Promise<ReadonlyMap<string, ChannelConnection>>;
} = {}) {
  const script = new Script();
  const policy = script.policy('scripted', holds);
  const clock = { at: NOW, now: () => clock.at };
  const bursar = await testBursar({
    policies: [policy],
    now: NOW,
    targets: cloud.finder(clock),
    connections: new Map([['cloud', cloud]]),
    ...(channels === undefined ? {} : { channels: await channels(clock) }),
    ...(url === undefined ? {} : { url }),
  });
  const { db, stores } = bursar;
  /** Whatever runs is the team's, unless it is tagged for another. */
  const rules = [
    { match: { tag: { key: 'team', value: 'other' } }, team: 'other' },
    { match: {}, team: 'lab' },
  ];
  await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', rules, 'test'));
  /** Lets the line look again, some time later. */
  const look = async (afterMs = 0): Promise<void> => {
    bursar.clock.at += afterMs;
    clock.at = bursar.clock.at;
    await enqueue(db, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
    await bursar.runner.drain();
  };
  return {
    ...bursar,
    cloud,
    script,
    policy,
    look,
    /** Lets time pass without a look. */
    async pass(ms: number): Promise<void> {
      bursar.clock.at += ms;
      clock.at = bursar.clock.at;
      await bursar.runner.drain();
    },
    document: (mode: PolicyMode, override: string | null = 'a test', by = 'author'): Promise<unknown> => {
      const document = { name: 'doc', policy: 'scripted', teams: ['lab'], mode };
      return db.transaction((tx) => applied(stores, tx, [policy], document, bursar.clock.at, { override, by }));
    },
    limits: (document: LimitsDocument, team: string | null = null): Promise<unknown> =>
      db.transaction((tx) => stores.safety.saveLimits(tx, 'default', team, document)),
    stop: (scope: 'all' | 'team' | 'provider', name = ''): Promise<unknown> =>
      db.transaction((tx) =>
        setStop(stores, tx, 'default', scope === 'all' ? {} : { [scope]: name }, {
          lift: false,
          reason: 'a test',
          by: 'test',
          now: bursar.clock.at,
        }),
      ),
    lift: (scope: 'all' | 'team' | 'provider', name = ''): Promise<boolean> =>
      db.transaction((tx) => stores.safety.lift(tx, 'default', { scope, name })),
    approve: (id: string, by = 'boss'): Promise<Action> =>
      db.transaction((tx) => approveAction(stores, tx, 'default', id, by, bursar.clock.at)),
    rollBack: (id: string, underStop = false): Promise<Action> =>
      db.transaction((tx) => rollBack(stores, tx, 'default', id, 'boss', { underStop }, bursar.clock.at)),
    /**
     * Oldest first. What becomes of a confirmed action is another stage's matter: `measured` counts as confirmed here.
     */
    async all(): Promise<Action[]> {
      const listed = await stores.actions.list('default', {}, null, 1000);
      return listed
        .map(({ action }): Action => (action.state === 'measured' ? { ...action, state: 'confirmed' } : action))
        .reverse();
    },
    async codes(id: string): Promise<string[]> {
      return (await stores.actions.events(db, 'default', id))
        .map(({ code }) => code)
        .filter((code) => code !== 'measured');
    },
    async recommendation() {
      const [found] = await stores.recommendations.list('default', {}, null, 10);
      return found!;
    },
  };
}

/** Why an action ended without an effect, or waits. */
export const codesOf = ({ reasons }: Action): string[] => reasons.map(({ code }) => code);

export type ActingWorld = Awaited<ReturnType<typeof actingWorld>>;

/** Works on one action by one step of action.execute. */
export async function step({ line, db, clock }: ActingWorld, id: string): Promise<void> {
  const execute = line.find(({ name }) => name === 'action.execute')!;
  const save = await execute.apart!({ organisation: 'default', partition: 'lab', key: id, now: clock.at, clock });
  await db.transaction(async (tx) => enqueue(tx, 'default', await save(tx, clock.at)));
}
