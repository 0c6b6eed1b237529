/**
 * /v1/actions: what was proposed, approved and done, with its timeline and its proof; and what people decide about it.
 * Asks no provider.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { ACTION_STATES, type Action, type ActionState } from '../../core/action/action.js';
import { mayDecide, type MayDecide } from '../../core/action/may.js';
import { denied } from '../../core/errors.js';
import { actionJson, type ActionJson, type ActionStory } from '../../store/action/action-json.js';
import { approveAction, rejectAction, rollBack } from '../../application/action/set-action.js';
import type { ListedAction } from '../../store/action/actions.js';
import type { Queryable, Transaction } from '../../store/database.js';
import type { ExpectedSaving } from '../../store/policy/recommendations.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, rowId, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const state = z.enum(ACTION_STATES as readonly [ActionState, ...ActionState[]]);
const querySchema = z.strictObject({
  ...pageQuery,
  team: z.string().min(1).max(200).optional(),
  state: state.optional(),
});
const actionId = z.string().regex(/^act-[0-9a-f]{16}$/, 'is not the id of an action');
const at = z.iso.datetime().nullable();
const reason = z.strictObject({ code: z.string(), message: z.string() });
const target = z
  .looseObject({
    target: z.string(),
    kind: z.string(),
    name: z.string(),
    provider: z.string(),
    state: z.string(),
    billing: z.string(),
  })
  .nullable();

const fields = {
  id: z.string(),
  team: z.string(),
  connection: z.string().describe('Connection of the provider that acts'),
  target: z.string(),
  effect: z
    .looseObject({ kind: z.string(), target: z.string() })
    .describe('The request to the provider; absolute, so that repeating it changes nothing'),
  state,
  mode: z.string(),
  recommendation: z.string().nullable(),
  policy: z.string().nullable(),
  document: z.string().nullable(),
  rollbackOf: z.string().nullable(),
  takenBackBy: z.string().nullable(),
  token: z.string().nullable().describe('Idempotency token at the provider'),
  underStop: z.boolean().describe('A rollback although the kill switch is on'),
  proposedBy: z.string(),
  approvedBy: z.string().nullable(),
  proposedAt: at,
  expiresAt: at,
  evidenceAt: at,
  approvedAt: at,
  intendedAt: at,
  askedAt: at,
  appliedAt: at,
  confirmedAt: at,
  endedAt: at,
  before: target.describe('The target as read just before the effect'),
  beforeAt: at,
  after: target.describe('The proof: the target as read when the effect was confirmed'),
  afterAt: at,
  reasons: z.array(reason).describe('Why it ended without an effect, or what it waits for'),
  next: z
    .strictObject({
      effect: z.looseObject({ kind: z.string(), target: z.string() }),
      notBefore: z.iso.datetime(),
      expiresAt: z.iso.datetime(),
    })
    .nullable()
    .describe('The action that follows once it is done; approved together with it'),
  follows: z.string().nullable().describe('The action that it follows'),
};
const mayField = z
  .strictObject({
    code: z.enum(['scope', 'state', 'expired', 'asked', 'nothing', 'rollback', 'taken-back', 'no-inverse', 'stopped']),
    message: z.string(),
  })
  .nullable()
  .describe('Null: the caller may; otherwise the reason why not');
const may = z
  .strictObject({ approve: mayField, reject: mayField, rollback: mayField })
  .describe('What the caller may decide about it now; the limits are checked at the decision');
const decimal = z.string().regex(/^-?\d+(\.\d+)?$/);
const saves = z
  .strictObject({
    estimatedMonthlySavings: decimal.nullable(),
    estimatedMonthlySavingsLow: decimal.nullable(),
    estimatedMonthlySavingsHigh: decimal.nullable(),
    currency: z.string(),
    protective: z.boolean().describe('Made for another reason than a saving'),
  })
  .nullable()
  .describe('What its recommendation expects it to save, with the ends of the 80 % interval; null: it answers none');
const actionSchema = z.strictObject({ ...fields, may, saves }).meta({ id: 'Action' });
const eventSchema = z.strictObject({
  no: z.int(),
  at: z.iso.datetime(),
  from: state.nullable(),
  to: state,
  actor: z.string(),
  code: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
const storySchema = z
  .strictObject({ ...fields, may, saves, events: z.array(eventSchema).describe('Oldest first') })
  .meta({ id: 'ActionStory' });
const rejectSchema = z
  .strictObject({ reason: z.string().max(1000).default('') })
  .prefault({})
  .meta({ id: 'RejectAction' });
const rollbackSchema = z
  .strictObject({
    underStop: z.boolean().default(false).describe('Also while the kill switch is on; needs the role admin'),
  })
  .prefault({})
  .meta({ id: 'RollbackAction' });

/** With what its reader may decide, and what it is expected to save. */
type DecidableAction = ActionJson & { readonly may: MayDecide; readonly saves: ExpectedSaving | null };

@Controller()
export class ActionsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/actions', {
    summary: 'List actions, newest first',
    access: 'read',
    answer: pageSchema(actionSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<DecidableAction>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const page = await pageOf<ListedAction>(
      query,
      ({ place }) => place,
      (after, limit) =>
        this.parts.stores.actions.list(
          organisation,
          { team: query.team ?? null, state: query.state ?? null, teams },
          rowId(after),
          limit,
        ),
    );
    return {
      items: await this.shownAll(
        caller,
        page.items.map(({ action }) => action),
      ),
      nextCursor: page.nextCursor,
    };
  }

  @Endpoint('GET /v1/actions/:id', {
    summary: 'Get an action with its timeline and its proof',
    access: 'read',
    answer: storySchema,
  })
  async get(@Calling() caller: Caller, @PathInput('id', actionId) id: string): Promise<ActionStory & DecidableAction> {
    const { stores } = this.parts;
    const action = await this.known(caller, id);
    const events = await stores.actions.events(stores.db, caller.principal.organisation, id);
    return { ...(await this.shown(caller, action)), events };
  }

  @Endpoint('POST /v1/actions/:id/approve', {
    summary: 'Approve an action',
    description: 'The line then acts, if its guard allows it.',
    access: 'approve',
    writes: true,
    answer: actionSchema,
  })
  async approve(@Calling() caller: Caller, @PathInput('id', actionId) id: string): Promise<DecidableAction> {
    const { stores, clock } = this.parts;
    return this.decide(caller, id, 'action.approve', (tx, organisation) =>
      approveAction(stores, tx, organisation, id, actorOf(caller), clock.now()),
    );
  }

  @Endpoint('POST /v1/actions/:id/reject', {
    summary: 'Reject an action that no provider has been asked for yet',
    access: 'approve',
    writes: true,
    answer: actionSchema,
  })
  async reject(
    @Calling() caller: Caller,
    @PathInput('id', actionId) id: string,
    @JsonBody(rejectSchema) body: z.infer<typeof rejectSchema>,
  ): Promise<DecidableAction> {
    const { stores, clock } = this.parts;
    return this.decide(caller, id, 'action.reject', (tx, organisation) =>
      rejectAction(stores, tx, organisation, id, body.reason, actorOf(caller), clock.now()),
    );
  }

  @Endpoint('POST /v1/actions/:id/rollback', {
    summary: 'Roll an action back',
    description: 'Returns the action that rolls it back; this request also approves that action.',
    access: 'approve',
    writes: true,
    answer: actionSchema,
  })
  async rollback(
    @Calling() caller: Caller,
    @PathInput('id', actionId) id: string,
    @JsonBody(rollbackSchema) { underStop }: z.infer<typeof rollbackSchema>,
  ): Promise<DecidableAction> {
    const { stores, clock } = this.parts;
    if (underStop && !caller.principal.scopes.includes('admin'))
      throw denied('a rollback while the kill switch is on needs a key with the role admin');
    return this.decide(caller, id, 'action.rollback', (tx, organisation) =>
      rollBack(stores, tx, organisation, id, actorOf(caller), { underStop }, clock.now()),
    );
  }

  private async decide(
    caller: Caller,
    id: string,
    verb: string,
    work: (tx: Transaction, organisation: string) => Promise<Action>,
  ): Promise<DecidableAction> {
    await this.known(caller, id);
    return write(this.parts.stores, caller, verb, async (tx) => {
      const action = await work(tx, caller.principal.organisation);
      return {
        body: await this.shown(caller, action, tx),
        target: id,
        detail: { team: action.team, target: action.target, effect: action.effect.kind, action: action.id },
      };
    });
  }

  private async shownAll(
    { principal }: Caller,
    actions: readonly Action[],
    db?: Queryable,
  ): Promise<DecidableAction[]> {
    const ids = actions.flatMap(({ recommendation }) => (recommendation === null ? [] : [recommendation]));
    const expected = await this.parts.stores.recommendations.savesOf(principal.organisation, ids, db);
    const now = this.parts.clock.now();
    const { stores } = this.parts;
    const stops = await stores.safety.stopsOverEach(db ?? stores.db, principal.organisation, actions);
    return actions.map((action, index) => ({
      ...actionJson(action),
      may: mayDecide(action, principal.scopes, now, stops[index] ?? []),
      saves: expected.get(action.recommendation ?? '') ?? null,
    }));
  }

  private async shown(caller: Caller, action: Action, db?: Queryable): Promise<DecidableAction> {
    const [shown] = await this.shownAll(caller, [action], db);
    if (shown === undefined) throw new Error(`action ${action.id} was not shown`);
    return shown;
  }

  /** @throws Failure missing, or denied where the key is for other teams. */
  private async known(caller: Caller, id: string): Promise<Action> {
    const { stores } = this.parts;
    const action = await stores.actions.known(stores.db, caller.principal.organisation, id);
    checkTeam(caller, action.team);
    return action;
  }
}
