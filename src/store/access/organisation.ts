/**
 * The settings of an organisation: teams, allocation rules, and others. The tables are small, read often, and changed
 * by people.
 *
 * A rule set is never edited: a new version is added, so that history shows under which rules it was allocated.
 */
import { canonical } from '../../core/changes.js';
import {
  compileRules,
  UNALLOCATED,
  type Allocatable,
  type AllocationRule,
  type Assignment,
} from '../../core/cost/allocation.js';
import { conflict, missing } from '../../core/errors.js';
import { compilePeak, type PeakRule, type PeakSchedule } from '../../core/price/peak.js';
import type { Queryable } from '../database.js';
import { enqueue, enqueueUrgent } from '../work.js';

export const DEFAULT_ORGANISATION = 'default';
/** Teams of this form stand for a shared cost on its way to the teams that share it. */
const SHARED = 'shared:';

export interface Team {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  /** IANA zone of the team's periods. */
  readonly zone: string;
  /** ISO 4217 code of the team's budgets and accruals. */
  readonly currency: string;
  /** The written rule that made the team, where a rule and not a person did. */
  readonly assignedBy: string | null;
}

export interface RuleSet {
  readonly version: number;
  readonly rules: readonly AllocationRule[];
  /** The team of a record, or the stand-in of a shared cost. */
  teamOf(record: Allocatable): string;
  /** How a stand-in is shared. */
  assignmentOf(standIn: string): Assignment | null;
}

export const isShared = (team: string): boolean => team.startsWith(SHARED);

function ruleSetOf(version: number, rules: readonly AllocationRule[]): RuleSet {
  const assign = compileRules(rules);
  const shared = new Map<string, Assignment>();
  return {
    version,
    rules,
    teamOf(record) {
      const assignment = assign(record);
      if (assignment.kind === 'team') return assignment.team;
      const standIn = SHARED + assignment.rule;
      shared.set(standIn, assignment);
      return standIn;
    },
    assignmentOf(standIn) {
      const rule = rules[Number(standIn.slice(SHARED.length))];
      if (rule === undefined || !('split' in rule)) return null;
      // Compiled alone, the rule's assignment is rule 0's; only its shares matter here.
      return shared.get(standIn) ?? compileRules([{ match: {}, split: rule.split }])(NOTHING);
    },
  };
}

const NOTHING: Allocatable = {
  provider: '',
  account: null,
  subAccount: null,
  resource: null,
  namespace: null,
  service: null,
  sku: null,
  tags: null,
};

export class OrganisationStore {
  private readonly ruleSets = new Map<string, RuleSet>();

  async teams(db: Queryable, organisation: string): Promise<Team[]> {
    return db.query<Team>(
      `select id, name, parent, zone, currency, assigned_by as "assignedBy" from team where organisation = $1 order by id`,
      [organisation],
    );
  }

  /** Teams that a person has set, and teams with spend that only rules name; `unallocated` is not a team. */
  async activeTeams(db: Queryable, organisation: string): Promise<string[]> {
    const rows = await db.query<{ team: string; set: boolean }>(
      `select team, bool_or(set) as set from (
         select id as team, true as set from team where organisation = $1
         union all select w.lane, false from work w where w.organisation = $1 and w.stage = 'recommendation.make' and w.lane not like '${SHARED}%' and w.lane <> $2) t
       group by 1 order by 1`,
      [organisation, UNALLOCATED],
    );
    const active: string[] = [];
    // Asked for one by one: a Citus cluster joins the work table, which it does not spread, with no facts.
    for (const { team, set } of rows) if (set || (await this.hasCosts(db, organisation, team))) active.push(team);
    return active;
  }

  /** Whether any cost was ever allocated to a team, set or not. */
  async hasCosts(db: Queryable, organisation: string, team: string): Promise<boolean> {
    const rows = await db.query(`select 1 from cost_day where organisation = $1 and team = $2 limit 1`, [
      organisation,
      team,
    ]);
    return rows.length > 0;
  }

  /** Null: nobody has set it. Locked until the transaction's end where `lock` is set. */
  async team(db: Queryable, organisation: string, id: string, lock = false): Promise<Team | null> {
    const [row] = await db.query<Team>(
      `select id, name, parent, zone, currency, assigned_by as "assignedBy" from team
       where organisation = $1 and id = $2${lock ? ' for update' : ''}`,
      [organisation, id],
    );
    return row ?? null;
  }

  /** The names of objects that are set for a team or lie below it, at most 20. */
  async hangingOn(db: Queryable, organisation: string, id: string): Promise<string[]> {
    const rows = await db.query<{ what: string }>(
      `select 'team ' || id as what from team where organisation = $1 and parent = $2
       union all select 'budget ' || id from budget where organisation = $1 and team = $2 order by 1 limit 20`,
      [organisation, id],
    );
    return rows.map(({ what }) => what);
  }

  async deleteTeam(tx: Queryable, organisation: string, id: string): Promise<void> {
    await tx.query(`delete from team where organisation = $1 and id = $2`, [organisation, id]);
  }

  /**
   * Adds or changes a team. @throws Failure missing if the parent is unknown, conflict if it would be its own ancestor.
   */
  async saveTeam(tx: Queryable, organisation: string, team: Team): Promise<void> {
    let ancestor = team.parent;
    for (let steps = 0; ancestor !== null; steps++) {
      if (ancestor === team.id || steps > 100) throw conflict(`team ${team.id} would be its own ancestor`);
      const above: Team | null = await this.team(tx, organisation, ancestor);
      if (above === null) throw missing(`team ${ancestor} (the parent of ${team.id}) does not exist`);
      ancestor = above.parent;
    }
    await tx.query(
      `insert into team (organisation, id, name, parent, zone, currency, assigned_by) values ($1,$2,$3,$4,$5,$6,$7)
       on conflict (organisation, id) do update set name = excluded.name, parent = excluded.parent, zone = excluded.zone,
         currency = excluded.currency, assigned_by = excluded.assigned_by`,
      [organisation, team.id, team.name, team.parent, team.zone, team.currency, team.assignedBy],
    );
  }

  /** A team's currency; USD for a team that is only a name in the rules. */
  async currencyOf(db: Queryable, organisation: string, team: string): Promise<string> {
    return (await this.team(db, organisation, team))?.currency ?? 'USD';
  }

  async rules(db: Queryable, organisation: string): Promise<RuleSet> {
    const [row] = await db.query<{ version: number }>(
      `select coalesce(max(version), 0)::int as version from rule_set where organisation = $1`,
      [organisation],
    );
    return this.rulesAt(db, organisation, row?.version ?? 0);
  }

  /** Rules that do not hold, to look at what they would do. @throws Failure invalid naming every problem */
  asRuleSet(rules: readonly AllocationRule[]): RuleSet {
    return ruleSetOf(0, rules);
  }

  private async rulesAt(db: Queryable, organisation: string, version: number): Promise<RuleSet> {
    const name = `${organisation}\u0001${version}`;
    const cached = this.ruleSets.get(name);
    if (cached !== undefined) return cached;
    const [row] =
      version === 0
        ? []
        : await db.query<{ rules: AllocationRule[] }>(
            `select rules from rule_set where organisation = $1 and version = $2`,
            [organisation, version],
          );
    const set = ruleSetOf(version, row?.rules ?? []);
    this.ruleSets.set(name, set);
    return set;
  }

  /** Lets nobody else change the rules until the transaction ends: of two at once the second sees the first one's. */
  async lockRules(tx: Queryable, organisation: string): Promise<void> {
    await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
  }

  /**
   * Adds a version of the rules, enqueues the re-allocation of everything delivered so far and of what runs. The same
   * rules once more are no new version.
   */
  async saveRules(tx: Queryable, organisation: string, rules: readonly AllocationRule[], by: string): Promise<RuleSet> {
    compileRules(rules);
    await this.lockRules(tx, organisation);
    const now = await this.rules(tx, organisation);
    if (canonical(now.rules) === canonical(rules)) return now;
    const [row] = await tx.query<{ version: number }>(
      `insert into rule_set (organisation, version, rules, created_by)
       select $1, coalesce(max(version), 0) + 1, $2, $3 from rule_set where organisation = $1 returning version`,
      [organisation, JSON.stringify(rules), by],
    );
    await this.enqueueAllocation(tx, organisation);
    const fleets = await tx.query<{ connection: string }>(
      `select connection from fleet_reading where organisation = $1`,
      [organisation],
    );
    await enqueueUrgent(
      tx,
      organisation,
      fleets.map(({ connection }) => ({ stage: 'fleet.allocate', partition: connection, key: connection })),
    );
    return ruleSetOf(row?.version ?? 1, rules);
  }

  async enqueueAllocation(tx: Queryable, organisation: string): Promise<void> {
    const deliveries = await tx.query<{ source: string; id: string }>(
      `select source, id::text as id from delivery where organisation = $1`,
      [organisation],
    );
    await enqueueUrgent(
      tx,
      organisation,
      deliveries.map(({ source, id }) => ({ stage: 'usage.allocate', partition: source, key: `${source}/${id}` })),
    );
  }

  /**
   * Enqueues deliveries that were allocated under other rules than today's (an import that ran while the rules
   * changed).
   */
  async enqueueStale(db: Queryable, organisation: string): Promise<void> {
    const stale = await db.query<{ source: string; id: string }>(
      `select source, id::text as id from delivery
       where organisation = $1 and archived is not true and rules_version <> (select coalesce(max(version), 0) from rule_set where organisation = $1)`,
      [organisation],
    );
    await enqueue(
      db,
      organisation,
      stale.map(({ source, id }) => ({ stage: 'usage.allocate', partition: source, key: `${source}/${id}` })),
    );
  }

  async ids(db: Queryable): Promise<string[]> {
    return (await db.query<{ id: string }>(`select id from organisation order by id`)).map((row) => row.id);
  }

  async setting<T>(db: Queryable, organisation: string, key: string): Promise<T | null> {
    const [row] = await db.query<{ value: T }>(`select value from setting where organisation = $1 and key = $2`, [
      organisation,
      key,
    ]);
    return row?.value ?? null;
  }

  /** Those of the keys that are set. */
  async settings<T>(db: Queryable, organisation: string, keys: readonly string[]): Promise<ReadonlyMap<string, T>> {
    const rows = await db.query<{ key: string; value: T }>(
      `select key, value from setting where organisation = $1 and key = any($2::text[])`,
      [organisation, keys],
    );
    return new Map(rows.map(({ key, value }) => [key, value]));
  }

  async saveSetting(tx: Queryable, organisation: string, key: string, value: unknown): Promise<void> {
    await tx.query(
      `insert into setting (organisation, key, value) values ($1, $2, $3)
       on conflict (organisation, key) do update set value = excluded.value, updated_at = now()`,
      [organisation, key, JSON.stringify(value)],
    );
  }

  async peak(db: Queryable, organisation: string): Promise<PeakSchedule> {
    return compilePeak(await this.peakRules(db, organisation));
  }

  /** The rules of the peak schedule, in their order; none: the factor is 1. */
  async peakRules(db: Queryable, organisation: string): Promise<readonly PeakRule[]> {
    return (await this.setting<PeakRule[]>(db, organisation, 'peak')) ?? [];
  }

  /** Tag keys that budgets filter by: facts are kept apart by them. */
  async trackedTags(db: Queryable, organisation: string): Promise<string[]> {
    return (await this.setting<string[]>(db, organisation, 'tracked-tags')) ?? [];
  }

  /** Has usage kept apart by these tags from now on. True: some of them were not tracked before. */
  async trackTags(tx: Queryable, organisation: string, keys: readonly string[]): Promise<boolean> {
    // If two settings were made at once, one would be lost.
    await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
    const tracked = await this.trackedTags(tx, organisation);
    const all = [...new Set([...tracked, ...keys])];
    if (all.length === tracked.length) return false;
    await this.saveSetting(tx, organisation, 'tracked-tags', all);
    return true;
  }

  /**
   * The time as of which the organisation is evaluated: the end of the recorded history for an example or an archive,
   * otherwise now. Usage newer than the recorded end makes it now again.
   */
  async asOf(db: Queryable, organisation: string, now: number): Promise<number> {
    const recorded = await this.setting<number>(db, organisation, 'as-of');
    if (recorded === null || recorded >= now) return now;
    const [row] = await db.query(
      `select 1 from usage_hour where organisation = $1 and hour > to_timestamp($2::double precision / 1000) limit 1`,
      [organisation, recorded],
    );
    return row === undefined ? recorded : now;
  }
}
