/** One window of the backtest: what it brings, and what is known before it. Data alone. */
import type { Readings } from '../../planning/spot-regions/availability.js';
import type { ServingWindow } from '../../planning/spot-serving/problem.js';

export interface ServingCase {
  readonly start: number;
  readonly window: ServingWindow;
  /** What is known of each zone before the start: whether it had room for one replica. */
  readonly pasts: readonly Readings[];
}
