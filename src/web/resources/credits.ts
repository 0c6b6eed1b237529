/**
 * /v1/credits: promotional grants and free tiers, and how much of them usage has taken. A bill states its own credits.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { CREDIT_KINDS, readCredits } from '../../core/cost/credit.js';
import { creditViews, type CreditView } from '../../store/cost/credits.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const creditSchema = z
  .strictObject({
    id: z.string(),
    kind: z.enum(CREDIT_KINDS),
    provider: z.string().nullish().describe('FOCUS ProviderName; absent: every provider'),
    team: z.string().nullish().describe('Absent: every team'),
    amount: z.string().describe('Decimal string above 0: its full value'),
    currency: z.string().describe('ISO 4217; usage in another currency is converted by the rate of its day'),
    from: z.string().describe('First UTC day, YYYY-MM-DD'),
    until: z.string().describe('The day after the last'),
  })
  .meta({ id: 'Credit', description: 'Of several credits, the one that ends first is used first' });
const creditsSchema = z.strictObject({ credits: z.array(creditSchema).max(1000) }).meta({ id: 'Credits' });
const viewSchema = z
  .object({
    credits: z.array(
      z.object({
        ...creditSchema.shape,
        taken: z.string().describe('Decimal string: what usage has taken so far'),
        left: z.string(),
      }),
    ),
  })
  .meta({ id: 'CreditsView' });

interface Views {
  readonly credits: readonly CreditView[];
}

@Controller()
export class CreditsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/credits', {
    summary: 'List the credits and what is left of them',
    access: 'read',
    allTeams: true,
    answer: viewSchema,
  })
  async get(@Calling() { principal }: Caller): Promise<Views> {
    const { stores } = this.parts;
    return { credits: await creditViews(stores.credits, stores.db, principal.organisation) };
  }

  @Endpoint('PUT /v1/credits', {
    summary: 'Replace all credits',
    description: 'They are applied to metered usage again. An empty list removes them all.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: viewSchema,
    readBack: { ignored: ['credits[].taken', 'credits[].left'] },
  })
  async save(
    @Calling() caller: Caller,
    @JsonBody(creditsSchema) { credits }: z.infer<typeof creditsSchema>,
  ): Promise<Views> {
    const { stores } = this.parts;
    // Refuses before a transaction begins.
    readCredits(credits);
    return write(stores, caller, 'credits.save', async (tx) => {
      const before = await stores.credits.save(tx, caller.principal.organisation, credits);
      return {
        body: { credits: await creditViews(stores.credits, tx, caller.principal.organisation) },
        target: 'credits',
        detail: { before, after: credits },
      };
    });
  }
}
