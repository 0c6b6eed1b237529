/** The saving of a move: the hours after it at the old place and term, without its restart, less what it sent. */
import { describe, expect, it } from 'vitest';
import { attribute } from '../../../src/core/saving/attribution.js';
import { counterfactualOf, undoes, type ActionFacts } from '../../../src/core/saving/counterfactual.js';
import type { Move } from '../../../src/core/fleet/fleet.js';
import { holds, inverseOf } from '../../../src/core/fleet/fleet.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { instancePrice } from '../../support/bursar.js';
import { HOUR, MONDAY } from '../../support/records.js';
import {
  applied,
  contextWith,
  effectsOf,
  evidence,
  groupUsage,
  machine,
  memberOf,
  PRICES,
} from '../../support/savings.js';

const WEST = 'us-west-2';
const before = machine({ term: 'on-demand' });
const HOME = before.region ?? '';
const move = (over: Partial<Move> = {}): Move => ({
  kind: 'move',
  target: 'instance/i-1',
  region: WEST,
  zone: null,
  term: 'spot',
  sku: null,
  ...over,
});
const asked = (change: NonNullable<ActionFacts['recommended']>['change']): Partial<ActionFacts> => ({
  recommended: {
    action: 'MoveToSpot',
    change,
    policyVersion: 5,
    currency: 'USD',
    monthly: null,
    promised: null,
    once: true,
    place: null,
  },
});
const usage = (from: number, to: number, over: Partial<UsageRecord> = {}): UsageRecord[] =>
  groupUsage(1, from, to, { resource: 'i-1', tags: null, ...over });
const context = contextWith([...PRICES, instancePrice('20', { minimumSeconds: 0, term: 'spot', region: WEST })]);

/** Dollars saved by hour, or why that is unknown. */
const saved = (facts: ActionFacts, records: readonly UsageRecord[], hours: number) =>
  attribute([memberOf(facts)], effectsOf([facts]), evidence(records, hours), () => context, MONDAY + hours * HOUR).map(
    ({ hour, counterfactual, actual, reason }) => [
      (hour - MONDAY) / HOUR,
      reason ?? Number(counterfactual - actual) / 1e9,
    ],
  );

describe('a move', () => {
  const records = [...usage(-2, 2), ...usage(2, 5, { region: WEST, term: 'spot' })];

  it('saves the difference of the prices, without its restart and less what was sent', () => {
    const facts = applied('a1', 2, move(), before, asked({ egress: '5.000000', restartHours: 0.5 }));
    // Half an hour at 80 against an hour at 20 and 5 for the data; then 60 an hour.
    expect(saved(facts, records, 5)).toEqual([
      [2, 15],
      [3, 60],
      [4, 60],
    ]);
  });

  it('counts from when it is up again, however long that took', () => {
    const late = [...usage(-2, 2), ...usage(4, 6, { region: WEST, term: 'spot' })];
    const facts = applied('a1', 2, move(), before, asked({ egress: '0', restartHours: 1 }));
    // Nothing ran in either world; an hour of restart; an hour of work.
    expect(saved(facts, late, 6)).toEqual([
      [2, 0],
      [3, 0],
      [4, -20],
      [5, 60],
    ]);
  });

  it('to another region without a stated price of the data is unverifiable; within its region nothing is sent', () => {
    expect(counterfactualOf(applied('a1', 2, move(), before), 'USD').world).toEqual({
      kind: 'unknown',
      reason: 'egress-unknown',
    });
    expect(counterfactualOf(applied('a1', 2, move({ region: HOME }), before), 'USD').world).toMatchObject({
      kind: 'moved',
      restartMs: 0,
      egress: { nanos: 0n },
      key: { region: HOME, term: 'on-demand' },
    });
    expect(counterfactualOf(applied('a1', 2, move(), machine({ term: null })), 'USD').world).toMatchObject({
      reason: 'term-unknown',
    });
  });

  it('on demand for a deadline claims nothing', () => {
    const facts = applied('a1', 2, move({ term: 'on-demand' }), before, {
      recommended: { ...asked({}).recommended!, action: 'MoveToOnDemand' },
    });
    expect(counterfactualOf(facts, 'USD').world).toMatchObject({ reason: 'not-made-to-save' });
  });

  it('ends when it is moved back, and is moved back by its inverse', () => {
    const earlier = counterfactualOf(applied('a1', 2, move(), before, asked({ egress: '5' })), 'USD');
    const back = inverseOf(move(), before);
    expect(back).toEqual(move({ region: HOME, term: 'on-demand' }));
    expect(undoes(back!, earlier)).toBe(true);
    expect(undoes(move({ region: 'eu-west-1' }), earlier)).toBe(false);
    expect(inverseOf(move(), machine({ term: 'reserved-1y' }))).toBeNull();
    expect(inverseOf(move(), machine({ region: null }))).toBeNull();
  });

  it('holds only where place, zone, term and machine are read', () => {
    const there = machine({ region: WEST, zone: 'us-west-2a', term: 'spot', state: 'running' });
    expect(holds(move({ zone: 'us-west-2a' }), there)).toBe(true);
    expect(holds(move({ zone: 'us-west-2b' }), there)).toBe(false);
    expect(holds(move(), { ...there, state: 'starting' })).toBe(false);
    expect(holds(move(), { ...there, term: null })).toBeNull();
    expect(holds(move({ sku: 'other' }), there)).toBe(false);
    expect(holds(move(), null)).toBeNull();
  });
});
