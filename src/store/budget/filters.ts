/** The filters of a budget as SQL over dimensions: the same rule as `covers` in core/budget/budget.ts. */
import type { BudgetFilters } from '../../core/budget/budget.js';

const COLUMNS: Readonly<Record<Exclude<keyof BudgetFilters, 'tag'>, string>> = {
  provider: 'provider',
  account: 'account',
  subAccount: 'sub_account',
  region: 'region',
  service: 'service',
  category: 'category',
  sku: 'sku',
  term: 'term',
};

/** A condition on `dimension d`. @param place of the parameter that holds the filters as JSON: `$5` */
export const passes = (place: string): string =>
  [
    ...Object.entries(COLUMNS).map(
      ([name, column]) => `(${place}::jsonb->'${name}' is null or ${place}::jsonb->'${name}' ? d.${column})`,
    ),
    `(${place}::jsonb->'tag' is null or exists (
       select 1 from jsonb_array_elements(${place}::jsonb->'tag') t where d.tags->>(t->>'key') = t->>'value'))`,
  ].join('\n  and ');

export const filterParameter = (filters: BudgetFilters): string => JSON.stringify(filters);
