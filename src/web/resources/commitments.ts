/** /v1/commitments: how much of each commitment was used, and how much of the usage commitments covered. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { CommitmentReport } from '../../core/bill/commitments.js';
import { parseDay } from '../../core/time.js';
import { commitmentsOf } from '../../store/bill/commitments.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const day = z.string().refine((value) => parseDay(value) !== null, 'is not a day written 2026-10-01');
const decimal = z.string().describe('Decimal string');
const name = z.string().nullable();
const count = z.int().nonnegative();

const querySchema = z
  .strictObject({
    from: day.optional().describe('Only charges that start on this UTC day or later'),
    to: day.optional().describe('Exclusive'),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from < to, {
    path: ['to'],
    message: 'is not after from',
  });
const utilisationSchema = z
  .strictObject({
    provider: z.string(),
    account: name,
    commitment: z.string().describe('FOCUS CommitmentDiscountId'),
    category: z.enum(['Usage', 'Spend']).nullable().describe('Usage: a reservation; Spend: a savings plan'),
    type: name,
    name,
    currency: z.string(),
    purchased: decimal.describe('Billed for its purchase'),
    used: decimal.describe('Effective cost'),
    unused: decimal.describe('Effective cost'),
    unknownLines: count.describe('Lines in neither: they have no effective cost, or do not say whether they used it'),
    utilisation: decimal.nullable().describe('used / (used + unused); null if a line is unknown or nothing is stated'),
  })
  .meta({ id: 'CommitmentUtilisation' });
const coverageSchema = z
  .strictObject({
    provider: z.string(),
    account: name,
    service: name,
    currency: z.string(),
    covered: decimal.describe('List cost of usage that commitments covered'),
    onDemand: decimal.describe(
      'List cost of on-demand usage, including disks and traffic of the service. It excludes spot usage, and usage of a bill that does not say how it was paid for (Google Cloud, Alibaba Cloud)',
    ),
    unknownLines: count.describe('Lines in neither, because their list cost is not stated'),
    coverage: decimal.nullable().describe('covered / (covered + onDemand); null if a line is unknown'),
  })
  .meta({ id: 'CommitmentCoverage' });

const contractSchema = z
  .strictObject({
    commitment: z.string().describe('FOCUS ContractCommitmentId'),
    contract: name,
    provider: name,
    category: z.enum(['Spend', 'Usage']).nullable().describe('Null: no dataset states what was agreed'),
    type: name,
    description: name,
    periodStart: z.iso.datetime().nullable(),
    periodEnd: z.iso.datetime().nullable(),
    unit: z.string().describe('A currency, or a unit'),
    committed: decimal.nullable(),
    applied: decimal.describe('By bills, of charges that start within its period, whatever from and to'),
    remaining: decimal.nullable().describe('Negative: more was applied than was agreed'),
    fulfilment: decimal.nullable().describe('applied / committed; null if a line is unknown'),
    unknownLines: count.describe('Lines that state another currency or unit than the commitment, or none'),
  })
  .meta({ id: 'ContractFulfilment' });

@Controller()
export class CommitmentsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/commitments', {
    summary: 'Utilisation and coverage of commitments, and what was applied to contracts, from bills',
    access: 'read',
    allTeams: true,
    answer: z.strictObject({
      contracts: z.array(contractSchema),
      commitments: z.array(utilisationSchema),
      coverage: z.array(coverageSchema),
    }),
  })
  report(
    @Calling() { principal }: Caller,
    @QueryInput(querySchema) { from, to }: z.infer<typeof querySchema>,
  ): Promise<CommitmentReport> {
    const { db } = this.parts.stores;
    return commitmentsOf(db, principal.organisation, from ?? null, to ?? null);
  }
}
