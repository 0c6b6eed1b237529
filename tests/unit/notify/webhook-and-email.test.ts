/** The generic webhook and e-mail, against a receiver and a mail server on this machine. */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channel as email } from '../../../src/notify/email.js';
import { channel as webhook } from '../../../src/notify/webhook.js';
import { budgetNews, PIXEL, notificationOf } from '../../support/alerts.js';

const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { now: () => NOW };
const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;

describe('the webhook', () => {
  const received: {
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    readonly body: string;
  }[] = [];
  let answer: { status: number; headers?: Record<string, string> } | 'cut' = { status: 200 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      if (answer === 'cut') request.socket.destroy();
      else response.writeHead(answer.status, answer.headers).end();
    });
  });
  let url = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
  });
  afterAll(() => void server.close());
  const connected = () =>
    webhook.connect({ BURSAR_ALERT_WEBHOOK_URL: url, BURSAR_ALERT_WEBHOOK_SECRET: SECRET }, clock);

  it('names every wrong setting and no value', () => {
    expect(webhook.connect({}, clock)).toBeNull();
    expect(() => webhook.connect({ BURSAR_ALERT_WEBHOOK_URL: 'http://example.com/hunter2' }, clock)).toThrow(
      /BURSAR_ALERT_WEBHOOK_URL is not an https:.*BURSAR_ALERT_WEBHOOK_SECRET is missing/,
    );
    expect(() => webhook.connect({ BURSAR_ALERT_WEBHOOK_URL: 'http://example.com/hunter2' }, clock)).not.toThrow(
      'hunter2',
    );
  });

  it('posts the facts, signed over id, time and body; the id stays the same', async () => {
    const notification = notificationOf(budgetNews());
    expect(await connected()?.send(notification)).toEqual({ kind: 'sent', reference: null });
    await connected()?.send(notification);
    const [first, second] = received;
    expect(first?.headers).toMatchObject({ 'webhook-id': notification.token, 'webhook-timestamp': String(NOW / 1000) });
    expect(second?.headers['webhook-id']).toBe(notification.token);
    const signed = createHmac('sha256', KEY)
      .update(`${notification.token}.${NOW / 1000}.${first?.body}`)
      .digest('base64');
    expect(first?.headers['webhook-signature']).toBe(`v1,${signed}`);
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'alert.budget',
      timestamp: '2026-11-21T12:00:00Z',
      data: { alert: 'alr-0123456789abcdef', severity: 'warning', news: { budget: 'gpus', spent: '8123.456000000' } },
    });
  });

  it.each([
    [
      { status: 503, headers: { 'retry-after': '12' } },
      { kind: 'busy', waitMs: 12_000 },
    ],
    [{ status: 500 }, { kind: 'unknown' }],
    [{ status: 404 }, { kind: 'refused', code: 'status-404' }],
    [
      { status: 302, headers: { location: '/elsewhere' } },
      { kind: 'refused', code: 'status-302' },
    ],
    ['cut', { kind: 'unknown' }],
  ] as const)('answered with %j', async (wanted, expected) => {
    answer = wanted;
    const before = received.length;
    expect(await connected()?.send(notificationOf(budgetNews()))).toMatchObject(expected);
    // A redirect is not followed.
    expect(received).toHaveLength(before + 1);
    answer = { status: 200 };
  });
});

describe('e-mail', () => {
  const mails: string[] = [];
  let refusal: { at: 'rcpt' | 'data'; code: number } | null = null;
  const failure = (code: number): Error => Object.assign(new Error('no'), { responseCode: code });
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo: (_address, _session, done) => (refusal?.at === 'rcpt' ? done(failure(refusal.code)) : done()),
    onData(stream, _session, done) {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      stream.on('end', () => {
        if (refusal?.at === 'data') return done(failure(refusal.code));
        mails.push(text);
        return done();
      });
    },
  });
  let url = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `smtp://127.0.0.1:${(server as unknown as { server: { address(): AddressInfo } }).server.address().port}`;
  });
  afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const connected = (over: Readonly<Record<string, string>> = {}) =>
    email.connect(
      {
        BURSAR_SMTP_URL: url,
        BURSAR_SMTP_FROM: 'bursar@example.com',
        BURSAR_SMTP_TO: 'ops@example.com, finance@example.com',
        ...over,
      },
      clock,
    );

  it('names every wrong setting and no value', () => {
    expect(email.connect({}, clock)).toBeNull();
    expect(() => connected({ BURSAR_SMTP_URL: 'http://me:hunter2@host', BURSAR_SMTP_TO: 'nobody' })).toThrow(
      /BURSAR_SMTP_URL is not an smtp.*BURSAR_SMTP_TO is not a list/,
    );
    expect(() => connected({ BURSAR_SMTP_URL: 'http://me:hunter2@host' })).not.toThrow('hunter2');
  });

  it('sends text and HTML, escaped, under an id that stays the same, in one conversation', async () => {
    const notification = notificationOf(budgetNews({ drivers: [{ name: '<b>x</b>', cost: '1', share: null }] }));
    expect(await connected()?.send(notification)).toEqual({ kind: 'sent', reference: null });
    await connected()?.send(notification);
    const [first = '', second = ''] = mails;
    const header = (mail: string, name: string): string | undefined =>
      new RegExp(`^${name}: (.*)$`, 'mi').exec(mail)?.[1]?.trim();
    expect(header(first, 'Subject')).toBe('research: 80 % of the budget gpus is spent');
    expect(header(first, 'To')).toBe('ops@example.com, finance@example.com');
    expect(header(first, 'Message-ID')).toBe(`<${notification.token}@example.com>`);
    expect([header(second, 'Message-ID'), header(second, 'In-Reply-To')]).toEqual([
      header(first, 'Message-ID'),
      header(first, 'In-Reply-To'),
    ]);
    expect(header(first, 'Auto-Submitted')).toBe('auto-generated');
    expect(first).toContain('text/plain');
    // Quoted-printable breaks long lines by `=` at their end.
    expect(first.replaceAll('=\r\n', '')).toContain('&lt;b&gt;x&lt;/b&gt;');
  });

  it('carries a picture inside, and goes to one address where a route says so', async () => {
    await connected()?.send(
      notificationOf(budgetNews(), { picture: { png: PIXEL, text: 'a chart' }, address: 'ana@example.com' }),
    );
    expect(mails.at(-1)).toMatch(/^To: ana@example.com$/m);
    expect(mails.at(-1)).toContain(PIXEL.toString('base64').slice(0, 60));
    expect(mails.at(-1)).toContain('alt=');
  });

  it.each([
    [
      { at: 'rcpt', code: 550 },
      { kind: 'refused', code: 'smtp-550' },
    ],
    [
      { at: 'data', code: 554 },
      { kind: 'refused', code: 'smtp-554' },
    ],
    [{ at: 'data', code: 451 }, { kind: 'not-sent' }],
  ] as const)('refused with %j', async (wanted, expected) => {
    refusal = wanted;
    expect(await connected()?.send(notificationOf(budgetNews()))).toMatchObject(expected);
    refusal = null;
  });

  it('that finds no server has sent nothing', async () => {
    expect(
      await connected({ BURSAR_SMTP_URL: 'smtp://127.0.0.1:1' })?.send(notificationOf(budgetNews())),
    ).toMatchObject({ kind: 'not-sent' });
  });
});
