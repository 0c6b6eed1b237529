/**
 * Since when each exporter of a source answers without a break: one that has just come back names no cards yet. Expands
 * only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AnsweringSince1764000000062 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table telemetry_source add column answering_since jsonb not null default '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table telemetry_source drop column answering_since`);
  }
}
