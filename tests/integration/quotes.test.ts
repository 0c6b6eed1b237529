/**
 * Quotes and reservations on a real PostgreSQL: what is left of a budget is given out once, whoever asks at the same
 * time; a reservation ends by the clock, by release, or by what its run has cost; and the doors say what a key may
 * know.
 */
import { describe, expect, it } from 'vitest';
import { run, type LocalBursar } from '../../src/cli/program.js';
import type { Budget } from '../../src/core/budget/budget.js';
import { parseDecimal, ZERO } from '../../src/core/decimal.js';
import { Failure } from '../../src/core/errors.js';
import type { Price } from '../../src/core/price/price.js';
import type { QuoteRequest } from '../../src/core/quote/quote.js';
import { RESERVATION_TAG } from '../../src/core/budget/reservation.js';
import { PART_MS_PER_GPU_HOUR } from '../../src/core/usage.js';
import { answerQuote, type BudgetsAnswer, type QuoteAnswer } from '../../src/planning/quoting.js';
import { dirtyPrices } from '../../src/planning/anomaly/dirty-prices.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { BudgetStateJson } from '../../src/store/budget/budgets.js';
import type { Transaction } from '../../src/store/database.js';
import { type Reserved, type ReserveRequest, type StoredReservation } from '../../src/store/budget/reservations.js';
import { prepareReservation, reserve } from '../../src/store/budget/reserve.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { setTeam } from '../../src/application/access/set-team.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { HOUR, metered } from '../support/records.js';
import { NOW as API_NOW, testApi, type Reply } from '../support/web.js';
import { localOfComposed } from '../support/local.js';
import { quoteRequest, monthBudget } from '../support/makers.js';

const OCTOBER_20 = Date.UTC(2026, 9, 20);
/** Eight GPUs, 10 USD an hour, for any region. */
const PRICE: Price = instancePrice('10.00', { minimumSeconds: 0 });
/** 0.10 USD for a GiB and hour. */
const STORAGE: Price = {
  ...PRICE,
  sku: '*',
  component: 'storage',
  gpuModel: null,
  gpus: null,
  rate: { ...PRICE.rate, nanos: 100_000_000n, quantity: 3600n, unit: 'gib-second' },
};
const RUN: QuoteRequest = quoteRequest({ hours: 1 });

const budget = (id: string, team: string, amount: string | null, over: Partial<Budget> = {}): Budget =>
  monthBudget({ id, team, planned: { default: amount, periods: {} }, ...over });

/** Teams red and blue under lab, each with a budget, and prices. */
async function withBudgets(amounts: Readonly<Record<string, string | null>>): Promise<TestBursar> {
  const bursar = await testBursar({ now: OCTOBER_20 });
  const { stores, db } = bursar;
  await bursar.setPrices([PRICE]);
  await db.transaction((tx) =>
    stores.organisations.saveRules(
      tx,
      'default',
      ['red', 'blue'].map((name) => ({ match: { namespace: name }, team: name })),
      'test',
    ),
  );
  for (const [id, parent] of [
    ['lab', null],
    ['red', 'lab'],
    ['blue', 'lab'],
  ] as const)
    await db.transaction((tx) =>
      setTeam(stores, tx, 'default', { id, name: id, parent, zone: 'UTC', currency: 'USD', assignedBy: null }),
    );
  for (const [team, amount] of Object.entries(amounts))
    await db.transaction((tx) => setBudget(stores, tx, 'default', budget(team, team, amount), bursar.clock.now()));
  await bursar.runner.drain();
  return bursar;
}

const asking = (
  bursar: TestBursar,
  team: string,
  hours: number,
  over: Partial<ReserveRequest> = {},
): ReserveRequest => ({
  request: { ...RUN, hours },
  team,
  tags: null,
  holdHours: null,
  reason: '',
  now: bursar.clock.now(),
  dirtyPrices,
  ...over,
});
const hold = (
  bursar: TestBursar,
  team: string,
  hours: number,
  over: Partial<ReserveRequest> = {},
): Promise<StoredReservation> =>
  committed(bursar, async (tx) =>
    reserve(
      bursar.stores,
      tx,
      'default',
      await prepareReservation(bursar.stores, tx, 'default', asking(bursar, team, hours, over)),
      'test',
    ),
  );

/** As the doors do it: its work is enqueued once it is committed. */
async function committed(bursar: TestBursar, work: (tx: Transaction) => Promise<Reserved>): Promise<StoredReservation> {
  const { reservation, workItems } = await bursar.db.transaction(work);
  await enqueue(bursar.db, 'default', workItems);
  return reservation;
}

async function stateOf(bursar: TestBursar, id: string): Promise<BudgetStateJson> {
  await bursar.runner.drain();
  const [stored] = await bursar.stores.budgets.states('default', bursar.clock.now(), id);
  if (stored === undefined) throw new Error(`${id} was not evaluated`);
  return stored.state;
}

/** What a quote of now says is held of each budget over the team, and left. */
async function left(bursar: TestBursar, team: string): Promise<Record<string, string>> {
  const { budgets } = await bursar.stores.quotes.facts(bursar.db, 'default', {
    request: RUN,
    team,
    now: bursar.clock.now(),
    dirtyPrices,
  });
  const units = (nanos: bigint): string => String(Number(nanos) / 1e9);
  return Object.fromEntries(
    (budgets ?? []).map(({ budget: { id, planned }, state, reserved }) => [
      id,
      `${units(reserved)} held, ${units(BigInt(planned.default ?? 0) * 1_000_000_000n - (state?.spent ?? 0n) - (state?.owed ?? 0n) - reserved)} left`,
    ]),
  );
}

describe('the last of a budget', async () => {
  const bursar = await withBudgets({ lab: '155', red: '100', blue: '100' });

  it('is given out once, however many ask for it at once', async () => {
    // Twelve for 10 USD each of red's 100, twelve of blue's, and 155 of the lab's above both.
    const asked = Array.from({ length: 24 }, (_, n) =>
      hold(bursar, n % 2 === 0 ? 'red' : 'blue', 1).then(
        ({ team }) => team,
        (error: unknown) => error,
      ),
    );
    const answers = await Promise.all(asked);
    const granted = answers.filter((answer) => typeof answer === 'string');
    const refused = answers.filter((answer) => answer instanceof Failure);
    expect([granted.length, refused.length]).toEqual([15, 9]);
    for (const failure of refused) expect(failure.kind).toBe('conflict');
    expect(granted.filter((team) => team === 'red').length).toBeLessThanOrEqual(10);
    const held = await bursar.db.query<{ budget: string; n: string }>(
      `select budget, sum(nanos)::text as n from reservation_hold group by 1 order by 1`,
    );
    expect(held.find((row) => row.budget === 'lab')?.n).toBe('150000000000');
    expect(await left(bursar, 'red')).toMatchObject({ lab: '150 held, 5 left' });
  });

  it('is what is left after what others hold, to the nano', async () => {
    // A second more than half an hour.
    await expect(hold(bursar, 'lab', 1801 / 3600)).rejects.toMatchObject({
      kind: 'conflict',
      problems: [{ path: 'budgets/lab', message: '5.00 USD are left, and the run may cost 5.002777778 USD' }],
    });
    expect((await hold(bursar, 'lab', 0.5)).holds.map((one) => `${one.budget} ${one.held}`)).toEqual(['lab 5.00']);
    expect(await left(bursar, 'red')).toMatchObject({ lab: '155 held, 0 left' });
  });

  it('counts as committed in the state, beside what is spent', async () => {
    expect(await stateOf(bursar, 'lab')).toMatchObject({
      spent: '0.000000000',
      committed: '155.000000000',
      reserved: '155.000000000',
    });
  });
});

describe('what a bill has taught', async () => {
  const bursar = await withBudgets({ lab: '1000', red: '200' });
  const { stores, db, clock } = bursar;
  const quoted = async (over: Partial<QuoteRequest> = {}): Promise<[string, string | null]> => {
    const answer = answerQuote(
      { request: { ...RUN, ...over }, team: null, tags: null, placement: null },
      await stores.quotes.facts(db, 'default', {
        request: { ...RUN, ...over },
        team: null,
        now: clock.now(),
        dirtyPrices,
      }),
    );
    return 'unpriced' in answer ? [answer.unpriced, null] : [answer.cost, answer.learned?.source ?? null];
  };
  /** September's bill charges so much of each 10 USD of 30 days and 5,760 GPU-hours. */
  const learn = (charged: string, account = 'a1'): Promise<void> =>
    db.transaction((tx) =>
      stores.learnedRates.learn(
        tx,
        'default',
        `cur-${account}`,
        '2026-09',
        [
          {
            key: { provider: 'AWS', account, sku: 'p5.48xlarge', region: 'us-east-1', term: 'on-demand' },
            billedAccounts: [account],
            periodStart: Date.UTC(2026, 8, 1),
            periodEnd: Date.UTC(2026, 9, 1),
            days: 30,
            meteredPartMs: 5760n * PART_MS_PER_GPU_HOUR,
            billedPartMs: 5760n * PART_MS_PER_GPU_HOUR,
            listNanos: 7200n * 1_000_000_000n,
            charged: parseDecimal(charged) ?? ZERO,
            billedList: null,
            currency: 'USD',
            hasUnpriced: false,
            lacksAmortisation: false,
          },
        ],
        clock.now(),
      ),
    );

  it('is quoted from the next question on, and the list price again once it is withdrawn', async () => {
    expect(await quoted()).toEqual(['10.00', null]);
    await learn('2880');
    expect(await quoted()).toEqual(['4.00', 'bill:cur-a1/2026-09']);
    await learn('3600');
    expect(await quoted()).toEqual(['5.00', 'bill:cur-a1/2026-09']);
    await db.transaction((tx) => stores.learnedRates.setApplied(tx, 'default', false));
    expect(await quoted()).toEqual(['10.00', null]);
    await db.transaction((tx) => stores.learnedRates.setApplied(tx, 'default', true));
    expect(await quoted()).toEqual(['5.00', 'bill:cur-a1/2026-09']);
    await learn('1440', 'a2');
    expect(await quoted({ account: 'a2' })).toEqual(['2.00', 'bill:cur-a2/2026-09']);
    const one = (await stores.learnedRates.list(db, 'default', null, 10)).find(({ account }) => account === 'a2');
    await db.transaction((tx) => stores.learnedRates.withdraw(tx, 'default', one?.id ?? '', 'somebody', clock.now()));
    expect(await quoted({ account: 'a2' })).toEqual(['10.00', null]);
    expect(await quoted({ account: 'a1' })).toEqual(['5.00', 'bill:cur-a1/2026-09']);
  });

  it('is what a reservation holds', async () => {
    expect(await hold(bursar, 'red', 40)).toMatchObject({
      amount: '200.00',
      quote: { cost: '200.00', learned: { source: 'bill:cur-a1/2026-09', ratio: '0.500000', listCost: '400.00' } },
    });
  });
});

describe('a reservation', async () => {
  const bursar = await withBudgets({ lab: '1000', red: '200' });

  it('is gone when it has expired, and the budget is evaluated then', async () => {
    const { expiresAt, state } = await hold(bursar, 'red', 3, { holdHours: 2 });
    expect([expiresAt, state]).toEqual(['2026-10-20T02:00:00Z', 'active']);
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '30.000000000' });
    bursar.clock.at += 2 * HOUR;
    // A reader needs no job for it; the state follows by itself.
    expect(await left(bursar, 'red')).toEqual({ lab: '0 held, 1000 left', red: '0 held, 200 left' });
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '0.000000000' });
  });

  it('is gone when it is released, once', async () => {
    const { id } = await hold(bursar, 'red', 20);
    await expect(hold(bursar, 'red', 1)).rejects.toMatchObject({ kind: 'conflict' });
    const release = (): Promise<StoredReservation> =>
      committed(bursar, (tx) => bursar.stores.reservations.release(tx, 'default', id, 'somebody', bursar.clock.now()));
    expect(await release()).toMatchObject({ state: 'released', releasedBy: 'somebody' });
    bursar.clock.at += HOUR;
    expect((await release()).releasedAt).toBe('2026-10-20T02:00:00Z');
    expect(await left(bursar, 'red')).toMatchObject({ red: '0 held, 200 left' });
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '0.000000000' });
  });

  it('gives way to what its run has cost, on each budget, and never counts it twice', async () => {
    const { id, tag } = await hold(bursar, 'red', 10, { holdHours: 48 });
    expect(tag).toEqual({ key: RESERVATION_TAG, value: id });
    const hour = (name: string, at: number, tags: Record<string, string> | null) =>
      metered(name, { namespace: 'red', start: at, end: at + HOUR, tags });
    await bursar.take([
      hour('r1', OCTOBER_20 - HOUR, null),
      hour('r2', OCTOBER_20, { [RESERVATION_TAG]: id }),
      hour('r3', OCTOBER_20 + HOUR, { [RESERVATION_TAG]: id, project: 'x' }),
      hour('r4', OCTOBER_20, { [RESERVATION_TAG]: 'res-0000000000000000' }),
    ]);
    await bursar.runner.drain();
    // 20 of the 100 that were held are spent; 20 more are nobody's.
    expect(await stateOf(bursar, 'red')).toMatchObject({ spent: '40.000000000', committed: '80.000000000' });
    expect(await left(bursar, 'red')).toEqual({ lab: '80 held, 880 left', red: '80 held, 80 left' });
    expect(await bursar.stores.reservations.known(bursar.db, 'default', id, bursar.clock.now())).toMatchObject({
      state: 'active',
      holds: [
        { budget: 'lab', used: '20.00', remaining: '80.00' },
        { budget: 'red', used: '20.00', remaining: '80.00' },
      ],
    });
    await bursar.take(
      Array.from({ length: 10 }, (_, n) =>
        metered(`s${n}`, {
          namespace: 'red',
          resource: `s${n}`,
          start: OCTOBER_20,
          end: OCTOBER_20 + HOUR,
          tags: { [RESERVATION_TAG]: id },
        }),
      ),
    );
    await bursar.runner.drain();
    // It cost 120 in all: the reservation is used up, and nothing is held below nothing.
    expect(await left(bursar, 'red')).toEqual({ lab: '0 held, 860 left', red: '0 held, 60 left' });
    expect(await bursar.stores.reservations.known(bursar.db, 'default', id, bursar.clock.now())).toMatchObject({
      state: 'used',
    });
  });

  it('holds nothing of a later period', async () => {
    bursar.clock.at = Date.UTC(2026, 9, 31, 12);
    await stateOf(bursar, 'red');
    // Twelve hours of it are October's, of which sixty dollars are left.
    await expect(hold(bursar, 'red', 100)).rejects.toMatchObject({
      problems: [{ path: 'budgets/red', message: '60.00 USD are left, and the run may cost 120.00 USD' }],
    });
    expect((await hold(bursar, 'red', 4)).holds).toHaveLength(2);
    bursar.clock.at = Date.UTC(2026, 10, 1, 1);
    await expect(hold(bursar, 'red', 1)).rejects.toMatchObject({
      problems: [
        { message: 'this period has not been evaluated yet' },
        { message: 'this period has not been evaluated yet' },
      ],
    });
    for (const id of ['lab', 'red'])
      await bursar.db.transaction((tx) =>
        setBudget(bursar.stores, tx, 'default', budget(id, id, id === 'lab' ? '1000' : '200'), bursar.clock.now()),
      );
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '0.000000000' });
    expect(await left(bursar, 'red')).toMatchObject({ red: '0 held, 200 left' });
  });
});

describe('no reservation', async () => {
  const bursar = await withBudgets({ red: null });

  it('is made where nothing is planned, or nothing has a price', async () => {
    await expect(hold(bursar, 'red', 1)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('no planned budget') as string,
    });
    await expect(hold(bursar, 'nobody', 1)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(hold(bursar, 'red', 1, { request: { ...RUN, sku: 'p6' } })).rejects.toMatchObject({
      kind: 'missing',
      message: "nothing is reserved: AWS p6: the provider's price lists do not have this SKU",
    });
  });

  it('is made where usage of the period has no price', async () => {
    await bursar.db.transaction((tx) =>
      setBudget(bursar.stores, tx, 'default', budget('red', 'red', '1000'), bursar.clock.now()),
    );
    await bursar.take([metered('u', { namespace: 'red', sku: 'secret', start: OCTOBER_20 - HOUR, end: OCTOBER_20 })]);
    await bursar.runner.drain();
    await expect(hold(bursar, 'red', 1)).rejects.toMatchObject({
      problems: [{ path: 'budgets/red', message: '8.000000 GPU-hours of the period have no price' }],
    });
  });
});

describe('the API', async () => {
  const api = await testApi();
  const body = { provider: 'aws', sku: 'H100', gpus: 8, hours: 2, team: 'red' };
  const drain = (): Promise<void> =>
    new Runner(api.stores.db, api.stores.work, { now: () => API_NOW }, makeLine(api.stores, [])).drain();
  const verdicts = ({ budgets }: { budgets: BudgetsAnswer | null }): string[] =>
    (budgets?.budgets ?? []).map(
      ({ budget: id, verdict, left: rest }) => `${id} ${verdict} ${rest?.after ?? 'unseen'}`,
    );

  it('says whether the budgets hold a run, and where it would be cheapest', async () => {
    const { stores } = api;
    const cheap = instancePrice('8.00', { provider: 'Google Cloud', sku: 'a3-highgpu-8g', region: 'us-central1' });
    await stores.prices.add(
      stores.db,
      'default',
      [PRICE, cheap, instancePrice('1.00', { sku: 'g4dn.metal', gpuModel: 'T4' })].map((price) => ({
        kind: 'price',
        price,
      })),
      'test',
    );
    for (const [id, parent] of [
      ['lab', null],
      ['red', 'lab'],
      ['blue', 'lab'],
    ] as const)
      await api.call('PUT', `/v1/teams/${id}`, { body: { parent } });
    for (const [id, amount] of [
      ['lab', '1000'],
      ['red', '50'],
    ] as const)
      await api.call('PUT', `/v1/budgets/${id}`, { body: { team: id, planned: { default: amount } } });
    expect((await api.call<QuoteAnswer>('POST', '/v1/quotes', { body })).body.budgets).toMatchObject({
      team: 'red',
      verdict: 'unknown',
      budgets: [{ budget: 'lab', reasons: ['this period has not been evaluated yet'] }, { budget: 'red' }],
    });
    await drain();
    const { status, body: quote } = await api.call<QuoteAnswer>('POST', '/v1/quotes', {
      body: { ...body, placement: { kind: 'training', memoryGibPerGpu: 60 } },
    });
    expect({ status, ...quote }).toMatchObject({
      status: 200,
      cost: '20.00',
      interval: { low: '20.00', high: '20.00' },
      budgets: {
        verdict: 'at-risk',
        budgets: [
          {
            budget: 'lab',
            left: { before: '1000.00', after: '980.00' },
            reasons: ['there is no forecast of the rest of the period'],
          },
          { budget: 'red', left: { after: '30.00' } },
        ],
      },
      placements: {
        best: { cost: '16.00', parts: [{ provider: 'Google Cloud', units: 1, gpus: 8 }] },
        runnersUp: [{ cost: '20.00', lost: [{ kind: 'dearer', message: 'costs 4.00 USD more, 1.25 times as much' }] }],
        more: 0,
        refused: [
          {
            kind: 'too-little-memory',
            count: 1,
            example: 'AWS g4dn.metal in us-east-1, on-demand: has 14.9 GiB per GPU, and 60 are needed',
          },
        ],
      },
    });
    expect((await api.call('POST', '/v1/quotes', { body: { ...body, team: null } })).body).toMatchObject({
      budgets: null,
      placements: null,
    });
    const unpriced = await api.call('POST', '/v1/quotes', { body: { ...body, team: null, storageGib: 10 } });
    expect([unpriced.status, unpriced.body]).toMatchObject([
      404,
      { detail: 'AWS H100: its storage has no current price there (the price lists do not say what it costs)' },
    ]);
    await stores.prices.add(stores.db, 'default', [{ kind: 'price', price: STORAGE }], 'test');
    expect(
      (await api.call<QuoteAnswer>('POST', '/v1/quotes', { body: { ...body, storageGib: 100 } })).body,
    ).toMatchObject({
      cost: '40.00',
      parts: { gpu: '20.00', storage: '20.00', network: null },
      budgets: { budgets: [{ left: { after: '960.00' } }, { left: { after: '10.00' } }] },
    });
    expect(verdicts((await api.call<QuoteAnswer>('POST', '/v1/quotes', { body: { ...body, hours: 6 } })).body)).toEqual(
      ['lab at-risk 940.00', 'red exceeds -10.00'],
    );
  });

  it('places a workload without a quote, and says what cannot be', async () => {
    const placed = await api.call('POST', '/v1/placements', {
      body: { kind: 'inference', memoryGibPerGpu: 10, gpus: 12, hours: 10, most: 1 },
    });
    expect(placed.body).toMatchObject({
      best: { cost: '20.00', gpus: 16, parts: [{ sku: 'g4dn.metal', units: 2 }] },
      more: 1,
      runnersUp: [{ cost: '160.00' }],
    });
    expect(
      await api.call('POST', '/v1/placements', { body: { kind: 'training', memoryGibPerGpu: 10, gpus: 0, hours: 1 } }),
    ).toMatchObject({ status: 400, body: { problems: [{ path: 'gpus' }] } });
    expect(
      await api.call('POST', '/v1/quotes', {
        body: { ...body, gpus: 0.5, placement: { kind: 'training', memoryGibPerGpu: 10 } },
      }),
    ).toMatchObject({ status: 400, body: { problems: [{ path: 'gpus' }] } });
    expect(await api.call('POST', '/v1/quotes', { body: { ...body, hoursLow: 3 } })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'hoursLow' }] },
    });
  });

  it('reserves once per Idempotency-Key, lists and releases', async () => {
    const operator = await api.keyFor({ role: 'operator', teams: ['red'] });
    const ask = { key: operator, body: { ...body, reason: 'night run' }, headers: { 'idempotency-key': 'once' } };
    const [first, again] = [
      await api.call('POST', '/v1/reservations', ask),
      await api.call('POST', '/v1/reservations', ask),
    ];
    expect(first).toMatchObject({
      status: 200,
      body: {
        team: 'red',
        amount: '20.00',
        state: 'active',
        reason: 'night run',
        holds: [
          { budget: 'lab', held: '20.00' },
          { budget: 'red', held: '20.00' },
        ],
        quote: { sku: 'p5.48xlarge' },
      },
    });
    expect(again.body).toEqual(first.body);
    expect(verdicts((await api.call<QuoteAnswer>('POST', '/v1/quotes', { body })).body)).toEqual([
      'lab at-risk 960.00',
      'red at-risk 10.00',
    ]);
    expect(await api.call('POST', '/v1/reservations', { body: { ...body, hours: 4 } })).toMatchObject({
      status: 409,
      body: { problems: [{ path: 'budgets/red', message: '30.00 USD are left, and the run may cost 40.00 USD' }] },
    });
    const listed = await api.call<{ items: { id: string }[] }>('GET', '/v1/reservations?team=red', { key: operator });
    expect(listed.body.items.map(({ id }) => id)).toEqual([first.body['id']]);
    expect(await api.call('DELETE', `/v1/reservations/${String(first.body['id'])}`, { key: operator })).toMatchObject({
      status: 200,
      body: { state: 'released' },
    });
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/reservations')).body.items).toEqual([]);
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/reservations?active=false')).body.items).toHaveLength(1);
    expect(await api.call('DELETE', '/v1/reservations/res-0000000000000000')).toMatchObject({ status: 404 });
    const audit = await api.call<{ items: { verb: string }[] }>('GET', '/v1/audit');
    expect(audit.body.items.map(({ verb }) => verb).filter((verb) => verb.startsWith('reservation.'))).toEqual([
      'reservation.release',
      'reservation.make',
    ]);
  });

  it('answers quotes while many reservations wait for one budget, which then are granted as far as it reaches', async () => {
    const waiting: Promise<Reply>[] = [];
    await api.stores.db.transaction(async (tx) => {
      await tx.query(`select 1 from budget where organisation = 'default' and id = 'lab' for update`);
      // More than there are connections.
      for (let n = 0; n < 30; n++)
        waiting.push(
          api.call('POST', '/v1/reservations', {
            body: { ...body, hours: 1 },
            headers: { 'idempotency-key': `many-${n}` },
          }),
        );
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect((await api.call('POST', '/v1/quotes', { body })).status).toBe(200);
    });
    const replies = await Promise.all(waiting);
    expect([200, 409].map((status) => replies.filter((one) => one.status === status).length)).toEqual([5, 25]);
    const audited = await api.stores.db.query<{ target: string }>(
      `select target from audit where verb = 'reservation.make' order by audit.id desc limit 5`,
    );
    expect(new Set(audited.map(({ target }) => target))).toEqual(
      new Set(replies.flatMap(({ status, body: { id } }) => (status === 200 ? [id] : []))),
    );
    // A repeat has the first answer, and what was refused keeps nothing.
    const granted = replies.findIndex(({ status }) => status === 200);
    expect(
      (
        await api.call('POST', '/v1/reservations', {
          body: { ...body, hours: 1 },
          headers: { 'idempotency-key': `many-${granted}` },
        })
      ).body,
    ).toEqual(replies[granted]?.body);
    expect(await api.stores.db.query(`select 1 from idempotency where key like '%many-%'`)).toHaveLength(5);
    const listed = await api.call<{ items: { id: string }[] }>('GET', '/v1/reservations');
    for (const { id } of listed.body.items) await api.call('DELETE', `/v1/reservations/${id}`);
  });

  it('grants the others what one of them spoils that the database refuses altogether', async () => {
    const waiting: Promise<Reply>[] = [];
    await api.stores.db.transaction(async (tx) => {
      await tx.query(`select 1 from budget where organisation = 'default' and id = 'lab' for update`);
      // The first is a group by itself; the others are the next one.
      for (let n = 0; n < 5; n++) {
        waiting.push(
          api.call('POST', '/v1/reservations', {
            body: { ...body, hours: 0.5, reason: n === 3 ? 'spoilt \u0000' : `fine ${n}` },
          }),
        );
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    });
    const replies = await Promise.all(waiting);
    expect(replies.map(({ status }) => status === 200)).toEqual([true, true, true, false, true]);
    const listed = await api.call<{ items: { id: string; reason: string }[] }>('GET', '/v1/reservations');
    expect(listed.body.items.map(({ reason }) => reason).sort()).toEqual(['fine 0', 'fine 1', 'fine 2', 'fine 4']);
    for (const { id } of listed.body.items) await api.call('DELETE', `/v1/reservations/${id}`);
  });

  it('tells a key of its own teams only', async () => {
    const red = await api.keyFor({ role: 'operator', teams: ['red'] });
    const { body: quote } = await api.call<QuoteAnswer>('POST', '/v1/quotes', { key: red, body });
    expect(verdicts(quote)).toEqual(['lab at-risk unseen', 'red at-risk 30.00']);
    expect(quote.budgets?.budgets[0]).toMatchObject({
      planned: null,
      spent: null,
      reserved: null,
      reasons: ['the budget belongs to a team that this key may not see'],
    });
    await api.call('PUT', '/v1/budgets/lab', { body: { team: 'lab', planned: { default: '5' } } });
    await drain();
    expect((await api.call('POST', '/v1/reservations', { key: red, body })).body).toMatchObject({
      status: 409,
      problems: [{ path: 'budgets/lab', message: expect.stringContaining('may not see') as string }],
    });
    for (const [path, role] of [
      ['/v1/quotes', 'viewer'],
      ['/v1/reservations', 'operator'],
    ] as const) {
      expect(
        (await api.call('POST', path, { key: await api.keyFor({ role, teams: ['blue'] }), body })).status,
        path,
      ).toBe(403);
    }
    expect(
      (await api.call('POST', '/v1/reservations', { key: await api.keyFor({ role: 'viewer' }), body })).status,
    ).toBe(403);
    const blue = await api.keyFor({ role: 'operator', teams: ['blue'] });
    expect(
      (await api.call<{ items: unknown[] }>('GET', '/v1/reservations?active=false', { key: blue })).body.items,
    ).toEqual([]);
    expect((await api.call('GET', '/v1/reservations?team=red', { key: blue })).status).toBe(403);
  });
});

describe('the command line', async () => {
  const bursar = await withBudgets({ red: '100' });
  const verb = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    let [out, err] = ['', ''];
    const connect = async (): Promise<LocalBursar> => localOfComposed(bursar, bursar.clock);
    const code = await run(argv, {
      environment: {},
      clock: bursar.clock,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      serve: async () => undefined,
      connect,
      remote: null,
    });
    return { code, out, err };
  };
  const ask = [
    'quote',
    '--provider',
    'aws',
    '--sku',
    'H100',
    '--gpus',
    '8',
    '--hours',
    '2',
    '--hours-high',
    '3',
    '--team',
    'red',
  ];

  it('says until when a budget is asked, to the minute: its day is another in other zones', async () => {
    expect((await verb(...ask)).out).toMatch(/\b20\d\d-\d\d-01 00:00 UTC\b/);
  });

  it('quotes a run against the budgets, places it, and reserves', async () => {
    const { code, out } = await verb(
      ...ask,
      '--memory',
      '60',
      '--deadline',
      '10',
      '--reserve',
      '5',
      '--reason',
      'night',
      '--json',
    );
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        cost: '20.00',
        interval: { high: '30.00' },
        budgets: {
          verdict: 'at-risk',
          budgets: [{ budget: 'red', left: { before: '100.00', after: '80.00', afterLow: '70.00' } }],
        },
        placements: { best: { cost: '20.00' } },
        reservation: {
          amount: '30.00',
          reason: 'night',
          expiresAt: '2026-10-20T05:00:00Z',
          createdBy: expect.stringMatching(/^cli:/) as string,
        },
      },
    ]);
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '30.000000000' });
    const told = await verb(...ask, '--memory', '60');
    expect(told.out).toMatch(
      /From 20\.00 to 30\.00 USD: the run takes 2 to 3 h\n[^]*Budgets of red: at-risk\n[^]*red +at-risk +70\.00 +50\.00[^]*Cheapest places:\n[^]*AWS +1 x p5\.48xlarge/,
    );
  });

  it('quotes and holds what a run takes besides GPUs', async () => {
    await bursar.setPrices([PRICE, STORAGE]);
    const { code, out } = await verb(...ask, '--storage', '10', '--reserve', '5', '--json');
    const { reservation, ...quote } = JSON.parse(out) as QuoteAnswer & { reservation: StoredReservation };
    expect([code, quote, reservation]).toMatchObject([
      0,
      { cost: '22.00', parts: { gpu: '20.00', storage: '2.00', network: null }, interval: { high: '33.00' } },
      { amount: '33.00' },
    ]);
    expect((await verb(...ask, '--storage', '10')).out).toContain('\nMade of 20.00 for GPUs, 2.00 for storage\n');
    expect(await verb(...ask, '--network', '1')).toMatchObject({
      code: 1,
      out: expect.stringContaining('its network has no current price there') as string,
    });
    await verb('reservations', 'release', reservation.id);
    const leftOut = 'places are compared by GPUs and egress alone, without the storage and the traffic of the quote';
    expect((await verb(...ask, '--storage', '10', '--memory', '60')).out).toMatch(
      new RegExp(`Cheapest places:[^]*Assumed: ${leftOut}`),
    );
    expect((await verb(...ask, '--memory', '60')).out).not.toContain(leftOut);
  });

  it('lists and releases what is reserved', async () => {
    const { reservations } = JSON.parse((await verb('reservations', '--json')).out) as {
      reservations: StoredReservation[];
    };
    expect(reservations).toHaveLength(1);
    expect((await verb('reservations', 'list', '--team', 'red')).out).toContain(reservations[0]?.id);
    expect((await verb('reservations', 'release', reservations[0]?.id ?? '')).out).toMatch(
      /^res-\w{16}: 30\.00 USD for team red, released/,
    );
    expect((await verb('reservations')).out).toBe('No budget is reserved.\n');
    expect(await stateOf(bursar, 'red')).toMatchObject({ committed: '0.000000000' });
  });

  it('says what cannot be asked, or held', async () => {
    expect(await verb(...ask.slice(0, -2), '--reserve')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--reserve needs --team') as string,
    });
    expect(await verb(...ask, '--deadline', '5')).toMatchObject({
      code: 2,
      err: expect.stringContaining('they need --memory too') as string,
    });
    expect(await verb(...ask, '--gpus', '80', '--reserve')).toMatchObject({
      code: 1,
      err: expect.stringContaining('100.00 USD are left, and the run may cost 300.00 USD') as string,
    });
  });
});
