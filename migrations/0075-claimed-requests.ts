/**
 * Which process works on a request that has an Idempotency-Key: one that was slow, and whose claim another took over,
 * keeps no answer and commits nothing. Expands only: a process of the version before writes none, and asks for none.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ClaimedRequests1764000000075 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table idempotency add column claim uuid`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table idempotency drop column claim`);
  }
}
