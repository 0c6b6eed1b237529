/** /v1/stop and /v1/limits: the kill switch, and the limits of actions. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { Stop } from '../../core/action/guard.js';
import { readLimits, type Limits, type LimitsDocument } from '../../core/action/limits.js';
import type { StoredStop } from '../../store/action/safety.js';
import { setStop } from '../../application/action/set-safety.js';
import { actorOf, Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, JsonBody, QueryInput, UncheckedBody } from '../endpoint.js';
import { storable } from '../json.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { denied } from '../../core/errors.js';

const name = z.string().min(1).max(200);
const scope = {
  team: name.optional().describe('Only this team, and the teams below it'),
  provider: name.optional().describe('Only this provider, or one connection to it'),
};
const MOST_REASON_CHARACTERS = 1000;
const stopSchema = z
  .strictObject({ ...scope, reason: z.unknown().optional().describe('Any text; the first 1000 characters are kept') })
  .prefault({})
  .meta({ id: 'StopRequest' });
const liftSchema = z.strictObject(scope).prefault({}).meta({ id: 'LiftRequest' });
const stopsSchema = z
  .strictObject({
    stops: z
      .array(
        z.strictObject({
          scope: z.enum(['all', 'team', 'provider']),
          name: z.string().describe('Empty: everything'),
          reason: z.string(),
          setAt: z.iso.datetime(),
          setBy: z.string(),
        }),
      )
      .describe('What is stopped; empty: nothing is'),
  })
  .meta({ id: 'Stops' });

const count = z.number().min(0);
const window = z.strictObject({
  zone: z.string(),
  from: z.string().optional().describe('HH:MM; 00:00 where absent'),
  to: z.string().optional().describe('HH:MM; 24:00 where absent'),
  days: z.array(z.string()).optional(),
  fromDate: z.string().optional(),
  untilDate: z.string().optional(),
});
const limitFields = {
  gpusPerAction: count,
  replicasPerAction: count,
  actionsPerHour: count,
  gpusPerHour: count,
  minReplicas: count.describe('Replicas that each group, workload or pool keeps; a single machine has no size'),
  minGpus: count.describe('GPUs that each group, workload or pool keeps; a single machine has no size'),
  minTeamGpus: count.describe(
    'GPUs that a team keeps in service over everything that it runs, including single machines',
  ),
  cooldownMinutes: count,
  evidenceMinutes: count,
  readingSeconds: count,
  protectedLabels: z.record(z.string(), z.string()).describe('By name; * for any value'),
  quietHours: z.array(window),
  separateApprover: z.boolean().describe('Whoever wrote the policy document, or made the proposal, may not approve'),
  separatePurchaseApprover: z.boolean().describe('The same, only for purchases; true unless somebody sets it to false'),
  purchasesPerMonth: z
    .strictObject({ amount: z.string().describe('Decimal string'), currency: z.string() })
    .nullable()
    .describe('Without approval, per calendar month (UTC); null: none'),
};
const limitsSchema = z.strictObject(limitFields).meta({ id: 'Limits' });
const documentSchema = z
  .strictObject(limitFields)
  .partial()
  .meta({ id: 'LimitsDocument', description: 'An absent limit has its default; 0 allows none' });
const limitsQuery = z.strictObject({ team: name.optional().describe("Of this team; absent: the organisation's") });
const answerSchema = z
  .strictObject({
    team: z.string().nullable(),
    document: documentSchema.describe('As it was set'),
    limits: limitsSchema.describe('The limits that apply, including defaults and the other document'),
  })
  .meta({ id: 'BindingLimits' });

/** A team's own switch names the team: only callers who may see the team see it. */
const shownTo = ({ principal }: Caller, stops: readonly StoredStop[]): StopsAnswer => ({
  stops: stops.filter((one) => one.scope !== 'team' || sees(principal, one.name)),
});

/** Bad texts about a stop never prevent the stop. */
function reasonOf(given: unknown): string {
  const text = given === undefined || given === null ? '' : typeof given === 'string' ? given : JSON.stringify(given);
  return storable(storable(text).slice(0, MOST_REASON_CHARACTERS));
}

type LimitsAnswer = { readonly team: string | null; readonly document: LimitsDocument; readonly limits: Limits };
type StopsAnswer = { readonly stops: readonly StoredStop[] };

@Controller()
export class SafetyController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/stop', { summary: 'Get what the kill switch stops', access: 'read', answer: stopsSchema })
  async stops(@Calling() caller: Caller): Promise<StopsAnswer> {
    const { stores } = this.parts;
    return shownTo(caller, await stores.safety.stops(stores.db, caller.principal.organisation));
  }

  @Endpoint('POST /v1/stop', {
    summary: 'Stop all actions, of a team, or of a provider',
    description:
      'Takes effect at once, with any text as its reason. Without a team it needs a key that is not restricted to teams.',
    access: 'approve',
    writes: true,
    anyText: ['reason'],
    answer: stopsSchema,
  })
  async stop(
    @Calling() caller: Caller,
    @JsonBody(stopSchema) { team, provider, reason }: z.infer<typeof stopSchema>,
  ): Promise<StopsAnswer> {
    return this.set(caller, { team, provider }, { lift: false, reason: reasonOf(reason) });
  }

  @Endpoint('POST /v1/stop/lift', {
    summary: 'Let actions continue',
    description: 'Actions refused meanwhile stay refused.',
    access: 'admin',
    writes: true,
    answer: stopsSchema,
  })
  async lift(@Calling() caller: Caller, @JsonBody(liftSchema) body: z.infer<typeof liftSchema>): Promise<StopsAnswer> {
    return this.set(caller, body, { lift: true, reason: '' });
  }

  @Endpoint('GET /v1/limits', { summary: 'Get the limits of actions', access: 'read', answer: answerSchema })
  async limits(
    @Calling() caller: Caller,
    @QueryInput(limitsQuery) { team }: z.infer<typeof limitsQuery>,
  ): Promise<LimitsAnswer> {
    if (team !== undefined) checkTeam(caller, team);
    return this.answer(caller, team ?? null);
  }

  @Endpoint('PUT /v1/limits', {
    summary: 'Set the limits of actions',
    description: 'Replaces the document of the organisation, or of a team. Both apply.',
    access: 'admin',
    writes: true,
    answer: answerSchema,
    readBack: { addressed: ['team'], ignored: ['limits'], within: 'document' },
  })
  async saveLimits(
    @Calling() caller: Caller,
    @QueryInput(limitsQuery) { team }: z.infer<typeof limitsQuery>,
    @UncheckedBody(documentSchema) body: unknown,
  ): Promise<LimitsAnswer> {
    const { stores } = this.parts;
    const document = readLimits(body);
    return write(stores, caller, 'limits.save', async (tx) => {
      const before = await stores.safety.saveLimits(tx, caller.principal.organisation, team ?? null, document);
      return {
        body: {
          team: team ?? null,
          document,
          limits: await stores.safety.binding(tx, caller.principal.organisation, team ?? null),
        },
        target: team ?? 'organisation',
        detail: { before, after: document },
      };
    });
  }

  private async answer({ principal }: Caller, team: string | null): Promise<LimitsAnswer> {
    const { db, safety } = this.parts.stores;
    return {
      team,
      document: await safety.limitsDocument(db, principal.organisation, team),
      limits: await safety.binding(db, principal.organisation, team),
    };
  }

  private async set(
    caller: Caller,
    where: Partial<Record<'team' | 'provider', string | undefined>>,
    { lift, reason }: { lift: boolean; reason: string },
  ): Promise<StopsAnswer> {
    const { stores, clock } = this.parts;
    const { organisation, teams } = caller.principal;
    if (where.team !== undefined) checkTeam(caller, where.team);
    else if (teams !== null) throw denied('this key is restricted to teams: name one of them');
    return write(stores, caller, lift ? 'stop.lift' : 'stop.set', async (tx) => {
      const stop: Stop = await setStop(stores, tx, organisation, where, {
        lift,
        reason,
        by: actorOf(caller),
        now: clock.now(),
      });
      return {
        body: shownTo(caller, await stores.safety.stops(tx, organisation)),
        target: stop.scope === 'all' ? 'all' : `${stop.scope}/${stop.name}`,
        detail: { reason },
      };
    });
  }
}
