/**
 * A bill in several files: deliveries that are open, and their files until they are committed or discarded. What bills
 * say of commitments, by delivery. And deliveries that supplement a bill without being one (amortised cost). Adds tables
 * and a column that nobody else reads; a delivery without the column is what it was.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = `
create table commitment_use (
  organisation text not null, delivery bigint not null, no int not null, day date not null, provider text not null, account text,
  service text, currency text not null, commitment text, category text, type text, name text, status text, purchase boolean not null,
  lines bigint not null, billed numeric not null, effective numeric not null, without_effective bigint not null, list numeric not null,
  without_list bigint not null,
  primary key (organisation, delivery, no)
);
create index commitment_use_day on commitment_use (organisation, day);
create table open_delivery (
  organisation text not null, name text not null, source text not null, format text not null, opened_at timestamptz not null,
  opened_by text not null,
  primary key (organisation, name)
);
create table open_delivery_file (
  organisation text not null, delivery text not null, file text not null, digest bytea not null, bytes bigint not null,
  taken_at timestamptz not null,
  primary key (organisation, delivery, file)
);
create table open_delivery_chunk (
  organisation text not null, delivery text not null, file text not null, no int not null, content bytea not null,
  primary key (organisation, delivery, file, no)
);
alter table delivery add column supplement text;
create unique index delivery_supplement on delivery (organisation, source, supplement) where supplement is not null;`;

export class BillParts1764000000028 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop index delivery_supplement;
      alter table delivery drop column supplement;
      drop table open_delivery_chunk;
      drop table open_delivery_file;
      drop table open_delivery;
      drop table commitment_use;`);
  }
}
