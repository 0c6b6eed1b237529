/**
 * When each price was stated, by whom, and whether it was taken back: of two prices of one instant the later statement
 * holds. Expands only: what an older process writes counts as stated before everything else.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
alter table price_event add column origin text not null default 'provider', add column stated bigint not null default 0,
  add column stated_row int not null default 0, add column withdrawn_at timestamptz, add column withdrawn_by text`;

const ORIGINS = `
update price_event set origin = case when event #>> '{price,source}' like 'bursar-prices: %' then 'own' else 'third-party' end
where event #>> '{price,source}' like 'bursar-prices: %' or event #>> '{price,source}' like 'cloud-gpu-table: %'`;

export class PriceStatements1764000000023 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
    await runner.query(ORIGINS);
    await runner.query(`create index price_event_place on price_event (organisation, provider, sku, at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop index price_event_place`);
    await runner.query(`alter table price_event drop column origin, drop column stated, drop column stated_row,
      drop column withdrawn_at, drop column withdrawn_by`);
  }
}
