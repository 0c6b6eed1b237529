/**
 * The counted quiets against a plain list of them: every one is counted once, where it is, whatever happens in whatever
 * order.
 */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { Quiets, spanEnd, SPAN_STARTS, SPANS } from '../../src/planning/idle/quiets.js';

const sum = (counts: Float64Array): number => counts.reduce((all, count) => all + count, 0);

describe('counted quiets', () => {
  it('are those that ended, as one each, and those that came so far', () => {
    const span = fc.integer({ min: 0, max: SPANS - 1 });
    const lives = fc.array(fc.record({ at: span, fate: fc.constantFrom('lasts', 'ends', 'is lost') }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(lives, (given) => {
        const quiets = new Quiets(1000);
        for (const { at, fate } of given) {
          quiets.begin();
          quiets.move(0, at);
          if (fate === 'ends') quiets.end(at);
          if (fate === 'is lost') quiets.lose(at);
        }
        expect(sum(quiets.ended)).toBeCloseTo(given.filter(({ fate }) => fate === 'ends').length, 9);
        const came = Array.from(
          { length: SPANS },
          (_, one) => given.filter(({ at, fate }) => fate !== 'ends' && at === one).length,
        );
        expect([...quiets.cameTo]).toEqual(came);
      }),
    );
  });

  it('count half once more than the most have ended, but for those that still last', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 0, max: 9 }),
        (most, ended, lasting) => {
          const quiets = new Quiets(most);
          for (let n = 0; n < lasting; n++) quiets.begin();
          let expected = 0;
          for (let n = 0; n < ended; n++) {
            quiets.begin();
            quiets.end(0);
            expected = expected + 1 > most ? (expected + 1) / 2 : expected + 1;
          }
          expect(quiets.ended[0]).toBeCloseTo(expected, 9);
          expect(quiets.cameTo[0]).toBe(lasting);
        },
      ),
    );
  });

  it('spread one that ended over the lengths around its own, none counting more a minute than that', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: SPANS - 1 }), (at) => {
        const quiets = new Quiets(10);
        quiets.begin();
        quiets.move(0, at);
        quiets.end(at);
        const spans = [...quiets.ended.keys()].filter((one) => quiets.ended[one]! > 0);
        expect(spans).toContain(at);
        expect(spans).not.toContain(0);
        expect(spans).toEqual(Array.from({ length: spans.length }, (_, n) => spans[0]! + n));
        const perMinute = (one: number): number => quiets.ended[one]! / (spanEnd(one) - SPAN_STARTS[one]!);
        for (const one of spans) expect(perMinute(one)).toBeLessThanOrEqual(perMinute(at) + 1e-12);
      }),
    );
  });
});
