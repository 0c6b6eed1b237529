/**
 * Throughputs that teams have measured, from which others are predicted. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const EXPAND = `
create table throughput_measurement (
  organisation text not null, id bigint generated always as identity, team text collate "C" not null, model text collate "C" not null, gpu_model text not null, gpu_count int not null check (gpu_count > 0),
  batch double precision not null check (batch > 0), samples_per_second double precision not null check (samples_per_second > 0),
  family text, params double precision, size double precision, optimizer text, "precision" text, nodes int, peak_memory_gib double precision,
  measured_at timestamptz not null, made_by text not null, made_at timestamptz not null,
  primary key (organisation, id)
);
create index throughput_measurement_newest on throughput_measurement (organisation, measured_at desc, id desc);`;

export class Measurements1764000000020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(EXPAND);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table throughput_measurement`);
  }
}
