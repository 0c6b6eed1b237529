/**
 * Bills summed into the cells by which they are compared, so that a change of a day does not read a whole bill again.
 * Derived: it may be emptied at any time. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BillCells1764000000014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table bill_cells (
      organisation text not null, delivery bigint not null, rules_version int not null, summary json not null,
      primary key (organisation, delivery)
    )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table bill_cells`);
  }
}
