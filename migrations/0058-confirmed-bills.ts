/**
 * What a bill said of itself before an import that brought it once more as it was: that import may have made it final,
 * and undoing it has to lead back. Expands only; imports before it have no row, and their undo changes no state.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ConfirmedBills1764000000058 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table delivery_confirmed (
         organisation text not null, delivery bigint not null, import bigint not null, before jsonb not null,
         primary key (organisation, delivery, import))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table delivery_confirmed`);
  }
}
