/**
 * Small deliveries of a simulated organisation are merged at any moment, not only when a day has settled: the stage
 * believes that much time has gone by since.
 */
import { DAY_MS } from '../../src/core/time.js';
import type { Stage } from '../../src/pipeline/stage.js';
import { mayUndo } from './database.js';

const AHEAD_MS = 60 * DAY_MS;

/** @param merged told of each portion */
export function mergingEarly(line: readonly Stage[], merged: () => void): readonly Stage[] {
  return line.map((stage) => {
    if (stage.name !== 'usage.merge' || stage.run === undefined) return stage;
    const { run } = stage;
    return {
      ...stage,
      async run(call) {
        await mayUndo(call.tx);
        const now = call.now + AHEAD_MS;
        const next = await run({ ...call, now });
        if (next.some(({ notBefore }) => notBefore === now)) merged();
        return next.map((item) => ({ ...item, notBefore: (item.notBefore ?? now) - AHEAD_MS }));
      },
    };
  });
}
