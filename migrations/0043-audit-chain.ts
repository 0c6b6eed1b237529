/**
 * The audit becomes a chain that cannot be changed. Expands only: processes of the version before write entries as they
 * did, and the database chains these too.
 *
 * Each entry is sealed when its transaction commits: a row of `audit_seal` holds its place in the organisation's chain
 * and the SHA-256 of a text that holds the entry and the seal before it (docs/reference/audit.md has the form). The lock
 * of a chain is taken at the commit and held to its end, so that writers wait for each other for that moment only.
 * Entries of before are sealed here, in the order of their ids, and an entry `audit.begin` says how many they were.
 * Triggers refuse to change or remove either table's rows, whoever asks.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `lock table audit in share row exclusive mode`,
  `create table audit_seal (
     organisation text not null, seq bigint not null, entry bigint not null, hash bytea not null,
     primary key (organisation, seq), unique (organisation, entry)
   )`,
  `create function audit_text(previous bytea, seq bigint, entry audit) returns text language sql stable as $$
     select '[' || to_json(encode(previous, 'hex')) || ',' || to_json(entry.organisation) || ',' || to_json(seq::text)
       || ',' || to_json(entry.id::text) || ','
       || to_json(to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
       || ',' || to_json(entry.actor) || ',' || to_json(entry.verb) || ',' || to_json(entry.target)
       || ',' || to_json(entry.detail::text) || ']'
   $$`,
  // It writes what whoever writes an entry need not be allowed to write.
  `create function seal_audit() returns trigger language plpgsql security definer set search_path from current as $$
   declare
     last record;
   begin
     perform pg_advisory_xact_lock(hashtextextended('bursar audit ' || new.organisation, 0));
     select seq, hash into last from audit_seal where organisation = new.organisation order by seq desc limit 1;
     insert into audit_seal (organisation, seq, entry, hash) values (
       new.organisation, coalesce(last.seq, 0) + 1, new.id,
       sha256(convert_to(
         audit_text(coalesce(last.hash, decode(repeat('00', 32), 'hex')), coalesce(last.seq, 0) + 1, new), 'UTF8'))
     );
     return null;
   end $$`,
  `create function refuse_audit_change() returns trigger language plpgsql as $$
   begin
     raise exception 'the audit is only added to: % of % is refused', tg_op, tg_table_name
       using errcode = 'insufficient_privilege';
   end $$`,
];

const SEAL_OLD = `
do $$
declare
  one audit;
  last_organisation text := null;
  previous bytea;
  number bigint;
begin
  for one in select * from audit order by organisation, id loop
    if one.organisation is distinct from last_organisation then
      last_organisation := one.organisation;
      previous := decode(repeat('00', 32), 'hex');
      number := 0;
    end if;
    number := number + 1;
    previous := sha256(convert_to(audit_text(previous, number, one), 'UTF8'));
    insert into audit_seal (organisation, seq, entry, hash) values (one.organisation, number, one.id, previous);
  end loop;
end $$`;

const TRIGGERS = [
  `create constraint trigger audit_sealed after insert on audit deferrable initially deferred
     for each row execute function seal_audit()`,
  ...['audit', 'audit_seal'].flatMap((table) => [
    `create trigger ${table}_kept before update or delete on ${table}
       for each row execute function refuse_audit_change()`,
    `create trigger ${table}_whole before truncate on ${table} for each statement execute function refuse_audit_change()`,
  ]),
  `insert into audit (organisation, actor, verb, target, detail)
     select organisation, 'bursar', 'audit.begin', 'audit', jsonb_build_object('before', count(*))
     from audit group by organisation`,
];

const DOWN = [
  `drop trigger audit_sealed on audit`,
  `drop trigger audit_kept on audit`,
  `drop trigger audit_whole on audit`,
  `drop table audit_seal`,
  `drop function seal_audit()`,
  `drop function refuse_audit_change()`,
  `drop function audit_text(bytea, bigint, audit)`,
];

export class AuditChain1764000000043 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...UP, SEAL_OLD, ...TRIGGERS]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
