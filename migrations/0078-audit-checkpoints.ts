/**
 * The audit may end at a stated age. A checkpoint is the place and the hash of the last entry that was dropped: the
 * chain goes on from there, and is worked out anew from there (docs/reference/audit.md).
 *
 * The rules are the database's, whoever asks: a checkpoint is a seal of the chain up to which every entry is older than
 * a year, it is never changed or removed, and no entry goes that lies after the last one. Expands only: the version
 * before drops nothing.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `create table audit_checkpoint (
     organisation text not null, seq bigint not null, hash bytea not null, dropped_at timestamptz not null default now(),
     primary key (organisation, seq)
   )`,
  `create function check_audit_checkpoint() returns trigger language plpgsql as $$
   begin
     if not exists (select from audit_seal s where s.organisation = new.organisation and s.seq = new.seq and s.hash = new.hash) then
       raise exception 'a checkpoint of the audit is a seal of its chain' using errcode = 'insufficient_privilege';
     end if;
     if exists (select from audit_seal s join audit a on a.organisation = s.organisation and a.id = s.entry
                where s.organisation = new.organisation and s.seq <= new.seq and a.at > now() - interval '365 days')
       or not exists (select from audit_seal s where s.organisation = new.organisation and s.seq > new.seq) then
       raise exception 'entries of the audit are kept for a year at least, and the last one always'
         using errcode = 'insufficient_privilege';
     end if;
     return new;
   end $$`,
  `create trigger audit_checkpoint_holds before insert on audit_checkpoint
     for each row execute function check_audit_checkpoint()`,
  `create trigger audit_checkpoint_kept before update or delete on audit_checkpoint
     for each row execute function refuse_audit_change()`,
  `create trigger audit_checkpoint_whole before truncate on audit_checkpoint
     for each statement execute function refuse_audit_change()`,
  `create or replace function refuse_audit_change() returns trigger language plpgsql as $$
   begin
     if tg_op = 'DELETE' and tg_table_name = 'audit_seal' then
       if exists (select from audit_checkpoint c where c.organisation = old.organisation and c.seq >= old.seq) then
         return old;
       end if;
     elsif tg_op = 'DELETE' and tg_table_name = 'audit' then
       if exists (select from audit_seal s join audit_checkpoint c on c.organisation = s.organisation and c.seq >= s.seq
                  where s.organisation = old.organisation and s.entry = old.id) then
         return old;
       end if;
     end if;
     raise exception 'the audit is only added to: % of % is refused', tg_op, tg_table_name
       using errcode = 'insufficient_privilege';
   end $$`,
  // Whoever writes entries need not be allowed to remove any.
  `create function drop_audit(of_organisation text, to_seq bigint) returns bigint language plpgsql security definer
     set search_path from current as $$
   declare
     gone bigint;
   begin
     perform pg_advisory_xact_lock(hashtextextended('bursar audit ' || of_organisation, 0));
     insert into audit_checkpoint (organisation, seq, hash)
       select organisation, seq, hash from audit_seal where organisation = of_organisation and seq = to_seq;
     delete from audit a using audit_seal s
       where a.organisation = of_organisation and s.organisation = a.organisation and s.entry = a.id and s.seq <= to_seq;
     get diagnostics gone = row_count;
     delete from audit_seal where organisation = of_organisation and seq <= to_seq;
     return gone;
   end $$`,
];

const FUNCTIONS = ['drop_audit(text, bigint)', 'check_audit_checkpoint()', 'refuse_audit_change()'];

const DOWN = [
  `alter function refuse_audit_change() reset all`,
  `create or replace function refuse_audit_change() returns trigger language plpgsql as $$
   begin
     raise exception 'the audit is only added to: % of % is refused', tg_op, tg_table_name
       using errcode = 'insufficient_privilege';
   end $$`,
  `drop function drop_audit(text, bigint)`,
  `drop table audit_checkpoint`,
  `drop function check_audit_checkpoint()`,
];

export class AuditCheckpoints1764000000078 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
    const [row] = (await runner.query(`select quote_ident(current_schema()) as schema`)) as { schema: string }[];
    // What the caller makes in pg_temp does not stand for these tables.
    for (const name of FUNCTIONS)
      await runner.query(`alter function ${name} set search_path = ${row?.schema ?? 'public'}, pg_temp`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
