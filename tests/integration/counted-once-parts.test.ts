/**
 * The laws of what is billed, over drawn deliveries of bills that come in pieces: files that add up to their month, parts
 * by sub-account, an amortised supplement beside its bill, and charges that are shared out. Every line counts once, or
 * is refused and changes nothing; undo of what was done is what was before, or is refused.
 *
 * What is expected is told by a model of a few lines that knows nothing of the product. A failure prints its seed:
 * `BURSAR_PROPERTY_SEED=N` draws the same again.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../src/core/decimal.js';
import { Failure } from '../../src/core/errors.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { testBursar, type TestBursar } from '../support/bursar.js';
import { limit } from '../support/cluster.js';
import { billed } from '../support/records.js';

const NOW = Date.UTC(2026, 10, 5);
/** What each line costs, by its identity. */
const COSTS: Readonly<Record<string, number>> = { a: 1, b: 2, c: 4, d: 8, s1: 100, s2: 200, use: 400, support: 800 };
const FILES = ['f1', 'f2', 'f3'] as const;
const RUNS = 12;
const PATIENCE = limit(180_000);

const step = fc.oneof(
  fc.record({
    kind: fc.constant('file' as const),
    name: fc.constantFrom(...FILES),
    lines: fc.subarray(['a', 'b', 'c', 'd'], { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ kind: fc.constant('part' as const), name: fc.constantFrom('s1', 's2'), tax: fc.constantFrom(0, 3, 5) }),
  fc.record({ kind: fc.constant('bill' as const), name: fc.constant('bill'), version: fc.constantFrom(0, 1) }),
  fc.record({ kind: fc.constant('supplement' as const), name: fc.constant('supplement'), cost: fc.constantFrom(7, 9) }),
  fc.record({ kind: fc.constant('undo' as const), pick: fc.nat(100) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Call = Exclude<Step, { readonly kind: 'undo' }>;

/** What is there: of each file, part, bill and supplement the last call. */
type There = ReadonlyMap<string, Call>;

/** Null: refused. The same map: nothing changes. */
function after(there: There, call: Call): There | null {
  const own = there.get(call.name);
  if (own !== undefined && JSON.stringify(own) === JSON.stringify(call)) return there;
  const others = [...there.values()].filter(({ name }) => name !== call.name);
  if (call.kind === 'file') {
    const sharing = others.filter((one) => one.kind === 'file' && one.lines.some((line) => call.lines.includes(line)));
    const isCopy = sharing.some((one) => one.kind === 'file' && String(one.lines) === String(call.lines));
    // A copy under a name that is new changes nothing.
    if (isCopy && own === undefined) return there;
    if (sharing.length > 0) return null;
  }
  if (call.kind === 'part' && call.tax > 0 && others.some((one) => one.kind === 'part' && one.tax === call.tax))
    return null;
  return new Map([...there, [call.name, call]]);
}

const replayed = (calls: readonly Call[]): There | null =>
  calls.reduce<There | null>((there, call) => (there === null ? null : after(there, call)), new Map());

/** Billed, effective. */
function sums(there: There): [number, number] {
  let [total, effective] = [0, 0];
  for (const call of there.values()) {
    if (call.kind === 'file')
      for (const line of call.lines) [total, effective] = [total + (COSTS[line] ?? 0), effective + (COSTS[line] ?? 0)];
    if (call.kind === 'part')
      [total, effective] = [total + (COSTS[call.name] ?? 0) + call.tax, effective + (COSTS[call.name] ?? 0) + call.tax];
    // Covered usage is billed 0 here and states no effective cost; the supplement beside its bill does.
    if (call.kind === 'bill') [total, effective] = [total + 1200 + call.version, effective + 1200 + call.version];
    if (call.kind === 'supplement' && there.has('bill')) effective += call.cost;
  }
  return [total, effective];
}

class Company {
  private static companies = 0;
  readonly provider = `Parts ${Company.companies++}`;
  readonly sent: { readonly call: Call; readonly import: string }[] = [];

  constructor(private readonly bursar: TestBursar) {}

  private line(
    id: string,
    amount: number,
    over: Partial<UsageRecord> = {},
    charge: Parameters<typeof billed>[3] = {},
  ): UsageRecord {
    return billed(
      id,
      String(amount),
      { provider: this.provider, account: 'p', sku: id, ...over },
      { effective: parseDecimal(String(amount)), ...charge },
    );
  }

  private linesOf(call: Call): UsageRecord[] {
    if (call.kind === 'file') return call.lines.map((id) => this.line(id, COSTS[id] ?? 0, { account: 'oracle' }));
    if (call.kind === 'part')
      return [
        this.line(call.name, COSTS[call.name] ?? 0, { subAccount: call.name }),
        ...(call.tax === 0 ? [] : [this.line('tax', call.tax, { sku: null }, { category: 'Tax' })]),
      ];
    if (call.kind === 'bill')
      return [
        this.line('use', (COSTS['use'] ?? 0) + call.version, { account: 'azure' }),
        this.line('support', COSTS['support'] ?? 0, { account: 'azure', service: 'support' }),
        this.line('covered', 0, { account: 'azure', sku: 'vm' }, { effective: null }),
      ];
    const stated = { effective: parseDecimal(String(call.cost)), supplement: true };
    return [this.line('covered', 0, { account: 'azure', sku: 'vm' }, stated)];
  }

  async import(call: Call): Promise<void> {
    const { bursar, provider } = this;
    const source = { file: 'oracle', part: call.name, bill: 'azure', supplement: 'azure' }[call.kind];
    const rules = await bursar.stores.organisations.rules(bursar.db, 'default');
    const records = this.linesOf(call);
    const [first] = await bursar.stores.intake.import(
      {
        organisation: 'default',
        source: `${source} of ${provider}`,
        strict: false,
        dryRun: false,
        by: 'test',
        now: bursar.clock.at,
        teamOf: (one) => rules.teamOf(one),
        rulesVersion: rules.version,
        trackedTags: [],
      },
      [
        {
          name: call.name,
          format: 'test',
          ...(call.kind === 'file' ? { increment: call.name } : {}),
          async *batches() {
            yield { records, rejects: [] };
          },
        },
      ],
    );
    this.sent.push({ call, import: first?.import ?? '' });
  }

  async undo(id: string): Promise<void> {
    const { bursar } = this;
    await bursar.db.transaction((tx) => undoImport(bursar.stores, tx, 'default', id, 'test', bursar.clock.at));
  }

  async booked(): Promise<[number, number]> {
    await this.bursar.runner.drain();
    const of = async (basis: string): Promise<number> => {
      const { rows } = await this.bursar.spend({ groupBy: 'provider', basis });
      return Number(rows.find((row) => row['provider'] === this.provider)?.cost ?? 0);
    };
    expect(await of('actual')).toBe(await of('billed'));
    return [await of('billed'), await of('effective')];
  }
}

const seed = process.env['BURSAR_PROPERTY_SEED'];

describe('of bills in pieces', async () => {
  const bursar = await testBursar({ now: NOW, settlingDays: 10 });
  await bursar.db.transaction((tx) =>
    bursar.stores.organisations.saveRules(
      tx,
      'default',
      [{ match: { service: 'support' }, split: { by: 'use' } }],
      'test',
    ),
  );

  it(
    'every line counts once or is refused, and undo leads back',
    async () => {
      const met = { taken: 0, unchanged: 0, refused: 0, undone: 0, notUndone: 0 };
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10, size: 'max' }), async (steps) => {
          runs += 1;
          const company = new Company(bursar);
          let calls: { readonly call: Call; readonly import: string }[] = [];
          for (const drawn of steps) {
            const there = replayed(calls.map(({ call }) => call)) ?? new Map<string, Call>();
            if (drawn.kind === 'undo') {
              const one = calls[drawn.pick % Math.max(1, calls.length)];
              if (one === undefined) continue;
              const others = calls.filter((other) => other !== one);
              const left = replayed(others.map(({ call }) => call));
              const undone = await company.undo(one.import).then(
                () => true,
                (error: unknown) => {
                  if (!(error instanceof Failure)) throw error;
                  return false;
                },
              );
              met[undone ? 'undone' : 'notUndone'] += 1;
              // What would count twice without it is refused.
              if (left === null) expect(undone).toBe(false);
              if (undone) calls = others;
            } else {
              const next = after(there, drawn);
              if (next === null) await expect(company.import(drawn)).rejects.toThrow(Failure);
              else await company.import(drawn);
              met[next === null ? 'refused' : next === there ? 'unchanged' : 'taken'] += 1;
              const last = company.sent.at(-1);
              if (next !== null && next !== there && last !== undefined) calls = [...calls, last];
            }
            const now = replayed(calls.map(({ call }) => call)) ?? new Map<string, Call>();
            expect(await company.booked()).toEqual(sums(now));
          }
        }),
        {
          numRuns: RUNS,
          ...(seed === undefined ? {} : { seed: Number(seed) }),
          interruptAfterTimeLimit: limit(40_000),
          markInterruptAsFailure: false,
          examples: [
            [
              [
                { kind: 'file', name: 'f1', lines: ['a'] },
                { kind: 'file', name: 'f2', lines: ['b'] },
                { kind: 'file', name: 'f2', lines: ['a'] },
                { kind: 'file', name: 'f1', lines: ['c'] },
                { kind: 'file', name: 'f2', lines: ['a'] },
                { kind: 'undo', pick: 2 },
              ],
            ],
            [
              [
                { kind: 'part', name: 's1', tax: 3 },
                { kind: 'part', name: 's2', tax: 3 },
                { kind: 'part', name: 's1', tax: 0 },
                { kind: 'part', name: 's2', tax: 3 },
                { kind: 'undo', pick: 1 },
              ],
            ],
            [
              [
                { kind: 'supplement', name: 'supplement', cost: 7 },
                { kind: 'bill', name: 'bill', version: 0 },
                { kind: 'bill', name: 'bill', version: 0 },
                { kind: 'supplement', name: 'supplement', cost: 9 },
                { kind: 'undo', pick: 1 },
              ],
            ],
          ],
        },
      );
      process.stderr.write(`Bills in pieces: ${JSON.stringify(met)}\n`);
      // A busy machine may not have come to all of them.
      if (runs === RUNS) for (const [name, count] of Object.entries(met)) expect(count, name).toBeGreaterThan(0);
    },
    PATIENCE,
  );
});
