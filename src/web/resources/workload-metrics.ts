/**
 * /v1/workload-metrics: metrics that a workload reports by the minute, such as its load or how well a training scales.
 * Its owner sends them; policies read them by name (`ramp`, the label bursar.io/load-metric). What is measured from
 * samples is not taken here.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { invalid } from '../../core/errors.js';
import { parseInstant } from '../../core/time.js';
import { enqueueUrgent } from '../../store/work.js';
import type { NewestMetric } from '../../store/workload/workloads.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { repeatable } from '../writes.js';
import { teamId } from './teams.js';

const MOST_POINTS = 20_000;
const MOST_BATCH_BYTES = 8 << 20;
/** Clocks differ; a time further ahead is a mistake. */
const MOST_AHEAD_MS = 120_000;
const SAMPLED: ReadonlySet<string> = new Set(['gpu_utilisation_ratio', 'memory_used_ratio', 'requests_per_second']);

const metric = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_:]{0,199}$/, "is not a metric's name: letters, digits, _ and :");
const pointSchema = z
  .strictObject({
    workload: z.string().min(1).max(500).describe('Name in the fleet'),
    name: metric,
    at: z.string().refine((text) => parseInstant(text) !== null, 'is not a time: write 2026-10-01T00:00:00Z'),
    value: z.number(),
  })
  .meta({ id: 'WorkloadMetricPoint', description: 'One value of one minute; the last one sent for a minute counts' });
const bodySchema = z
  .strictObject({ team: teamId, points: z.array(pointSchema).min(1).max(MOST_POINTS) })
  .meta({ id: 'WorkloadMetrics' });
const querySchema = z.strictObject({ team: teamId.optional() });
const newestSchema = z
  .strictObject({
    team: z.string(),
    workload: z.string(),
    name: z.string(),
    minutes: z.int().describe('With a value, of the last 14 days'),
    at: z.iso.datetime(),
    value: z.number(),
  })
  .meta({ id: 'NewestWorkloadMetric' });

@Controller()
export class WorkloadMetricsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/workload-metrics', {
    summary: 'Send metrics of workloads',
    description: `Up to ${MOST_POINTS} points. Sending the same point again changes nothing.`,
    access: 'samples:write',
    writes: true,
    answer: z.strictObject({ accepted: z.int() }),
    mostBodyBytes: MOST_BATCH_BYTES,
  })
  async send(
    @Calling() caller: Caller,
    @JsonBody(bodySchema) { team, points }: z.infer<typeof bodySchema>,
  ): Promise<{ accepted: number }> {
    checkTeam(caller, team);
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const own = new Set(await stores.workloads.namesOf(stores.db, organisation, team));
    const read = points.map(({ at, ...point }) => ({ ...point, at: parseInstant(at) ?? 0 }));
    const problems = read.flatMap(({ workload, name, at }, n) => [
      ...(own.has(workload)
        ? []
        : [{ path: `points/${n}/workload`, message: `is not a workload of the team ${team}` }]),
      ...(SAMPLED.has(name)
        ? [{ path: `points/${n}/name`, message: 'is measured from samples: POST /v1/samples' }]
        : []),
      ...(at > clock.now() + MOST_AHEAD_MS ? [{ path: `points/${n}/at`, message: 'lies in the future' }] : []),
    ]);
    if (problems.length > 0) throw invalid(`the request has ${problems.length} problem(s)`, problems);
    return repeatable(stores, caller, () =>
      stores.db.transaction(async (tx) => {
        await stores.workloads.saveMetrics(tx, organisation, read);
        await enqueueUrgent(tx, organisation, [{ stage: 'recommendation.make', partition: team, key: team }]);
        return { accepted: points.length };
      }),
    );
  }

  @Endpoint('GET /v1/workload-metrics', {
    summary: 'List the known metrics of workloads, with their newest values',
    access: 'read',
    answer: z.strictObject({ items: z.array(newestSchema) }),
  })
  async newest(
    @Calling() caller: Caller,
    @QueryInput(querySchema) { team }: z.infer<typeof querySchema>,
  ): Promise<{ items: readonly NewestMetric[] }> {
    if (team !== undefined) checkTeam(caller, team);
    const { stores, clock } = this.parts;
    const { organisation, teams } = caller.principal;
    return {
      items: await stores.workloads.newestMetrics(
        stores.db,
        organisation,
        team === undefined ? teams : [team],
        clock.now(),
      ),
    };
  }
}
