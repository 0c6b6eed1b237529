/**
 * The configuration of an organisation as one document: teams, rules, peak, limits, budgets, policies and alert routes.
 * Applies another configuration in one transaction, all or nothing. Each change has its own entry in the audit and uses
 * the same decisions as the single routes.
 *
 * A policy document cannot be removed, because actions refer to it; instead of removing it, this pauses it.
 */
import { createHash } from 'node:crypto';
import type { Budget } from '../../core/budget/budget.js';
import { canonical, changesBetween, type Change, type Sections } from '../../core/changes.js';
import type { AllocationRule } from '../../core/cost/allocation.js';
import type { LimitsDocument } from '../../core/action/limits.js';
import { conflict } from '../../core/errors.js';
import type { AlertRoutes } from '../../core/alert/routes.js';
import type { PolicyDocument } from '../../core/policy/document.js';
import type { Policy } from '../../core/policy/policy.js';
import type { PeakRule } from '../../core/price/peak.js';
import type { Team } from '../../store/access/organisation.js';
import type { Queryable, Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';
import { changeTeam, removeTeam } from '../access/set-team.js';
import { setBudget } from '../budget/set-budget.js';
import { applyPolicy, pausePolicy } from '../policy/set-policy.js';
import { setPeak } from '../price/set-rates.js';

type Needs = Parameters<typeof changeTeam>[0] &
  Pick<Stores, 'organisations' | 'budgets' | 'policies' | 'safety' | 'alertSettings' | 'audit'>;

/** The limits of the organisation, beside those of the teams by their ids. */
const EVERY_TEAM = '*';

/** The present configuration in the form in which it is set, without the default alert routes. */
export async function readConfiguration(
  stores: Needs,
  db: Queryable,
  organisation: string,
  policies: readonly Policy[],
): Promise<Sections> {
  const teams = await stores.organisations.teams(db, organisation);
  const budgets = await stores.budgets.list(db, organisation);
  const documents = await stores.policies.list(db, organisation, policies);
  const routes = await stores.alertSettings.routes(db, organisation);
  const limits: Record<string, LimitsDocument> = {};
  for (const team of [null, ...teams.map(({ id }) => id)]) {
    const document = await stores.safety.limitsDocument(db, organisation, team);
    if (Object.keys(document).length > 0) limits[team ?? EVERY_TEAM] = document;
  }
  return {
    teams: named(teams, ({ name, parent, zone, currency }) => ({ name, parent, zone, currency })),
    rules: (await stores.organisations.rules(db, organisation)).rules,
    peak: await stores.organisations.peakRules(db, organisation),
    limits,
    budgets: named(budgets, (budget) => ({ ...budget, id: undefined })),
    policies: named(
      documents.filter(({ isDefault }) => !isDefault).map((one) => ({ ...one, id: one.name })),
      ({ policy, teams: of, mode, params, priority, paused }) => ({
        policy,
        teams: of,
        mode,
        params,
        priority,
        paused,
      }),
    ),
    routes: routes?.routes ?? [],
  };
}

const named = <T extends { readonly id: string }>(
  things: readonly T[],
  settings: (thing: T) => unknown,
): Readonly<Record<string, unknown>> => Object.fromEntries(things.map((thing) => [thing.id, settings(thing)]));

/** The planned changes. A policy that should be removed and is already paused needs no change. */
export const plannedChanges = (now: Sections, wanted: Sections, prune: boolean): Change[] =>
  changesBetween(now, wanted, prune).filter(
    ({ section, kind, before }) =>
      section !== 'policies' || kind !== 'remove' || (before as { readonly paused: boolean }).paused !== true,
  );

/** Names a state: another state has another one. */
export const revisionOf = (configuration: Sections): string =>
  createHash('sha256').update(canonical(configuration)).digest('hex').slice(0, 32);

export interface ConfigurationRequest {
  /** Checked; policy documents as their policies have read them. */
  readonly wanted: Sections;
  readonly prune: boolean;
  /** The state that the plan was made of. */
  readonly replaces: string;
  /** Why policies may enforce without a backtest; null: they may not. */
  readonly override: string | null;
}

/**
 * Applies a configuration. @throws Failure conflict if the present state is not the one from which the plan was made,
 * or if a change contradicts it
 */
export async function setConfiguration(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  policies: readonly Policy[],
  { wanted, prune, replaces, override }: ConfigurationRequest,
  by: string,
  now: number,
): Promise<readonly Change[]> {
  // One at a time: of two that were planned on the same state the second is refused.
  await stores.organisations.lockRules(tx, organisation);
  const before = await readConfiguration(stores, tx, organisation, policies);
  if (revisionOf(before) !== replaces)
    throw conflict('somebody has changed the configuration since the plan was made: nothing was applied, plan again');
  const changes = plannedChanges(before, wanted, prune);
  const apply = changeOf({ stores, tx, organisation, policies, override, by, now });
  for (const change of inOrder(changes)) {
    const { verb, target, detail = { before: change.before, after: change.after } } = await apply(change);
    await stores.audit.audit(tx, organisation, by, verb, target, detail);
  }
  return changes;
}

/** Parents come before the teams below them; removals come last, budgets before teams and children before parents. */
function inOrder(changes: readonly Change[]): Change[] {
  const depth = (id: string | null, seen = 0): number => {
    const team = changes.find((one) => one.section === 'teams' && one.id === id);
    const parent = ((team?.after ?? team?.before) as Pick<Team, 'parent'> | undefined)?.parent ?? null;
    return team === undefined || parent === null || seen > changes.length ? seen : depth(parent, seen + 1);
  };
  const byDepth = (one: Change, other: Change): number =>
    one.section === 'teams' && other.section === 'teams' ? depth(one.id) - depth(other.id) : 0;
  const [gone, set] = [
    changes.filter(({ kind }) => kind === 'remove'),
    changes.filter(({ kind }) => kind !== 'remove'),
  ];
  return [...set.toSorted(byDepth), ...gone.toSorted(byDepth).toReversed()];
}

interface Applying {
  readonly stores: Needs;
  readonly tx: Transaction;
  readonly organisation: string;
  readonly policies: readonly Policy[];
  readonly override: string | null;
  readonly by: string;
  readonly now: number;
}

interface Noted {
  readonly verb: string;
  readonly target: string;
  /** As the single route has it, where something else reads it (the guard: policy.apply); absent: before and after. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

function changeOf(applying: Applying): (change: Change) => Promise<Noted> {
  const { stores, tx, organisation, now, by } = applying;
  return async ({ section, id, kind, after }) => {
    const target = id ?? section;
    switch (section) {
      case 'teams':
        if (kind === 'remove') await removeTeam(stores, tx, organisation, target);
        else await changeTeam(stores, tx, organisation, { ...(after as Team), id: target });
        return { verb: kind === 'remove' ? 'team.remove' : 'team.save', target };
      case 'budgets':
        if (kind === 'remove') await stores.budgets.remove(tx, organisation, target);
        else await setBudget(stores, tx, organisation, { ...(after as Budget), id: target }, now);
        return { verb: kind === 'remove' ? 'budget.remove' : 'budget.save', target };
      case 'limits': {
        const team = target === EVERY_TEAM ? null : target;
        await stores.safety.saveLimits(tx, organisation, team, (after ?? {}) as LimitsDocument);
        return { verb: 'limits.save', target: team ?? 'organisation' };
      }
      case 'policies':
        return setPolicy(applying, target, kind === 'remove' ? null : (after as PolicyState));
      case 'rules': {
        const saved = await stores.organisations.saveRules(tx, organisation, after as AllocationRule[], by);
        return { verb: 'rules.save', target: `rules/${saved.version}` };
      }
      case 'peak':
        await setPeak(stores, tx, organisation, after as PeakRule[]);
        return { verb: 'peak.save', target };
      case 'routes':
        await stores.alertSettings.saveRoutes(tx, organisation, { routes: after } as AlertRoutes);
        return { verb: 'alert-routes.set', target: 'alert-routes' };
    }
  };
}

type PolicyState = PolicyDocument & { readonly paused: boolean };

/** @param wanted null: it is to hold no longer */
async function setPolicy(applying: Applying, name: string, wanted: PolicyState | null): Promise<Noted> {
  const { stores, tx, organisation, policies, override, by, now } = applying;
  const before = await stores.policies.get(tx, organisation, name);
  const { paused = true, ...settings } = wanted ?? {};
  const applied =
    wanted === null
      ? null
      : await applyPolicy(
          stores,
          tx,
          organisation,
          policies,
          { document: { ...(settings as PolicyDocument), name }, override },
          by,
          now,
        );
  const pausing =
    (before?.paused ?? false) === paused ? null : await pausePolicy(stores, tx, organisation, name, paused, by, now);
  const detail = applied?.detail ?? pausing?.detail;
  return { verb: wanted === null ? 'policy.pause' : 'policy.apply', target: name, ...(detail && { detail }) };
}
