/**
 * /v1/throughput-measurements and /v1/throughput-predictions: how fast a training or a service was on which GPUs, and
 * predictions for others: samples a second, time and cost to finish. A measurement never changes; a wrong one is
 * removed.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { invalid, missing } from '../../core/errors.js';
import { parseInstant } from '../../core/time.js';
import { answerThroughput, type ThroughputAnswer } from '../../planning/throughput/question.js';
import { CLOCKS_APART_MS, measurementJson, type MeasurementJson } from '../../store/workload/measurements.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuerySchema, pageSchema, rowId, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { currency as currencyCode, teamId } from './teams.js';

const name = z.string().min(1).max(200);
const above = z.number().positive().max(1e18);
const instant = z.string().refine((text) => parseInstant(text) !== null, 'is not a time: write 2026-10-01T00:00:00Z');
const configuration = {
  model: name.describe('The model that is run, such as resnet50: as in the label bursar.io/model of its workloads'),
  gpuModel: name.describe('NVIDIA A100-SXM4-80GB and A100-80GB are one'),
  gpuCount: z.int().min(1).max(1_000_000).describe('GPUs in total'),
  batch: z
    .number()
    .min(1e-3)
    .max(1e9)
    .describe('Samples per step, of all GPUs or of each, the same way in all measurements of a model'),
  family: name.nullable().default(null).describe('cnn, transformer, rnn or another word'),
  params: z.number().min(1).max(1e15).nullable().default(null).describe('Trainable parameters'),
  size: z
    .number()
    .min(1)
    .max(1e8)
    .nullable()
    .default(null)
    .describe('Image edge in pixels, or sequence length in tokens'),
  optimizer: name.nullable().default(null),
  precision: name.nullable().default(null).describe('fp32, tf32, bf16, ...'),
  nodes: z.int().min(1).max(100_000).nullable().default(null),
};
const measured = {
  samplesPerSecond: z
    .number()
    .min(1e-9)
    .max(1e12)
    .describe('Of all GPUs together; for a service, requests in the unit of its load'),
  peakMemoryGib: above
    .nullable()
    .default(null)
    .describe('Peak memory of one GPU; shows whether the model fits elsewhere'),
};
const bodySchema = z
  .strictObject({
    team: teamId,
    measurements: z
      .array(
        z.strictObject({
          ...configuration,
          ...measured,
          measuredAt: instant.nullable().default(null).describe('Null: now'),
        }),
      )
      .min(1)
      .max(1000),
  })
  .meta({ id: 'ThroughputMeasurements' });
const storedSchema = z
  .strictObject({ id: z.string(), team: z.string(), ...configuration, ...measured, measuredAt: z.iso.datetime() })
  .meta({ id: 'ThroughputMeasurement' });
const querySchema = pageQuerySchema.extend({ team: teamId.optional(), model: name.optional() });
const predictionBody = z
  .strictObject({
    team: teamId.describe(
      'Team whose measurements of the model count; those of other models count as background, from any team',
    ),
    ...configuration,
    samples: above.optional().describe('Samples until the work is done: for the time and the cost'),
    provider: name.optional(),
    region: name.optional(),
    term: z.enum(['on-demand', 'spot']).default('on-demand'),
    currency: currencyCode.default('USD'),
  })
  .meta({ id: 'ThroughputQuestion' });
const decimal = z.string().describe('Decimal string');
const rangeOf = <T extends z.ZodType>(one: T): z.ZodObject<{ expected: T; low: T; high: T }> =>
  z.strictObject({ expected: one, low: one, high: one });
const predictionSchema = z
  .strictObject({
    samplesPerSecond: z.number(),
    isMeasured: z
      .boolean()
      .describe('Whether it was measured in exactly this configuration; otherwise it is predicted'),
    low: z.number(),
    high: z.number().describe('A 90 % interval; if it is measured, the minimum and the maximum'),
    measurements: z.int().describe("The team's measurements of the model"),
    background: z.int().describe('Measurements of other models'),
    secondsToFinish: rangeOf(z.number()).nullable(),
    cost: rangeOf(decimal)
      .nullable()
      .describe(
        "Cost of all its GPUs for that time, before a seller's increment and the peak factor; null: no samples, or no price",
      ),
    price: z
      .strictObject({
        provider: z.string(),
        sku: z.string(),
        region: z.string().nullable(),
        term: z.string(),
        perGpuHour: decimal,
        currency: z.string(),
        source: z.string(),
      })
      .nullable()
      .describe('The cheapest current price'),
  })
  .meta({ id: 'ThroughputPrediction' });

/** @throws Failure invalid if any was measured in the future */
function checkMeasured(measurements: z.infer<typeof bodySchema>['measurements'], now: number): void {
  const problems = measurements.flatMap(({ measuredAt }, at) =>
    measuredAt !== null && (parseInstant(measuredAt) ?? 0) > now + CLOCKS_APART_MS
      ? [{ path: `measurements/${at}/measuredAt`, message: 'is in the future' }]
      : [],
  );
  if (problems.length > 0) throw invalid(`the request has ${problems.length} problem(s)`, problems);
}

@Controller()
export class MeasurementsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/throughput-measurements', {
    summary: 'List measured throughputs, newest first',
    access: 'read',
    answer: pageSchema(storedSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<MeasurementJson>> {
    if (query.team !== undefined) checkTeam(caller, query.team);
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    return pageOf(
      query,
      ({ id }) => id,
      async (after, limit) =>
        (
          await stores.measurements.list(
            stores.db,
            organisation,
            { teams, team: query.team, model: query.model },
            rowId(after),
            limit,
          )
        ).map(measurementJson),
    );
  }

  @Endpoint('POST /v1/throughput-measurements', {
    summary: 'Add measured throughputs',
    access: 'samples:write',
    writes: true,
    answer: z.strictObject({ accepted: z.int() }),
    description:
      'From them, policies estimate other GPUs (mix) and backtests estimate other sizes of a job (ramp), for workloads whose label bursar.io/model names the model.',
  })
  async add(
    @Calling() caller: Caller,
    @JsonBody(bodySchema) { team, measurements }: z.infer<typeof bodySchema>,
  ): Promise<{ accepted: number }> {
    checkTeam(caller, team);
    const { stores, clock } = this.parts;
    const now = clock.now();
    checkMeasured(measurements, now);
    const taken = measurements.map(({ gpuModel, measuredAt, ...one }) => ({
      ...one,
      gpu: gpuModel,
      measuredAt: measuredAt === null ? now : (parseInstant(measuredAt) ?? now),
    }));
    return write(stores, caller, 'measurement.add', async (tx) => {
      await stores.measurements.add(tx, caller.principal.organisation, team, taken, actorOf(caller), now);
      return { body: { accepted: taken.length }, target: team, detail: { team, measurements: taken.length } };
    });
  }

  @Endpoint('DELETE /v1/throughput-measurements/:id', {
    summary: 'Remove a measured throughput',
    access: 'configure',
    writes: true,
    answer: z.strictObject({ removed: z.string() }),
  })
  async remove(
    @Calling() caller: Caller,
    @PathInput('id', z.string().regex(/^\d{1,18}$/, 'is not the id of a measurement')) id: string,
  ): Promise<{ removed: string }> {
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    return write(stores, caller, 'measurement.remove', async (tx) => {
      const gone = await stores.measurements.remove(tx, organisation, id, teams);
      if (gone === null) throw missing(`measurement ${id} does not exist`);
      return { body: { removed: id }, target: id, detail: { ...gone } };
    });
  }

  @Endpoint('POST /v1/throughput-predictions', {
    summary: 'Predict a throughput, and the time and cost to finish',
    access: 'read',
    answer: predictionSchema,
    description:
      'Uses a few measurements of the model and those of other models, by the planner of docs/decisions-quality/throughput.md. Without any measurement the interval is wide.',
  })
  async predict(
    @Calling() caller: Caller,
    @JsonBody(predictionBody) body: z.infer<typeof predictionBody>,
  ): Promise<ThroughputAnswer> {
    checkTeam(caller, body.team);
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const question = {
      ...body,
      samples: body.samples ?? null,
      provider: body.provider ?? null,
      region: body.region ?? null,
    };
    const facts = await stores.measurements.facts(stores, organisation, body.currency, clock.now());
    return caller.request.server.gate.compute(caller.principal, () =>
      answerThroughput(question, facts.measurements, facts.offers),
    );
  }
}
