/**
 * A job's way through its slots, by hand and by the count of metered work; and its cheapest schedule against all
 * schedules there are.
 */
import { describe, expect, it } from 'vitest';
import { workLeft, type MeteredRun } from '../../../src/core/workload/job-work.js';
import { HOUR_MS } from '../../../src/core/time.js';
import { GPU_PARTS } from '../../../src/core/usage.js';
import { cheapestSchedule } from '../../../src/planning/policy/job-optimum.js';
import { spendSlot, type JobSize, type JobSlot, type JobState } from '../../../src/planning/policy/job-run.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from '../../../src/planning/spot/problem.js';
import { mulberry32 } from '../../../src/lab/random.js';

const MINUTE = 60_000;
const slot = (hour: number, onDemand: number, spot: number | null, minutes = 60): JobSlot => ({
  from: hour * HOUR_MS,
  ms: minutes * MINUTE,
  onDemand,
  spot,
  isVerified: true,
});
const idle = (workHours: number): JobState => ({ held: IDLE, restartLeftMs: 0, workLeftMs: workHours * HOUR_MS });

describe('a slot', () => {
  it('loses the restart where a machine comes up, and pays for it', () => {
    const spent = spendSlot(slot(0, 4, 1), idle(3), ON_DEMAND, 0.5 * HOUR_MS);
    expect(spent).toEqual({
      state: { held: ON_DEMAND, restartLeftMs: 0, workLeftMs: 2.5 * HOUR_MS },
      cost: 4,
      ranMs: HOUR_MS,
      isStart: true,
    });
    expect(spendSlot(slot(1, 4, 1), spent.state, ON_DEMAND, 0.5 * HOUR_MS)).toMatchObject({
      state: { workLeftMs: 1.5 * HOUR_MS },
      isStart: false,
    });
    // To spot is another machine; a restart longer than the slot goes on in the next.
    expect(spendSlot(slot(1, 4, 1), spent.state, SPOT, 1.5 * HOUR_MS)).toMatchObject({
      state: { held: SPOT, restartLeftMs: 0.5 * HOUR_MS, workLeftMs: 2.5 * HOUR_MS },
      cost: 1,
      isStart: true,
    });
  });

  it('pays until the work is done', () => {
    expect(
      spendSlot(slot(0, 4, 1), { held: SPOT, restartLeftMs: 0, workLeftMs: 0.25 * HOUR_MS }, SPOT, HOUR_MS),
    ).toMatchObject({ state: { workLeftMs: 0 }, cost: 0.25, ranMs: 0.25 * HOUR_MS });
  });

  it('holds nothing where spot is gone, and what was left of its restart is lost', () => {
    expect(
      spendSlot(slot(0, 4, null), { held: SPOT, restartLeftMs: 0.2 * HOUR_MS, workLeftMs: HOUR_MS }, SPOT, HOUR_MS),
    ).toEqual({ state: idle(1), cost: 0, ranMs: 0, isStart: false });
  });
});

it('work left is what core counts of the same machines once they are metered', () => {
  const random = mulberry32(11);
  const modes: readonly Mode[] = [IDLE, SPOT, ON_DEMAND];
  for (let run = 0; run < 300; run++) {
    const restartHours = Math.floor(random() * 20) / 10;
    let state: JobState = idle(8);
    const runs: (MeteredRun & { end: number })[] = [];
    for (let hour = 0; hour < 12; hour++) {
      const here = slot(hour, 4, random() < 0.3 ? null : 1);
      const {
        state: next,
        ranMs,
        isStart,
      } = spendSlot(here, state, modes[Math.floor(random() * 3)]!, restartHours * HOUR_MS);
      state = next;
      if (isStart)
        runs.push({ resource: `i-${runs.length}`, start: here.from, end: here.from + ranMs, gpuParts: GPU_PARTS });
      else if (ranMs > 0) runs.at(-1)!.end = here.from + ranMs;
      const counted = workLeft({ target: 't', provider: 'p', hours: 8, since: 0, isWhole: true }, runs, {
        gpus: 1,
        restartHours,
        asOf: (hour + 1) * HOUR_MS,
      });
      if (runs.length > 0) expect(counted).toBeCloseTo(state.workLeftMs / HOUR_MS, 9);
    }
  }
});

/** Every choice of modes, minute by minute: written without the product's rule. */
function bruteForce(slots: readonly JobSlot[], first: JobState, restartMinutes: number): number {
  const best = (at: number, held: Mode, restart: number, work: number): number => {
    const here = slots[at];
    if (here === undefined) return Infinity;
    const options = ([IDLE, ON_DEMAND, SPOT] as const)
      .filter((mode) => mode !== SPOT || here.spot !== null)
      .map((mode) => {
        if (mode === IDLE) return best(at + 1, IDLE, 0, work);
        let [left, undone, cost] = [mode === held ? restart : restartMinutes, work, 0];
        for (let minute = 0; minute < here.ms / MINUTE && undone > 0; minute++) {
          cost += (mode === SPOT ? here.spot! : here.onDemand) / 60;
          if (left > 0) left--;
          else undone--;
        }
        return undone === 0 ? cost : cost + best(at + 1, mode, left, undone);
      });
    return Math.min(...options);
  };
  return best(0, first.held, first.restartLeftMs / MINUTE, first.workLeftMs / MINUTE);
}

describe('the cheapest schedule', () => {
  it('by hand: the two cheap hours, with one restart, and not the cheapest alone', () => {
    // Two and a half hours: 2 + 2 + half of 5, against 5 + 5 + 1 from the start on and two pieces that start twice.
    const slots = [slot(0, 5, null), slot(1, 9, null), slot(2, 2, null), slot(3, 2, null), slot(4, 5, null)];
    expect(cheapestSchedule({ slots, first: idle(2), restartMs: 0.5 * HOUR_MS })).toBeCloseTo(2 + 2 + 2.5, 9);
    expect(cheapestSchedule({ slots, first: idle(5), restartMs: 0.5 * HOUR_MS })).toBe(Infinity);
    expect(cheapestSchedule({ slots, first: idle(0), restartMs: 0 })).toBe(0);
  });

  it('is that of all schedules, on random prices, spot, restarts and parts of hours', () => {
    const random = mulberry32(23);
    let [found, impossible] = [0, 0];
    for (let run = 0; run < 400; run++) {
      const slots = Array.from({ length: 3 + Math.floor(random() * 5) }, (_, hour) =>
        slot(
          hour,
          1 + Math.floor(random() * 5),
          random() < 0.35 ? null : Math.floor(random() * 4),
          10 + 10 * Math.floor(random() * 6),
        ),
      );
      const restart = 10 * Math.floor(random() * 9);
      const held = ([IDLE, SPOT, ON_DEMAND] as const)[Math.floor(random() * 3)]!;
      const first: JobState = {
        held,
        restartLeftMs: held === IDLE ? 0 : Math.min(restart, 20) * MINUTE,
        workLeftMs: (10 + 10 * Math.floor(random() * 20)) * MINUTE,
      };
      const [exact, all] = [
        cheapestSchedule({ slots, first, restartMs: restart * MINUTE }),
        bruteForce(slots, first, restart),
      ];
      if (all === Infinity) impossible++;
      else found++;
      if (all === Infinity) expect(exact).toBe(Infinity);
      else expect(exact).toBeCloseTo(all, 9);
      // What is known to be possible takes nothing from it.
      expect(cheapestSchedule({ slots, first, restartMs: restart * MINUTE }, all)).toBeCloseTo(all, 9);
    }
    expect(Math.min(found, impossible)).toBeGreaterThan(40);
  });

  it('may have other sizes: by hand, and that of all schedules with them', () => {
    // An hour of work: half the machines do three quarters of it in an hour, for half the price.
    const half = { share: 0.5, speed: 0.75 };
    const slots = [slot(0, 4, null), slot(1, 4, null), slot(2, 4, null)];
    expect(cheapestSchedule({ slots, first: idle(1), restartMs: 0, sizes: [half] })).toBeCloseTo((4 / 3) * 2, 9);
    expect(cheapestSchedule({ slots: slots.slice(0, 1), first: idle(1), restartMs: 0, sizes: [half] })).toBeCloseTo(
      4,
      9,
    );
    // Nobody may pause it, and it is on spot: it waits where that is gone.
    expect(
      cheapestSchedule({
        slots: [slot(0, 1, null), slot(1, 1, 2), slot(2, 1, 2)],
        first: { ...idle(1), held: SPOT },
        restartMs: 0,
        sizes: [half],
        modes: [SPOT],
      }),
    ).toBeCloseTo((4 / 3) * 1, 9);

    const random = mulberry32(31);
    const every = (
      here: readonly JobSlot[],
      state: JobState,
      restartMs: number,
      sizes: readonly (JobSize | undefined)[],
    ): number => {
      const [now, ...rest] = here;
      if (now === undefined) return Infinity;
      const options = ([IDLE, ON_DEMAND, SPOT] as const).flatMap((mode) =>
        sizes.map((size) => {
          const spent = spendSlot(now, state, mode, restartMs, size);
          return spent.cost + (spent.state.workLeftMs <= 0 ? 0 : every(rest, spent.state, restartMs, sizes));
        }),
      );
      return Math.min(...options);
    };
    let differs = 0;
    for (let run = 0; run < 60; run++) {
      const prices = Array.from({ length: 3 + Math.floor(random() * 2) }, (_, hour) =>
        slot(hour, 1 + Math.floor(random() * 5), random() < 0.35 ? null : Math.floor(random() * 4)),
      );
      const sizes = [
        { share: 0.25 + random(), speed: 0.25 + random() },
        { share: 2, speed: 1.2 + random() },
      ];
      const [first, restartMs] = [idle(0.5 + random() * 3), Math.floor(random() * 4) * 10 * MINUTE];
      const [exact, all] = [
        cheapestSchedule({ slots: prices, first, restartMs, sizes }),
        every(prices, first, restartMs, [undefined, ...sizes]),
      ];
      if (all === Infinity) expect(exact).toBe(Infinity);
      else expect(exact).toBeCloseTo(all, 9);
      if (all < cheapestSchedule({ slots: prices, first, restartMs }) - 1e-9) differs++;
    }
    expect(differs).toBeGreaterThan(20);
  });
});
