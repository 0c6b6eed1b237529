/**
 * What the savings ledger reads of a recommendation, as fields of its own: whether its saving happens every month or
 * once, and where a purchase serves. Both could be read only out of texts that people see: `once, for this job` in the
 * computation, and a target of `provider/region/sku/...` in which `any region` stood for none.
 *
 * Rows that are there get the fields from those texts, here and for the last time. A process of before writes bodies
 * without them, which are read as a monthly saving and no place until the recommendation is made again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FILL = `
update recommendation set body = body
  || jsonb_build_object('savingRecurs', case when coalesce(body->'computation'->>'saving', '') like 'once%' then 'once' else 'monthly' end)
  || jsonb_build_object('place', case when action in ('PurchaseReservedInstances', 'PurchaseSavingsPlans') then
       jsonb_build_object('provider', split_part(target, '/', 1),
         'region', nullif(nullif(split_part(target, '/', 2), 'any region'), ''), 'sku', nullif(split_part(target, '/', 3), '')) end)
where not (body ? 'savingRecurs')`;

export class TypedRecommendations1764000000027 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(FILL);
    await runner.query(
      `alter table recommendation add constraint recommendation_recurs check (body->>'savingRecurs' in ('monthly', 'once'))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table recommendation drop constraint recommendation_recurs`);
    await runner.query(`update recommendation set body = body - 'savingRecurs' - 'place'`);
  }
}
