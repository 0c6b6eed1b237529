/**
 * The numbers behind recommendations and health findings, as messages write them: the compiler knows every name that a
 * policy may use (`Computation`), and here each has words that name its unit.
 */
import { describe, expect, it } from 'vitest';
import { figureWords } from '../../../src/core/alert/words.js';
import { fixed, shareText, type Figure } from '../../../src/core/figures.js';
import { HEALTH_FIGURES, type HealthNumbers } from '../../../src/core/fleet/health-figures.js';
import { withCalibration } from '../../../src/core/policy/calibration.js';
import { withinSpend } from '../../../src/core/policy/claim.js';
import { COMPUTATION_FIGURES, type Computation } from '../../../src/core/policy/computation.js';
import type { Policy, Proposal } from '../../../src/core/policy/policy.js';
import { loadParts } from '../../../src/parts.js';

const FORMATTED: ReadonlySet<Figure['unit']> = new Set([
  'money',
  'price',
  'share',
  'instant',
  'text',
  'code',
  'threshold',
  'metric',
] as const);

const proposals = async (): Promise<Proposal[]> =>
  (await loadParts<Policy>('policies', 'policy', () => [])).flatMap((policy) =>
    policy.examples.flatMap(({ view, params }) => policy.evaluate(view, policy.params.parse(params))),
  );

describe('a named number', () => {
  it('is one that has words: the compiler refuses any other', () => {
    // @ts-expect-error a name without words
    const made: Computation = { madeUpHours: 1 };
    // @ts-expect-error the same of a health finding
    const measured: HealthNumbers = { madeUpSeconds: 1 };
    expect([made, measured]).toHaveLength(2);
  });

  it.each(Object.entries<Figure>({ ...COMPUTATION_FIGURES, ...HEALTH_FIGURES }))(
    '%s has words, which name what it is counted in unless its value does',
    (name, { words, unit }) => {
      expect(words).toMatch(/^[A-Z][\w ,.()°-]+$/);
      expect(words.replace('MiB', '')).not.toMatch(/[a-z][A-Z]/);
      if (!FORMATTED.has(unit)) expect(`${name}: ${words.toLowerCase()}`).toContain(unit.toLowerCase());
    },
  );

  it('of a policy is text that people read, also where its saving was corrected, cut or refused', async () => {
    const made = await proposals();
    const saving = { mean: 9_000_000_000n, low: 8_000_000_000n, high: 10_000_000_000n };
    const calibration = { ratio: 1.026, cases: 12, low: 0.9, high: 1.1 };
    const [first] = made;
    if (first === undefined) throw new Error('no policy has an example');
    const corrected = withCalibration({ ...first, monthlySavings: saving }, calibration as never);
    const cut = withinSpend({ ...first, monthlySavings: saving, monthlyCost: 9_000_000_000n }, 'USD', undefined);
    const refused = withinSpend({ ...first, monthlySavings: saving, monthlyCost: 1n }, 'USD', undefined);
    const names = new Set<string>();
    for (const { computation } of [...made, corrected, cut, refused])
      for (const [name, value] of Object.entries(computation)) {
        names.add(name);
        const text = figureWords(COMPUTATION_FIGURES, name, value, 'USD');
        expect(Object.keys(COMPUTATION_FIGURES)).toContain(name.replace(/Nanos$/, ''));
        expect(text).not.toMatch(/\d\.\d{5}|undefined|NaN|\d{4}-\d{2}-\d{2}T/);
      }
    expect([...names]).toEqual(
      expect.arrayContaining(['calibrationRatio', 'savingBeforeCalibrationNanos', 'savingBeforeBoundNanos', 'refused']),
    );
    expect(names.size).toBeGreaterThan(40);
  });
});

describe('a share', () => {
  it.each([
    [0, '0 %'],
    [0.000529, '0.05 %'],
    [0.00003, 'less than 0.01 %'],
    [0.0001, '0.01 %'],
    [0.0234, '2.3 %'],
    [0.5, '50 %'],
    [1.026, '102.6 %'],
    [-0.1, '-10 %'],
  ])('%s is %s', (ratio, text) => {
    expect(shareText(ratio)).toBe(text);
  });
});

it('has no sign where a number rounds to zero', () => {
  expect([-0.04, -0, -0.05, 1.25].map((value) => fixed(value, 1))).toEqual(['0.0', '0.0', '-0.1', '1.3']);
  expect([fixed(-0.4, 0), fixed(-0.004, 2), fixed(-0.006, 2), fixed(-10, 0)]).toEqual(['0', '0.00', '-0.01', '-10']);
  expect(shareText(-0.000001)).toBe('less than 0.01 %');
});
