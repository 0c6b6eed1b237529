/** The log: a line per event, levels, names, and nothing that must not be shown. */
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.js';
import { masked, ProcessLog, type LogSettings } from '../../src/log.js';
import { logEvent } from '../../src/pipeline/watch.js';

const NOW = Date.UTC(2026, 9, 21, 12);

function logOf(settings: Partial<LogSettings> = {}): {
  log: ProcessLog;
  lines: string[];
  events(): Record<string, unknown>[];
} {
  const lines: string[] = [];
  const log = new ProcessLog({ level: 'log', format: 'json', ...settings }, { now: () => NOW }, (line) =>
    lines.push(line),
  );
  return { log, lines, events: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('in JSON', () => {
  it('each event is one line, however many its message and its stack have', () => {
    const { log, lines, events } = logOf();
    log.error('it broke\non two lines', 'Error: it broke\n    at here', 'web');
    log.log({ message: 'PUT /v1/teams/:id', method: 'PUT', status: 200, amount: 12n }, 'request');
    log.warn(new Error('odd'), 'line');
    log.log('ready');
    expect(lines.every((line) => line.endsWith('\n') && line.indexOf('\n') === line.length - 1)).toBe(true);
    expect(events()).toEqual([
      {
        time: '2026-10-21T12:00:00Z',
        level: 'error',
        name: 'web',
        message: 'it broke\non two lines',
        stack: 'Error: it broke\n    at here',
      },
      {
        time: '2026-10-21T12:00:00Z',
        level: 'info',
        name: 'request',
        message: 'PUT /v1/teams/:id',
        method: 'PUT',
        status: 200,
        amount: '12',
      },
      {
        time: '2026-10-21T12:00:00Z',
        level: 'warn',
        name: 'line',
        message: 'odd',
        stack: expect.stringContaining('log.test.ts') as string,
      },
      { time: '2026-10-21T12:00:00Z', level: 'info', name: 'bursar', message: 'ready' },
    ]);
  });

  it('an event cannot take the place of the time, the level or the name', () => {
    const { log, events } = logOf();
    log.warn({ message: 'm', time: 'x', level: 'fatal', name: 'y' }, 'web');
    expect(events()).toEqual([{ time: '2026-10-21T12:00:00Z', level: 'warn', name: 'web', message: 'm' }]);
  });
});

describe('the level', () => {
  it.each([
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['log', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ] as const)('%s lets through %j', (level, expected) => {
    const { log, events } = logOf({ level });
    for (const method of ['error', 'warn', 'log', 'debug'] as const) log[method]('said', 'web');
    expect(events().map((event) => event['level'])).toEqual(expected);
  });

  it('of how Nest starts is debug', () => {
    const { log, lines } = logOf();
    log.log('Mapped {/v1/teams, GET} route', 'RouterExplorer');
    expect(lines).toEqual([]);
    log.error('it does not start', undefined, 'NestApplication');
    expect(lines).toHaveLength(1);
  });

  it('and the format are settings, and a wrong one is named', () => {
    expect(parseConfig({})).toMatchObject({ logLevel: 'log', logFormat: 'text' });
    expect(parseConfig({ BURSAR_LOG_LEVEL: 'debug', BURSAR_LOG_FORMAT: 'json' })).toMatchObject({
      logLevel: 'debug',
      logFormat: 'json',
    });
    expect(() => parseConfig({ BURSAR_LOG_FORMAT: 'xml' })).toThrow(/BURSAR_LOG_FORMAT is neither text nor json/);
  });
});

describe('as text', () => {
  it('is for people: who, what, and the rest; nothing steers the terminal', () => {
    const { log, lines } = logOf({ format: 'text' });
    log.log({ message: 'PUT /v1/teams/:id', status: 200, principal: null }, 'request');
    log.warn('the moon\u001b[31m fell\non us', 'line');
    log.error('it broke', 'Error: it broke\n    at here', 'web');
    log.say('Bursar is ready: http://127.0.0.1:8080');
    expect(lines).toEqual([
      'request: PUT /v1/teams/:id status=200\n',
      'warn: line: the moon [31m fell on us\n',
      'error: web: it broke\nError: it broke\n    at here\n',
      'Bursar is ready: http://127.0.0.1:8080\n',
    ]);
  });
});

describe('a secret', () => {
  const KEY = `bursar_0123456789ab_${'x'.repeat(43)}`;

  it.each([
    [`the key ${KEY} is revoked`, 'the key bursar_0123456789ab_*** is revoked'],
    ['authorization: Bearer eyJhbGciOi.J9-abc', 'authorization: Bearer ***'],
    ['postgres://bursar:hush@db:5432/bursar is away', 'postgres://bursar:***@db:5432/bursar is away'],
    ['redis://:hush@redis:6379', 'redis://:***@redis:6379'],
    ['at http://127.0.0.1:8080/v1', 'at http://127.0.0.1:8080/v1'],
  ])('in "%s" is masked', (text, expected) => expect(masked(text)).toBe(expected));

  it('is masked wherever it stands in an event', () => {
    for (const format of ['json', 'text'] as const) {
      const { log, lines } = logOf({ format });
      log.error({ message: `m ${KEY}`, detail: { url: 'redis://:hush@redis' } }, `stack ${KEY}`, 'web');
      expect(lines.join('')).not.toMatch(/x{20}|hush/);
      expect(lines.join('')).toContain('bursar_0123456789ab_***');
    }
  });

  it('that is said once, to whoever starts an installation, is said whole', () => {
    const { log, events } = logOf();
    log.say(`The admin key of this installation:\n\n  ${KEY}\n`);
    log.say('');
    expect(events()).toEqual([
      {
        time: '2026-10-21T12:00:00Z',
        level: 'info',
        name: 'bursar',
        message: `The admin key of this installation:\n\n  ${KEY}`,
      },
    ]);
  });
});

describe('the line', () => {
  it('warns of what is parked, and of nothing that is tried again', () => {
    const { log, events } = logOf({ level: 'debug' });
    const tell = logEvent({
      debug: (event: object) => log.debug(event, 'line'),
      warn: (event: object) => log.warn(event, 'line'),
    });
    const run = { organisation: 'default', stage: 'cost.price', partition: 'red', keys: 2 };
    tell({ kind: 'ran', ...run, milliseconds: 12 });
    tell({ kind: 'failed', ...run, attempts: 1, reason: 'again, please', retryAt: NOW + 2000 });
    tell({ kind: 'failed', ...run, attempts: 6, reason: 'the moon fell', retryAt: null });
    expect(events()).toMatchObject([
      { level: 'debug', name: 'line', message: 'cost.price ran', partition: 'red', keys: 2, durationMs: 12 },
      { level: 'debug', message: 'cost.price is tried again', attempts: 1, retryAt: '2026-10-21T12:00:02Z' },
      { level: 'warn', message: 'cost.price is parked', attempts: 6, reason: 'the moon fell' },
    ]);
  });
});
