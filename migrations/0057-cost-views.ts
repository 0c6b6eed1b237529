/**
 * Questions about costs that people keep: by whom, under what name, and whether others may see them. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CostViews1764000000057 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table cost_view (
         organisation text not null, id text not null, owner text not null, owner_name text not null, name text not null,
         shared boolean not null, query jsonb not null, changed_at timestamptz not null,
         primary key (organisation, id))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table cost_view`);
  }
}
