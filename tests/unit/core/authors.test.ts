/** Who wrote what of a policy document: nobody's word is lost behind a later, smaller one. */
import { expect, it } from 'vitest';
import { authorsAfter } from '../../../src/core/policy/authors.js';
import type { PolicyDocument } from '../../../src/core/policy/document.js';

const DOCUMENT: PolicyDocument = {
  name: 'serving',
  policy: 'reserve-baseline',
  teams: ['serving'],
  mode: 'approve',
  params: { terms: [{ years: 1, upfront: 'all' }], mostInstances: 3 },
  priority: 0,
};

it('names an author for each part, and keeps that of what is as it was', () => {
  const first = authorsAfter(null, DOCUMENT, 'ada');
  expect(new Set(Object.values(first))).toEqual(new Set(['ada']));
  const same = { ...DOCUMENT, params: { mostInstances: 3, terms: [{ upfront: 'all', years: 1 }] } };
  const second = authorsAfter(
    { document: DOCUMENT, authors: first, otherwise: 'ada' },
    { ...same, priority: 1 },
    'bob',
  );
  expect(second).toEqual({ ...first, priority: 'bob' });
  const params = { terms: [{ years: 3, upfront: 'all' }], mostInstances: 3 };
  const third = authorsAfter({ document: same, authors: {}, otherwise: 'cleo' }, { ...same, params }, 'dan');
  expect(third).toEqual({
    policy: 'cleo',
    teams: 'cleo',
    mode: 'cleo',
    priority: 'cleo',
    'params.terms': 'dan',
    'params.mostInstances': 'cleo',
  });
});
