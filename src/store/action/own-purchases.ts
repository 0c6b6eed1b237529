/**
 * Bursar's own purchases: the scopes of their recommendations, the amounts of their actions (a recommendation is made
 * again under the same id), and the account of the buying connection. Reads only.
 */
import type { OwnPurchase } from '../../core/policy/bought.js';
import type { Queryable } from '../database.js';
import { ACCOUNT_OF_CONNECTION } from '../fleet/fleet.js';

export async function ownPurchases(db: Queryable, organisation: string): Promise<OwnPurchase[]> {
  const rows = await db.query<Omit<OwnPurchase, 'at'> & { readonly at: Date }>(
    `select r.body #>> '{place,provider}' as provider, r.body #>> '{place,region}' as region,
       (${ACCOUNT_OF_CONNECTION('a')}) as account,
       r.body #>> '{place,sku}' as sku, coalesce(a.effect ->> 'gpus', r.body #>> '{change,units}')::float8 as gpus,
       (r.body #>> '{change,termHours}')::float8 as "termHours", a.intended_at as at
     from action a join recommendation r on r.organisation = a.organisation and r.id = a.recommendation
     where a.organisation = $1 and a.effect ->> 'kind' = 'purchase' and a.intended_at is not null
       and a.state in ('intended', 'applied', 'confirmed', 'measured')
       and jsonb_typeof(r.body #> '{change,units}') = 'number' and jsonb_typeof(r.body #> '{change,termHours}') = 'number'
       and r.body #>> '{place,provider}' is not null
     order by a.no`,
    [organisation],
  );
  return rows.map((row) => ({ ...row, at: row.at.getTime() }));
}
