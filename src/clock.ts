/**
 * The only file that reads the wall clock. Everything else is told the time.
 */
import type { Clock } from './core/time.js';

export const wallClock: Clock = { now: () => Date.now() };

/** A clock that may be set to an instant for a while: whoever plays a past sets it, and lets it go after. */
export class SettableClock implements Clock {
  private instant: number | null = null;

  constructor(private readonly present: Clock = wallClock) {}

  now(): number {
    return this.instant ?? this.present.now();
  }

  /** @param instant epoch milliseconds; null: the present again */
  set(instant: number | null): void {
    this.instant = instant;
  }
}
