/**
 * The load of the fault runs: meters that send usage, bills that are restated, prices that are corrected, and a person
 * who approves actions and takes some of them back. Each keeps books of what was accepted, from which recount.mjs says
 * what every account must be.
 *
 * What is sent is made from the seed. A sender waits for its answer and sends the same again until it is accepted, so
 * that whatever a kill leaves open is asked for again, as a meter does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../server.mjs';

export const TEAMS = ['vision', 'speech', 'search', 'robots'];
export const SKUS = ['h100', 'a100', 'l40s'];
export const ACCOUNTS = ['payer-0', 'payer-1', 'payer-2'];
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Whole days before the run that usage is of. */
const DAYS = 7;
const RECORDS = 25;
const BILL_LINES = 2500;
const EVERY_MS = { batch: 800, bill: 20_000, prices: 40_000, decision: 4000 };

const instant = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const dayOf = (ms) => instant(ms).slice(0, 10);

export class Load {
  constructor({ client, seed, now }) {
    this.client = client;
    this.seed = seed;
    const today = Math.floor(now / DAY) * DAY;
    this.from = today - DAYS * DAY;
    this.to = today;
    const month = new Date(now);
    this.billStart = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - 2, 1);
    this.billEnd = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - 1, 1);
    /** Seconds of accepted usage by `team|sku|hour`. */
    this.seconds = new Map();
    this.records = 0;
    this.batches = 0;
    this.repeated = 0;
    /** Nanos of an hour by SKU, of the list that was accepted last. */
    this.prices = null;
    this.priceLists = 0;
    /** Unscaled amounts (eleven digits) by `account|team`, of the bill that was accepted last. */
    this.billed = null;
    this.bills = 0;
    /** Ids of recommendations and of actions whose approval, or taking back, was accepted. */
    this.approved = new Set();
    this.takenBack = new Set();
    /** What was refused since something else is under way on the machine. */
    this.conflicts = [];
    this.inFlight = { import: 0 };
    this.isOver = false;
    this.sending = [];
    this.failures = [];
  }

  /** Everything is set before a worker looks: what it sees has its team from the first look on. */
  async prepare() {
    const { client } = this;
    const put = (route, body) => client.ask('PUT', route, { body: JSON.stringify(body) });
    for (const team of TEAMS) await put(`/v1/teams/${team}`, {});
    await put('/v1/rules', { rules: TEAMS.map((team) => ({ match: { tag: { key: 'team', value: team } }, team })) });
    await put('/v1/limits', {
      actionsPerHour: 100_000,
      gpusPerHour: 1_000_000,
      cooldownMinutes: 0,
      evidenceMinutes: 10_000,
      readingSeconds: 3600,
    });
    await put('/v1/alert-routes', { routes: [{ to: [{ channel: 'webhook' }] }] });
    for (const team of TEAMS)
      await put(`/v1/budgets/${team}`, {
        team,
        period: { start: dayOf(this.from - DAY), lengthDays: DAYS + 10 },
        planned: { default: '20000' },
        thresholds: Array.from({ length: 40 }, (_, n) => ({ kind: 'actual', ratio: ((n + 1) / 20).toFixed(2) })),
      });
    await this.correctPrices();
    await put('/v1/policies/nights', {
      policy: 'schedule',
      teams: '*',
      mode: 'approve',
      params: { targets: ['node-*'], otherwise: { running: false }, graceMinutes: 1440 },
    });
  }

  /** Waits until the line has seen the machines and proposes to stop them. */
  async proposed(machines) {
    for (let looks = 0; looks < 600; looks += 1) {
      if ((await this.client.all('/v1/recommendations?status=open')).length >= machines) return;
      await pause(500);
    }
    throw new Error('the machines of the cloud were never proposed to be stopped');
  }

  /** Begins to send; what one of them throws fails the run. */
  start() {
    const keep = (name, run) =>
      run().catch((error) => {
        this.failures.push(`${name}: ${error.message}`);
      });
    for (const meter of [0, 1]) this.sending.push(keep(`meter ${meter}`, () => this.meter(meter)));
    this.sending.push(keep('bills', () => this.repeat(EVERY_MS.bill, () => this.restateBill())));
    this.sending.push(keep('prices', () => this.repeat(EVERY_MS.prices, () => this.correctPrices())));
    this.sending.push(keep('approvals', () => this.repeat(EVERY_MS.decision, () => this.decide())));
  }

  async stop() {
    this.isOver = true;
    await Promise.all(this.sending);
  }

  async repeat(everyMs, work) {
    while (!this.isOver) {
      await work();
      await pause(everyMs);
    }
  }

  /** A meter: batches one after the other; every ninth accepted one is sent once more, which must change nothing. */
  async meter(name) {
    const random = seeded(this.seed * 1000 + name);
    for (let n = 0; !this.isOver; n += 1) {
      const records = Array.from({ length: RECORDS }, (_, i) => this.record(`m${name}-${n}-${i}`, random));
      await this.sendUsage(records, name, n % 2 === 0 ? `batch-${name}-${n}` : undefined);
      if (n % 9 === 0) {
        await this.post(records, name);
        this.repeated += 1;
      }
      await pause(EVERY_MS.batch);
    }
  }

  record(id, random) {
    const pick = (list) => list[Math.floor(random() * list.length)];
    const hour = this.from + Math.floor(random() * DAYS * 24) * HOUR;
    const start = hour + Math.floor(random() * 1800) * 1000;
    return {
      id,
      provider: 'Acme',
      account: 'acme-1',
      sku: pick(SKUS),
      region: 'hall-1',
      term: 'on-demand',
      resource: id,
      gpus: 1,
      tags: { team: pick(TEAMS) },
      start: instant(start),
      end: instant(start + (1 + Math.floor(random() * 1799)) * 1000),
    };
  }

  async sendUsage(records, meter, idempotencyKey) {
    await this.post(records, meter, idempotencyKey);
    for (const { tags, sku, start, end } of records) {
      const [from, to] = [Date.parse(start), Date.parse(end)];
      const key = `${tags.team}|${sku}|${Math.floor(from / HOUR)}`;
      this.seconds.set(key, (this.seconds.get(key) ?? 0n) + BigInt((to - from) / 1000));
    }
    this.records += records.length;
    this.batches += 1;
  }

  async post(records, meter, idempotencyKey) {
    this.inFlight.import += 1;
    try {
      const body = JSON.stringify({ records });
      return await this.client.ask('POST', `/v1/usage?source=meter-${meter}`, { body, idempotencyKey });
    } finally {
      this.inFlight.import -= 1;
    }
  }

  /** A bill of all accounts, stated anew: other amounts, and some lines more or fewer. */
  async restateBill() {
    const random = seeded(this.seed * 77 + this.bills);
    const sums = new Map();
    const lines = [BILL_COLUMNS.join(',')];
    const count = BILL_LINES - Math.floor(random() * 100);
    const hours = (this.billEnd - this.billStart) / HOUR;
    for (let n = 0; n < count; n += 1) {
      const [account, team] = [ACCOUNTS[n % ACCOUNTS.length], TEAMS[n % TEAMS.length]];
      const amount = BigInt(Math.floor(random() * 2 ** 40));
      sums.set(`${account}|${team}`, (sums.get(`${account}|${team}`) ?? 0n) + amount);
      const hour = this.billStart + (n % hours) * HOUR;
      lines.push(this.billLine({ n, account, team, amount, hour }));
    }
    this.bills += 1;
    this.inFlight.import += 1;
    try {
      const body = `${lines.join('\n')}\n`;
      await this.client.ask('POST', '/v1/imports?filename=bill.csv&source=bill', { body, type: 'text/csv' });
    } finally {
      this.inFlight.import -= 1;
    }
    this.billed = sums;
  }

  billLine({ n, account, team, amount, hour }) {
    const text = amount.toString().padStart(12, '0');
    const decimal = `${text.slice(0, -11)}.${text.slice(-11)}`;
    const period = `${instant(this.billStart)},${instant(this.billEnd)}`;
    const tags = `"{""team"": ""${team}""}"`;
    return `${decimal},${decimal},${decimal},${account},USD,${period},Usage,${instant(hour)},${instant(hour + HOUR)},AWS,sub-${n % 7},i-${n % 500},Amazon Elastic Compute Cloud,sku-${n % 9},us-east-1,${tags}`;
  }

  /** A list that states every price anew, from long ago on: all usage is priced again. */
  async correctPrices() {
    const random = seeded(this.seed * 131 + this.priceLists);
    const nanos = Object.fromEntries(SKUS.map((sku) => [sku, 1_000_000_000n + BigInt(Math.floor(random() * 4e9))]));
    const rows = SKUS.map((sku) => {
      const text = nanos[sku].toString().padStart(10, '0');
      const price = `${text.slice(0, -9)}.${text.slice(-9)}`;
      return `Acme,${sku},hall-1,on-demand,1,${price},USD,gpu-hour,2026-01-01`;
    });
    const body = `provider,sku,region,term,gpus,price,currency,per,effectiveFrom\n${rows.join('\n')}\n`;
    this.priceLists += 1;
    const filename = `prices-${this.priceLists}.csv`;
    await this.client.ask('POST', `/v1/prices?filename=${filename}`, { body, type: 'text/csv' });
    this.prices = nanos;
  }

  /** Approves one open recommendation; now and then takes a confirmed action back. */
  async decide() {
    const random = seeded(this.seed * 977 + this.approved.size * 13 + this.takenBack.size);
    if (this.approved.size > 0 && random() < 0.25 && (await this.takeBack())) return;
    const open = (await this.client.all('/v1/recommendations?status=open')).filter(({ id }) => !this.approved.has(id));
    if (open.length === 0) return;
    const { id } = open[Math.floor(random() * open.length)];
    // Written down first: an answer that never came may have been given.
    this.approved.add(id);
    await this.unlessConflict(this.approved, id, `/v1/recommendations/${id}/approve`);
  }

  async takeBack() {
    const confirmed = await this.client.all('/v1/actions?state=confirmed');
    const found = confirmed.find(
      ({ id, rollbackOf, takenBackBy }) => rollbackOf === null && takenBackBy === null && !this.takenBack.has(id),
    );
    if (found === undefined) return false;
    this.takenBack.add(found.id);
    await this.unlessConflict(this.takenBack, found.id, `/v1/actions/${found.id}/rollback`);
    return true;
  }

  /** A conflict is an answer: nothing was decided. */
  async unlessConflict(decided, id, route) {
    const idempotencyKey = `decide-${id}`;
    const answer = await this.client.ask('POST', route, { idempotencyKey, mayConflict: true });
    if (answer?.conflict === undefined) return;
    decided.delete(id);
    this.conflicts.push(`${route}: ${answer.conflict}`);
  }
}

const BILL_COLUMNS = [
  'BilledCost',
  'EffectiveCost',
  'ListCost',
  'BillingAccountId',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ProviderName',
  'SubAccountId',
  'ResourceId',
  'ServiceName',
  'SkuId',
  'RegionId',
  'Tags',
];
