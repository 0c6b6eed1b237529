/** /v1/prices: price lists as files, and the price versions that they stated. The body is the file, as for imports. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ImportedPrices } from '../../core/ports.js';
import { providerName } from '../../core/price/price.js';
import { formatMoney } from '../../core/money.js';
import { formatInstant } from '../../core/time.js';
import type { PriceStore } from '../../store/price/prices.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { uploadQuerySchema, withInput, type UploadQuery } from './imports.js';

const MOST_REJECTS_SHOWN = 1000;

const querySchema = z.strictObject({
  ...pageQuery,
  provider: z.string().min(1).max(200).optional(),
  sku: z.string().min(1).max(200).optional(),
});

const count = z.int().nonnegative();
const importedSchema = z
  .strictObject({
    file: z.string(),
    format: z.string(),
    rows: count,
    accepted: count,
    rejected: count,
    unchanged: count,
    rejects: z
      .array(z.strictObject({ line: z.int(), column: z.string().nullable(), reason: z.string(), raw: z.string() }))
      .describe(`The first ${MOST_REJECTS_SHOWN}`),
  })
  .meta({ id: 'ImportedPrices' });

const versionSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(['price', 'withdrawn']),
    provider: z.string(),
    sku: z.string(),
    region: z.string().nullable(),
    term: z.string().nullable(),
    upfront: z.string().nullable(),
    component: z.string().nullable(),
    gpuModel: z.string().nullable(),
    gpus: z.number().nullable(),
    price: z
      .strictObject({
        amount: z.string(),
        currency: z.string(),
        per: z.string().describe('How much of the unit the amount is for'),
        unit: z.enum(['gpu-second', 'gib-second', 'gib']),
      })
      .nullable()
      .describe('An exact fraction; null where the SKU has gone'),
    effectiveFrom: z.string(),
    effectiveTo: z.string().nullable(),
    incrementSeconds: z.number().nullable(),
    minimumSeconds: z.number().nullable(),
    source: z.string(),
  })
  .meta({ id: 'PriceVersion' });

type PriceVersion = z.infer<typeof versionSchema>;

type ListedPrice = Awaited<ReturnType<PriceStore['list']>>[number];

function versionOf({ id, event, source }: ListedPrice): PriceVersion {
  if (event.kind === 'withdrawn') {
    const { kind, provider, sku, region } = event;
    return {
      id,
      kind,
      provider,
      sku,
      region,
      term: null,
      upfront: null,
      component: null,
      gpuModel: null,
      gpus: null,
      price: null,
      effectiveFrom: formatInstant(event.at),
      effectiveTo: null,
      incrementSeconds: null,
      minimumSeconds: null,
      source,
    };
  }
  const { rate, effectiveFrom, effectiveTo, ...price } = event.price;
  return {
    id,
    kind: 'price',
    ...price,
    price: { amount: formatMoney(rate), currency: rate.currency, per: String(rate.quantity), unit: rate.unit },
    effectiveFrom: formatInstant(effectiveFrom),
    effectiveTo: effectiveTo === null ? null : formatInstant(effectiveTo),
  };
}

@Controller()
export class PricesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/prices', {
    summary: 'Import a price list',
    description: 'The body is the file. The same list again changes nothing; what it changes is priced anew.',
    access: 'operator',
    allTeams: true,
    writes: true,
    takes: 'upload',
    answer: z.strictObject({ files: z.array(importedSchema) }),
  })
  async upload(
    @Calling() caller: Caller,
    @QueryInput(uploadQuerySchema) query: UploadQuery,
  ): Promise<{ files: ImportedPrices[] }> {
    const { stores, importer } = this.parts;
    const { filename, ...options } = query;
    const { organisation } = caller.principal;
    return withInput(this.parts, caller, filename, async (input) => {
      const lists = await importer.prices([input], { organisation, by: actorOf(caller), ...options });
      if (!options.dryRun) {
        await stores.audit.audit(stores.db, organisation, actorOf(caller), 'price.import', filename, {
          lists: lists.map(({ format, accepted, rejected }) => ({ format, accepted, rejected })),
        });
      }
      return { files: lists.map((list) => ({ ...list, rejects: list.rejects.slice(0, MOST_REJECTS_SHOWN) })) };
    });
  }

  @Endpoint('GET /v1/prices', { summary: 'List price versions', access: 'viewer', answer: pageSchema(versionSchema) })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<PriceVersion>> {
    const filter = {
      provider: query.provider === undefined ? undefined : providerName(query.provider),
      sku: query.sku,
    };
    const page = await pageOf<ListedPrice>(
      query,
      (item) => item.id,
      (after, limit) => {
        if (after !== null && !/^[0-9a-f]{32}$/.test(after)) throw notACursor();
        return this.parts.stores.prices.list(principal.organisation, filter, after, limit);
      },
    );
    return { ...page, items: page.items.map(versionOf) };
  }
}
