/** What two readings of a fleet prove of the time between them. */
import { describe, expect, it } from 'vitest';
import { meterFleet, type FleetSnapshot } from '../../../src/core/fleet/meter.js';
import type { FleetReading, FleetTarget } from '../../../src/core/fleet/fleet.js';
import { metered } from '../../support/records.js';
import { fleetTarget } from '../../support/makers.js';

const AT = Date.UTC(2026, 9, 5, 10);
const MINUTE = 60_000;
const machine = (over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({
    target: 'instance/us-east-1/i-1',
    account: 'a',
    term: 'spot',
    labels: { team: 'red' },
    launchedAt: AT - 100 * MINUTE,
    ...over,
  });
const reading = (...targets: FleetTarget[]): FleetReading => ({ at: AT, targets, complete: true, problems: [] });
const before = (minutes: number, ...targets: FleetTarget[]): FleetSnapshot => ({
  readAt: AT - minutes * MINUTE,
  targets: new Map(targets.map((seen) => [seen.target, { seen, seenAt: AT - minutes * MINUTE }])),
});
const minutesOf = (snapshot: FleetSnapshot, one: FleetReading): number[] =>
  meterFleet(snapshot, one).map(({ start, end }) => (end - start) / MINUTE);

describe('metering from readings', () => {
  it('counts the time between two sights of one run, with what the machine is', () => {
    expect(meterFleet(before(1, machine()), reading(machine()))).toEqual([
      metered('instance/us-east-1/i-1@2026-10-05T09:59:00Z', {
        account: 'a',
        resource: 'i-1',
        term: 'spot',
        gpuModel: 'H100',
        tags: { team: 'red' },
        start: AT - MINUTE,
        end: AT,
        gpuParts: 56_000,
      }),
    ]);
  });

  it('counts a fresh start from the start, and nothing of the time before the first reading', () => {
    expect(minutesOf(before(5), reading(machine({ launchedAt: AT - 3 * MINUTE })))).toEqual([3]);
    expect(minutesOf({ readAt: null, targets: new Map() }, reading(machine()))).toEqual([]);
    // Seen for the first time, but older than the last look: somebody may have hidden it, or it was of another account.
    expect(minutesOf(before(5), reading(machine()))).toEqual([]);
  });

  it('counts a restart between two looks from the new start only', () => {
    expect(minutesOf(before(5, machine()), reading(machine({ launchedAt: AT - 2 * MINUTE })))).toEqual([2]);
  });

  it('bridges a long silence only where the machine says since when it runs', () => {
    expect(
      minutesOf(
        before(120, machine({ launchedAt: AT - 300 * MINUTE })),
        reading(machine({ launchedAt: AT - 300 * MINUTE })),
      ),
    ).toEqual([120]);
    expect(minutesOf(before(120, machine({ launchedAt: null })), reading(machine({ launchedAt: null })))).toEqual([]);
    expect(minutesOf(before(15, machine({ launchedAt: null })), reading(machine({ launchedAt: null })))).toEqual([15]);
  });

  it('counts nothing of what is stopped, unknown, a group, or without GPUs; an unknown number of GPUs stays unknown', () => {
    const others = [
      machine({ state: 'stopped' }),
      machine({ state: 'unknown' }),
      machine({ kind: 'group' }),
      machine({ gpus: 0 }),
    ];
    for (const other of others) expect(minutesOf(before(1, machine()), reading(other))).toEqual([]);
    expect(minutesOf(before(1, machine({ state: 'stopped' })), reading(machine()))).toEqual([]);
    expect(meterFleet(before(1, machine({ gpus: null })), reading(machine({ gpus: null })))).toMatchObject([
      { gpuParts: null },
    ]);
  });

  it('takes no reading twice and none that is older', () => {
    expect(minutesOf(before(0, machine()), reading(machine()))).toEqual([]);
    expect(minutesOf(before(-1, machine()), reading(machine()))).toEqual([]);
  });
});
