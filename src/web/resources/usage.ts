/**
 * /v1/usage: batches of usage records or CloudEvents. Their reader validates the records once; a bad one never stops
 * the batch, unless it is strict.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ImportedFile } from '../../core/ports.js';
import { invalid } from '../../core/errors.js';
import type { Reject } from '../../core/usage.js';
import { LateBody, LINES_MEDIA } from '../body.js';
import { actorOf, type Caller, Calling, spreadOf } from '../caller.js';
import { Endpoint, QueryInput, UncheckedBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { repeatable } from '../writes.js';
import { importedSchema, importQuery, sourceName } from './imports.js';

const MOST_BATCH_BYTES = 64 << 20;
/** The rest is listed at /v1/rejects. */
const MOST_REJECTS_SHOWN = 1000;
const EVENTS_MEDIA = ['application/cloudevents+json', 'application/cloudevents-batch+json'];

const querySchema = z.strictObject({
  ...importQuery,
  source: sourceName.default('api').describe('Name of the meter; ids are unique within it'),
});

const answerSchema = z
  .strictObject({
    ...importedSchema.shape,
    rejects: z
      .array(
        z.strictObject({
          line: z.int().describe('Which record of the batch, from 1'),
          column: z.string().nullable(),
          reason: z.string(),
          raw: z.string(),
        }),
      )
      .describe(`The first ${MOST_REJECTS_SHOWN}; all are at /v1/rejects`),
  })
  .meta({ id: 'UsageBatchResult' });

const itemSchema = z.unknown().meta({ id: 'UsageItem', description: 'A usage record or a CloudEvent that holds one' });

const bodySchema = z
  .union([z.strictObject({ records: z.array(itemSchema) }), z.array(itemSchema), itemSchema])
  .meta({
    id: 'UsageBatch',
    description: 'Records in { "records": [...] }, an array of records or CloudEvents, one of them, or one per line',
  });

@Controller()
export class UsageController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/usage', {
    summary: 'Send usage',
    description: 'Sending the same record again changes nothing. Up to 64 MiB, uncompressed; gzip is accepted.',
    access: 'usage:write',
    allTeams: true,
    writes: true,
    answer: answerSchema,
    takes: [...EVENTS_MEDIA, LINES_MEDIA],
    mostBodyBytes: MOST_BATCH_BYTES,
    anyText: 'all',
    isParsedLate: true,
  })
  async send(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
    @UncheckedBody(bodySchema) body: unknown,
  ): Promise<ImportedFile & { rejects: readonly Reject[] }> {
    const { stores, importer } = this.parts;
    const format =
      caller.request.headers['content-type']?.startsWith('application/cloudevents') === true ? 'cloudevents' : 'bursar';
    return repeatable(stores, caller, async () => {
      const result = await importer.batch(() => valueOf(body), {
        organisation: caller.principal.organisation,
        by: actorOf(caller),
        spread: spreadOf(caller),
        format,
        ...query,
      });
      return { ...result, rejects: result.rejects.slice(0, MOST_REJECTS_SHOWN) };
    });
  }
}

/** @throws Failure invalid where the body holds no records */
function valueOf(body: unknown): unknown {
  const value = body instanceof LateBody ? body.value() : undefined;
  if (typeof value === 'object' && value !== null) return value;
  throw invalid('the request has 1 problem(s)', [
    { path: null, message: 'the body is neither an object nor an array' },
  ]);
}
