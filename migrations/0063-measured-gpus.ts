/**
 * Of how many GPUs a workload's minute is: of the others nothing came. Expands only; the minutes that are there already
 * do not say, and the policies that act by minutes look at the last of them alone.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MeasuredGpus1764000000063 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table workload_metric add column gpus int`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table workload_metric drop column gpus`);
  }
}
