/**
 * What a channel says when it is asked whether its settings are taken, and the log's line in either form. Nobody is
 * told anything.
 */
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { channel as email } from '../../../src/notify/email.js';
import { channel as log } from '../../../src/notify/log.js';
import { channel as slack } from '../../../src/notify/slack.js';
import { budgetNews, notificationOf } from '../../support/alerts.js';
import { WireServer } from '../../support/wire-server.js';

const clock = { now: () => Date.UTC(2026, 10, 21, 12) };

describe('Slack', () => {
  let server: WireServer;
  beforeAll(async () => {
    server = await WireServer.start();
  });
  afterAll(() => server.close());
  const check = () =>
    slack
      .connect(
        {
          BURSAR_SLACK_BOT_TOKEN: 'xoxb-hush-hush-hush',
          BURSAR_SLACK_CHANNEL: 'C0123',
          BURSAR_SLACK_API_URL: `${server.url}/api/`,
        },
        clock,
      )
      ?.check?.();
  const answers = (body: object): void =>
    server.on(({ path }) => path === '/api/auth.test', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('says whose the token is', async () => {
    answers({ ok: true, user: 'bursar', team: 'Lab', user_id: 'U1' });
    expect(await check()).toBe('signed in as bursar at Lab');
    expect(server.requests.map(({ path }) => path)).toEqual(['/api/auth.test']);
  });

  it('says why the token is not taken, and never the token', async () => {
    answers({ ok: false, error: 'invalid_auth' });
    await expect(check()).rejects.toMatchObject({
      kind: 'denied',
      message: 'Slack does not accept the token: invalid_auth',
    });
    server.on(({ path }) => path === '/api/auth.test', { status: 503 });
    await expect(check()).rejects.toMatchObject({ kind: 'unavailable', message: 'Slack cannot be reached now' });
  });
});

describe('e-mail', () => {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: false,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'u' }) : done(Object.assign(new Error('no'), { responseCode: 535 })),
    onData: (stream, _session, done) =>
      void stream.on('data', (part: Buffer) => mails.push(part.toString())).on('end', () => done()),
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    port = (server.server.address() as AddressInfo).port;
  });
  afterAll(() => new Promise<void>((resolve) => server.close(resolve)));
  const check = async (password: string, at = port): Promise<string | undefined> => {
    const connection = email.connect(
      {
        BURSAR_SMTP_URL: `smtp://u:${password}@127.0.0.1:${at}`,
        BURSAR_SMTP_FROM: 'a@example.org',
        BURSAR_SMTP_TO: 'b@example.org',
      },
      clock,
    );
    try {
      return await connection?.check?.();
    } finally {
      await connection?.close?.();
    }
  };

  it('is let in, or says that it is not, and sends nothing', async () => {
    expect(await check('right')).toBe('the mail server accepts the sign-in');
    await expect(check('hush')).rejects.toMatchObject({
      kind: 'denied',
      message: expect.not.stringContaining('hush') as string,
    });
    await expect(check('right', 1)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(mails).toEqual([]);
  });
});

describe('the log', () => {
  const write = process.stderr.write.bind(process.stderr);
  afterEach(() => {
    process.stderr.write = write;
  });

  it.each([
    ['text', /^alert \(warning\): [^\n]+\n$/],
    ['json', /^\{[^\n]+\}\n$/],
  ])('has one line per alert as %s', async (format, form) => {
    const lines: string[] = [];
    process.stderr.write = ((text: string) => lines.push(text) > 0) as typeof process.stderr.write;
    await log.connect({ BURSAR_LOG_FORMAT: format }, clock)?.send(notificationOf(budgetNews()));
    process.stderr.write = write;
    expect(lines.join('')).toMatch(form);
    if (format === 'json')
      expect(JSON.parse(lines.join(''))).toMatchObject({
        time: '2026-11-21T12:00:00Z',
        level: 'info',
        name: 'alert',
        severity: 'warning',
      });
  });
});
