/** /v1/peak: the schedule of hourly ratios that multiply Bursar's own prices, never the amounts of a bill. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { compilePeak, WEEKDAYS, type PeakRule } from '../../core/price/peak.js';
import { setPeak } from '../../application/price/set-rates.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const ruleSchema = z
  .strictObject({
    from: z.string().optional().describe('HH:MM, 00:00 where absent'),
    to: z.string().optional().describe('HH:MM, exclusive, 24:00 where absent; before from: past midnight'),
    days: z.array(z.enum(WEEKDAYS)).optional().describe('On which the window begins; every day where absent'),
    zone: z.string().describe('IANA time zone of the times and days'),
    fromDate: z.string().optional().describe('First day, YYYY-MM-DD'),
    untilDate: z.string().optional().describe('The day after the last, YYYY-MM-DD'),
    factor: z.string().describe('A decimal above 0, at most 100: 1.15'),
  })
  .meta({ id: 'PeakRule', description: 'The first rule that matches applies; if none does, the factor is 1' });
export const scheduleSchema = z.strictObject({ rules: z.array(ruleSchema).max(1000) }).meta({ id: 'PeakSchedule' });

interface Schedule {
  readonly rules: readonly PeakRule[];
}

@Controller()
export class PeakController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/peak', { summary: 'Get the peak schedule', access: 'read', answer: scheduleSchema })
  async get(@Calling() { principal }: Caller): Promise<Schedule> {
    const { stores } = this.parts;
    return { rules: await stores.organisations.peakRules(stores.db, principal.organisation) };
  }

  @Endpoint('PUT /v1/peak', {
    summary: 'Replace the peak schedule',
    description: 'All metered usage is priced again. With an empty list the factor is 1 at every hour.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: scheduleSchema,
  })
  async save(
    @Calling() caller: Caller,
    @JsonBody(scheduleSchema) { rules }: z.infer<typeof scheduleSchema>,
  ): Promise<Schedule> {
    const { stores } = this.parts;
    // Refuses before a transaction begins.
    compilePeak(rules);
    return write(stores, caller, 'peak.save', async (tx) => {
      const before = await setPeak(stores, tx, caller.principal.organisation, rules);
      return { body: { rules }, target: 'peak', detail: { before, after: rules } };
    });
  }
}
