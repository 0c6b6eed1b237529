/** Pods and the GPUs of the reservation that they name. */
import { describe, expect, it } from 'vitest';
import { claimOf, leavingOf, partsTaken, whyTurnedAway } from '../../../src/core/budget/reservation-pods.js';
import { GPU_PARTS } from '../../../src/core/usage.js';

const gpus = (count: number | string, resource = 'nvidia.com/gpu') => ({
  containers: [{ resources: { limits: { [resource]: count } } }],
});

describe('the part of a pod', () => {
  it('fits as long as the pods together ask for no more GPUs than were reserved', () => {
    expect(partsTaken(4 * GPU_PARTS, 8, 0)).toBe(4 * GPU_PARTS);
    expect(partsTaken(4 * GPU_PARTS, 8, 4 * GPU_PARTS)).toBe(4 * GPU_PARTS);
    expect(partsTaken(1, 8, 8 * GPU_PARTS)).toBeNull();
    expect(partsTaken(4 * GPU_PARTS, 8, 5 * GPU_PARTS)).toBeNull();
    expect(partsTaken(GPU_PARTS / 2, 0.5, 0)).toBe(GPU_PARTS / 2);
  });

  it('is all that is left where its share cannot be told, and nothing where nothing is', () => {
    expect(partsTaken(null, 8, 3 * GPU_PARTS)).toBe(5 * GPU_PARTS);
    expect(partsTaken(null, 8, 8 * GPU_PARTS)).toBeNull();
  });

  it('is what it asks for, a shared device as the whole one', () => {
    const claim = (spec: object) =>
      claimOf({ uid: 'review', namespace: 'ml' }, { metadata: { uid: 'u-1', name: 'p' }, spec });
    expect(claim(gpus('4'))).toEqual({ pod: 'u-1', namespace: 'ml', name: 'p', gpuParts: 4 * GPU_PARTS });
    expect(claim(gpus(2, 'nvidia.com/gpu.shared')).gpuParts).toBe(2 * GPU_PARTS);
    expect(claim(gpus(8, 'aliyun.com/gpu-mem')).gpuParts).toBeNull();
  });

  it('is told by its uid, else its name, else the review', () => {
    const pod = (review: object, metadata: object) =>
      claimOf({ uid: 'review', namespace: 'ml', ...review }, { metadata, spec: gpus(1) });
    expect(
      [pod({}, { uid: 'u-1' }), pod({}, { name: 'p' }), pod({ name: 'asked' }, {}), pod({}, {})].map((one) => [
        one.pod,
        one.name,
      ]),
    ).toEqual([
      ['u-1', ''],
      ['ml/p', 'p'],
      ['ml/asked', 'asked'],
      ['review', ''],
    ]);
  });

  it('says what is left of the reservation', () => {
    expect(
      whyTurnedAway({ granted: false, reservedGpus: 8, takenParts: 6.5 * GPU_PARTS }, { gpuParts: 2 * GPU_PARTS }),
    ).toBe('has 1.5 of its 8 GPUs left, after the pods that were admitted on it, and this one asks for 2');
    expect(whyTurnedAway({ granted: false, reservedGpus: 8, takenParts: 8 * GPU_PARTS }, { gpuParts: null })).toContain(
      'has 0 of its 8 GPUs left',
    );
    expect(whyTurnedAway({ granted: false, reservedGpus: null, takenParts: 0 }, { gpuParts: 1 })).toBe('is over');
  });
});

describe('a pod that goes', () => {
  const review = { uid: 'r', kind: { kind: 'Pod' }, operation: 'DELETE', namespace: 'ml', name: 'p' };
  const oldObject = { metadata: { uid: 'u-1', name: 'p', annotations: { 'bursar.io/reservation': 'res-1' } } };

  it('gives back what it took of the reservation that it named', () => {
    expect(leavingOf({ ...review, oldObject })).toEqual({
      reservation: 'res-1',
      pod: 'u-1',
      namespace: 'ml',
      name: 'p',
    });
    expect(leavingOf({ ...review, oldObject: { metadata: { labels: { 'bursar.io/reservation': 'res-2' } } } })).toEqual(
      { reservation: 'res-2', pod: 'ml/p', namespace: 'ml', name: 'p' },
    );
  });

  it.each([
    ['is created', { operation: 'CREATE' }],
    ['is evicted', { subResource: 'eviction' }],
    ['is no pod', { kind: { kind: 'Deployment', group: 'apps' } }],
    ['names none', { oldObject: { metadata: {} } }],
    ['is not told', { oldObject: null }],
  ])('gives nothing back where it %s', (_, over) => {
    expect(leavingOf({ ...review, oldObject, ...over })).toBeNull();
  });
});
