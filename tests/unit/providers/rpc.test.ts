/**
 * What the RPC clouds share: billing months of Beijing, cleaned words, readings in parts, and what is remembered of a
 * token.
 */
import { describe, expect, it } from 'vitest';
import { unavailable } from '../../../src/core/errors.js';
import { beijingInstant, billMonths, daysOf } from '../../../src/providers/beijing.js';
import { instancePrice, parseTarget, readParts, scrubbed, Sent } from '../../../src/providers/rpc.js';

const DAY_MS = 86_400_000;
const utc = (text: string): number => Date.parse(`${text}Z`);

describe('billing months', () => {
  it('turn at midnight in Beijing, over the year too', () => {
    const now = utc('2027-06-01T00:00:00');
    const names = (from: string, to: string): string[] =>
      billMonths(utc(from), utc(to), now, 0).map(({ name }) => name);
    expect(names('2026-12-31T15:59:59.999', '2026-12-31T16:00:00')).toEqual(['2026-12']);
    expect(names('2026-12-31T16:00:00', '2026-12-31T16:00:00.001')).toEqual(['2027-01']);
    expect(names('2026-11-15T00:00:00', '2027-02-01T00:00:00')).toEqual(['2026-11', '2026-12', '2027-01', '2027-02']);
    expect(names('2027-07-10T00:00:00', '2027-07-30T00:00:00')).toEqual([]);
  });

  it('are left out between their end and their last change, and only then', () => {
    const october = { name: '2026-10', start: utc('2026-09-30T16:00:00'), end: utc('2026-10-31T16:00:00') };
    const at = (now: number): unknown => billMonths(october.start, october.end, now, 2 * DAY_MS);
    expect(at(october.end - 1)).toEqual([october]);
    expect(at(october.end)).toEqual([]);
    expect(at(october.end + 2 * DAY_MS - 1)).toEqual([]);
    expect(at(october.end + 2 * DAY_MS)).toEqual([october]);
  });

  it('have the days that have begun', () => {
    const [month] = billMonths(utc('2028-02-10T00:00:00'), utc('2028-02-11T00:00:00'), utc('2028-02-11T00:00:00'), 0);
    expect(month && daysOf(month, utc('2028-04-01T00:00:00')).slice(-1)).toEqual(['2028-02-29']);
    expect(month && daysOf(month, utc('2028-02-01T16:00:00'))).toEqual(['2028-02-01']);
    expect(month && daysOf(month, utc('2028-02-01T16:00:00.001'))).toEqual(['2028-02-01', '2028-02-02']);
  });

  it('know a time of Beijing, and nothing else', () => {
    expect(beijingInstant('2026-10-01')).toBe(utc('2026-09-30T16:00:00'));
    expect(beijingInstant('2026-10-01 10:59:59')).toBe(utc('2026-10-01T02:59:59'));
    for (const text of ['', '0000-00-00 00:00:00', '2026-13-01', '2026-10-01T10:00:00Z', 'yesterday'])
      expect(beijingInstant(text)).toBeNaN();
  });
});

it("a cloud's words lose what belongs to the credentials", () => {
  const keys = [{ id: 'LTAI1', secret: 's3cret' }, null];
  expect(scrubbed('AccessKeyId: LTAI9, server string to sign is:POST&%2F&x, Signature=ab%3D rest', keys)).toBe(
    '*** server *** *** rest',
  );
  expect(scrubbed('LTAI1 and s3cret', keys)).toBe('*** and ***');
  expect(scrubbed('x'.repeat(1000), keys)).toHaveLength(300);
});

it('targets are named with their region', () => {
  expect(parseTarget('instance/cn-beijing/i-2ze')).toEqual({ kind: 'instance', region: 'cn-beijing', id: 'i-2ze' });
  for (const text of ['instance/i-2ze', 'deployment/ml/trainer', 'asg/cn-beijing/a b', 'instance/evil.com#/i-1'])
    expect(parseTarget(text)).toBeNull();
});

it('a fleet read in parts is complete only with all of them, and none at all is a failure', async () => {
  const good = { name: 'a', read: () => Promise.resolve([]) };
  const bad = { name: 'b', read: () => Promise.reject(unavailable('busy')) };
  expect(await readParts([good, bad], 5)).toEqual({ at: 5, targets: [], complete: false, problems: ['b: busy'] });
  await expect(readParts([bad, bad], 5)).rejects.toThrow('busy');
  await expect(readParts([good, { name: 'c', read: () => Promise.reject(new TypeError('a bug')) }], 5)).rejects.toThrow(
    'a bug',
  );
});

it('a token that was taken is not sent again, and one of an earlier process is young as long as this one', async () => {
  const sent = new Sent(1_000_000);
  let calls = 0;
  const apply = () => Promise.resolve({ kind: 'taken', reference: String((calls += 1)), detail: '' } as const);
  expect(await sent.applyOnce('t', 1_000_000, apply)).toEqual(await sent.applyOnce('t', 1_000_001, apply));
  expect(calls).toBe(1);
  expect(sent.unseen('earlier', 1_059_999)).toMatchObject({ kind: 'unknown' });
  expect(sent.unseen('earlier', 1_060_000)).toEqual({ kind: 'absent' });
});

it('a price is an exact rate per GPU-second, or none', () => {
  const facts = {
    provider: 'P',
    sku: 's',
    region: null,
    term: 'on-demand',
    gpuModel: null,
    gpus: 8,
    effectiveFrom: 0,
    source: 'x',
  } as const;
  expect(instancePrice(facts, 19.127, 'CNY')?.rate).toEqual({
    nanos: 19_127_000_000n,
    currency: 'CNY',
    quantity: 28_800n,
    unit: 'gpu-second',
  });
  expect(instancePrice({ ...facts, gpus: 0.125 }, '1', 'CNY')?.rate.quantity).toBe(450n);
  for (const none of [0, -1, null, undefined, '-', {}]) expect(instancePrice(facts, none, 'CNY')).toBeNull();
});
