/**
 * The targets that run at the providers, as each connection last reported them. fleet.collect writes them, all others
 * read them.
 *
 * The invariant: silence is not absence. A target that a reading lacks keeps its last known state, with its age. It is
 * gone only if two complete readings in a row lack it (a catalogue flaps), or if a reading reports it as gone. Never
 * calls a provider.
 */
import type { OfferOnSale } from '../../core/action/acting.js';
import type { EffectKind, FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import type { FleetSnapshot } from '../../core/fleet/meter.js';
import { groupOf, isMember, MEMBER_LABELS } from '../../core/fleet/membership.js';
import type { ObservedTarget } from '../../core/policy/policy.js';
import { sparesOf, WORKLOAD_LABELS, workloadOf } from '../../core/policy/fleet-workload.js';
import type { CommitmentOffer, PlanRate } from '../../core/price/commitment-offer.js';
import { DAY_MS, formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { moves } from './moving.js';
import { JOBS_KEPT_MS, recordJobs } from '../workload/recorded-jobs.js';
import type { FoundTarget, TargetFinder } from '../action/targets.js';

/** Complete readings without a target, one after the other, that make it gone. */
const CONFIRMATIONS = 2;
const GONE_KEPT_MS = 30 * DAY_MS;
/** Offers that a look may have lacked stand so long: no purchase is made without asking for them again. */
const OFFERS_KEPT_MS = 7 * DAY_MS;
/** Older readings tell nothing of now: the fleet is stale. */
export const FLEET_STALE_MS = 15 * MINUTE_MS;

export interface SeenTarget extends FoundTarget {
  readonly team: string;
  /** Epoch milliseconds. */
  readonly firstSeenAt: number;
  /** Complete readings since that lacked it; above zero: it may be gone. */
  readonly missed: number;
  /** Null: it is there, as far as is known. */
  readonly goneAt: number | null;
}

/** How well a connection's fleet is known. */
export interface FleetCoverage {
  readonly connection: string;
  /** The last reading, and the last that was complete; epoch milliseconds. */
  readonly readAt: number | null;
  readonly completeAt: number | null;
  readonly complete: boolean;
  readonly targets: number;
  /** The unreadable parts of the last reading; and the reason of the last failed try, if there was one since. */
  readonly problems: readonly string[];
  readonly stale: boolean;
}

interface Row {
  connection: string;
  team: string;
  target: string;
  body: FleetTarget;
  first: Date;
  seen: Date;
  missed: number;
  gone: Date | null;
}
interface Carrying {
  effects: EffectKind[] | null;
}

const COLUMNS = `connection, team, target, body, first_seen_at as first, seen_at as seen, missed, gone_at as gone`;

/** A part of a target that stays as it was known where it is ending and its cloud tells no more of it. */
const keptOf = (field: string): string =>
  `case when excluded.body ->> 'state' in ('stopping', 'gone') and coalesce(excluded.body -> '${field}', '[]') in ('[]', '{}', 'null') and fleet_target.body ? '${field}'
    then jsonb_build_object('${field}', fleet_target.body -> '${field}') else '{}' end`;

/**
 * The data of a machine's creation, its tags, and its names and addresses, all of which EC2 forgets when the machine
 * has ended: a replacement needs to know what to create and for whom, and the name of its exporter.
 */
const KEPT_BODY = `excluded.body || ${['launch', 'knownAs', 'network', 'labels'].map(keptOf).join(' || ')}`;
/** Its previous team, if the tags that name it are forgotten. */
const KEPT_TEAM = `case when excluded.body ->> 'state' in ('stopping', 'gone') and coalesce(excluded.body -> 'labels', '{}') in ('{}', 'null')
  and coalesce(fleet_target.body -> 'labels', '{}') not in ('{}', 'null') then fleet_target.team else excluded.team end`;

/** A machine that its cloud has taken away within the hour before the last reading: it may be replaced. */
const takenLately = (table: string): string =>
  `(${table}.body #>> '{ended,by}' = 'cloud' and ${table}.gone_at > (select r.at - interval '1 hour'
     from fleet_reading r where r.organisation = ${table}.organisation and r.connection = ${table}.connection))`;

const seenOf = ({ connection, team, body, first, seen, missed, gone }: Row): SeenTarget => ({
  connection,
  team,
  seen: body,
  firstSeenAt: first.getTime(),
  seenAt: seen.getTime(),
  missed,
  goneAt: gone?.getTime() ?? null,
});

export class FleetStore implements TargetFinder {
  /**
   * Takes a reading in; an older one than the last changes nothing.
   * @param teamOf the team of a target, by the organisation's rules
   * @param effects those that the connection carries out, none if it may only read; null: unknown
   * @returns the teams of which something has changed (appeared, gone, started, stopped, another size)
   */
  async save(
    tx: Queryable,
    organisation: string,
    connection: string,
    reading: FleetReading,
    teamOf: (target: FleetTarget) => string,
    effects: readonly EffectKind[] | null = null,
  ): Promise<string[]> {
    const at = formatInstant(reading.at);
    const [taken] = await tx.query(
      `insert into fleet_reading (organisation, connection, at, complete, complete_at, targets, problems, effects)
       values ($1, $2, $3, $4, case when $4 then $3::timestamptz end, $5, $6, $7)
       on conflict (organisation, connection) do update set at = excluded.at, complete = excluded.complete, complete_at = coalesce(excluded.complete_at, fleet_reading.complete_at),
         targets = excluded.targets, problems = excluded.problems, effects = excluded.effects
       where fleet_reading.at < excluded.at returning 1 as taken`,
      [organisation, connection, at, reading.complete, reading.targets.length, reading.problems, effects],
    );
    if (taken === undefined) return [];
    const targets = [...new Map(reading.targets.map((target) => [target.target, target])).values()];
    const seen = await tx.query<{ team: string; changed: boolean }>(
      `insert into fleet_target (organisation, connection, target, resource, team, body, first_seen_at, seen_at, gone_at)
       select $1, $2, target, resource, team, body, $3, $3, case when body ->> 'state' = 'gone' then $3::timestamptz end
       from unnest($4::text[], $5::text[], $6::text[], $7::jsonb[]) as t(target, resource, team, body)
       on conflict (organisation, connection, target) do update set resource = excluded.resource, team = ${KEPT_TEAM}, body = ${KEPT_BODY}, seen_at = excluded.seen_at, missed = 0,
         gone_at = case when excluded.gone_at is not null then coalesce(fleet_target.gone_at, excluded.gone_at) end,
         changed_at = case when (fleet_target.body -> 'state', fleet_target.body #> '{replicas,desired}') is distinct from (excluded.body -> 'state', excluded.body #> '{replicas,desired}')
           then excluded.seen_at else fleet_target.changed_at end,
         started_at = case when ${moves('excluded.body')} and not ${moves('fleet_target.body')} then excluded.seen_at else fleet_target.started_at end
       returning team, first_seen_at = $3 or coalesce(changed_at = $3, false) as changed`,
      [
        organisation,
        connection,
        at,
        targets.map(({ target }) => target),
        targets.map(resourceOf),
        targets.map(teamOf),
        targets.map((target) => JSON.stringify(target)),
      ],
    );
    const gone = reading.complete ? await this.miss(tx, organisation, connection, at) : [];
    await tx.query(
      `with forgotten as (delete from recorded_job where organisation = $1 and seen_at < $4) delete from fleet_target where organisation = $1 and connection = $2 and gone_at < $3`,
      [organisation, connection, formatInstant(reading.at - GONE_KEPT_MS), formatInstant(reading.at - JOBS_KEPT_MS)],
    );
    await this.saveWorkloads(tx, organisation, connection);
    return [...new Set([...seen.filter(({ changed }) => changed), ...gone].map(({ team }) => team))].sort();
  }

  /** Assigns running targets, as last seen, to teams again; returns the teams that have lost or gained something. */
  async reassign(
    tx: Queryable,
    organisation: string,
    connection: string,
    teamOf: (target: FleetTarget) => string,
  ): Promise<string[]> {
    const rows = await tx.query<{ target: string; team: string; body: FleetTarget }>(
      `select target, team, body from fleet_target where organisation = $1 and connection = $2 and gone_at is null order by target for update`,
      [organisation, connection],
    );
    const moved = rows
      .map(({ target, team, body }) => ({ target, from: team, to: teamOf(body) }))
      .filter(({ from, to }) => from !== to);
    if (moved.length === 0) return [];
    await tx.query(
      `update fleet_target f set team = m.team from unnest($3::text[], $4::text[]) as m(target, team) where f.organisation = $1 and f.connection = $2 and f.target = m.target`,
      [organisation, connection, moved.map(({ target }) => target), moved.map(({ to }) => to)],
    );
    await this.saveWorkloads(tx, organisation, connection);
    return [...new Set(moved.flatMap(({ from, to }) => [from, to]))].sort();
  }

  private async miss(tx: Queryable, organisation: string, connection: string, at: string): Promise<{ team: string }[]> {
    const missed = await tx.query<{ team: string; gone: boolean }>(
      `update fleet_target set missed = missed + 1, gone_at = case when missed + 1 >= $4 then $3::timestamptz end
       where organisation = $1 and connection = $2 and gone_at is null and seen_at < $3 returning team, gone_at is not null as gone`,
      [organisation, connection, at, CONFIRMATIONS],
    );
    return missed.filter(({ gone }) => gone);
  }

  /** The targets' own data as workloads; a workload that another sender reports is left unchanged. */
  private async saveWorkloads(tx: Queryable, organisation: string, connection: string): Promise<void> {
    // A target with an unchanged size since it was first seen has had it at least that long.
    const rows = await tx.query<Row & { changed: Date; taken: boolean }>(
      `select ${COLUMNS}, coalesce(changed_at, first_seen_at) as changed,
         exists (select 1 from workload w where w.organisation = f.organisation and w.id = f.target and w.connection is distinct from f.connection) as taken
       from fleet_target f where organisation = $1 and connection = $2 and (gone_at is null or ${takenLately('f')})`,
      [organisation, connection],
    );
    const standingBy = sparesOf(rows.map(({ body }) => body));
    const all = rows.flatMap(({ target, team, body, seen, gone, changed, taken }) => {
      const found = workloadOf(body, taken ? `${connection}/${target}` : target, changed.getTime());
      if (found === null) return [];
      const { workload, ...own } = found;
      const spares = standingBy.get(target) ?? standingBy.get(body.name);
      // A gone target has no size to bound: it can only be replaced.
      const fleet = gone === null ? own.fleet : null;
      const facts = { ...own, fleet, ...(spares === undefined ? {} : { spares }) };
      return [{ id: workload, team, seen: seen.toISOString(), facts }];
    });
    await tx.query(`delete from workload where organisation = $1 and connection = $2 and not (id = any($3::text[]))`, [
      organisation,
      connection,
      all.map(({ id }) => id),
    ]);
    await recordJobs(tx, organisation, all);
    if (all.length === 0) return;
    await tx.query(
      `insert into workload (organisation, id, team, facts, seen_at, connection)
       select $1, id, team, facts, seen_at, $2 from unnest($3::text[], $4::text[], $5::jsonb[], $6::timestamptz[]) as w(id, team, facts, seen_at)
       on conflict (organisation, id) do update set team = excluded.team, facts = excluded.facts, seen_at = excluded.seen_at where workload.connection = excluded.connection`,
      [
        organisation,
        connection,
        all.map(({ id }) => id),
        all.map(({ team }) => team),
        all.map(({ facts }) => JSON.stringify(facts)),
        all.map(({ seen }) => seen),
      ],
    );
  }

  /** The known state of a connection's fleet before its next reading. */
  async snapshot(db: Queryable, organisation: string, connection: string): Promise<FleetSnapshot> {
    const [last] = await db.query<{ at: Date }>(
      `select at from fleet_reading where organisation = $1 and connection = $2`,
      [organisation, connection],
    );
    const rows = await db.query<Row>(
      `select ${COLUMNS} from fleet_target where organisation = $1 and connection = $2 and gone_at is null and body ->> 'kind' = 'instance'`,
      [organisation, connection],
    );
    return {
      readAt: last?.at.getTime() ?? null,
      targets: new Map(rows.map(({ target, body, seen }) => [target, { seen: body, seenAt: seen.getTime() }])),
    };
  }

  async find(db: Queryable, organisation: string, team: string, target: string): Promise<FoundTarget | null> {
    const [best, ...others] = await this.ranked(db, organisation, target, team);
    return best === undefined || others.length > 0 ? null : { ...seenOf(best), carriesOut: best.effects };
  }

  /**
   * The target of a name, of any team or of one; null: nobody knows it, it is gone, or the name is not one target's
   * alone.
   * @param name the target itself, also after its connection and a slash, the resource (an instance's own id) or name
   * that it has, or what readings call it (a host name whole or its first part, an address, a pod of a
   * workload)
   */
  async named(
    db: Queryable,
    organisation: string,
    name: string,
    team: string | null = null,
  ): Promise<SeenTarget | null> {
    const [best, ...others] = await this.allNamed(db, organisation, name, team);
    return best === undefined || others.length > 0 ? null : best;
  }

  /** The targets that a name matches best: several, if it could be each of them. */
  async allNamed(db: Queryable, organisation: string, name: string, team: string | null = null): Promise<SeenTarget[]> {
    return (await this.ranked(db, organisation, name, team)).map(seenOf);
  }

  /** The best of the rows by the name, and what their connections carried out when they were last read. */
  private async ranked(
    db: Queryable,
    organisation: string,
    name: string,
    team: string | null,
  ): Promise<(Row & Carrying)[]> {
    const rows = await db.query<Row & Carrying & { rank: number }>(
      `select ${COLUMNS}, case when target = $2 then 0 when connection || '/' || target = $2 then 1 when resource = $2 then 2 when body ->> 'name' = $2 then 3 when body -> 'knownAs' ? $2 then 4 else 5 end + case when gone_at is null then 0 else 10 end as rank,
         (select r.effects from fleet_reading r where r.organisation = fleet_target.organisation and r.connection = fleet_target.connection) as effects
       from fleet_target where organisation = $1 and (gone_at is null or ${takenLately('fleet_target')})${team === null ? '' : ' and team = $3'}
         and (target = $2 or connection || '/' || target = $2 or resource = $2 or body ->> 'name' = $2 or body -> 'knownAs' ? $2
           or exists (select 1 from jsonb_array_elements_text(coalesce(body -> 'knownAs', '[]')) as n(name)
             where split_part(n.name, '.', 1) = $2)) order by rank limit 50`,
      [organisation, name, ...(team === null ? [] : [team])],
    );
    return rows.filter(({ rank }) => rank === rows[0]?.rank);
  }

  /** The newest target of a name that is gone since a time (epoch milliseconds); null: none. */
  async goneNamed(db: Queryable, organisation: string, name: string, since: number): Promise<SeenTarget | null> {
    const [row] = await db.query<Row>(
      `select ${COLUMNS} from fleet_target where organisation = $1 and gone_at >= $3
         and (target = $2 or connection || '/' || target = $2 or resource = $2 or body ->> 'name' = $2)
       order by gone_at desc limit 1`,
      [organisation, name, formatInstant(since)],
    );
    return row === undefined ? null : seenOf(row);
  }

  /** A team's groups, their machines, and what stands still or is gone, by every name that is one target's alone. */
  async observedTargets(db: Queryable, organisation: string, team: string): Promise<Record<string, ObservedTarget>> {
    const rows = await db.query<Row & { resource: string }>(
      `select ${COLUMNS}, resource from fleet_target where organisation = $1 and team = $2
         and (gone_at is not null or body ->> 'kind' = 'group' or body ->> 'state' in ('stopped', 'stopping', 'gone')
           or (body ->> 'kind' = 'instance' and body -> 'labels' ?| $3::text[]))`,
      [organisation, team, MEMBER_LABELS],
    );
    const byName = new Map<string, ObservedTarget | null>();
    for (const { connection, target, resource, body, gone } of rows) {
      const observed = { target, state: gone === null ? body.state : 'gone', group: groupOf(body) } as const;
      for (const name of new Set([target, `${connection}/${target}`, resource, body.name]))
        byName.set(name, byName.has(name) ? null : observed);
    }
    return Object.fromEntries([...byName].flatMap(([name, one]) => (one === null ? [] : [[name, one]])));
  }

  /** A team's machines that stand by themselves: no group's, and not described as a workload by their owner. */
  async standing(
    db: Queryable,
    organisation: string,
    team: string,
  ): Promise<(SeenTarget & { readonly startedAt: number | null })[]> {
    const rows = await db.query<Row & { started: Date | null }>(
      `select ${COLUMNS}, started_at as started from fleet_target where organisation = $1 and team = $2
         and gone_at is null and body ->> 'kind' = 'instance' and not (body -> 'labels' ? $3) order by connection, target`,
      [organisation, team, WORKLOAD_LABELS.kind],
    );
    return rows
      .filter(({ body }) => !isMember(body))
      .map((row) => ({ ...seenOf(row), startedAt: row.started?.getTime() ?? null }));
  }

  /** Those of the named targets that are kept, gone ones too. @param names connection and target of each */
  async getMany(
    db: Queryable,
    organisation: string,
    names: readonly { readonly connection: string; readonly target: string }[],
  ): Promise<SeenTarget[]> {
    if (names.length === 0) return [];
    const rows = await db.query<Row>(
      `select ${COLUMNS} from fleet_target where organisation = $1
         and (connection, target) in (select * from unnest($2::text[], $3::text[]))`,
      [organisation, names.map(({ connection }) => connection), names.map(({ target }) => target)],
    );
    return rows.map(seenOf);
  }

  /**
   * A page of what is there, by connection and target.
   * @param filter `teams` null: of all; `after` is the last one's `placeOf`
   */
  async list(
    db: Queryable,
    organisation: string,
    filter: {
      readonly teams: readonly string[] | null;
      readonly connection?: string | undefined;
      readonly kind?: string | undefined;
    },
    after: string | null,
    limit: number,
  ): Promise<SeenTarget[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from fleet_target
       where organisation = $1 and gone_at is null and ($2::text[] is null or team = any($2)) and ($3::text is null or connection = $3) and ($4::text is null or body ->> 'kind' = $4)
         and ($5::text is null or (connection || chr(1) || target) collate "C" > $5) order by (connection || chr(1) || target) collate "C" limit $6`,
      [organisation, filter.teams, filter.connection ?? null, filter.kind ?? null, after, limit],
    );
    return rows.map(seenOf);
  }

  /** How well each connection's fleet is known, at an instant. */
  async coverage(db: Queryable, organisation: string, now: number): Promise<FleetCoverage[]> {
    const rows = await db.query<{
      connection: string;
      at: Date | null;
      complete_at: Date | null;
      complete: boolean | null;
      targets: number | null;
      problems: string[] | null;
      error: string | null;
    }>(
      `select c.connection, r.at, r.complete_at, r.complete, r.targets, r.problems, w.last_error as error
       from collection c
       left join fleet_reading r on r.organisation = c.organisation and r.connection = c.connection
       left join work w on w.organisation = c.organisation and w.lane = c.connection and w.stage = 'fleet.collect' and w.key = c.connection || '/fleet'
       where c.organisation = $1 and c.what = 'fleet' order by c.connection`,
      [organisation],
    );
    return rows.map(({ connection, at, complete_at: completeAt, complete, targets, problems, error }) => ({
      connection,
      readAt: at?.getTime() ?? null,
      completeAt: completeAt?.getTime() ?? null,
      complete: complete ?? false,
      targets: targets ?? 0,
      problems: [...(problems ?? []), ...(error === null ? [] : [error])],
      stale: at === null || now - at.getTime() > FLEET_STALE_MS,
    }));
  }

  /** The machines of a group that run or start, as they were read last. */
  async membersOf(db: Queryable, organisation: string, connection: string, group: string): Promise<FleetTarget[]> {
    const rows = await db.query<{ body: FleetTarget }>(
      `select body from fleet_target where organisation = $1 and connection = $2 and gone_at is null
         and body ->> 'kind' = 'instance' and body ->> 'state' in ('running', 'starting') and body -> 'labels' ?| $3::text[] order by target`,
      [organisation, connection, MEMBER_LABELS],
    );
    return rows.flatMap(({ body }) => (groupOf(body) === group ? [body] : []));
  }

  /** A team's machines that are or were one of a group's, as far as they are remembered. */
  async machinesOf(
    db: Queryable,
    organisation: string,
    team: string,
    group: string,
  ): Promise<{ readonly connection: string; readonly target: string }[]> {
    const rows = await db.query<{ connection: string; body: FleetTarget }>(
      `select connection, body from fleet_target where organisation = $1 and team = $2
         and body ->> 'kind' = 'instance' and body -> 'labels' ?| $3::text[] order by connection, target`,
      [organisation, team, MEMBER_LABELS],
    );
    return rows.flatMap(({ connection, body }) => {
      const own = groupOf(body);
      return own === group || `${connection}/${own}` === group ? [{ connection, target: body.target }] : [];
    });
  }

  /** The last known data of a target's creation, its labels, and its cloud's report that it is unhealthy. */
  async keptOf(
    db: Queryable,
    organisation: string,
    connection: string,
    target: string,
  ): Promise<Pick<FleetTarget, 'launch' | 'unwell'> & Partial<Pick<FleetTarget, 'labels'>>> {
    const [row] = await db.query<{
      launch: FleetTarget['launch'] | null;
      unwell: string | null;
      labels: FleetTarget['labels'] | null;
    }>(
      `select body -> 'launch' as launch, body ->> 'unwell' as unwell, body -> 'labels' as labels from fleet_target where organisation = $1 and connection = $2 and target = $3`,
      [organisation, connection, target],
    );
    const { launch = null, unwell = null, labels = null } = row ?? {};
    return {
      ...(launch === null ? {} : { launch }),
      ...(unwell === null ? {} : { unwell }),
      ...(labels === null ? {} : { labels }),
    };
  }

  /** Commitments that hold, as the connections last saw them. */
  async commitments(db: Queryable, organisation: string): Promise<FleetTarget[]> {
    const rows = await db.query<{ body: FleetTarget }>(
      `select body from fleet_target where organisation = $1 and gone_at is null and body ->> 'kind' = 'commitment' order by connection, target`,
      [organisation],
    );
    return rows.map(({ body }) => body);
  }

  /**
   * Puts a connection's offers in the place of its earlier ones.
   * @param complete false: the look lacked something, and what it does not list may still be on sale
   */
  async saveOffers(
    tx: Queryable,
    organisation: string,
    connection: string,
    offers: readonly OfferOnSale[],
    seenAt: number,
    complete = true,
  ): Promise<void> {
    await tx.query(
      `delete from commitment_offer where organisation = $1 and connection = $2 and ($3 or offer = any($4::text[]) or seen_at < $5)`,
      [organisation, connection, complete, offers.map(({ offer }) => offer), formatInstant(seenAt - OFFERS_KEPT_MS)],
    );
    const all = [...new Map(offers.map((one) => [one.offer, one])).values()];
    await tx.query(
      `insert into commitment_offer (organisation, connection, offer, provider, gpus_per_unit, body, seen_at)
       select $1, $2, offer, provider, gpus, body, $3 from unnest($4::text[], $5::text[], $6::double precision[], $7::jsonb[]) as o(offer, provider, gpus, body)`,
      [
        organisation,
        connection,
        formatInstant(seenAt),
        all.map(({ offer }) => offer),
        all.map(({ provider }) => provider),
        all.map(({ gpusPerUnit }) => gpusPerUnit),
        all.map(({ connection: _connection, provider: _provider, gpusPerUnit: _gpus, account: _account, ...offer }) =>
          JSON.stringify(offer, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
        ),
      ],
    );
  }

  async offers(db: Queryable, organisation: string): Promise<OfferOnSale[]> {
    type StoredRate = Omit<PlanRate, 'hourlyNanos'> & { readonly hourlyNanos: string };
    type Stored = Omit<CommitmentOffer, 'upfrontNanos' | 'hourlyNanos' | 'rates'> & {
      readonly upfrontNanos: string;
      readonly hourlyNanos: string;
      readonly rates?: readonly StoredRate[];
    };
    const rows = await db.query<{ connection: string; provider: string; gpus: number | null; body: Stored }>(
      `select connection, provider, gpus_per_unit as gpus, body from commitment_offer where organisation = $1 order by connection, offer`,
      [organisation],
    );
    const accounts = await this.accountsOf(db, organisation, [...new Set(rows.map(({ connection }) => connection))]);
    return rows.map(({ connection, provider, gpus, body: { rates, ...body } }) => ({
      ...body,
      ...(rates === undefined
        ? {}
        : { rates: rates.map((rate) => ({ ...rate, hourlyNanos: BigInt(rate.hourlyNanos) })) }),
      upfrontNanos: BigInt(body.upfrontNanos),
      hourlyNanos: BigInt(body.hourlyNanos),
      connection,
      account: accounts.get(connection) ?? null,
      provider,
      gpusPerUnit: gpus,
    }));
  }

  /** The only account that each connection sees; null: it sees several, or this is unknown. */
  private async accountsOf(
    db: Queryable,
    organisation: string,
    connections: readonly string[],
  ): Promise<Map<string, string | null>> {
    const rows = await db.query<{ connection: string; account: string | null }>(
      `select c.connection, (${ACCOUNT_OF_CONNECTION('c')}) as account from unnest($2::text[]) as u(name)
         cross join lateral (select $1::text as organisation, u.name as connection) c`,
      [organisation, connections],
    );
    return new Map(rows.map(({ connection, account }) => [connection, account]));
  }
}

/**
 * SQL for the one account that a connection's targets are of; null: they are of several, or this is unknown.
 * @param row what has the columns `organisation` and `connection`
 */
export const ACCOUNT_OF_CONNECTION = (row: string): string =>
  `select case when min(t.body ->> 'account') = max(t.body ->> 'account') then min(t.body ->> 'account') end from fleet_target t
     where t.organisation = ${row}.organisation and t.connection = ${row}.connection and t.gone_at is null`;

/** Where the list goes on after a target. */
export const placeOf = ({ connection, seen }: Pick<SeenTarget, 'connection' | 'seen'>): string =>
  `${connection}\u0001${seen.target}`;

/** The part after the kind in a target's name: the id in usage and samples (`i-0abc` of `instance/i-0abc`). */
const resourceOf = ({ target }: FleetTarget): string => target.slice(target.indexOf('/') + 1);
