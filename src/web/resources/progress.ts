/**
 * /v1/work/progress: how much work the line still has, as events until nothing waits. Counts work, never shows whose.
 */
import { Controller, Header, type BeforeApplicationShutdown } from '@nestjs/common';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { StageLoad } from '../../store/operation/health.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint } from '../endpoint.js';
import { EventStreams } from '../streams.js';
import { InjectParts, type WebParts } from '../parts.js';

const POLL_MILLISECONDS = 500;
/** After this the stream ends with `slow`, and a client still interested asks again. */
const MOST_POLLS = 1200;
/** An upload enqueues its work before it answers; between two stages a check may find nothing for a moment. */
const QUIET_POLLS = 2;

@Controller()
export class ProgressController implements BeforeApplicationShutdown {
  private readonly closing = new AbortController();
  private readonly streams = new EventStreams();

  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/work/progress', {
    summary: 'How much work waits, as server-sent events',
    description: 'load with every change, done when nothing waits any more, which closes the stream.',
    access: 'read',
    answer: { media: 'text/event-stream' },
  })
  @Header('content-type', 'text/event-stream; charset=utf-8')
  @Header('x-accel-buffering', 'no')
  // A kept-alive connection would delay the server's end by a minute.
  @Header('connection', 'close')
  progress(@Calling() caller: Caller): Readable {
    const { stores, clock } = this.parts;
    return this.streams.count(caller, () =>
      Readable.from(
        loadEvents(() => stores.health.load(clock.now()), this.closing.signal),
        { objectMode: false },
      ),
    );
  }

  /** Streams end first: the server waits for open requests. */
  beforeApplicationShutdown(): void {
    this.closing.abort();
  }
}

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The events of a stream, until nothing waits twice in a row, or the process ends. */
async function* loadEvents(
  read: () => Promise<readonly StageLoad[]>,
  closing: AbortSignal,
  milliseconds = POLL_MILLISECONDS,
): AsyncGenerator<string> {
  let sent = '';
  let quiet = 0;
  for (let polls = 0; polls < MOST_POLLS && !closing.aborted; polls++) {
    const stages = await read();
    const sum = (of: 'waiting' | 'parked'): number => stages.reduce((total, stage) => total + stage[of], 0);
    const load = event('load', {
      waiting: sum('waiting'),
      parked: sum('parked'),
      stages: stages.map(({ stage, waiting }) => ({ stage, waiting })),
    });
    // A comment keeps proxies from closing a stream without events.
    yield load === sent ? ': waiting\n\n' : load;
    sent = load;
    quiet = sum('waiting') === 0 ? quiet + 1 : 0;
    if (quiet >= QUIET_POLLS) return yield event('done', {});
    await pause(milliseconds, undefined, { signal: closing }).catch(() => undefined);
  }
  yield event('slow', {});
}
