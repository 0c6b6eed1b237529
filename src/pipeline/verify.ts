/**
 * saving.verify (action): writes down the counterfactual, measures the hours that have passed, and adds the differences
 * to the ledger. Actions that share a target are judged together (core/saving/attribution.ts has the order), so a late
 * action corrects those before it. It enqueues itself once a day until the horizon has passed; late usage, prices and
 * bills also enqueue it (verifyLate).
 */
import { attribute } from '../core/saving/attribution.js';
import type { CostContext } from '../core/cost/cost.js';
import type { Counterfactual } from '../core/saving/counterfactual.js';
import { Grouping } from '../core/cost/rollup.js';
import { afterTheHour, corrections, entryOf, evidenceSpan, nextCheck } from '../core/saving/saving.js';
import { judgedByBill, type TargetUsage } from '../core/saving/bill.js';
import { hourOf } from '../core/time.js';
import { VERIFY } from '../store/action/actions.js';
import type { Queryable } from '../store/database.js';
import type { Chain, SavingStore } from '../store/saving/savings.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { LINE } from './execute.js';
import type { Stage, StageCall } from './stage.js';

type Needs = Pick<Stores, 'organisations' | 'prices' | 'savings' | 'savingEvidence' | 'actions' | 'learnedRates'>;

export function verifyStage(stores: Needs): Stage {
  const { organisations, savings } = stores;
  return {
    name: VERIFY,
    most: 50,
    async run(call) {
      const { organisation, partition: team, keys, now, tx } = call;
      const facts = await savings.facts(tx, organisation, team, keys);
      await savings.open(tx, organisation, facts, await organisations.currencyOf(tx, organisation, team), now);
      const chains = [];
      for (const name of await savings.chainsOf(tx, organisation, team, keys))
        chains.push(await savings.chain(tx, organisation, team, name));
      const usage = await usageOf(
        stores,
        call,
        chains.flatMap(({ members }) => members.map(({ counterfactual }) => counterfactual)),
      );
      const contextOf = await contexts(stores, call);
      const workItems: WorkItem[] = [];
      for (const chain of chains) workItems.push(...(await verifyChain(stores, call, chain, usage, contextOf)));
      return workItems;
    },
  };
}

/** Raw records are read once for all chains of the call. */
async function usageOf(
  { organisations, savingEvidence }: Needs,
  { organisation, partition: team, now, tx }: StageCall,
  all: readonly Counterfactual[],
): Promise<TargetUsage> {
  const rules = await organisations.rules(tx, organisation);
  const grouping = new Grouping((record) => rules.teamOf(record), await organisations.trackedTags(tx, organisation));
  return savingEvidence.usage(tx, organisation, team, all, evidenceSpan(all, now), grouping);
}

async function contexts(
  { organisations, prices, learnedRates }: Needs,
  { organisation, tx }: StageCall,
): Promise<(currency: string) => CostContext> {
  const [{ book, fx }, peak] = [await prices.book(tx, organisation), await organisations.peak(tx, organisation)];
  // Savings are measured on the accrual, which uses the rates learned from bills.
  const learned = await learnedRates.applied(tx, organisation);
  return (currency) => ({ book, fx, peak, currency, learned });
}

/** Judges every action of a chain again; enqueues those whose horizon is not over. */
async function verifyChain(
  stores: Needs,
  call: StageCall,
  { members, effects }: Chain,
  usage: TargetUsage,
  contextOf: (currency: string) => CostContext,
): Promise<WorkItem[]> {
  const { savings, savingEvidence } = stores;
  const { organisation, partition: team, now, tx } = call;
  const all = members.map(({ counterfactual }) => counterfactual);
  const evidence = { ...usage, ...(await savingEvidence.account(tx, organisation, team, all, evidenceSpan(all, now))) };
  const truth = judgedByBill(attribute(members, effects, evidence, contextOf, hourOf(now)), all, evidence, contextOf);
  const recorded = await savings.hours(
    tx,
    organisation,
    team,
    all.map(({ action }) => action),
  );
  await savings.append(tx, organisation, team, all, corrections(truth, recorded), now);
  const workItems: WorkItem[] = [];
  for (const one of all) {
    const next = nextCheck(one, now);
    const entry = entryOf(
      one,
      truth.filter(({ action }) => action === one.action),
      next === null,
    );
    await savings.saveEntry(tx, organisation, one, entry, next === null, now);
    if (entry.state === 'measured' || entry.state === 'verified')
      await markMeasured(stores, { organisation, id: one.action, now, tx });
    if (next !== null) workItems.push({ stage: VERIFY, partition: team, key: one.action, notBefore: next });
  }
  return workItems;
}

/** Marks an action as measured once its saving is in the ledger. An unverifiable action stays confirmed. */
async function markMeasured(
  { actions }: Needs,
  { organisation, id, now, tx }: Pick<StageCall, 'organisation' | 'now' | 'tx'> & { readonly id: string },
): Promise<void> {
  const action = await actions.lock(tx, organisation, id);
  if (action?.state === 'confirmed') await actions.move(tx, organisation, action, 'measured', { at: now, actor: LINE });
}

/** Enqueues the actions of a team that some days (UTC) bear on: their usage, price or bill has changed. */
export async function verifyLate(
  tx: Queryable,
  organisation: string,
  savings: SavingStore,
  team: string,
  days: readonly string[],
  now: number,
): Promise<WorkItem[]> {
  return (await savings.touching(tx, organisation, team, days)).map((action) => ({
    stage: VERIFY,
    partition: team,
    key: action,
    notBefore: afterTheHour(now),
  }));
}
