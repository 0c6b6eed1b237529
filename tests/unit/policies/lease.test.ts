/** lease at its instants: when its holder is told, when it is released, and when neither. */
import { describe, expect, it } from 'vitest';
import type { LeaseView } from '../../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/lease.js';

const lease = (over: Partial<LeaseView> = {}): LeaseView => ({
  lease: 'lease-7',
  target: 'i-lent',
  holder: 'ada',
  gpus: 8,
  startedAt: AS_OF - 30 * DAY_MS,
  expiresAt: AS_OF,
  hourlyNanos: 32_000_000_001n,
  active: true,
  ...over,
});
const view = (one: LeaseView) => exampleView({ leases: [one] });
const codeOf = (one: LeaseView, given: object = {}): string => {
  const parsed = policy.params.parse(given);
  const [told] = policy.explain!(view(one), parsed);
  return told?.leftAlone?.code ?? policy.evaluate(view(one), parsed)[0]!.action;
};
const ending = (inMs: number) => lease({ expiresAt: AS_OF + inMs });

it.each<[string, number, object]>([
  ['not-yet', 48 * HOUR_MS + 1, {}],
  ['Notify', 48 * HOUR_MS, {}],
  ['not-yet', HOUR_MS + 1, { warnHours: 1 }],
  ['Notify', HOUR_MS, { warnHours: 1 }],
  ['Notify', 1, {}],
  ['Release', 0, {}],
  ['Notify', 0, { graceHours: 2 }],
  ['Notify', -2 * HOUR_MS + 1, { graceHours: 2 }],
  ['Release', -2 * HOUR_MS, { graceHours: 2 }],
])('%s, %d ms before its end, by %o', (code, inMs, given) => expect(codeOf(ending(inMs), given)).toBe(code));

describe('a lease without an end', () => {
  const endless = lease({ expiresAt: null });

  it('never ends, unless the policy has a longest term, from its start', () => {
    expect(codeOf(endless)).toBe('no-end');
    expect(codeOf(endless, { longestDays: 30 })).toBe('Release');
    expect(codeOf(endless, { longestDays: 31 })).toBe('Notify');
    expect(codeOf(endless, { longestDays: 33 })).toBe('not-yet');
    // Its own end goes before it.
    expect(codeOf(ending(-1), { longestDays: 365 })).toBe('Release');
  });
});

it('ends only what is known to hold GPUs', () => {
  const messageOf = (active: boolean | null) =>
    policy.explain!(view(lease({ active })), policy.params.parse({}))[0]?.leftAlone;
  expect(messageOf(null)).toMatchObject({ code: 'not-held', message: 'it is unknown whether it still holds GPUs' });
  expect(messageOf(false)).toMatchObject({ code: 'not-held', message: 'it no longer holds GPUs' });
  expect(messageOf(true)).toBeNull();
});

it('saves what it costs to the nano; what has no price saves an unknown amount', () => {
  const made = (over: Partial<LeaseView>) => policy.evaluate(view(lease(over)), policy.params.parse({}))[0]!;
  const cost = 32_000_000_001n * 730n;
  expect(made({})).toMatchObject({
    monthlySavings: { mean: cost, low: cost, high: cost },
    monthlyCost: cost,
    computation: { perHour: '32.000000', gpus: 8, holder: 'ada' },
  });
  expect(made({ hourlyNanos: null, gpus: null, holder: null })).toMatchObject({
    monthlySavings: null,
    monthlyCost: null,
    computation: { perHour: 'no price', gpus: 'unknown', holder: 'unknown' },
  });
});

it('says in a notice how long the GPUs are kept', () => {
  const title = (given: object) => policy.evaluate(view(ending(1)), policy.params.parse(given))[0]?.title;
  expect(title({ graceHours: 2 })).toMatch(/ and the GPUs are released 2 hours later$/);
  expect(title({})).toMatch(/ ends at 2026-11-01 00:00 UTC$/);
});
