/** Who wrote what of a policy document, part by part. Expands only: the version before leaves it as it was. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PolicyAuthors1764000000084 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table policy add column authors jsonb not null default '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table policy drop column authors`);
  }
}
