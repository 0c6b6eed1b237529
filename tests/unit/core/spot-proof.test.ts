/** What a share of spot comes to is said of new machines and of those that run, each apart. */
import { expect, it } from 'vitest';
import { spotProof } from '../../../src/core/action/spot-proof.js';

const of = (...terms: ('spot' | 'on-demand' | null)[]) => terms.map((term) => ({ term }));

it.each([
  [
    spotProof(1, { onDemandBase: 1 }, of('on-demand', 'on-demand')),
    'of new machines above a base of 1, which is on demand, 100 % are launched on spot; of 2 that run 2 are on demand and 0 on spot',
  ],
  [
    spotProof(0.5, { onDemandBase: 0 }, of('on-demand', 'spot', null)),
    'of new machines 50 % are launched on spot; of 3 that run 1 are on demand and 1 on spot, and for 1 this is unknown',
  ],
  [
    spotProof(0, {}, []),
    'of new machines above the base of the group, which is unknown, 0 % are launched on spot; which machines run now is unknown',
  ],
])('%s', (said, expected) => expect(said).toBe(expected));
