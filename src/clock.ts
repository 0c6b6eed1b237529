/**
 * The only file that reads the wall clock. Everything else is told the time.
 */
import type { Clock } from './core/time.js';

export const wallClock: Clock = { now: () => Date.now() };
