/**
 * /v1/alert-routes, /v1/alert-mutes and /v1/slack-users: where alerts go, which are muted, and whose key a Slack user
 * has.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { ALERT_KINDS, SEVERITIES } from '../../core/alert/alert.js';
import { CHANNELS, checkRoutes, type AlertRoutes, type Mute } from '../../core/alert/routes.js';
import { denied } from '../../core/errors.js';
import { muteAlerts } from '../../application/alert/set-alert.js';
import type { SlackUser } from '../../store/alert/slack-desk.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOfAll, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const team = z.string().min(1).max(200);
const targetSchema = z.strictObject({
  channel: z.enum(CHANNELS),
  address: z
    .string()
    .min(1)
    .max(300)
    .nullable()
    .default(null)
    .describe("Id of a Slack channel or user, or an e-mail address; null: as in the channel's settings"),
});
const routeSchema = z.strictObject({
  teams: z
    .array(team)
    .min(1)
    .max(1000)
    .nullable()
    .default(null)
    .describe('These teams and those below them; null: all teams, and alerts that concern no single team'),
  kinds: z.array(z.enum(ALERT_KINDS)).min(1).nullable().default(null).describe('Null: all'),
  leastSeverity: z.enum(SEVERITIES).default('info'),
  to: z.array(targetSchema).max(50).describe('None: nobody is told'),
  escalation: z
    .array(
      z.strictObject({
        afterHours: z.number().positive().describe('Time since the alert was made, while nobody has answered'),
        to: z.array(targetSchema).min(1).max(50),
      }),
    )
    .max(10)
    .default([]),
});
export const routesSchema = z
  .strictObject({
    routes: z
      .array(routeSchema)
      .max(1000)
      .describe(
        'The first that matches an alert applies to it. None: alerts go to every connected channel, or to the log',
      ),
  })
  .meta({ id: 'AlertRoutes' });
const storedSchema = z
  .strictObject({
    routes: routesSchema.shape.routes,
    isDefault: z.boolean().describe('There is no route: alerts go to every connected channel, or to the log'),
  })
  .meta({ id: 'StoredAlertRoutes' });

const wishSchema = z
  .strictObject({
    team: team.nullable().default(null),
    kind: z.enum(ALERT_KINDS).nullable().default(null),
    thread: z.string().min(1).max(1000).nullable().default(null).describe('Thread of an alert'),
    upTo: z
      .enum(SEVERITIES)
      .nullable()
      .default(null)
      .describe('Alerts of this severity and below; null: of any severity'),
    until: z.iso.datetime({ offset: true }),
    reason: z.string().min(1).max(1000),
  })
  .meta({ id: 'MuteRequest' });
const muteSchema = z
  .strictObject({
    id: z.string(),
    team: z.string().nullable(),
    kind: z.enum(ALERT_KINDS).nullable(),
    thread: z.string().nullable(),
    upTo: z.enum(SEVERITIES).nullable().describe('Alerts of this severity and below; null: of any severity'),
    until: z.iso.datetime(),
    reason: z.string(),
    by: z.string(),
  })
  .meta({ id: 'Mute' });
const slackId = z.string().regex(/^[A-Z0-9]{2,40}$/, 'is not an id of Slack');
const userSchema = z
  .strictObject({
    workspace: z.string(),
    user: z.string(),
    key: z.string(),
    keyName: z.string(),
    role: z.string().nullable(),
    teams: z.array(z.string()).nullable(),
    isRevoked: z.boolean().describe('If the key is revoked, the person may do nothing'),
    madeBy: z.string(),
  })
  .meta({ id: 'SlackUser' });
const connectSchema = z
  .strictObject({
    key: z
      .string()
      .regex(/^[0-9a-f]{12}$/, 'is not the id of a key')
      .describe('The person may do what this key may do'),
  })
  .meta({ id: 'ConnectSlackUser' });

@Controller()
export class AlertSettingsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/alert-routes', {
    summary: 'Get where alerts go',
    access: 'read',
    allTeams: true,
    answer: storedSchema,
  })
  async routes(@Calling() { principal }: Caller): Promise<AlertRoutes & { isDefault: boolean }> {
    const { stores } = this.parts;
    const routes = await stores.alertSettings.routes(stores.db, principal.organisation);
    return { routes: routes?.routes ?? [], isDefault: routes === null };
  }

  @Endpoint('PUT /v1/alert-routes', {
    summary: 'Set where alerts go',
    access: 'admin',
    allTeams: true,
    writes: true,
    answer: storedSchema,
    readBack: { ignored: ['isDefault'] },
  })
  async saveRoutes(
    @Calling() caller: Caller,
    @JsonBody(routesSchema) body: AlertRoutes,
  ): Promise<AlertRoutes & { isDefault: boolean }> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    checkRoutes(body);
    return write(stores, caller, 'alert-routes.set', async (tx) => {
      const before = await stores.alertSettings.routes(tx, organisation);
      await stores.alertSettings.saveRoutes(tx, organisation, body);
      return {
        body: { ...body, isDefault: body.routes.length === 0 },
        target: 'alert-routes',
        // No document and one without routes are both the default.
        detail: { before: before ?? { routes: [] }, after: body },
      };
    });
  }

  @Endpoint('GET /v1/alert-mutes', { summary: 'List the mutes', access: 'read', answer: pageSchema(muteSchema) })
  async mutes(@Calling() { principal }: Caller, @QueryInput(pageQuerySchema) query: PageQuery): Promise<Page<Mute>> {
    const { stores, clock } = this.parts;
    const all = await stores.alertSettings.mutes(stores.db, principal.organisation, clock.now());
    return pageOfAll(
      query,
      all.filter((mute) => principal.teams === null || (mute.team !== null && principal.teams.includes(mute.team))),
      ({ id }) => id,
    );
  }

  @Endpoint('POST /v1/alert-mutes', {
    summary: 'Mute alerts for a while',
    description: 'Alerts that are made meanwhile are kept, but never sent, not even later.',
    access: 'configure',
    writes: true,
    answer: muteSchema,
  })
  async mute(@Calling() caller: Caller, @JsonBody(wishSchema) wish: z.infer<typeof wishSchema>): Promise<Mute> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    this.check(caller, wish.team);
    return write(stores, caller, 'alert.mute', async (tx) => {
      const mute = await muteAlerts(stores, tx, organisation, { ...wish, by: actorOf(caller) }, clock.now());
      return { body: { ...mute }, target: mute.id, detail: { ...wish } };
    });
  }

  @Endpoint('DELETE /v1/alert-mutes/:id', {
    summary: 'Lift a mute',
    access: 'configure',
    writes: true,
    answer: muteSchema,
  })
  async unmute(
    @Calling() caller: Caller,
    @PathInput('id', z.string().regex(/^mute-[0-9a-f]{16}$/, 'is not the id of a mute')) id: string,
  ): Promise<Mute> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'alert.unmute', async (tx) => {
      const mute = await stores.alertSettings.knownMute(tx, organisation, id);
      this.check(caller, mute.team);
      await stores.alertSettings.unmute(tx, organisation, id);
      return { body: mute, target: id, detail: { before: mute } };
    });
  }

  @Endpoint('GET /v1/slack-users', {
    summary: 'List the keys of Slack users',
    access: 'admin',
    answer: pageSchema(userSchema),
  })
  async users(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<SlackUser>> {
    const { stores } = this.parts;
    return pageOfAll(
      query,
      await stores.slackDesk.users(stores.db, principal.organisation),
      ({ workspace, user }) => `${workspace}/${user}`,
    );
  }

  @Endpoint('PUT /v1/slack-users/:workspace/:user', {
    summary: 'Give a Slack user the rights of a key',
    access: 'admin',
    writes: true,
    answer: userSchema,
  })
  async connect(
    @Calling() caller: Caller,
    @PathInput('workspace', slackId) workspace: string,
    @PathInput('user', slackId) user: string,
    @JsonBody(connectSchema) { key }: z.infer<typeof connectSchema>,
  ): Promise<SlackUser> {
    const { stores, clock } = this.parts;
    return write(stores, caller, 'slack-user.connect', async (tx) => {
      const { person, changed } = await stores.slackDesk.connect(
        tx,
        caller.principal.organisation,
        { workspace, user },
        key,
        actorOf(caller),
        clock.now(),
      );
      return { body: person, target: `${workspace}/${user}`, detail: { key }, changedNothing: !changed };
    });
  }

  @Endpoint('DELETE /v1/slack-users/:workspace/:user', {
    summary: 'Take its rights from a Slack user',
    access: 'admin',
    writes: true,
    answer: userSchema,
  })
  async disconnect(
    @Calling() caller: Caller,
    @PathInput('workspace', slackId) workspace: string,
    @PathInput('user', slackId) user: string,
  ): Promise<SlackUser> {
    const { stores } = this.parts;
    return write(stores, caller, 'slack-user.disconnect', async (tx) => {
      const before = await stores.slackDesk.disconnect(tx, caller.principal.organisation, { workspace, user });
      return { body: before, target: `${workspace}/${user}`, detail: { before } };
    });
  }

  /** @throws Failure denied where the caller is restricted to other teams. */
  private check(caller: Caller, of: string | null): void {
    if (of !== null) checkTeam(caller, of);
    else if (caller.principal.teams !== null)
      throw denied('this mutes all teams; you are restricted to some: name one');
  }
}
