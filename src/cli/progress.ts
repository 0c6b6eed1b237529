/**
 * Progress on one line of a terminal that rewrites itself; silent without a terminal.
 */
import type { Clock } from '../core/time.js';
import type { Output } from './context.js';
import { printable } from './table.js';

const PAUSE_MILLISECONDS = 100;
const CLEAR = '\r\u001b[K';

export class Progress {
  private shownAt = -Infinity;
  private shown = false;

  constructor(
    private readonly output: Output,
    private readonly clock: Clock,
  ) {}

  show(text: string): void {
    const now = this.clock.now();
    if (this.output.isTTY !== true || now - this.shownAt < PAUSE_MILLISECONDS) return;
    this.shownAt = now;
    this.shown = true;
    this.output.write(CLEAR + printable(text));
  }

  /** Takes the line away. */
  end(): void {
    if (this.shown) this.output.write(CLEAR);
    this.shown = false;
  }
}
