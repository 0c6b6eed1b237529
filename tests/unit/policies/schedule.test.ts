/** What the calendar starts again: only what it has stopped itself, and nobody has touched since. */
import { describe, expect, it } from 'vitest';
import { policy } from '../../../src/policies/schedule.js';

const example = policy.examples.find(({ title }) => title === 'A machine that somebody has stopped is not started')!;
const [instance] = example.view.instances!;
const HOUR = 3_600_000;

/** What a document proposes of a machine that it has stopped, and that was last started at an instant. */
function proposed(launchedAt: number | null, document = 'nights'): string[] {
  const at = example.view.asOf - 12 * HOUR;
  const stop = { document: 'nights', action: 'act-1', connection: 'aws', target: instance!.target, at, replicas: 1 };
  const view = {
    ...example.view,
    instances: [{ ...instance!, machine: { ...instance!.machine, launchedAt } }],
    ownStops: [stop],
  };
  return policy.evaluate(view, policy.params.parse(example.params), document).map(({ action }) => action);
}

describe('A machine that stands still in the hours in which it may run', () => {
  it('is started where this document has stopped it', () => {
    expect(proposed(null)).toEqual(['Start']);
    expect(proposed(example.view.asOf - 40 * HOUR)).toEqual(['Start']);
    expect(proposed(null, 'another')).toEqual([]);
  });

  it('is left where its cloud dates a start after that: who started it has stopped it again', () =>
    expect(proposed(example.view.asOf - 2 * HOUR)).toEqual([]));
});
