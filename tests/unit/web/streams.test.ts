/** Event streams: one caller leaves most of the room to others, and what closes makes room again. */
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Caller } from '../../../src/web/caller.js';
import { EventStreams } from '../../../src/web/streams.js';

const callerOf = (id: string) => ({ principal: { organisation: 'default', id, name: id } }) as unknown as Caller;

it('are a tenth of all for one caller, until one of them closes', async () => {
  const streams = new EventStreams();
  const open = (id: string): Readable => streams.count(callerOf(id), () => new Readable({ read: () => undefined }));
  const first = Array.from({ length: 20 }, () => open('greedy'));
  expect(() => open('greedy')).toThrow('you have 20 event streams open');
  for (let n = 0; n < 180; n++) open(`other-${n % 9}`);
  expect(() => open('late')).toThrow('too many event streams are open');
  first[0]?.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect(open('late')).toBeInstanceOf(Readable);
  expect(() => open('greedy')).toThrow('too many');
});
