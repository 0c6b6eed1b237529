/** The move that a recommendation asks for: an effect where somebody reaches the place, else steps for a person. */
import { describe, expect, it } from 'vitest';
import { isMove, moveOf } from '../../../src/core/action/move-effect.js';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import { fleetTarget } from '../../support/makers.js';

type Asked = Parameters<typeof moveOf>[0];
const asked = (change: Record<string, string | number>, action: Asked['action'] = 'MoveToSpot'): Asked => ({
  action,
  change,
});
const target = (over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({
    zone: 'us-east-1a',
    movesTo: [
      { region: 'us-east-1', zone: null },
      { region: 'eu-west-1', zone: 'eu-west-1b' },
    ],
    ...over,
  });
const effect = { kind: 'move', target: 'instance/i-1', term: 'spot', sku: null };

describe('a move', () => {
  it('is to the zone that is named in another region, or to any of it', () => {
    expect(moveOf(asked({ region: 'eu-west-1', zone: 'eu-west-1b' }), target())).toEqual({
      effect: { ...effect, region: 'eu-west-1', zone: 'eu-west-1b' },
    });
    expect(moveOf(asked({ region: 'eu-west-1' }), target())).toEqual({
      effect: { ...effect, region: 'eu-west-1', zone: null },
    });
  });

  it('keeps the place where none is named', () => {
    const there = { region: 'us-east-1', zone: 'us-east-1a' };
    expect(moveOf(asked({}), target())).toEqual({ effect: { ...effect, ...there } });
    expect(moveOf(asked({ zone: 'us-east-1c' }), target())).toEqual({ effect: { ...effect, ...there } });
    expect(moveOf(asked({}), target({ zone: undefined }))).toEqual({
      effect: { ...effect, region: 'us-east-1', zone: null },
    });
  });

  it('is on demand where no spot is asked for, and to another machine only where it is another', () => {
    const moved = moveOf(asked({ region: 'us-east-1', sku: 'p4d.24xlarge' }, 'MoveToOnDemand'), target());
    expect(moved).toMatchObject({ effect: { term: 'on-demand', sku: 'p4d.24xlarge' } });
    expect(moveOf(asked({ region: 'us-east-1', sku: 'p5.48xlarge' }), target())).toMatchObject({
      effect: { sku: null },
    });
  });

  it.each<[string, Record<string, string | number>, string]>([
    ['another zone', { region: 'eu-west-1', zone: 'eu-west-1c' }, 'AWS eu-west-1c'],
    ['another region', { region: 'ap-south-1' }, 'AWS ap-south-1'],
    ['another provider', { provider: 'Lambda', region: 'us-east-1' }, 'Lambda us-east-1'],
  ])('is steps where nobody reaches %s', (_, change, where) => {
    expect(moveOf(asked(change), target())).toEqual({
      steps: `no connection here starts instance/i-1 in ${where}: let it write its checkpoint, stop it, and start it there (spot)`,
    });
  });

  it('has steps that say what is copied and which machine is started', () => {
    const steps = (change: Record<string, string | number>): string =>
      (moveOf(asked({ region: 'ap-south-1', ...change }), target({ movesTo: undefined })) as { steps: string }).steps;
    expect(steps({ sendsGb: 40, sku: 'p4d.24xlarge' })).toMatch(/copy its 40 GB there, .*\(spot, p4d\.24xlarge\)$/);
    expect(steps({ sendsGb: 0 })).not.toContain('copy');
  });

  it('is unknown where the region is', () => {
    expect(moveOf(asked({}), target({ region: null }))).toBeNull();
  });

  it('is meant where a place is named, or a scheduler moves what has no share of spot', () => {
    expect(isMove(asked({ region: 'eu-west-1' }), fleetTarget())).toBe(true);
    expect(isMove(asked({}), target())).toBe(true);
    expect(isMove(asked({}), fleetTarget())).toBe(false);
    expect(isMove(asked({}), target({ spotRatio: 0 }))).toBe(false);
  });
});
