/**
 * Limits the event streams that this process keeps open: a total, and a tenth of it per caller, so that nobody uses up
 * everybody's streams.
 */
import type { Readable } from 'node:stream';
import { unavailable } from '../core/errors.js';
import { principalOf, type Caller } from './caller.js';

const MOST_STREAMS = 200;
const MOST_OF_ONE = 20;

export class EventStreams {
  private readonly open = new Map<string, number>();
  private all = 0;

  /** @throws Failure unavailable if too many are open */
  count({ principal }: Caller, make: () => Readable): Readable {
    const name = principalOf(principal);
    const own = this.open.get(name) ?? 0;
    if (own >= MOST_OF_ONE) throw unavailable(`you have ${MOST_OF_ONE} event streams open: close one first`);
    if (this.all >= MOST_STREAMS) throw unavailable('too many event streams are open');
    const stream = make();
    this.all++;
    this.open.set(name, own + 1);
    stream.once('close', () => {
      this.all--;
      const left = (this.open.get(name) ?? 1) - 1;
      if (left === 0) this.open.delete(name);
      else this.open.set(name, left);
    });
    return stream;
  }
}
