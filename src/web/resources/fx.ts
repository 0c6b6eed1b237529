/**
 * /v1/fx: dated exchange rates, units of a currency for one USD. A rate is valid from its UTC day until the next one of
 * its currency.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { quotesOfRates } from '../../core/price/fx.js';
import type { StoredFxRate } from '../../store/price/prices.js';
import { setFx, type FxChange } from '../../application/price/set-rates.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { currency } from './teams.js';

const querySchema = z.strictObject({ ...pageQuery, currency: currency.optional() });
const rate = {
  day: z.string().describe('YYYY-MM-DD, UTC'),
  currency: z.string().describe('ISO 4217 code'),
  perUsd: z.string().describe('Decimal string: units of the currency for one USD'),
};
const storedSchema = z.strictObject({ ...rate, source: z.string() }).meta({ id: 'FxRate' });
const bodySchema = z
  .strictObject({
    rates: z.array(z.strictObject(rate)).min(1).max(100_000),
    source: z.string().min(1).max(200).optional().describe('Where they come from; absent: the key'),
  })
  .meta({ id: 'FxRates' });
const changeSchema = z
  .strictObject({
    rows: z.int(),
    changed: z.int().describe('New or changed rates'),
    from: z.string().nullable().describe('The earliest day of these'),
  })
  .meta({ id: 'FxChange' });

@Controller()
export class FxController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/fx', { summary: 'List exchange rates', access: 'read', answer: pageSchema(storedSchema) })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<StoredFxRate>> {
    return pageOf<StoredFxRate>(
      query,
      (item) => `${item.day} ${item.currency}`,
      (after, limit) => {
        if (after !== null && !/^\d{4}-\d{2}-\d{2} [A-Z]{3}$/.test(after)) throw notACursor();
        return this.parts.stores.prices.listFx(principal.organisation, query.currency ?? null, after, limit);
      },
    );
  }

  @Endpoint('PUT /v1/fx', {
    summary: 'Add or correct exchange rates',
    description:
      'No rate is removed. From the earliest changed day on, usage is priced and budgets are evaluated again.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: changeSchema,
    mostBodyBytes: 16 << 20,
  })
  async save(
    @Calling() caller: Caller,
    @JsonBody(bodySchema) { rates, source }: z.infer<typeof bodySchema>,
  ): Promise<FxChange> {
    const { stores } = this.parts;
    const quotes = quotesOfRates(rates);
    const stated = source ?? actorOf(caller);
    return write(stores, caller, 'fx.save', async (tx) => {
      const change = await setFx(stores, tx, caller.principal.organisation, quotes, stated);
      return { body: change, target: stated, detail: { ...change }, changedNothing: change.changed === 0 };
    });
  }
}
