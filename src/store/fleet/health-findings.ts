/**
 * Findings about the health of GPUs: when each was opened, when it was last found, when and why it was cleared.
 *
 * At most one finding of a rule is open per source and device. It stores the results of core/fleet/health.ts and never
 * judges by itself.
 */
import type { HealthFinding, HealthRule, HealthSeverity, OpenFinding, Settlement } from '../../core/fleet/health.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

export interface StoredFinding extends HealthFinding {
  readonly id: string;
  readonly source: string;
  /** ISO 8601. */
  readonly openedAt: string;
  /** When it was last found. */
  readonly seenAt: string;
  readonly clearedAt: string | null;
  /** `evidence`: measured to be well; `no-evidence`: nobody can tell any more. */
  readonly clearedBecause: 'evidence' | 'no-evidence' | null;
}

interface Row {
  id: string;
  source: string;
  team: string;
  workload: string | null;
  body: HealthFinding;
  opened_at: Date;
  seen_at: Date;
  cleared_at: Date | null;
  cleared_because: StoredFinding['clearedBecause'];
}

const COLUMNS = 'id::text as id, source, team, workload, body, opened_at, seen_at, cleared_at, cleared_because';

const storedOf = ({
  id,
  source,
  team,
  workload,
  body,
  opened_at: opened,
  seen_at: seen,
  cleared_at: cleared,
  cleared_because: clearedBecause,
}: Row): StoredFinding => ({
  ...body,
  id,
  source,
  team,
  workload,
  openedAt: opened.toISOString(),
  seenAt: seen.toISOString(),
  clearedAt: cleared?.toISOString() ?? null,
  clearedBecause,
});

export class HealthFindingStore {
  /** Those of a source that are open. */
  async open(tx: Queryable, organisation: string, source: string): Promise<OpenFinding[]> {
    const rows = await tx.query<{
      id: string;
      rule: HealthRule;
      severity: HealthSeverity;
      team: string;
      resource: string;
      gpu: string;
      mig: string;
      seen: Date;
      onlySilent: boolean;
    }>(
      `select id::text as id, rule, severity, team, resource, gpu, mig_instance as mig, seen_at as seen,
         coalesce((body -> 'onlySilent')::boolean, false) as "onlySilent" from health_finding
       where organisation = $1 and source = $2 and cleared_at is null order by id`,
      [organisation, source],
    );
    return rows.map(({ mig, seen, ...row }) => ({
      ...row,
      migInstance: mig === '' ? null : mig,
      seenAt: seen.getTime(),
    }));
  }

  /** Keeps what was settled as of `now`. */
  async keep(
    tx: Queryable,
    organisation: string,
    source: string,
    { opened, renewed, cleared }: Settlement,
    now: number,
  ): Promise<void> {
    const at = formatInstant(now);
    await tx.query(
      `insert into health_finding (organisation, source, team, rule, severity, resource, gpu, mig_instance, workload, body, opened_at, seen_at)
       select $1, $2, team, rule, severity, resource, gpu, mig, workload, body, $11, $11
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::jsonb[])
         as o(team, rule, severity, resource, gpu, mig, workload, body)
       on conflict (organisation, source, rule, resource, gpu, mig_instance) where cleared_at is null do update set body = excluded.body, seen_at = excluded.seen_at`,
      [
        organisation,
        source,
        opened.map(({ team }) => team),
        opened.map(({ rule }) => rule),
        opened.map(({ severity }) => severity),
        opened.map(({ resource }) => resource),
        opened.map(({ gpu }) => gpu),
        opened.map(({ migInstance }) => migInstance ?? ''),
        opened.map(({ workload }) => workload),
        opened.map((finding) => JSON.stringify(finding)),
        at,
      ],
    );
    await tx.query(
      `update health_finding h set body = r.body, team = r.team, workload = r.workload, seen_at = $6
       from unnest($2::bigint[], $3::jsonb[], $4::text[], $5::text[]) as r(id, body, team, workload)
       where h.organisation = $1 and h.id = r.id`,
      [
        organisation,
        renewed.map(({ open }) => open.id),
        renewed.map(({ finding }) => JSON.stringify(finding)),
        renewed.map(({ finding }) => finding.team),
        renewed.map(({ finding }) => finding.workload),
        at,
      ],
    );
    await tx.query(
      `update health_finding h set cleared_at = $4, cleared_because = c.because
       from unnest($2::bigint[], $3::text[]) as c(id, because) where h.organisation = $1 and h.id = c.id`,
      [organisation, cleared.map(({ open }) => open.id), cleared.map(({ because }) => because), at],
    );
  }

  /** A team's findings that were open at an instant, for what policies see. */
  async openAt(db: Queryable, organisation: string, team: string, asOf: number): Promise<StoredFinding[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from health_finding where organisation = $1 and team = $2 and opened_at <= $3 and (cleared_at is null or cleared_at > $3) order by id`,
      [organisation, team, formatInstant(asOf)],
    );
    return rows.map(storedOf);
  }

  /** Newest first; `after` is the id of the last one seen. */
  async list(
    db: Queryable,
    organisation: string,
    filter: { team?: string | undefined; status?: 'open' | 'cleared' | undefined; teams: readonly string[] | null },
    after: string | null,
    limit: number,
  ): Promise<StoredFinding[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from health_finding
       where organisation = $1 and ($2::text is null or team = $2) and ($3::text[] is null or team = any($3::text[]))
         and ($4::text is null or (cleared_at is null) = ($4 = 'open')) and ($5::bigint is null or id < $5) order by id desc limit $6`,
      [organisation, filter.team ?? null, filter.teams, filter.status ?? null, after, limit],
    );
    return rows.map(storedOf);
  }
}
