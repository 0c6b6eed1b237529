/** /v1/prices: price lists as files, and the price versions that they stated. The body is the file, as for imports. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { ImportedPrices } from '../../core/ports.js';
import { PRICE_ORIGINS, providerName } from '../../core/price/price.js';
import { priceVersion, type PriceVersion } from '../../store/price/price-version.js';
import type { ListedPrice } from '../../store/price/prices.js';
import { setPriceWithdrawn } from '../../application/price/set-rates.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { uploadQuerySchema, withInput, type UploadQuery } from './imports.js';

const MOST_REJECTS_SHOWN = 1000;

const querySchema = z.strictObject({
  ...pageQuery,
  provider: z.string().min(1).max(200).optional(),
  sku: z.string().min(1).max(200).optional(),
});

const priceId = z.string().regex(/^[0-9a-f]{32}$/, 'is not the id of a price');

const count = z.int().nonnegative();
/** The result of importing a price list. */
export const priceListSchema = z
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
        per: z.string().describe('Number of units that the amount is for'),
        unit: z.enum(['gpu-second', 'gib-second', 'gib']),
      })
      .nullable()
      .describe('An exact fraction; null if the SKU is no longer sold'),
    effectiveFrom: z.string(),
    effectiveTo: z.string().nullable(),
    incrementSeconds: z.number().nullable(),
    minimumSeconds: z.number().nullable(),
    source: z.string(),
    origin: z
      .enum(PRICE_ORIGINS)
      .describe('Who stated it: of prices from the same instant, the one whose origin is listed first applies'),
    withdrawnAt: z.iso.datetime().nullable().describe('When the statement was withdrawn'),
    withdrawnBy: z.string().nullable(),
  })
  .meta({ id: 'PriceVersion' });

@Controller()
export class PricesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/prices', {
    summary: 'Import a price list',
    description:
      'The body is the file. Sending the same list again changes nothing; usage that a list affects is priced again.',
    access: 'configure',
    allTeams: true,
    writes: true,
    takes: 'upload',
    answer: z.strictObject({ files: z.array(priceListSchema) }),
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

  @Endpoint('GET /v1/prices', { summary: 'List price versions', access: 'read', answer: pageSchema(versionSchema) })
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
    return { ...page, items: page.items.map(priceVersion) };
  }

  @Endpoint('POST /v1/prices/:id/withdraw', {
    summary: 'Withdraw the statement of a price',
    description:
      'The price stated before it applies again, and the usage that it priced is priced again. It stays withdrawn even if a list states it again.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: versionSchema,
  })
  async withdraw(@Calling() caller: Caller, @PathInput('id', priceId) id: string): Promise<PriceVersion> {
    return this.setWithdrawn(caller, id, true);
  }

  @Endpoint('POST /v1/prices/:id/restore', {
    summary: 'Restore the withdrawn statement of a price',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: versionSchema,
  })
  async restore(@Calling() caller: Caller, @PathInput('id', priceId) id: string): Promise<PriceVersion> {
    return this.setWithdrawn(caller, id, false);
  }

  private setWithdrawn(caller: Caller, id: string, isWithdrawn: boolean): Promise<PriceVersion> {
    const { stores, clock } = this.parts;
    const withdrawn = isWithdrawn ? { by: actorOf(caller), at: clock.now() } : null;
    return write(stores, caller, isWithdrawn ? 'price.withdraw' : 'price.restore', async (tx) => ({
      body: priceVersion(await setPriceWithdrawn(stores, tx, caller.principal.organisation, id, withdrawn)),
      target: id,
    }));
  }
}
