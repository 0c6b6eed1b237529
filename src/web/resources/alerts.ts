/** /v1/alerts and /v1/anomalies: alerts, their notifications and their outcome. Sends nothing: the line does. */
import { Controller } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ALERT_KINDS, ALERT_STATES, ANSWERS, SEVERITIES, SILENCES, type Alert } from '../../core/alert/alert.js';
import { denied } from '../../core/errors.js';
import { alertJson, alertStory, type AlertJson, type AlertStory } from '../../application/alert/alert-json.js';
import { MAKE_ITEM, type ListedAlert } from '../../store/alert/alerts.js';
import type { StoredAnomaly } from '../../store/alert/anomalies.js';
import { acknowledgeAlert } from '../../application/alert/set-alert.js';
import { enqueue } from '../../store/work.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, rowId, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const team = z.string().min(1).max(200);
const querySchema = z.strictObject({
  ...pageQuery,
  team: team.optional(),
  kind: z.enum(ALERT_KINDS).optional(),
  state: z.enum(ALERT_STATES).optional(),
});
const alertId = z.string().regex(/^alr-[0-9a-f]{16}$/, 'is not the id of an alert');
const at = z.iso.datetime();

const fields = {
  id: z.string(),
  kind: z.enum(ALERT_KINDS),
  team: z.string().nullable().describe('Null: it concerns all teams'),
  severity: z.enum(SEVERITIES),
  title: z.string(),
  state: z
    .enum(ALERT_STATES)
    .describe(
      'open: it waits for an answer; told: it was sent and needs no answer; silent: it is kept, but sent to nobody',
    ),
  silence: z.enum(SILENCES).nullable().describe('Why nobody is told'),
  thread: z.string().describe('Alerts that belong together have the same thread'),
  answer: z.strictObject({ what: z.enum(ANSWERS), by: z.string(), at }).nullable(),
  level: z.int().describe('Steps of its escalation'),
  madeAt: at,
  news: z.looseObject({ kind: z.string() }).describe('The facts at the time when it was made'),
};
const alertSchema = z.strictObject(fields).meta({ id: 'Alert' });
const deliverySchema = z.strictObject({
  channel: z.string(),
  address: z.string().nullable(),
  part: z.enum(['message', 'picture']),
  level: z.int(),
  state: z
    .enum(['waiting', 'sent', 'unknown', 'failed', 'dropped'])
    .describe('unknown: whether it arrived is not known, and it is not repeated'),
  intendedAt: at,
  sentAt: at.nullable(),
  problem: z.string().nullable(),
});
const storySchema = z.strictObject({ ...fields, deliveries: z.array(deliverySchema) }).meta({ id: 'AlertStory' });
const anomalyQuery = z.strictObject({ ...pageQuery, team: team.optional() });
const anomalySchema = z
  .strictObject({
    id: z.string(),
    foundAt: at,
    anomaly: z.looseObject({ kind: z.enum(['anomaly', 'price']), what: z.string() }),
  })
  .meta({ id: 'Anomaly' });

@Controller()
export class AlertsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/alerts', { summary: 'List alerts, newest first', access: 'read', answer: pageSchema(alertSchema) })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<AlertJson>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const page = await pageOf<ListedAlert>(
      query,
      ({ place }) => place,
      (after, limit) => this.parts.stores.alerts.list(organisation, { ...query, teams }, rowId(after), limit),
    );
    return { items: page.items.map(({ alert }) => alertJson(alert)), nextCursor: page.nextCursor };
  }

  @Endpoint('GET /v1/alerts/:id', { summary: 'Get an alert with its deliveries', access: 'read', answer: storySchema })
  async get(@Calling() caller: Caller, @PathInput('id', alertId) id: string): Promise<AlertStory> {
    const { stores } = this.parts;
    return alertStory(stores, caller.principal.organisation, await this.known(caller, id));
  }

  @Endpoint('POST /v1/alerts/:id/acknowledge', {
    summary: 'Acknowledge an alert',
    description: 'It is not escalated. An action is approved or rejected instead.',
    access: 'approve',
    writes: true,
    answer: alertSchema,
  })
  async acknowledge(@Calling() caller: Caller, @PathInput('id', alertId) id: string): Promise<AlertJson> {
    const { stores, clock } = this.parts;
    const { organisation, name } = caller.principal;
    const alert = await this.known(caller, id);
    return write(stores, caller, 'alert.acknowledge', async (tx) => {
      const answered = await acknowledgeAlert(stores, tx, organisation, alert, name, clock.now());
      return { body: alertJson(answered), target: id, detail: { team: alert.team } };
    });
  }

  @Endpoint('POST /v1/alerts/test', {
    summary: 'Test whether alerts arrive',
    description: 'Sends an alert of the kind test along its routes.',
    access: 'admin',
    allTeams: true,
    writes: true,
    answer: z.strictObject({ test: z.string() }),
  })
  async test(@Calling() caller: Caller): Promise<{ test: string }> {
    const { stores, clock } = this.parts;
    const { organisation, name } = caller.principal;
    return write(stores, caller, 'alert.test', async (tx) => {
      const test = randomUUID();
      await stores.alerts.raise(tx, organisation, { kind: 'test', team: null, id: test, by: name }, clock.now());
      await enqueue(tx, organisation, [MAKE_ITEM]);
      return { body: { test }, target: test, detail: { by: actorOf(caller) } };
    });
  }

  @Endpoint('GET /v1/anomalies', {
    summary: 'List unusual spend and prices, newest first',
    access: 'read',
    answer: pageSchema(anomalySchema),
  })
  async anomalies(
    @Calling() caller: Caller,
    @QueryInput(anomalyQuery) query: z.infer<typeof anomalyQuery>,
  ): Promise<Page<StoredAnomaly>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    return pageOf(
      query,
      ({ id }) => id,
      (after, limit) =>
        this.parts.stores.anomalies.list(organisation, { team: query.team, teams }, rowId(after), limit),
    );
  }

  /** @throws Failure missing, or denied where the caller is for other teams. */
  private async known(caller: Caller, id: string): Promise<Alert> {
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    const alert = await stores.alerts.knownAlert(stores.db, organisation, id);
    if (alert.team !== null) checkTeam(caller, alert.team);
    else if (teams !== null) throw denied('this concerns all teams; you are restricted to some');
    return alert;
  }
}
