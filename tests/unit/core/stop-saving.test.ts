import { describe, expect, it } from 'vitest';
import { effectOf } from '../../../src/core/action/acting.js';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import { risksOf, savedByStop } from '../../../src/core/fleet/settings.js';
import { viewOf, type ResourceView } from '../../../src/core/policy/view.js';
import { policy } from '../../../src/policies/idle-stop.js';
import { instance } from '../../support/memory-cloud.js';

describe('what a stop saves', () => {
  it.each([
    [{ paid: 'hourly', term: 'on-demand' }, false, 'its hours'],
    [{ paid: 'hourly', term: 'on-demand' }, true, 'unknown'],
    [{ paid: 'hourly', term: 'spot' }, true, 'its hours'],
    [{ term: null }, true, 'unknown'],
    [{ term: 'reserved-1y' }, false, 'unknown'],
    [{ term: 'savings-plan-3y' }, false, 'unknown'],
    [{ paid: 'elsewhere', term: 'on-demand' }, false, 'unknown'],
    [{ paid: 'prepaid', term: null }, false, 'nothing'],
  ] as const)('of %j, where commitments may cover it: %s, is %s', (seen, mayBeCovered, saves) => {
    expect(savedByStop(seen, mayBeCovered).saves).toBe(saves);
  });

  it('is said with the proposal where it is unknown, and is no number', () => {
    const { view } = policy.examples.find(({ proposes }) => proposes.length > 0)!;
    const because = 'a reservation may cover it';
    const machine: NonNullable<ResourceView['machine']> = {
      connection: 'aws',
      kind: 'instance',
      state: 'running',
      term: 'on-demand',
      gpus: 1,
      launchedAt: null,
      group: null,
      stopSaving: { saves: 'unknown', because },
    };
    const covered = viewOf({ ...view, resources: view.resources.map((one) => ({ ...one, machine })) });
    const [proposal] = policy.evaluate(covered, policy.params.parse({}));
    expect(proposal).toMatchObject({ action: 'Stop', monthlySavings: null, computation: { savingUnknown: because } });
  });
});

describe('a stop', () => {
  const stopped = (over: Partial<FleetTarget>) => effectOf({ action: 'Stop', change: {} }, instance('i-1', over));
  const codes = (over: Partial<FleetTarget>): string[] =>
    risksOf({ kind: 'stop', target: 'instance/i-1' }, instance('i-1', over)).map(({ code }) => code);

  it('of what is paid for in advance has an obstacle', () => {
    expect(stopped({ paid: 'prepaid' })).toMatchObject({ obstacle: { code: 'prepaid' } });
    expect(stopped({ paid: 'hourly' })).toMatchObject({ effect: { kind: 'stop' } });
  });

  it('tells what it loses, what is billed on and that there may be no capacity; of what is not known nothing', () => {
    expect(codes({ paid: 'hourly', localDisks: true })).toEqual(['local-disks', 'no-capacity']);
    expect(codes({ paid: 'hourly', mayKeepCharging: true })).toEqual(['may-keep-charging', 'no-capacity']);
    expect(codes({ paid: 'elsewhere' })).toEqual(['paid-elsewhere', 'no-capacity']);
    expect(codes({})).toEqual([]);
  });
});
