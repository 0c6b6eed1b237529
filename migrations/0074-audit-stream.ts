/** How far the audit was sent to each collector that was ever set. Expands only. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditStream1764000000074 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table audit_stream (
        organisation text not null, collector text not null, seq bigint not null,
        tried_at timestamptz not null, failing_since timestamptz, problem text,
        primary key (organisation, collector)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table audit_stream`);
  }
}
