/**
 * The filters of a budget as SQL over dimensions: the same rule as `covers` in core/budget/budget.ts. Metered usage has
 * the account and the sub-account that its payer's bill uses (`namedBy` in core/bill/counting.ts), so that a budget
 * counts the same before and after the bill is final.
 */
import { byTheirNames, type BudgetFilters } from '../../core/budget/budget.js';

/** The payer of the account that a meter names; null: no bill knows it. The last bill decides, whatever its period. */
const PAYER = `(select b.bill from bill_claim b where b.organisation = d.organisation and d.kind = 'metered'
       and b.provider = d.provider and b.account = coalesce(d.account, '') and b.sub_account = coalesce(d.sub_account, '')
       and b.bill <> '' order by b.since desc limit 1)`;

/** The column of `dimension d` that each filter is compared with. */
export const FILTER_COLUMNS: Readonly<Record<Exclude<keyof BudgetFilters, 'tag'>, string>> = {
  provider: 'd.provider',
  account: `coalesce(${PAYER}, d.account)`,
  subAccount: `case when d.account <> ${PAYER} then d.account else d.sub_account end`,
  region: 'd.region',
  service: 'd.service',
  category: 'd.category',
  sku: 'd.sku',
  term: 'd.term',
};

/** A condition on `dimension d`. @param place of the parameter that holds the filters as JSON: `$5` */
export const passes = (place: string): string =>
  [
    ...Object.entries(FILTER_COLUMNS).map(
      ([name, column]) => `(${place}::jsonb->'${name}' is null or ${place}::jsonb->'${name}' ? ${column})`,
    ),
    `(${place}::jsonb->'tag' is null or exists (
       select 1 from jsonb_array_elements(${place}::jsonb->'tag') t where d.tags->>(t->>'key') = t->>'value'))`,
  ].join('\n  and ');

const HAS_TAG = (place: string): string =>
  `exists (select 1 from jsonb_array_elements(${place}::jsonb->'tag') t where d.tags ? (t->>'key'))`;

/** The filters whose fields `dimension d` does not state, as an array of their names. */
export const missing = (place: string): string =>
  `array_remove(array[${[
    ...Object.entries(FILTER_COLUMNS).map(
      ([name, column]) => `case when ${place}::jsonb->'${name}' is not null and ${column} is null then '${name}' end`,
    ),
    `case when ${place}::jsonb->'tag' is not null and not coalesce(${HAS_TAG(place)}, false) then 'tag' end`,
  ].join(', ')}], null)`;

/** A condition on `dimension d`: each filter holds, or is about what it does not state. */
export const passesOrLacks = (place: string): string =>
  [
    ...Object.entries(FILTER_COLUMNS).map(
      ([name, column]) =>
        `(${place}::jsonb->'${name}' is null or ${column} is null or ${place}::jsonb->'${name}' ? ${column})`,
    ),
    `(${place}::jsonb->'tag' is null or not coalesce(${HAS_TAG(place)}, false) or exists (
       select 1 from jsonb_array_elements(${place}::jsonb->'tag') t where d.tags->>(t->>'key') = t->>'value'))`,
  ].join('\n  and ');

export const filterParameter = (filters: BudgetFilters): string => JSON.stringify(byTheirNames(filters));
