/**
 * A world for tests of telling: a real database, the line, a cloud in memory, a Slack on this machine, and Bursar's own
 * door to which Slack calls.
 */
import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { afterAll } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import type { ChannelConnection } from '../../src/core/alert/channel.js';
import type { AlertRoutes } from '../../src/core/alert/routes.js';
import { channel } from '../../src/notify/slack.js';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { enqueue } from '../../src/store/work.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { WebModule } from '../../src/web/web.module.js';
import { actingWorld } from './acting.js';
import { instancePrice } from './bursar.js';
import { HOUR, metered } from './records.js';
import { slackServer, type SlackPost, type SlackServer } from './slack-server.js';
import { monthBudget } from './makers.js';

const SIGNING_SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const WORKSPACE = 'T0WORK';

/** Slack's channels of the settings (`null`), and of whoever a route names. */
export async function alertWorld() {
  const found: { slack?: SlackServer } = {};
  const world = await actingWorld({
    channels: async (clock): Promise<ReadonlyMap<string, ChannelConnection>> => {
      const slack = await slackServer(clock);
      found.slack = slack;
      return new Map([['slack', channel.connect(slack.settings(), clock)!]]);
    },
  });
  const slack = found.slack!;
  const { db, stores, importer, clock, pass } = world;
  const app = await createWebApp(
    WebModule.register({
      stores,
      importer,
      clock,
      policies: [],
      slack: { organisation: 'default', signingSecret: SIGNING_SECRET },
    }),
    { logger: false },
  );
  const url = await listen(app, { host: '127.0.0.1', port: 0 });
  afterAll(() => app.close());
  await stores.organisations.saveTeam(db, 'default', {
    id: 'lab',
    name: 'Lab',
    parent: null,
    zone: 'UTC',
    currency: 'USD',
    assignedBy: null,
  });
  // Connected before any of what these tests tell of was over.
  await db.query(`insert into alert_mark (organisation, name, at) values ('default', 'channel:slack', '2026-01-01')`);
  await world.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
  await db.transaction((tx) =>
    stores.organisations.saveRules(
      tx,
      'default',
      [
        { match: { namespace: 'lab' }, team: 'lab' },
        { match: { resource: 'i-*' }, team: 'lab' },
      ],
      'test',
    ),
  );

  let requests = 0;
  /** Signs as Slack does; the seconds by which its clock is off, and another secret, are a test's. */
  async function fromSlack(
    path: string,
    form: Readonly<Record<string, string>>,
    { offBy = 0, secret = SIGNING_SECRET }: { readonly offBy?: number; readonly secret?: string } = {},
  ): Promise<{ status: number; text: string; resend(): Promise<number> }> {
    const body = new URLSearchParams(form).toString();
    const timestamp = Math.floor(clock.now() / 1000) + offBy;
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': String(timestamp),
      'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`,
    };
    const send = (): Promise<Response> => fetch(url + path, { method: 'POST', headers, body });
    const response = await send();
    return { status: response.status, text: await response.text(), resend: async () => (await send()).status };
  }

  return {
    ...world,
    slack,
    databaseUrl: world.url,
    url,
    fromSlack,
    /** Somebody presses a button of a message. */
    press(
      user: string,
      post: SlackPost,
      act: 'approve' | 'reject' | 'acknowledge' | 'mute',
      options: Parameters<typeof fromSlack>[2] = {},
    ) {
      const element = post.blocks
        .flatMap(({ elements = [] }) => elements)
        .find(({ action_id: id }) => id === `bursar.${act}`);
      if (element === undefined) throw new Error(`the message has no button ${act}`);
      const payload = {
        type: 'block_actions',
        user: { id: user, team_id: WORKSPACE },
        team: { id: WORKSPACE },
        response_url: `${slack.url}/response/${++requests}`,
        actions: [{ action_id: element.action_id, value: element.value, type: 'button' }],
      };
      return fromSlack('/slack/interactions', { payload: JSON.stringify(payload) }, options);
    },
    command(user: string, text: string) {
      return fromSlack('/slack/commands', {
        team_id: WORKSPACE,
        user_id: user,
        command: '/bursar',
        text,
        response_url: `${slack.url}/response/${++requests}`,
      });
    },
    /** A person in Slack with a key of its own; answers the id of the key. */
    async connect(user: string, role: 'viewer' | 'operator', teams: readonly string[] | null = null): Promise<string> {
      const { id } = await stores.keys.create(db, 'default', { name: user, role, teams }, clock.now());
      await stores.slackDesk.connect(db, 'default', { workspace: WORKSPACE, user }, id, 'test', clock.now());
      return id;
    },
    routes: (routes: AlertRoutes['routes']): Promise<void> =>
      stores.alertSettings.saveRoutes(db, 'default', { routes }),
    /** Lets time pass, then the line tells what there is to tell, message by message. */
    async tell(afterMs = 0, messages = 12): Promise<void> {
      await pass(afterMs);
      await enqueue(db, 'default', [MAKE_ITEM]);
      for (let n = 0; n < messages; n++) await pass(1100);
    },
    /** So many hours of eight GPUs at 10 USD, before an instant. */
    async use(name: string, hours: number, before = world.clock.at, over: Partial<UsageRecord> = {}): Promise<void> {
      await world.take(
        Array.from({ length: hours }, (_, n) =>
          metered(`${name}-${n}`, {
            namespace: 'lab',
            start: Math.floor(before / HOUR) * HOUR - (n + 1) * HOUR,
            end: Math.floor(before / HOUR) * HOUR - n * HOUR,
            ...over,
          }),
        ),
      );
      await world.runner.drain();
    },
    budget: (id: string, amount: string, thresholds: Budget['thresholds']): Promise<unknown> =>
      db.transaction((tx) =>
        setBudget(
          stores,
          tx,
          'default',
          monthBudget({ id, team: 'lab', planned: { default: amount, periods: {} }, thresholds }),
          world.clock.at,
        ),
      ),
    /** Titles of what was posted, with the place. */
    titles: (): string[] => slack.posts.map(({ channel: at, blocks }) => `${at}: ${blocks[0]?.text?.text ?? ''}`),
  };
}

export type AlertWorld = Awaited<ReturnType<typeof alertWorld>>;
