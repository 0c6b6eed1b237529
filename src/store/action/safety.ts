/**
 * The data that keeps acting safe: the kill switch, the limits, and the facts for the guard. Facts only;
 * core/action/guard.ts decides. The statement that records a request to a provider also checks the kill switch, so that
 * the switch takes effect at once.
 */
import { isApprovedByPolicy, LIVE_STATES, type Action, type Reason } from '../../core/action/action.js';
import type { TeamFleet } from '../../core/action/team-floor.js';
import { appliesTo, fingerprintOf } from '../../core/policy/document.js';
import {
  recentSince,
  standingReasons,
  type Gate,
  type GuardFacts,
  type SetStop,
  type StandingFacts,
  type Stop,
} from '../../core/action/guard.js';
import { bindingLimits, type BindingLimits, type Limits, type LimitsDocument } from '../../core/action/limits.js';
import type { Policy } from '../../core/policy/policy.js';
import { monthLabel, parseDay, DAY_MS } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import { servicePromise } from './service-promise.js';
import { teamFleet } from './team-fleet.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { PolicyStore, StoredPolicy } from '../policy/policies.js';

export interface StoredStop extends SetStop {
  readonly reason: string;
}

/** The facts of the guard that the database has. */
export type KnownFacts = Pick<
  GuardFacts,
  | 'limits'
  | 'teamFleet'
  | 'promise'
  | 'recent'
  | 'lastOnTargetAt'
  | 'liveOnTarget'
  | 'stillEnforces'
  | 'gate'
  | 'stops'
  | 'isProtected'
>;

/** The kill switches that cover a connection, and a team with the teams above it: $1 is the organisation. */
const covering = (connection: string, teams: string): string =>
  `k.organisation = $1 and (k.scope = 'all' or (k.scope = 'provider' and k.name in (${connection}, split_part(${connection}, ':', 1))) or (k.scope = 'team' and k.name = any(${teams})))`;

/** A team and every team above it. */
function above(team: string, parents: ReadonlyMap<string, string | null>): string[] {
  const teams = [team];
  for (let next = parents.get(team) ?? null; next !== null && !teams.includes(next); next = parents.get(next) ?? null)
    teams.push(next);
  return teams;
}

const limitsKey = (team: string | null): string => (team === null ? 'limits' : `limits/${team}`);

export class SafetyStore {
  constructor(
    private readonly organisations: OrganisationStore,
    private readonly policies: PolicyStore,
  ) {}

  async stops(db: Queryable, organisation: string): Promise<StoredStop[]> {
    const rows = await db.query<Omit<StoredStop, 'setAt'> & { setAt: Date }>(
      `select scope, name, reason, set_at as "setAt", set_by as "setBy" from kill_switch where organisation = $1 order by scope, name`,
      [organisation],
    );
    return rows.map((row) => ({ ...row, setAt: row.setAt.toISOString() }));
  }

  /** Switches off; a switch that is already off stays as it was set. */
  async stop(
    tx: Transaction,
    organisation: string,
    { scope, name }: Stop,
    reason: string,
    by: string,
    now: number,
  ): Promise<void> {
    await tx.query(
      `insert into kill_switch (organisation, scope, name, reason, set_at, set_by) values ($1, $2, $3, $4, $5, $6) on conflict (organisation, scope, name) do nothing`,
      [organisation, scope, name, reason, new Date(now), by],
    );
  }

  /** Returns whether there was anything to lift. */
  async lift(tx: Transaction, organisation: string, { scope, name }: Stop): Promise<boolean> {
    const gone = await tx.query(
      `delete from kill_switch where organisation = $1 and scope = $2 and name = $3 returning scope`,
      [organisation, scope, name],
    );
    return gone.length > 0;
  }

  /** The kill switches that cover a team's action through a connection. */
  async stopsOver(db: Queryable, organisation: string, team: string, connection: string): Promise<SetStop[]> {
    return (await this.stopsOverEach(db, organisation, [{ team, connection }]))[0] ?? [];
  }

  /** The same of several actions, in their order. */
  async stopsOverEach(
    db: Queryable,
    organisation: string,
    actions: readonly Pick<Action, 'team' | 'connection'>[],
  ): Promise<SetStop[][]> {
    const parents = await this.parents(db, organisation);
    const rows = await db.query<Omit<SetStop, 'setAt'> & { at: number; setAt: Date }>(
      `select a.at, k.scope, k.name, k.set_at as "setAt", k.set_by as "setBy"
       from jsonb_to_recordset($2::jsonb) as a(at int, connection text, teams text[]) join kill_switch k on ${covering('a.connection', 'a.teams')}
       order by k.scope, k.name`,
      [
        organisation,
        JSON.stringify(actions.map(({ team, connection }, at) => ({ at, connection, teams: above(team, parents) }))),
      ],
    );
    const found = actions.map((): SetStop[] => []);
    for (const { at, setAt, ...stop } of rows) found[at]?.push({ ...stop, setAt: setAt.toISOString() });
    return found;
  }

  /**
   * Notes that the provider is asked now, unless somebody else has noted it or a kill switch covers the action: one
   * statement. Returns whether the caller may ask.
   */
  async mayAsk(tx: Transaction, organisation: string, { id, team, connection }: Action, now: number): Promise<boolean> {
    const rows = await tx.query(
      `update action set asked_at = $5 where organisation = $1 and id = $4 and state = 'intended' and asked_at is null
         and (under_stop or not exists (select 1 from kill_switch k where ${covering('$2::text', '$3::text[]')})) returning id`,
      [organisation, connection, above(team, await this.parents(tx, organisation)), id, new Date(now)],
    );
    return rows.length > 0;
  }

  private async parents(db: Queryable, organisation: string): Promise<Map<string, string | null>> {
    return new Map((await this.organisations.teams(db, organisation)).map(({ id, parent }) => [id, parent]));
  }

  /** A document as set; that of the organisation if `team` is null. Empty: none has been set. */
  async limitsDocument(db: Queryable, organisation: string, team: string | null): Promise<LimitsDocument> {
    return (await this.organisations.setting<LimitsDocument>(db, organisation, limitsKey(team))) ?? {};
  }

  /** Replaces a checked document; returns the previous one. */
  async saveLimits(
    tx: Transaction,
    organisation: string,
    team: string | null,
    document: LimitsDocument,
  ): Promise<LimitsDocument> {
    const before = await this.limitsDocument(tx, organisation, team);
    await this.organisations.saveSetting(tx, organisation, limitsKey(team), document);
    return before;
  }

  async limits(db: Queryable, organisation: string, team: string): Promise<BindingLimits> {
    const [all, own] = [limitsKey(null), limitsKey(team)];
    const set = await this.organisations.settings<LimitsDocument>(db, organisation, [all, own]);
    return bindingLimits(set.get(all) ?? {}, set.get(own) ?? {});
  }

  /** The limits that hold for a team, or for the organisation. */
  async binding(db: Queryable, organisation: string, team: string | null): Promise<Limits> {
    return team === null
      ? bindingLimits(await this.limitsDocument(db, organisation, null), {}).organisation
      : (await this.limits(db, organisation, team)).team;
  }

  /** The facts about an action that the guard needs, other than the provider's reading. */
  async facts(
    tx: Transaction,
    organisation: string,
    action: Action,
    names: readonly string[],
    policies: readonly Policy[],
    now: number,
  ): Promise<KnownFacts> {
    const limits = await this.limits(tx, organisation, action.team);
    const documents = await this.policies.list(tx, organisation, policies);
    const document = documents.find(({ name }) => name === action.document);
    return {
      limits,
      promise: await servicePromise(tx, organisation, action, documents, policies, now),
      teamFleet: await this.fleetOf(tx, organisation, action.team, limits, action.id),
      recent: await this.recent(tx, organisation, action, limits, now),
      lastOnTargetAt: await this.lastOn(tx, organisation, action),
      liveOnTarget: await this.liveOn(tx, organisation, action.connection, action.target, [
        action.id,
        action.rollbackOf,
      ]),
      stillEnforces: isApprovedByPolicy(action)
        ? document !== undefined &&
          !document.paused &&
          document.mode === 'enforce' &&
          document.policy === action.policy &&
          appliesTo(document, action.team)
        : null,
      gate:
        document === undefined ? { kind: 'none' } : await this.gate(tx, organisation, action.team, document, policies),
      stops: await this.stopsOver(tx, organisation, action.team, action.connection),
      isProtected: await this.isProtected(tx, organisation, action.team, names),
    };
  }

  /**
   * The reasons for which the guard will certainly refuse, on the target's last known state. @param names the names of
   * the target
   */
  async standing(
    db: Queryable,
    organisation: string,
    team: string,
    facts: Omit<StandingFacts, 'limits' | 'isProtected' | 'teamFleet'>,
    names: readonly string[],
  ): Promise<Reason[]> {
    const limits = await this.limits(db, organisation, team);
    return standingReasons({
      ...facts,
      limits,
      teamFleet: await this.fleetOf(db, organisation, team, limits, null),
      isProtected: await this.isProtected(db, organisation, team, names),
    });
  }

  private async fleetOf(
    db: Queryable,
    organisation: string,
    team: string,
    limits: BindingLimits,
    except: string | null,
  ): Promise<TeamFleet | null> {
    return limits.team.minTeamGpus === 0 ? null : teamFleet(db, organisation, team, except);
  }

  private async recent(
    tx: Transaction,
    organisation: string,
    { id, team }: Action,
    limits: BindingLimits,
    now: number,
  ): Promise<KnownFacts['recent']> {
    const [sums] = await tx.query<{ all: number; own: number; gpus: number; ownGpus: number }>(
      `select count(*)::int as "all", (count(*) filter (where team = $2))::int as own, coalesce(sum(gpus), 0) as gpus, coalesce(sum(gpus) filter (where team = $2), 0) as "ownGpus"
       from action where organisation = $1 and intended_at > $3 and state <> 'refused' and rollback_of is null and id <> $4`,
      [organisation, team, new Date(recentSince(now)), id],
    );
    const month = (parseDay(`${monthLabel(now, 'UTC')}-01`) ?? 0) * DAY_MS;
    const { team: ofTeam, organisation: ofAll } = limits;
    const [bought] = await tx.query<{ own: string; all: string }>(
      `select coalesce(sum(nanos) filter (where team = $2 and currency = $5), 0)::text as own, coalesce(sum(nanos) filter (where currency = $6), 0)::text as "all"
       from (select team, (effect ->> 'mostNanos')::numeric as nanos, effect ->> 'currency' as currency from action
         where organisation = $1 and effect ->> 'kind' = 'purchase' and intended_at >= $3 and state <> 'refused' and id <> $4) as purchase`,
      [
        organisation,
        team,
        new Date(month),
        id,
        ofTeam.purchasesPerMonth?.currency ?? '',
        ofAll.purchasesPerMonth?.currency ?? '',
      ],
    );
    const purchased = { own: BigInt(bought?.own ?? '0'), all: BigInt(bought?.all ?? '0') };
    return {
      team: { actions: sums?.own ?? 0, gpus: sums?.ownGpus ?? 0, purchasedNanos: purchased.own },
      organisation: { actions: sums?.all ?? 0, gpus: sums?.gpus ?? 0, purchasedNanos: purchased.all },
    };
  }

  /** The live action on a target apart from some; null: there is none. */
  async liveOn(
    db: Queryable,
    organisation: string,
    connection: string,
    target: string,
    excluded: readonly (string | null)[],
  ): Promise<string | null> {
    const [row] = await db.query<{ id: string }>(
      `select id from action where organisation = $1 and connection = $2 and target = $3 and state = any($4::text[]) and taken_back_by is null and not (id = any($5::text[]))`,
      [organisation, connection, target, LIVE_STATES, excluded.filter((id) => id !== null)],
    );
    return row?.id ?? null;
  }

  private async lastOn(
    db: Queryable,
    organisation: string,
    { id, connection, target }: Action,
  ): Promise<number | null> {
    const [row] = await db.query<{ last: Date | null }>(
      `select max(applied_at) as last from action where organisation = $1 and connection = $2 and target = $3 and id <> $4`,
      [organisation, connection, target, id],
    );
    return row?.last?.getTime() ?? null;
  }

  private async gate(
    db: Queryable,
    organisation: string,
    team: string,
    document: StoredPolicy,
    policies: readonly Policy[],
  ): Promise<Gate> {
    const version = policies.find(({ name }) => name === document.policy)?.version ?? 0;
    if ((await this.policies.backtested(db, organisation, fingerprintOf(document, version))).has(team))
      return { kind: 'backtested' };
    // The reason stands in the audit of the very document: other parameters or teams need another one.
    const [override] = await db.query(
      `select 1 from audit where organisation = $1 and verb = 'policy.apply' and target = $2 and coalesce(detail ->> 'override', '') <> ''
         and detail -> 'after' ->> 'policy' = $3 and detail -> 'after' -> 'params' = $4::jsonb and detail -> 'after' -> 'teams' = $5::jsonb limit 1`,
      [organisation, document.name, document.policy, JSON.stringify(document.params), JSON.stringify(document.teams)],
    );
    return { kind: override === undefined ? 'none' : 'override' };
  }

  /** Whether a workload with one of the names is protected by its owner; null: not stated. */
  private async isProtected(
    db: Queryable,
    organisation: string,
    team: string,
    names: readonly string[],
  ): Promise<boolean | null> {
    const rows = await db.query<{ said: boolean | null }>(
      `select (facts ->> 'isProtected')::boolean as said from workload where organisation = $1 and team = $2 and id = any($3::text[])`,
      [organisation, team, names],
    );
    const said = rows.flatMap((row) => (row.said === null ? [] : [row.said]));
    return said.includes(true) ? true : said.length > 0 ? false : null;
  }
}
