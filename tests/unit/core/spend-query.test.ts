/**
 * A question about costs as people write it: what is meant by what is left out, each mistake by its name, and all
 * mistakes at once.
 */
import { describe, expect, it } from 'vitest';
import { flagOf, parseSpendQuery } from '../../../src/core/cost/spend-query.js';
import { Failure } from '../../../src/core/errors.js';

type Texts = Parameters<typeof parseSpendQuery>[0];

/** The paths of the problems that it has. */
function wrongIn(texts: Texts): readonly (string | null)[] {
  try {
    parseSpendQuery(texts);
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ kind: 'invalid' });
    return (error as Failure).problems.map(({ path }) => path);
  }
  return [];
}

describe('a question about costs', () => {
  it('that says nothing asks for the actual cost of all teams at all times, in UTC', () => {
    expect(parseSpendQuery({})).toEqual({
      from: null,
      to: null,
      groupBy: [],
      basis: 'actual',
      currency: null,
      teams: null,
      zone: 'UTC',
    });
    expect(parseSpendQuery({ from: '', to: '', groupBy: '', filters: { region: [] } })).toEqual(parseSpendQuery({}));
  });

  it('keeps all that it says', () => {
    expect(
      parseSpendQuery({
        from: '2026-10',
        to: '2026-11-02',
        groupBy: ' team, gpu-model,gpu_model ,,shared-from',
        basis: 'list',
        currency: 'EUR',
        teams: ['vision'],
        zone: 'Asia/Tokyo',
        filters: { 'gpu-model': ['H100', 'A100', 'H100'], region: undefined, term: [''] },
      }),
    ).toEqual({
      from: '2026-10-01',
      to: '2026-11-02',
      groupBy: ['team', 'gpuModel', 'sharedFrom'],
      basis: 'list',
      currency: 'EUR',
      teams: ['vision'],
      zone: 'Asia/Tokyo',
      filters: { gpuModel: ['H100', 'A100'], term: [''] },
    });
  });

  it('names each thing that is wrong, all at once', () => {
    expect(
      wrongIn({
        zone: 'Mars/Olympus',
        groupBy: 'team,colour',
        basis: 'guessed',
        currency: 'euro',
        from: 'soon',
        to: '1969-12-31',
        filters: { colour: ['red'] },
      }),
    ).toEqual(['zone', 'group-by', 'basis', 'currency', 'from', 'to', 'colour']);
  });

  it.each(['EU', 'EURO', 'eur', '1EUR'])('takes no currency %s', (currency) => {
    expect(wrongIn({ currency })).toEqual(['currency']);
  });

  it('ends after it begins; one end may be open', () => {
    expect(wrongIn({ from: '2026-10-02', to: '2026-10-01' })).toEqual(['to']);
    expect(wrongIn({ from: '2026-10-01', to: '2026-10-01' })).toEqual(['to']);
    expect(wrongIn({ from: '2026-10-01', to: '2026-10-02' })).toEqual([]);
    expect(wrongIn({ from: '2026-10-01' })).toEqual([]);
    expect(wrongIn({ to: '1970-01-01' })).toEqual([]);
  });

  it('takes an instant only where a day of its zone starts', () => {
    const midnight = '2026-10-01T15:00:00Z';
    expect(parseSpendQuery({ from: midnight, zone: 'Asia/Tokyo' }).from).toBe('2026-10-02');
    expect(wrongIn({ from: midnight })).toEqual(['from']);
  });

  it('has the flag of a dimension as the command line writes it', () => {
    expect([flagOf('gpuModel'), flagOf('team')]).toEqual(['gpu-model', 'team']);
  });
});
