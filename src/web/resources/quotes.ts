/** /v1/quotes: what GPUs for some hours would cost, from the price book. Writes nothing. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Failure } from '../../core/errors.js';
import { MOST_QUOTED_HOURS, quote, type Quote } from '../../core/quote.js';
import { TERMS, type Term } from '../../core/usage.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const text = z.string().min(1).max(200);
const termSchema = z.enum(TERMS as readonly [Term, ...Term[]]);
const upfrontSchema = z.enum(['none', 'partial', 'all']);
const decimal = z.string().describe('Decimal string');

const requestSchema = z.strictObject({
  provider: text.describe('AWS, Google Cloud, ... or as people write it: aws, gcp'),
  sku: text.describe('A SKU; a GPU model such as H100 stands for the cheapest SKU with it'),
  gpus: z.number().positive().max(100_000).multipleOf(0.001).describe('GPUs, not instances'),
  hours: z.number().positive().max(MOST_QUOTED_HOURS),
  term: termSchema.default('on-demand'),
  region: text.nullish().describe('Absent: the cheapest'),
  upfront: upfrontSchema.nullish().describe('How a reservation is paid'),
  currency: z.string().regex(/^[A-Z]{3}$/, 'is not an ISO 4217 code').nullish().describe('Absent: the currency of the price'),
}).meta({ id: 'QuoteRequest' });

const quoteSchema = z.strictObject({
  cost: decimal, currency: z.string(), unitPrice: decimal.describe('Per GPU-hour, before the peak factor'),
  provider: z.string(), sku: z.string(), region: z.string().nullable(), term: termSchema, upfront: upfrontSchema, gpus: z.number(), hours: z.number(),
  billedHours: decimal.describe("After the seller's increment and minimum"), source: z.string().describe('The price list'),
  effectiveFrom: z.iso.datetime(), assumptions: z.array(z.string()).describe('What was taken for granted'),
  alternatives: z.array(z.strictObject({ term: termSchema, upfront: upfrontSchema, region: z.string().nullable(), cost: decimal, unitPrice: decimal })),
}).meta({ id: 'Quote' });

@Controller()
export class QuotesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/quotes', {
    summary: 'Quote a run', description: 'What has no price is a problem of status 404 that names what comes close.', access: 'viewer', answer: quoteSchema,
  })
  async quote(@Calling() { principal }: Caller, @JsonBody(requestSchema) body: z.infer<typeof requestSchema>): Promise<Quote> {
    const { stores, clock } = this.parts;
    const { book, prices, fx } = await stores.prices.book(stores.db, principal.organisation);
    const peak = await stores.organisations.peak(stores.db, principal.organisation);
    const request = { ...body, region: body.region ?? null, upfront: body.upfront ?? null, currency: body.currency ?? null };
    const result = quote(request, { book, prices, fx, peak, at: clock.now() });
    if (!('unpriced' in result)) return result;
    throw new Failure('missing', result.message, result.close.map((name) => ({ path: result.unpriced, message: `${name} is known` })));
  }
}
