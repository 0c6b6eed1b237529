/**
 * bursar fleet, health, anomalies: the running targets, the quality of their readings, the health of the GPUs, and
 * unusual values.
 */
import { Option, type Command } from 'commander';
import { TARGET_KINDS, type TargetKind } from '../../core/fleet/fleet.js';
import type { Anomaly, FleetCoverage, FleetTarget, HealthFinding, TelemetrySource } from '../answers.js';
import { listedGroups } from '../../core/fleet/membership.js';
import { count } from '../flags.js';
import type { Session } from '../session.js';
import { percent, printable, table, type Title } from '../table.js';

interface FleetFlags {
  readonly team?: string;
  readonly connection?: string;
  readonly kind?: TargetKind;
}

export function register(program: Command, session: Session): void {
  program
    .command('fleet')
    .option('--team <team>', 'only of this team')
    .option('--connection <name>', 'only of this connection')
    .addOption(new Option('--kind <kind>', 'only of this kind').choices([...TARGET_KINDS]))
    .addHelpText(
      'after',
      `
Targets have the names that policies and actions use. The GPUs of a group are those of all replicas that it wants; its
machines are listed below it, and are counted with it. If a provider does not answer, its targets stay as last seen,
and they age; + marks targets that later readings lacked.

Examples:
  bursar fleet --team research
  bursar fleet --kind group --json`,
    )
    .action(async ({ team, connection, kind }: FleetFlags) => {
      const client = (await session.client()).fleet;
      const targets = await client.targets({ team: team ?? null, connection: connection ?? null, kind: kind ?? null });
      const coverage = await client.coverage();
      const shown =
        connection === undefined ? coverage : (coverage?.filter((one) => one.connection === connection) ?? null);
      session.print({ targets, coverage: shown }, () => fleetText(targets, shown, session.context.clock.now()));
    });

  program
    .command('health')
    .option('--team <team>', 'only of this team')
    .addOption(new Option('--status <status>', 'open or cleared ones').choices(['open', 'cleared']).default('open'))
    .option('--limit <n>', 'at most this many', count, 100)
    .addHelpText(
      'after',
      '\n--json has the numbers of each finding.\n\nExamples:\n  bursar health\n  bursar health --team research --status cleared',
    )
    .action(async ({ team, status, limit }: { team?: string; status: 'open' | 'cleared'; limit: number }) => {
      const client = (await session.client()).fleet;
      const findings = await client.findings({ team: team ?? null, status }, limit);
      const sources = await client.sources();
      session.print({ findings, sources }, () => healthText(findings, sources));
    });

  program
    .command('anomalies')
    .option('--team <team>', 'only the spend of this team')
    .option('--limit <n>', 'at most this many', count, 100)
    .addHelpText('after', '\nExample:\n  bursar anomalies --team research')
    .action(async ({ team, limit }: { team?: string; limit: number }) => {
      const anomalies = await (await session.client()).fleet.anomalies(team ?? null, limit);
      session.print({ anomalies }, () =>
        table(ANOMALY_TITLES, anomalies.map(anomalyRow), 'Nothing unusual was found.\n'),
      );
    });
}

const ANOMALY_TITLES = ['found', 'what', 'of', 'on', 'observed', 'expected', 'currency'];

const TITLES: readonly Title[] = [
  'target',
  'team',
  { title: 'provider', rest: true },
  'sku',
  'GPUs',
  { title: 'replicas', rest: true },
  'state',
  { title: 'term', rest: true },
  { title: 'seen ago', rest: true },
];

interface Placed {
  readonly one: FleetTarget;
  /** A machine of the group above it. */
  readonly isMember: boolean;
}

/** Each group's machines below it; a machine whose group is not listed stands by itself. */
export function nested(targets: readonly FleetTarget[]): Placed[] {
  const groupIn = listedGroups(targets);
  const members = new Map<FleetTarget, FleetTarget[]>();
  const above = targets.filter((one) => {
    const group = groupIn(one);
    if (group !== null) members.set(group, [...(members.get(group) ?? []), one]);
    return group === null;
  });
  return above.flatMap((one) => [
    { one, isMember: false },
    ...(members.get(one) ?? []).map((member) => ({ one: member, isMember: true })),
  ]);
}

const gpusOf = ({ gpus, replicas }: FleetTarget): number | null =>
  gpus === null ? null : gpus * (replicas?.desired ?? 1);

/** Machines and groups, each GPU once: workloads and node pools run on them. */
function totalText(placed: readonly Placed[]): string {
  const counted = placed
    .filter(
      ({ one, isMember }) => !isMember && (one.kind === 'instance' || one.kind === 'group') && one.state !== 'gone',
    )
    .map(({ one }) => gpusOf(one));
  if (counted.length === 0) return '';
  const unknown = counted.filter((gpus) => gpus === null).length;
  const total = counted.reduce<number>((sum, gpus) => sum + (gpus ?? 0), 0);
  return `GPUs of machines and groups: ${total}${unknown === 0 ? '' : `, without ${unknown} of which the number is unknown`}\n`;
}

function fleetText(targets: readonly FleetTarget[], coverage: readonly FleetCoverage[] | null, now: number): string {
  const placed = nested(targets);
  const rows = placed.map(({ one, isMember }) => [
    isMember ? { text: `└ ${one.target}`, csv: one.target } : one.target,
    one.team,
    one.provider,
    one.sku,
    gpusOf(one),
    replicasText(one),
    one.state,
    one.term ?? shareText(one.spotRatio),
    `${ageText(one.ageSeconds)}${one.missed > 0 ? ' +' : ''}`,
  ]);
  const known =
    coverage === null
      ? ''
      : coverage.length === 0
        ? '\nNo provider is connected here, or none has been read yet.\n'
        : `\n${coverage.map((one) => coverageLine(one, now)).join('')}`;
  return `${table(TITLES, rows, 'Nothing is known to run.\n') + totalText(placed)}${known}`;
}

/** `3 of 4` while one is still missing. */
function replicasText({ replicas }: FleetTarget): string | number | null {
  if (replicas === null) return null;
  return replicas.ready === null || replicas.ready === replicas.desired
    ? replicas.desired
    : `${replicas.ready} of ${replicas.desired}`;
}

const shareText = (spotRatio: number | null): string | null =>
  spotRatio === null ? null : `${percent(spotRatio) ?? ''} spot`;

function coverageLine({ connection, readAt, complete, stale, targets, problems }: FleetCoverage, now: number): string {
  const age =
    readAt === null
      ? 'was never read'
      : `was read ${ageText(Math.max(0, (now - Date.parse(readAt)) / 1000))} ago, ${complete ? 'completely' : 'in part'}: ${targets} targets`;
  return (
    printable(
      `${connection} ${age}${stale && readAt !== null ? '; that is too old to say anything about the present' : ''}${problems.length === 0 ? '' : `; ${problems.join('; ')}`}`,
    ) + '\n'
  );
}

/** `45 s`, `12 min`, `5 h`, `3 d`: in the greatest unit of which there are two, rounded down. */
function ageText(seconds: number): string {
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
  ] as const)
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}`;
  return `${Math.floor(seconds)} s`;
}

function healthText(findings: readonly HealthFinding[], sources: readonly TelemetrySource[]): string {
  const rows = findings.map(({ openedAt, severity, rule, team, resource, gpu, title, clearedAt }) => [
    openedAt.slice(0, 16),
    severity,
    rule,
    team,
    resource,
    gpu,
    clearedAt?.slice(0, 16),
    title,
  ]);
  const evidence = table(
    ['source', 'evidence to', 'exporters', 'problems'],
    sources.map(({ name, readTo, coverage, problems }) => [name, readTo, percent(coverage), problems.join('; ')]),
    'No source of GPU evidence is known: nothing can be said about GPU health.\n',
  );
  return `${table(['found', 'severity', 'rule', 'team', 'resource', 'GPU', 'cleared', 'what'], rows, 'There are no such findings.\n')}\n${evidence}`;
}

function anomalyRow({ foundAt, anomaly }: Anomaly): (string | null)[] {
  const at = foundAt.slice(0, 16);
  return anomaly.kind === 'anomaly'
    ? [
        at,
        anomaly.what,
        `spend of ${anomaly.team}`,
        anomaly.day,
        anomaly.observed,
        `${anomaly.expected.low} to ${anomaly.expected.high}`,
        anomaly.currency,
      ]
    : [
        at,
        anomaly.what,
        `price of ${anomaly.sku} in ${anomaly.region ?? 'any region'}, ${anomaly.term}`,
        anomaly.effectiveFrom.slice(0, 10),
        anomaly.observed,
        anomaly.expected,
        anomaly.currency,
      ];
}
