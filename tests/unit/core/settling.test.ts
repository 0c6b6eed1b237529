/** How long a bill may still change: by provider, within limits, and as it is written. */
import { describe, expect, it } from 'vitest';
import { changeSettling, readSettling, settlingMs } from '../../../src/core/bill/settling.js';
import { Failure } from '../../../src/core/errors.js';
import { DAY_MS } from '../../../src/core/time.js';

const problemsOf = (stated: unknown): (string | null)[] => {
  try {
    readSettling(stated);
    return [];
  } catch (error) {
    return (error as Failure).problems.map(({ path }) => path);
  }
};

describe('the settling time of bills', () => {
  it('is ten days where nobody states another', () => {
    for (const nothing of [undefined, null]) expect(readSettling(nothing)).toEqual({ days: 10, providers: {} });
    expect(readSettling({ days: 3 })).toEqual({ days: 3, providers: {} });
  });

  it('is from 0 to 120 whole days, and each problem is named', () => {
    expect([problemsOf({ days: 0 }), problemsOf({ days: 120 })]).toEqual([[], []]);
    expect(problemsOf({ days: 121, providers: { AWS: -1, OCI: 1.5, Azure: 5, GCP: '7' } })).toEqual([
      'days',
      'providers/AWS',
      'providers/OCI',
      'providers/GCP',
    ]);
    expect(problemsOf({})).toEqual(['days']);
  });

  it('is changed for all, or for one provider', () => {
    const settling = { days: 10, providers: { AWS: 5 } };
    expect(changeSettling(settling, '7')).toEqual({ days: 7, providers: { AWS: 5 } });
    expect(changeSettling(settling, 'AWS=0')).toEqual({ days: 10, providers: { AWS: 0 } });
    expect(changeSettling(settling, 'Alibaba Cloud=8')).toEqual({
      days: 10,
      providers: { AWS: 5, 'Alibaba Cloud': 8 },
    });
    for (const text of ['', 'AWS', 'AWS=', '=7', '-1', '7d', '121'])
      expect(() => changeSettling(settling, text)).toThrow(Failure);
  });

  it("is a provider's own, else that of all", () => {
    const settling = { days: 10, providers: { AWS: 0 } };
    expect([settlingMs(settling, 'AWS'), settlingMs(settling, 'toString')]).toEqual([0, 10 * DAY_MS]);
  });
});
