/**
 * Zones in which somebody has asked for the costs of all teams: their days are summed beforehand, as those of the zones
 * of teams are (src/store/cost/sums.ts). Expands only: the version before does not read it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ZonesAsked1764000000092 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `create table spend_zone_asked (
         organisation text not null, zone text not null, asked_at timestamptz not null,
         primary key (organisation, zone))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table spend_zone_asked`);
  }
}
