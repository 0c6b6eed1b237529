/**
 * What contracts commit to, as a source states it (FOCUS dataset Contract Commitment), and what bills say was applied to
 * them. Adds tables that nobody else reads. A call's statement is whole: of each source that of its last call counts.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = `
create table contract_commitment (
  organisation text not null, call bigint not null, no int not null, source text not null, id text not null, contract text,
  provider text, category text not null, type text, description text, currency text, cost numeric, quantity numeric,
  unit text, start timestamptz not null, until timestamptz not null,
  primary key (organisation, call, no)
);
create table contract_use (
  organisation text not null, delivery bigint not null, no int not null, day date not null, commitment text not null,
  currency text not null, unit text, lines bigint not null, cost numeric not null, without_cost bigint not null,
  quantity numeric not null, without_quantity bigint not null,
  primary key (organisation, delivery, no)
);`;

export class Contracts1764000000035 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table contract_use`);
    await runner.query(`drop table contract_commitment`);
  }
}
