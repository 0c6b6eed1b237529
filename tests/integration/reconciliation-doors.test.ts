/**
 * The variance and the learned rates through the API and the command line: pages, sums, permissions, and two doors that
 * answer alike.
 */
import { describe, expect, it } from 'vitest';
import { run, type CliContext } from '../../src/cli/program.js';
import { testApi } from '../support/web.js';
import { localOf } from '../support/local.js';

const OCTOBER = Date.UTC(2026, 9, 1);
const NOVEMBER = Date.UTC(2026, 10, 1);

describe('the doors', async () => {
  const api = await testApi();
  const answer = async (query = '', key?: string) =>
    api.call<{
      items: { team: string; day: string; variance: string }[];
      nextCursor: string | null;
      totals: { variance: string }[];
    }>('GET', `/v1/reconciliation${query}`, key === undefined ? {} : { key });

  it('show pages and their sums, by team', async () => {
    const { stores } = api;
    const insert = (team: string, on: string, amount: string) =>
      stores.db.query(
        `insert into variance (organisation, team, source, month, day, id, provider, billed_terms, category, currency, accrued, compared, amount, reasons)
       values ('default', $1::text, 'cur', '2026-10', $2::date, md5($1::text || $2::date), 'AWS', '{}', 'Usage', 'USD', 100, 100 + $3::numeric, $3::numeric, '{rate}')`,
        [team, on, amount],
      );
    await insert('red', '2026-10-01', '1.10');
    await insert('red', '2026-10-02', '-0.3');
    await insert('blue', '2026-10-01', '7');
    const first = await answer('?limit=2');
    expect([first.status, first.body.items.length, first.body.totals]).toEqual([
      200,
      2,
      [
        {
          currency: 'USD',
          accrued: '300',
          compared: '307.80',
          variance: '7.80',
          apart: '0',
          unpricedGpuHours: '0.000000',
        },
      ],
    ]);
    const second = await answer(`?limit=2&cursor=${first.body.nextCursor}`);
    expect(
      [...first.body.items, ...second.body.items]
        .map(({ team, day: on, variance }) => `${on} ${team} ${variance}`)
        .sort(),
    ).toEqual(['2026-10-01 blue 7', '2026-10-01 red 1.10', '2026-10-02 red -0.3']);
    expect(second.body.nextCursor).toBeNull();
    expect((await answer('?team=red&from=2026-10-02')).body.items.map(({ variance }) => variance)).toEqual(['-0.3']);
    expect((await answer('?reason=quantity')).body.items).toEqual([]);
    const red = await api.keyFor({ teams: ['red'] });
    expect((await answer('', red)).body.totals).toMatchObject([{ variance: '0.80' }]);
    expect((await answer('?team=blue', red)).status).toBe(403);
    expect((await api.call('GET', '/v1/reconciliation/rates', { key: red })).status).toBe(403);
    expect((await answer('?month=October&cursor=x')).status).toBe(400);
  });

  it('say whether rates are learned, refuse what is no threshold, and know no rate that is not there', async () => {
    const settings = '/v1/reconciliation/settings';
    const settling = { days: 10, providers: {} };
    expect((await api.call('GET', settings)).body).toEqual({
      learnRates: true,
      threshold: { ratio: '0.05', amount: '10' },
      settling,
    });
    const set = { learnRates: false, threshold: { ratio: '0.1', amount: '25' } };
    expect((await api.call('PUT', settings, { body: set })).status).toBe(200);
    expect((await api.call('GET', settings)).body).toEqual({ ...set, settling });
    const sooner = { ...set, settling: { days: 10, providers: { AWS: 7 } } };
    expect((await api.call('PUT', settings, { body: sooner })).body).toEqual(sooner);
    expect((await api.call('PUT', settings, { body: set })).body).toEqual(sooner);
    const wrong = await api.call('PUT', settings, {
      body: { ...set, settling: { days: 500, providers: { AWS: -1 } } },
    });
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringMatching(/days.*AWS/)]);
    const refused = await api.call('PUT', settings, { body: { ...set, threshold: { ratio: 'x', amount: '-1' } } });
    expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(/ratio.*amount/)]);
    expect((await api.call('GET', '/v1/reconciliation/rates')).body).toEqual({ items: [], nextCursor: null });
    expect((await api.call('POST', '/v1/reconciliation/rates/rate-0123456789abcdef/withdraw')).status).toBe(404);
    expect((await api.call('GET', '/v1/reconciliation/findings')).body).toEqual({ items: [], nextCursor: null });
  });

  it('of the command line answer alike on the database and through the API', async () => {
    const { stores } = api;
    await stores.db.transaction((tx) =>
      stores.learnedRates.learn(
        tx,
        'default',
        'cur',
        '2026-10',
        [
          {
            key: { provider: 'AWS', account: 'a1', sku: 'p5', region: 'us', term: 'on-demand' },
            billedAccounts: ['a1'],
            periodStart: OCTOBER,
            periodEnd: NOVEMBER,
            days: 10,
            meteredPartMs: 10n ** 14n,
            billedPartMs: 10n ** 14n,
            listNanos: 2400n * 10n ** 9n,
            charged: { unscaled: 960n, scale: 0 },
            billedList: null,
            currency: 'USD',
            hasUnpriced: false,
            lacksAmortisation: false,
          },
        ],
        NOVEMBER,
      ),
    );
    let looks = 0;
    const ran = async (argv: readonly string[], over: Partial<CliContext>) => {
      let out = '';
      const code = await run(argv, {
        environment: {},
        // No worker does what follows from a change, and nobody waits for it for ever.
        clock: { now: () => NOVEMBER + 30_000 * looks++ },
        stdout: { write: (text) => (out += text) },
        stderr: { write: () => undefined },
        serve: async () => undefined,
        remote: null,
        connect: async () => {
          throw new Error('the API is the door');
        },
        ...over,
      });
      return { code, out };
    };
    const here = (...argv: string[]) =>
      ran(argv, { connect: async () => localOf({ stores }, { now: () => NOVEMBER }) });
    const away = (...argv: string[]) => ran(argv, { remote: { url: api.url, apiKey: api.admin } });
    for (const argv of [
      ['reconcile', '--json'],
      ['reconcile', '--month', '2026-10', '--team', 'red'],
      ['reconcile', '--month', '2026-09'],
      ['reconcile', '--rates', '--json'],
      ['reconcile', '--rates'],
    ]) {
      const [local, remote] = [await here(...argv), await away(...argv)];
      expect(remote, argv.join(' ')).toEqual(local);
      expect(local.code).toBe(0);
    }
    expect((await here('reconcile', '--team', 'red')).out).toMatch(
      /2026-10-01 +red +AWS +Usage +100\.00 +101\.10 +1\.10 +- +USD +rate[\s\S]*USD: billed 200\.80 \(of it apart 0\.00\), accrued 200\.00, variance 0\.80/,
    );
    const [rate] = (JSON.parse((await here('reconcile', '--rates', '--json')).out) as { rates: { id: string }[] })
      .rates;
    expect(JSON.parse((await away('reconcile', '--learn', 'on', '--json')).out)).toMatchObject({
      applied: true,
      rates: [{ id: rate?.id, ratio: '0.400000', trusted: true }],
    });
    expect((await away('reconcile', '--withdraw', rate?.id ?? '')).code).toBe(0);
    expect((await here('reconcile', '--withdraw', rate?.id ?? '')).code).toBe(1);
    expect((await here('reconcile', '--rates')).out).toContain('withdrawn');
    for (const wrong of [
      ['--month', 'October'],
      ['--learn', 'perhaps'],
      ['--rates', '--team', 'red'],
    ])
      expect((await here('reconcile', ...wrong)).code).toBe(2);
  });
});
