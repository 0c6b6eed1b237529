/** The keyed mutex: in the order of asking, one at a time for a name, whatever becomes of those before. */
import { expect, it } from 'vitest';
import { KeyedMutex } from '../../src/store/keyed-mutex.js';

it('lets one at a time through for each name, in the order in which they asked, and goes on after a failure', async () => {
  const mutex = new KeyedMutex('another', 10_000);
  const story: string[] = [];
  const open: (() => void)[] = [];
  const take = (name: string, what: string, fails = false): Promise<string> =>
    mutex.runExclusive(name, async () => {
      story.push(`${what} begins`);
      await new Promise<void>((resolve) => open.push(resolve));
      story.push(`${what} ends`);
      if (fails) throw new Error(what);
      return what;
    });
  const settle = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) await Promise.resolve();
  };
  const all = [take('a', 'first', true), take('a', 'second'), take('b', 'other')];
  const results = Promise.allSettled(all);
  await settle();
  expect(story).toEqual(['first begins', 'other begins']);
  for (const release of open.splice(0)) release();
  await settle();
  for (const release of open.splice(0)) release();
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(story).toEqual(['first begins', 'other begins', 'first ends', 'other ends', 'second begins', 'second ends']);
  expect(await mutex.runExclusive('a', async () => 'again')).toBe('again');
});
