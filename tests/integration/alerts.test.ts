/**
 * Telling on a real PostgreSQL and a Slack on this machine: one alert per fact whatever happens, an outage that loses
 * and repeats nothing, threads, escalation, mutes and anomalies.
 */
import { describe, expect, it } from 'vitest';
import { ENGLISH } from '../../src/core/alert/texts.js';
import type { Report } from '../../src/core/report/report.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { channel as slackChannel } from '../../src/notify/slack.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import { Database } from '../../src/store/database.js';
import { Stores } from '../../src/store/stores.js';
import { enqueue } from '../../src/store/work.js';
import { alertWorld } from '../support/alert-world.js';
import { budgetNews, PIXEL, notificationOf } from '../support/alerts.js';
import { instancePrice } from '../support/bursar.js';
import { metered } from '../support/records.js';

const HALF = { kind: 'actual', ratio: '0.5' } as const;
const FULL = { kind: 'actual', ratio: '1' } as const;

describe('a budget that crosses its thresholds', async () => {
  const w = await alertWorld();

  it('is told once per threshold, with late data, replicas and restarts', async () => {
    await w.budget('b', '100', [HALF, FULL]);
    await w.use('m', 6);
    await w.tell();
    expect(w.titles()).toEqual(['C0GENERAL: \u{1F7E0} lab: 50 % of the budget b is spent']);
    const others = await Promise.all(
      [1, 2].map(async () => {
        const db = await Database.open(w.databaseUrl, 3);
        const stores = new Stores(db);
        const channels = new Map([['slack', slackChannel.connect(w.slack.settings(), w.clock)!]]);
        return { db, runner: new Runner(db, stores.work, w.clock, makeLine(stores, [], [], new Map(), channels)) };
      }),
    );
    for (let round = 0; round < 3; round++) {
      // Late data of the same threshold, the same evaluation again, and three processes at once.
      await w.take([
        metered(`late-${round}`, {
          namespace: 'lab',
          start: Date.UTC(2026, 10, 2 + round),
          end: Date.UTC(2026, 10, 2 + round, 1),
        }),
      ]);
      await enqueue(w.db, 'default', [MAKE_ITEM, { stage: 'budget.weigh', partition: 'b', key: 'b/2026-11-01' }]);
      await Promise.all([w.runner.drain(), ...others.map(({ runner }) => runner.drain())]);
      await w.tell(MINUTE_MS, 3);
    }
    await Promise.all(others.map(({ db }) => db.close()));
    expect(w.titles()).toHaveLength(1);
    await w.use('more', 2, Date.UTC(2026, 10, 10));
    await w.tell(DAY_MS);
    expect(w.titles()).toEqual([
      'C0GENERAL: \u{1F7E0} lab: 50 % of the budget b is spent',
      'C0GENERAL: \u{1F534} lab: 100 % of the budget b is spent',
    ]);
  });

  it('has one thread for the period', () => {
    expect(w.slack.posts.map(({ thread }) => thread)).toEqual([null, w.slack.posts[0]?.ts]);
  });

  it('says what drives it', () => {
    expect(JSON.stringify(w.slack.posts[1]?.blocks)).toContain('AWS p5.48xlarge: 110.00 USD (100 %)');
  });

  it('says nothing of a period that is long over, whenever its data comes', async () => {
    await w.use('september', 12, Date.UTC(2026, 8, 20));
    await w.tell(HOUR_MS);
    expect(
      (await w.stores.budgets.crossings('default', 'b')).filter(({ periodStart }) => periodStart.startsWith('2026-09')),
    ).toHaveLength(2);
    expect(w.slack.posts).toHaveLength(2);
    expect(
      (await w.stores.alerts.list('default', { state: 'silent' }, null, 10)).map(({ alert }) => alert.silence),
    ).toEqual(['period-over', 'period-over']);
  });
});

describe('a budget that crosses several thresholds at once', async () => {
  const w = await alertWorld();
  const silences = async (): Promise<(string | null)[]> =>
    (await w.stores.alerts.list('default', { state: 'silent' }, null, 10)).map(({ alert }) => alert.silence);

  it('is told once, of the highest, with the others in it and the period before beside it', async () => {
    // Ten hours of October's first days, six of November's.
    await w.use('october', 10, Date.UTC(2026, 9, 4));
    await w.budget('b', '100', [HALF, FULL, { kind: 'forecast', ratio: '1' }]);
    await w.use('november', 8, Date.UTC(2026, 10, 4));
    await w.use('of ada', 5, Date.UTC(2026, 10, 3), { tags: { owner: 'ada' } });
    await w.tell(HOUR_MS);
    const told = w.slack.posts.map(({ blocks }) => JSON.stringify(blocks)).filter((text) => text.includes('budget b'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('lab: 100 % of the budget b is spent');
    expect(told[0]).toContain('Also crossed: spent at 50 %, forecast at 100 %.');
    expect(told[0]).toMatch(/it spent 130\.00 USD, and 100\.00 USD by the same day of the period before, 30 % more/);
    // Whose it is that grew, by what its records say of themselves.
    expect(told[0]).toContain(
      'AWS p5.48xlarge: 30.00 USD more; 50.00 USD more by ada; 30.00 USD more in the namespace lab',
    );
    expect((await silences()).filter((one) => one === 'within-another')).toHaveLength(2);
    await w.tell(DAY_MS);
    expect(w.titles().filter((title) => title.includes('budget b'))).toHaveLength(1);
  });

  it('is told of the lower one, where the highest holds no more before anybody was told', async () => {
    w.slack.always = 'away';
    await w.budget('later', '100', [HALF, FULL]);
    await w.tell();
    expect((await silences()).filter((one) => one === 'within-another')).toHaveLength(3);
    await w.budget('later', '200', [HALF, FULL]);
    await w.runner.drain();
    w.slack.always = null;
    await w.tell(10 * MINUTE_MS);
    await w.tell(MINUTE_MS);
    expect(w.titles().filter((title) => title.includes('budget later'))).toEqual([
      'C0GENERAL: \u{1F7E0} lab: 50 % of the budget later is spent',
    ]);
    expect((await silences()).filter((one) => one === 'passed')).toHaveLength(1);
  });

  it('is not told to a channel that was connected after its period', async () => {
    await w.db.query(`update alert_mark set at = '2026-11-20T00:00:00Z' where name = 'channel:slack'`);
    const before = w.slack.posts.length;
    const ended = { periodStart: '2026-10-20T00:00:00Z', periodEnd: '2026-11-20T00:00:00Z' };
    // What ended a second later was running when it was connected.
    const later = { ...ended, budget: 'later', periodEnd: '2026-11-20T00:00:01Z' };
    for (const over of [ended, later])
      await w.stores.alerts.raise(w.db, 'default', budgetNews({ team: 'lab', budget: 'old', ...over }), w.clock.at);
    await w.tell();
    expect(w.slack.posts).toHaveLength(before + 1);
    expect((await silences()).filter((one) => one === 'before-connected')).toHaveLength(1);
  });
});

describe('Slack that fails', async () => {
  const w = await alertWorld();
  let n = 0;
  const raise = async (): Promise<void> => {
    await w.stores.alerts.raise(w.db, 'default', budgetNews({ team: 'lab', budget: `b${n++}` }), w.clock.at);
  };
  const tokens = (): (string | undefined)[] => w.slack.posts.map(({ metadata }) => metadata?.event_payload.token);
  const isOnce = (count: number): void => {
    expect(w.slack.posts).toHaveLength(count);
    expect(new Set(tokens()).size).toBe(count);
  };

  it('for hours loses nothing and repeats nothing', async () => {
    w.slack.always = 'away';
    await raise();
    await raise();
    for (let hour = 0; hour < 9; hour++) await w.tell(HOUR_MS, 1);
    isOnce(0);
    w.slack.always = null;
    await w.tell(10 * MINUTE_MS);
    await w.tell(2 * MINUTE_MS);
    isOnce(2);
    await w.tell(DAY_MS);
    isOnce(2);
  });

  it('to answer has its message found, and not sent again', async () => {
    w.slack.faults.push({ method: 'chat.postMessage', fault: 'lost' });
    await raise();
    await w.tell();
    isOnce(3);
    await w.tell(HOUR_MS);
    isOnce(3);
    expect((await w.stores.alerts.list('default', {}, null, 1))[0]?.alert.state).toBe('told');
    const [last] = await w.stores.alerts.list('default', {}, null, 1);
    expect(await w.stores.alerts.deliveries(w.db, 'default', last!.alert.id)).toMatchObject([
      { state: 'sent', reference: `C0GENERAL:${w.slack.posts[2]?.ts}` },
    ]);
  });

  it('before it takes the message is asked, and gets it once the first request cannot be under way any more', async () => {
    w.slack.faults.push({ method: 'chat.postMessage', fault: 'cut' });
    await raise();
    await w.tell(0, 5);
    isOnce(3);
    await w.tell(2 * MINUTE_MS);
    isOnce(4);
  });

  it('by a wish for a pause is left alone as long as it wants', async () => {
    w.slack.faults.push({ method: 'chat.postMessage', fault: { pause: 90 } });
    await raise();
    await w.tell(0, 20);
    const calls = w.slack.calls.filter((call) => call === 'chat.postMessage').length;
    await w.pass(60_000);
    expect(w.slack.calls.filter((call) => call === 'chat.postMessage')).toHaveLength(calls);
    await w.tell(20_000);
    isOnce(5);
  });

  it('by a process that died before it heard has its message found', async () => {
    await raise();
    await enqueue(w.db, 'default', [MAKE_ITEM]);
    const make = w.line.find(({ name }) => name === 'alert.make')!;
    const [workItem] = await w.db.transaction((tx) =>
      make.run!({
        organisation: 'default',
        partition: 'alerts',
        keys: ['alerts'],
        now: w.clock.at,
        clock: w.clock,
        pausedSince: () => null,
        tx,
      }),
    );
    // What a run does before it dies: it writes down that it tries, and sends.
    await w.db.query(`update alert_delivery set asked_at = $2 where id = $1`, [workItem!.key, new Date(w.clock.at)]);
    const delivery = (await w.stores.alerts.delivery(w.db, 'default', workItem!.key))!;
    const bot = slackChannel.connect(w.slack.settings(), w.clock)!;
    await bot.send(notificationOf(budgetNews(), { token: delivery.token }));
    await enqueue(w.db, 'default', [workItem!]);
    await w.tell(MINUTE_MS);
    isOnce(6);
  });

  it('by refusing waits for somebody to set it right', async () => {
    w.slack.always = { error: 'not_in_channel' };
    await raise();
    await w.tell(0, 3);
    const [last] = await w.stores.alerts.list('default', {}, null, 1);
    expect(await w.stores.alerts.deliveries(w.db, 'default', last!.alert.id)).toMatchObject([
      { state: 'waiting', problem: 'not_in_channel: invite the app to the channel' },
    ]);
    w.slack.always = null;
    await w.tell(61 * MINUTE_MS);
    isOnce(7);
  });

  it('never gets more than one message a second in a channel', () => {
    const seconds = w.slack.posts.map(({ ts }) => Math.floor(Number(ts)));
    expect(new Set(seconds).size).toBe(seconds.length);
  });
});

describe('an alert that needs an answer', async () => {
  const w = await alertWorld();
  const critical = budgetNews({ team: 'lab', threshold: { kind: 'actual', ratio: '1' } });

  it('goes further when nobody answers, and stops when somebody does', async () => {
    await w.routes([
      {
        teams: null,
        kinds: null,
        leastSeverity: 'info',
        to: [{ channel: 'slack', address: null }],
        escalation: [
          { afterHours: 2, to: [{ channel: 'slack', address: 'C0LEADS' }] },
          { afterHours: 6, to: [{ channel: 'slack', address: 'U0BOSS' }] },
        ],
      },
    ]);
    await w.stores.alerts.raise(w.db, 'default', critical, w.clock.at);
    await w.tell();
    const places = (): string[] => w.slack.posts.map(({ channel }) => channel);
    expect(places()).toEqual(['C0GENERAL']);
    await w.tell(HOUR_MS);
    expect(places()).toEqual(['C0GENERAL']);
    await w.tell(HOUR_MS);
    expect(places()).toEqual(['C0GENERAL', 'C0LEADS']);
    // The first message says so.
    expect(JSON.stringify(w.slack.posts[0]?.blocks)).toContain('Nobody has answered yet');
    await w.connect('U0ANA', 'operator', ['lab']);
    expect((await w.press('U0ANA', w.slack.posts[1]!, 'acknowledge')).status).toBe(200);
    await w.tell(5 * HOUR_MS);
    expect(places()).toEqual(['C0GENERAL', 'C0LEADS']);
    for (const { blocks } of w.slack.posts) expect(JSON.stringify(blocks)).toContain('Taken on by U0ANA');
    expect(w.slack.posts.flatMap(({ blocks }) => blocks.map(({ type }) => type))).not.toContain('actions');
  });

  it('that nobody answers reaches the last step once', async () => {
    await w.stores.alerts.raise(w.db, 'default', { ...critical, budget: 'other' }, w.clock.at);
    await w.tell();
    for (let hour = 0; hour < 12; hour++) await w.tell(HOUR_MS, 3);
    expect(w.slack.posts.slice(2).map(({ channel }) => channel)).toEqual(['C0GENERAL', 'C0LEADS', 'DU0BOSS']);
  });

  it('is told to nobody while it is muted, or where no route fits', async () => {
    await w.stores.alertSettings.mute(
      w.db,
      'default',
      {
        team: 'lab',
        kind: 'budget',
        thread: null,
        upTo: null,
        until: new Date(w.clock.at + DAY_MS).toISOString(),
        reason: 'known',
        by: 'test',
      },
      w.clock.at,
    );
    const before = w.slack.posts.length;
    await w.stores.alerts.raise(w.db, 'default', { ...critical, budget: 'muted' }, w.clock.at);
    await w.tell();
    await w.routes([
      {
        teams: ['elsewhere'],
        kinds: null,
        leastSeverity: 'info',
        to: [{ channel: 'slack', address: null }],
        escalation: [],
      },
    ]);
    await w.stores.alerts.raise(w.db, 'default', { ...critical, budget: 'unrouted' }, w.clock.at + 2 * DAY_MS);
    await w.tell(2 * DAY_MS);
    expect(w.slack.posts).toHaveLength(before);
    expect(
      (await w.stores.alerts.list('default', { state: 'silent' }, null, 10)).map(({ alert }) => alert.silence),
    ).toEqual(['no-route', 'muted']);
  });
});

describe('other news', async () => {
  const w = await alertWorld();

  it('of a month comes with its chart, in its thread: drawn when it is first told, and never again', async () => {
    const lastMonth = Date.UTC(2026, 9, 20);
    await w.use('october', 5, lastMonth);
    await enqueue(w.db, 'default', [{ stage: 'report.send', partition: 'lab', key: 'lab/2026-10' }]);
    const drawn: string[] = [];
    const chart = async ({ team, month }: Report): Promise<Uint8Array> => {
      drawn.push(`${team} ${month}`);
      return PIXEL;
    };
    const channels = new Map([['slack', slackChannel.connect(w.slack.settings(), w.clock)!]]);
    const runner = new Runner(
      w.db,
      w.stores.work,
      w.clock,
      makeLine(w.stores, [], [], new Map(), channels, { texts: ENGLISH, publicUrl: null, chart }),
    );
    await runner.drain();
    expect(drawn).toEqual([]);
    await enqueue(w.db, 'default', [MAKE_ITEM]);
    for (let n = 0; n < 12; n++) {
      await runner.drain();
      w.clock.at += 1100;
    }
    expect(drawn).toEqual(['lab 2026-10']);
    expect(w.slack.posts.map(({ thread, files }) => [thread, files.length])).toEqual([
      [null, 0],
      [w.slack.posts[0]?.ts, 1],
    ]);
    expect([...w.slack.uploads.values()][0]?.bytes?.equals(PIXEL)).toBe(true);
  });

  it('of unusual spend is found once, and told once', async () => {
    const today = Date.UTC(2026, 10, 18);
    // Four weeks of three hours a day, then twenty.
    const records = Array.from({ length: 28 }, (_, day) =>
      Array.from({ length: day === 27 ? 20 : 3 }, (__, hour) =>
        metered(`d${day}h${hour}`, {
          namespace: 'lab',
          start: today - (28 - day) * DAY_MS + hour * HOUR_MS,
          end: today - (28 - day) * DAY_MS + (hour + 1) * HOUR_MS,
        }),
      ),
    );
    await w.take(records.flat());
    await w.runner.drain();
    const find = (): Promise<void> =>
      enqueue(w.db, 'default', [{ stage: 'anomaly.find', partition: 'lab', key: 'team/lab' }]);
    for (let n = 0; n < 3; n++) {
      await find();
      await w.tell(MINUTE_MS, 3);
    }
    expect(w.titles().slice(2)).toEqual(['C0GENERAL: \u{1F7E0} lab: spend was unusually high on 2026-11-17']);
    expect(JSON.stringify(w.slack.posts[2]?.blocks)).toContain('200.00 USD');
    expect(await w.stores.anomalies.list('default', { teams: null }, null, 10)).toHaveLength(1);
  });

  it('of a price that was never there is told once', async () => {
    await w.setPrices([instancePrice('100.00', { minimumSeconds: 0, effectiveFrom: w.clock.at - HOUR_MS })]);
    await w.runner.drain();
    for (let n = 0; n < 2; n++) {
      await enqueue(w.db, 'default', [{ stage: 'anomaly.find', partition: 'prices', key: 'prices' }]);
      await w.tell(MINUTE_MS, 3);
    }
    expect(w.titles().slice(3)).toEqual([
      'C0GENERAL: \u{1F7E0} A price looks wrong: AWS p5.48xlarge in us-east-1, on-demand',
    ]);
    expect(JSON.stringify(w.slack.posts[3]?.blocks)).toContain('12.5000 USD');
  });

  it('that other stages have written down are found: a card, a bill, a report', async () => {
    const at = new Date(w.clock.at);
    await w.stores.healthFindings.keep(
      w.db,
      'default',
      'dcgm',
      {
        opened: [
          {
            rule: 'gone',
            severity: 'fatal',
            resource: 'node-1',
            gpu: 'GPU-1',
            migInstance: null,
            team: 'lab',
            workload: 'trainer',
            title: 'gone: its exporter answers and no longer names it',
            numbers: { missingSeconds: 12 },
            evidence: {
              what: 'answers of the exporter',
              from: '2026-11-18T00:00:00Z',
              to: '2026-11-18T00:00:12Z',
              ageSeconds: 0,
            },
          },
        ],
        renewed: [],
        cleared: [],
      },
      w.clock.at,
    );
    const finding = (id: string, month: string, amount: string): Promise<unknown> =>
      w.db.query(
        `insert into variance_finding (organisation, team, source, month, id, provider, sku, currency, accrued, compared, amount, days, reasons, found_at, seen_at)
       values ('default', 'lab', 'bills', $1, $2, 'AWS', $2, 'USD', 100, 100 + $3::numeric, $3::numeric, 3, '{}', $4, $4)`,
        [month, id, amount, at],
      );
    await finding('p5', '2026-10', '-40.5');
    await finding('p4', '2026-10', '12');
    // The bill of the running month still grows.
    await finding('p5', '2026-11', '1000');
    const report = {
      team: 'lab',
      teamName: 'Lab',
      month: '2026-09',
      currency: 'USD',
      spend: { total: '1234.5', before: '1000', unpricedGpuHours: '0.000000' },
      budgets: [],
      savings: { verified: [{ currency: 'USD', amount: '50' }], measured: [] },
      forecast: { known: null, reason: 'no-history' },
      nextSteps: [{ title: 'Go to spot', estimatedMonthlySavings: '80', currency: 'USD' }],
    };
    await w.db.query(
      `insert into report (organisation, team, month, body, made_at, announced_at) values ('default', 'lab', '2026-09', $1, $2, $2)`,
      [JSON.stringify(report), at],
    );
    await w.tell();
    await w.tell(HOUR_MS);
    expect(w.titles().slice(4).toSorted()).toEqual([
      'C0GENERAL: \u{1F534} lab: GPU GPU-1 of node-1 is gone: its exporter answers and no longer names it',
      'C0GENERAL: \u{1F535} Lab: 2026-09 in short',
      'C0GENERAL: \u{1F7E0} lab: the bill of bills for 2026-10 differs from what was metered',
    ]);
    const text = JSON.stringify(w.slack.posts.map(({ blocks }) => blocks));
    for (const part of [
      'Metered and priced*\\n200.00 USD',
      'Billed*\\n171.50 USD',
      'AWS p5: -40.50 USD',
      '1,234.50 USD',
      'Go to spot: about 80.00 USD a month',
    ])
      expect(text).toContain(part);
  });
});
