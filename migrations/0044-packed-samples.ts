/**
 * Samples as blocks: `sample_recent` holds what was saved lately, as it came, and `sample_hour` whole hours, one row
 * for a resource, team and hour, in partitions of a day that are made and dropped by the two functions. Expands only:
 * `sample` stays, the version before goes on writing there, and its rows are read beside the blocks and carried over
 * hour by hour (docs/decisions/0013-packed-samples.md).
 *
 * A partition is made apart and attached, which stops neither readers nor writers; where it cannot be dropped at once
 * because somebody reads, it is left for the next time (PostgreSQL's documentation, "Table Partitioning", 5.12.2.2).
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  `create table sample_recent (
     organisation text not null, source text not null, id bigint generated always as identity, team text not null,
     hour timestamptz not null, first_at timestamptz not null, last_at timestamptz not null,
     first_resource text collate "C" not null, last_resource text collate "C" not null, workloads text[] not null,
     samples int not null, payload bytea not null,
     primary key (organisation, source, id)
   )`,
  `alter table sample_recent alter column payload set storage external`,
  `create index sample_recent_hour on sample_recent (organisation, hour, team)`,
  `create table sample_hour (
     organisation text not null, source text not null, resource text collate "C" not null, hour timestamptz not null,
     team text not null, id bigint not null, workloads text[] not null, samples int not null, payload bytea not null,
     primary key (organisation, source, resource, hour, team)
   ) partition by range (hour)`,
  `alter table sample_hour alter column payload set storage external`,
  `create index sample_hour_team on sample_hour (organisation, team, hour, resource)`,
  // Whoever writes samples need not be allowed to make or drop tables.
  `create function sample_hour_day(day date) returns void language plpgsql security definer set search_path from current
     set lock_timeout = '5s' as $$
   declare
     part text := 'sample_hour_' || to_char(day, 'YYYYMMDD');
   begin
     if to_regclass(part) is not null then return; end if;
     perform pg_advisory_xact_lock(hashtextextended('bursar sample_hour', 0));
     if to_regclass(part) is not null then return; end if;
     execute format('create table %I (like sample_hour including defaults including constraints including storage)', part);
     execute format('alter table sample_hour attach partition %I for values from (%L) to (%L)',
       part, to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
   end $$`,
  `create function drop_sample_hours(before timestamptz) returns int language plpgsql security definer
     set search_path from current set lock_timeout = '2s' as $$
   declare
     part text;
     dropped int := 0;
   begin
     perform pg_advisory_xact_lock(hashtextextended('bursar sample_hour', 0));
     for part in
       select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'sample_hour'::regclass
         and (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= before
       order by 1
     loop
       execute format('alter table sample_hour detach partition %I', part);
       execute format('drop table %I', part);
       dropped := dropped + 1;
     end loop;
     return dropped;
   exception when lock_not_available then
     return 0;
   end $$`,
];

export class PackedSamples1764000000044 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop function drop_sample_hours(timestamptz)`);
    await runner.query(`drop function sample_hour_day(date)`);
    await runner.query(`drop table sample_hour, sample_recent`);
  }
}
