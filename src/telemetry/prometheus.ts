/**
 * GPU evidence from Prometheus, or from a server with the same HTTP API (Thanos, Mimir, VictoriaMetrics): metrics of
 * DCGM and other exporters. Queries the times that the caller names, at most one a minute, and never fills one in: a
 * stale series has no point there (prometheus.io, "Querying basics", Staleness). It only reads.
 */
import type { ProviderSetting } from '../core/setting.js';
import { HOST_LABELS } from '../core/fleet/join.js';
import type { SilentExporter } from '../core/fleet/silence.js';
import { z } from 'zod';
import { Failure, invalid, type Problem } from '../core/errors.js';
import type { TelemetryConnection, TelemetryReading, TelemetrySource } from '../core/ports.js';
import { METRICS, UNITS, type Unit } from './reading/measures.js';
import { PrometheusApi, type PrometheusAnswer } from './reading/prometheus-api.js';
import { ExporterNames, readingsOf } from './reading/series.js';
import { KnownExporter, SILENCE_WINDOW, silentExporters } from './reading/silence.js';
import { MINUTE_MS } from '../core/time.js';

/** A range query gives at most 11,000 points per series (prometheus.io, "HTTP API"); memory asks for less. */
const MINUTES_PER_QUERY = 120;
/**
 * A value counts for an instant only if it was scraped so shortly before: without a marker of its end (Prometheus was
 * killed, or values came by remote write) a series goes on with its last value for five minutes (prometheus.io,
 * "Querying basics", Staleness).
 */
const MEASURED_WITHIN = '90s';
/** An exporter that has not answered for so long is not missed any more. */
const REMEMBERED_MS = 10 * MINUTE_MS;

const setting = (name: string, description: string, over: Partial<ProviderSetting> = {}): ProviderSetting => ({
  name: `BURSAR_PROMETHEUS_${name}`,
  description,
  required: false,
  secret: false,
  use: 'read',
  ...over,
});

const SETTINGS: readonly ProviderSetting[] = [
  setting('URL', 'Address of Prometheus, without /api/v1', { required: true }),
  setting('TOKEN', 'Bearer token', { secret: true }),
  setting('USER', 'User name for basic authentication'),
  setting('PASSWORD', 'Password for basic authentication', { secret: true }),
  setting('MATCH', 'Label matchers that the GPU series must meet, such as cluster="a"'),
  setting(
    'UP_QUERY',
    "Query of the exporters' targets, 1 for each that is up; absent: up of the jobs that GPU series come from",
  ),
  setting('REQUESTS_QUERY', 'Query of requests per second, by namespace and pod, workload, or host'),
  setting('LATENCY_QUERY', 'Query of network latency in seconds, by namespace and pod, workload, or host'),
  setting(
    'UNITS',
    `Units of metrics whose names do not say them, such as gpu_utilization=ratio,fb_memory_used=bytes (${UNITS.join(', ')})`,
  ),
];

const schema = z.object({
  URL: z
    .url({ protocol: /^https?$/, error: 'is not an http:// or https:// address' })
    .refine(
      (text) => URL.canParse(text) && new URL(text).username === '',
      'holds a user name: give it in BURSAR_PROMETHEUS_USER',
    ),
  TOKEN: z.string().optional(),
  USER: z.string().optional(),
  PASSWORD: z.string().optional(),
  UP_QUERY: z.string().optional(),
  MATCH: z
    .string()
    .regex(/^[^{}]*$/, 'holds a brace: give the matchers alone')
    .optional(),
  REQUESTS_QUERY: z.string().optional(),
  LATENCY_QUERY: z.string().optional(),
  UNITS: z.string().optional(),
});
type Given = z.infer<typeof schema>;

/** @throws Failure invalid that names every wrong setting, never a value. */
function readSettings(
  settings: Readonly<Record<string, string | undefined>>,
): { readonly given: Given; readonly units: Readonly<Record<string, Unit>> } | null {
  const present = Object.fromEntries(
    SETTINGS.map(({ name }) => [
      name.replace('BURSAR_PROMETHEUS_', ''),
      settings[name] === '' ? undefined : settings[name],
    ]),
  );
  if (Object.values(present).every((value) => value === undefined)) return null;
  const problems: Problem[] = [];
  const add = (name: string, message: string): void =>
    void problems.push({ path: `BURSAR_PROMETHEUS_${name}`, message });
  const parsed = schema.safeParse(present);
  for (const issue of parsed.error?.issues ?? [])
    add(issue.path.join('.'), present[String(issue.path[0])] === undefined ? 'is missing' : issue.message);
  if ((present['USER'] === undefined) !== (present['PASSWORD'] === undefined))
    add(present['USER'] === undefined ? 'USER' : 'PASSWORD', 'is missing: the two belong together');
  if (present['TOKEN'] !== undefined && present['USER'] !== undefined)
    add('TOKEN', 'cannot be combined with a user name: give one of the two');
  const units = readUnits(present['UNITS'] ?? '', (message) => add('UNITS', message));
  if (!parsed.success || problems.length > 0)
    throw invalid(
      `the settings of Prometheus are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
      problems,
    );
  return { given: parsed.data, units };
}

function readUnits(text: string, wrong: (message: string) => void): Record<string, Unit> {
  const units: Record<string, Unit> = {};
  for (const entry of text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')) {
    const [name = '', unit = ''] = entry.split('=').map((part) => part.trim());
    const known = UNITS.find((one) => one === unit);
    if (!METRICS.has(name) || known === undefined)
      wrong(`has an entry that is not METRIC=UNIT of a known metric and one of ${UNITS.join(', ')}`);
    else units[name] = known;
  }
  return units;
}

class PrometheusConnection implements TelemetryConnection {
  readonly name = 'prometheus';
  private readonly api: PrometheusApi;
  /**
   * Jobs that GPU series have come from: theirs are the targets that should be up, also when all of them are silent.
   */
  private readonly jobs = new Set<string>();
  /** Exporters that have named cards, and when last: null until somebody has asked. */
  private exporters: Map<string, { known: KnownExporter; seenAt: number }> | null = null;
  private readonly names = new ExporterNames();

  constructor(
    private readonly given: Given,
    private readonly units: Readonly<Record<string, Unit>>,
  ) {
    const { TOKEN, USER, PASSWORD } = given;
    const authorization =
      TOKEN !== undefined
        ? `Bearer ${TOKEN}`
        : USER !== undefined
          ? `Basic ${Buffer.from(`${USER}:${PASSWORD ?? ''}`).toString('base64')}`
          : null;
    this.api = new PrometheusApi(given.URL.replace(/\/+$/, ''), authorization);
  }

  /**
   * The whole minutes after `from` and before the last one, then `to` itself: the last minute is read as far as it has
   * come.
   */
  async *read(from: number, to: number): AsyncIterable<TelemetryReading> {
    const end = Math.floor(to / MINUTE_MS) * MINUTE_MS - MINUTE_MS;
    for (
      let first = (Math.floor(from / MINUTE_MS) + 1) * MINUTE_MS;
      first <= end;
      first += MINUTES_PER_QUERY * MINUTE_MS
    ) {
      const last = Math.min(end, first + (MINUTES_PER_QUERY - 1) * MINUTE_MS);
      const instants = Array.from({ length: (last - first) / MINUTE_MS + 1 }, (_, n) => first + n * MINUTE_MS);
      yield* await this.readings(instants, (query) => this.api.range(query, first, last, MINUTE_MS));
    }
    if (to <= from) return;
    const [newest] = await this.readings([to], (query) => this.api.instant(query, to));
    if (newest === undefined) return;
    try {
      await this.learn(newest, to);
      const [silent, startedAt] = [await this.silent(newest, to), await this.startedAt(newest, to)];
      yield {
        ...newest,
        ...(silent.length === 0 ? {} : { silent }),
        ...(Object.keys(startedAt).length === 0 ? {} : { startedAt }),
      };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // The measurements exist; only missing exporters are unknown.
      yield { ...newest, problems: [...newest.problems, `which machines are silent is unknown: ${error.message}`] };
    }
  }

  private async learn({ samples }: TelemetryReading, at: number): Promise<void> {
    this.exporters ??= await this.recall(at);
    for (const { exporter, labels } of samples) {
      if (exporter === null || exporter === undefined) continue;
      const one = this.exporters.get(exporter) ?? { known: new KnownExporter(), seenAt: at };
      one.known.add(labels);
      one.seenAt = at;
      this.exporters.set(exporter, one);
    }
    for (const [exporter, { seenAt }] of this.exporters)
      if (at - seenAt > REMEMBERED_MS) this.exporters.delete(exporter);
  }

  /**
   * Exporters that named cards lately and do not answer now. All targets are asked for only where there is such a one.
   */
  private async silent({ exportersUp }: TelemetryReading, at: number): Promise<SilentExporter[]> {
    const missing = new Map(
      [...(this.exporters ?? [])]
        .filter(([exporter]) => exportersUp?.includes(exporter) !== true)
        .map(([exporter, { known }]) => [exporter, known]),
    );
    if (missing.size === 0) return [];
    const [now, window] = [await this.api.instant('up', at), await this.api.instant(`up[${SILENCE_WINDOW}]`, at)];
    // In a partial answer the missing part is unknown.
    return now.warnings.length + window.warnings.length > 0
      ? []
      : silentExporters(missing, now.series, window.series, at, this.names);
  }

  /**
   * When exporters were started that answer, named cards lately and name none now, as far as they tell (Prometheus
   * client libraries, "Process metrics").
   */
  private async startedAt({ samples, exportersUp }: TelemetryReading, at: number): Promise<Record<string, number>> {
    const naming = new Set(samples.map(({ exporter }) => exporter));
    const bare = new Set(
      [...(this.exporters ?? [])]
        .map(([exporter]) => exporter)
        .filter((exporter) => exportersUp?.includes(exporter) === true && !naming.has(exporter)),
    );
    if (bare.size === 0) return {};
    const { series } = await this.api.instant('process_start_time_seconds', at);
    return Object.fromEntries(
      series.flatMap(({ labels, points }) => {
        const seconds = Number(points.at(-1)?.[1] ?? Number.NaN);
        return bare.has(this.names.nameOf(labels)) && Number.isFinite(seconds)
          ? [[this.names.nameOf(labels), Math.round(seconds * 1000)]]
          : [];
      }),
    );
  }

  /** The exporters of a while ago: a process that starts while a machine is silent has not seen it answer. */
  private async recall(at: number): Promise<Map<string, { known: KnownExporter; seenAt: number }>> {
    const exporters = new Map<string, { known: KnownExporter; seenAt: number }>();
    const { series } = await this.api.instant(
      `group by (job, instance, ${[...HOST_LABELS, ...this.names.labels].join(', ')}) (last_over_time(${this.gpuSelector}[${SILENCE_WINDOW}]))`,
      at,
    );
    for (const { labels } of series) {
      if (labels['job'] !== undefined) this.jobs.add(labels['job']);
      const one = exporters.get(this.names.nameOf(labels)) ?? { known: new KnownExporter(), seenAt: at };
      one.known.add(labels);
      exporters.set(this.names.nameOf(labels), one);
    }
    return exporters;
  }

  private get gpuSelector(): string {
    const { MATCH } = this.given;
    return `{__name__=~"${[...METRICS.keys()].join('|')}"${MATCH === undefined ? '' : `,${MATCH}`}}`;
  }

  private async readings(
    instants: readonly number[],
    ask: (query: string) => Promise<PrometheusAnswer>,
  ): Promise<TelemetryReading[]> {
    const none: PrometheusAnswer = { series: [], warnings: [] };
    const { MATCH, UP_QUERY, REQUESTS_QUERY, LATENCY_QUERY } = this.given;
    const gpus = await ask(`${this.gpuSelector} and last_over_time(${this.gpuSelector}[${MEASURED_WITHIN}])`);
    for (const { labels } of gpus.series) if (labels['job'] !== undefined) this.jobs.add(labels['job']);
    const upQuery =
      UP_QUERY ??
      (this.jobs.size === 0
        ? null
        : `up{job=~"${[...this.jobs].sort().map(quoted).join('|')}"${MATCH === undefined ? '' : `,${MATCH}`}}`);
    const up = upQuery === null ? none : await ask(upQuery);
    const requests = REQUESTS_QUERY === undefined ? none : await ask(REQUESTS_QUERY);
    const latency = LATENCY_QUERY === undefined ? none : await ask(LATENCY_QUERY);
    const warnings = [gpus, up, requests, latency].flatMap((answer) =>
      answer.warnings.map((warning) => `the answer is partial: ${warning}`),
    );
    return readingsOf(
      { gpus: gpus.series, up: up.series, requests: requests.series, latency: latency.series, units: this.units },
      instants,
      [...new Set(warnings)],
      this.names,
    );
  }
}

/** A job's name inside a regular expression inside a PromQL string. */
const quoted = (job: string): string => job.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[\\"]/g, '\\$&');

export const source: TelemetrySource = {
  name: 'prometheus',
  description: "Prometheus' HTTP API: DCGM, nvidia_gpu_exporter and other exporters of GPU metrics",
  settings: SETTINGS,
  connect(settings) {
    const read = readSettings(settings);
    return read === null ? null : new PrometheusConnection(read.given, read.units);
  },
};
