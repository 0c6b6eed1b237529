/**
 * One installation serves one organisation (docs/decisions/0015-one-organisation.md): nobody can be let in as another
 * one. The tables are small, and their rows have no other value. Expands only.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By which callers are known. */
const DOORS = ['api_key', 'session', 'access_role', 'scim_user', 'scim_group'];

export class OneOrganisation1764000000055 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of DOORS)
      await runner.query(`alter table ${table} add constraint ${table}_of_one check (organisation = 'default')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of DOORS) await runner.query(`alter table ${table} drop constraint ${table}_of_one`);
  }
}
