/**
 * /v1/samples: evidence about GPUs from installations without Prometheus, and how long it is kept. A batch is taken
 * whole or not at all, with every problem named; a repeat changes nothing. The line derives health findings from it.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { invalid } from '../../core/errors.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { GpuSample } from '../../core/ports.js';
import { DAY_MS, parseInstant } from '../../core/time.js';
import type { Queryable } from '../../store/database.js';
import { DEFAULT_RETENTION_DAYS, LEAST_RETENTION_DAYS, RETENTION_SETTING } from '../../store/fleet/samples.js';
import { takeSamples } from '../../application/fleet/take-samples.js';
import { enqueue } from '../../store/work.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { repeatable, write } from '../writes.js';

const MOST_SAMPLES = 20_000;
const MOST_BATCH_BYTES = 32 << 20;
/** Clocks differ; a time further ahead is a mistake. */
const MOST_AHEAD_MS = 120_000;
/** Each day is a partition of its own where samples are packed. */
const MOST_DAYS = 31;

const name = z.string().min(1).max(500);
const ratio = z.number().min(0).max(1).nullable().default(null);
const quantity = z.number().min(0).nullable().default(null);
const at = z.union([z.string(), z.number()]).transform((value, context) => {
  const instant = typeof value === 'number' ? Math.round(value * 1000) : parseInstant(value);
  if (instant !== null && Number.isSafeInteger(instant)) return instant;
  context.addIssue({ code: 'custom', message: 'is neither an ISO 8601 instant nor Unix seconds' });
  return z.NEVER;
});

const sampleSchema = z
  .strictObject({
    resource: name.describe('Host, instance or pod, as its usage names it'),
    gpu: name.describe('UUID, or host and index'),
    at: at.describe('ISO 8601 or Unix seconds'),
    migInstance: name.nullable().default(null),
    gpuModel: name.nullable().default(null),
    namespace: name.nullable().default(null),
    pod: name.nullable().default(null),
    gpuUtilisationRatio: ratio,
    memoryUsedRatio: ratio,
    memoryUsedMib: quantity,
    temperatureCelsius: z.number().min(-60).max(200).nullable().default(null),
    powerWatts: quantity,
    pcieReplays: z.int().min(0).nullable().default(null).describe('Running count'),
    requestsPerSecond: quantity,
    networkLatencySeconds: quantity,
    fault: name.nullable().default(null).describe('Fault that the card itself reports'),
    labels: z
      .record(z.string().min(1).max(200), z.string().max(1000))
      .default({})
      .describe('Labels for the allocation rules; workload, workload_kind, provider, sku and region are known names'),
  })
  .meta({
    id: 'Sample',
    description: 'One GPU or MIG instance at one instant; what was not measured is null or left out, never 0',
  });
const bodySchema = z
  .strictObject({
    source: z
      .string()
      .regex(/^[\w.-]{1,100}$/, 'is not a name of 1 to 100 letters, digits and . _ -')
      .default('api')
      .describe('Names who measured'),
    samples: z.array(sampleSchema).min(1).max(MOST_SAMPLES),
  })
  .meta({ id: 'SampleBatch' });
type Body = z.infer<typeof bodySchema>;

const answerSchema = z
  .strictObject({ accepted: z.int(), teams: z.array(z.string()) })
  .meta({ id: 'SampleBatchResult' });
const sourceSchema = z
  .strictObject({
    name: z.string(),
    readTo: z.string().describe('Newest evidence'),
    coverage: z.number().nullable().describe('Share of the expected exporters that answered; null: not known'),
    problems: z.array(z.string()),
  })
  .meta({ id: 'TelemetrySource' });
const retentionSchema = z
  .strictObject({ days: z.int().min(LEAST_RETENTION_DAYS).max(3650) })
  .meta({ id: 'SampleRetention' });
type Retention = z.infer<typeof retentionSchema>;

@Controller()
export class SamplesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/samples', {
    summary: 'Send GPU samples',
    description: `Up to ${MOST_SAMPLES} samples of at most ${MOST_DAYS} days, none older than the retention of samples; at most one per minute and GPU is kept.`,
    access: 'samples:write',
    allTeams: true,
    writes: true,
    answer: answerSchema,
    mostBodyBytes: MOST_BATCH_BYTES,
  })
  async send(
    @Calling() caller: Caller,
    @JsonBody(bodySchema) { source, samples }: Body,
  ): Promise<z.infer<typeof answerSchema>> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const known = await stores.samples.states(stores.db, organisation);
    const { days } = await this.retention(caller);
    const problems = samples.flatMap((sample, n) => {
      const path = `samples/${n}/at`;
      if (sample.at > clock.now() + MOST_AHEAD_MS) return [{ path, message: 'lies in the future' }];
      const isOld = sample.at < clock.now() - days * DAY_MS;
      return isOld ? [{ path, message: `is older than samples are kept (${days} days)` }] : [];
    });
    // A source that a connection reads may not also be pushed: one would count the other's cards.
    if (known.some((one) => one.name === source))
      problems.push({ path: 'source', message: 'is the name of a source that is read' });
    if (new Set(samples.map((sample) => Math.floor(sample.at / DAY_MS))).size > MOST_DAYS)
      problems.push({ path: 'samples', message: `are of more than ${MOST_DAYS} days: send them in several parts` });
    if (problems.length > 0) throw invalid(`the request has ${problems.length} problem(s)`, problems);
    return repeatable(stores, caller, () =>
      stores.db.transaction(async (tx) => {
        const taken = await takeSamples(
          stores,
          tx,
          organisation,
          source,
          samples.map(
            (sample): GpuSample => ({
              ...sample,
              gpuModel: sample.gpuModel === null ? null : modelOf(sample.gpuModel),
              exporter: null,
            }),
          ),
        );
        await enqueue(tx, organisation, [
          { stage: 'sample.collect', partition: source, key: source },
          ...taken.teams.map((team) => ({ stage: 'recommendation.make', partition: team, key: team })),
        ]);
        return { accepted: taken.samples, teams: [...taken.teams] };
      }),
    );
  }

  @Endpoint('GET /v1/samples/sources', {
    summary: 'Sources of GPU evidence that are read, and up to when',
    access: 'read',
    answer: z.strictObject({ items: z.array(sourceSchema) }),
  })
  async sources(@Calling() caller: Caller): Promise<{ items: z.infer<typeof sourceSchema>[] }> {
    const { stores } = this.parts;
    const states = await stores.samples.states(stores.db, caller.principal.organisation);
    return {
      items: states.map((state) => ({
        name: state.name,
        readTo: new Date(state.readTo).toISOString(),
        coverage: state.coverage,
        problems: [...state.problems],
      })),
    };
  }

  @Endpoint('GET /v1/samples/retention', {
    summary: 'How long samples are kept',
    access: 'read',
    answer: retentionSchema,
  })
  async retention(@Calling() caller: Caller): Promise<Retention> {
    return this.retentionIn(this.parts.stores.db, caller);
  }

  @Endpoint('PUT /v1/samples/retention', {
    summary: 'Set how long samples are kept',
    description: 'Older samples are deleted within the hour.',
    access: 'admin',
    allTeams: true,
    writes: true,
    answer: retentionSchema,
  })
  async setRetention(@Calling() caller: Caller, @JsonBody(retentionSchema) body: Retention): Promise<Retention> {
    const { stores } = this.parts;
    return write(stores, caller, 'samples.retention', async (tx) => {
      const before = await this.retentionIn(tx, caller);
      await stores.organisations.saveSetting(tx, caller.principal.organisation, RETENTION_SETTING, body.days);
      return { body, target: 'samples', detail: { before, after: body } };
    });
  }

  private async retentionIn(db: Queryable, { principal }: Caller): Promise<Retention> {
    const { organisations } = this.parts.stores;
    const days = await organisations.setting<number>(db, principal.organisation, RETENTION_SETTING);
    return { days: days ?? DEFAULT_RETENTION_DAYS };
  }
}
