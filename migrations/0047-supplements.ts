/**
 * What lies beside a bill (Azure's amortised export) counts with it: it adds the effective cost that lines of the bill
 * leave open, which are not unstated then, and no list cost.
 *
 * Expands only. Supplements that are there are read once more, which this wakes: those without their bill wait for it
 * from now on. What bills said of commitments before is mended where it can be told: the list cost of supplements, and
 * the fees of AWS' reservations and savings plans, which are purchases.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { lines, LINES } from './0034-late-lines.js';
import { LOOKED_UP } from './0040-account-keys.js';

/** Zero where the supplement of the line's bill has lines of the same usage on the day: they state the line's cost. */
const EFFECTIVE = `case when u.effective is null and exists (
    select 1 from delivery a
    join delivery s on s.organisation = a.organisation and s.source = a.source and s.supplement = a.scope || '|supplement'
    join usage_hour w on w.organisation = s.organisation and w.delivery = s.id and w.effective is not null
    join dimension e on e.organisation = w.organisation and e.id = w.dimension
    where a.organisation = u.organisation and a.id = u.delivery and w.team = u.team and w.hour = u.hour
      and e.currency = d.currency and e.category = d.category
      and e.sub_account is not distinct from d.sub_account and e.service is not distinct from d.service
      and e.sku is not distinct from d.sku and e.region is not distinct from d.region
      and e.term is not distinct from d.term) then 0 else u.effective end`;

const UP = [
  `update commitment_use set list = 0, without_list = 0 where status = 'Used' and delivery in (
     select id from delivery where supplement is not null)`,
  `update commitment_use set purchase = true where status = 'Unused' and provider = 'AWS' and billed <> 0`,
  `insert into work (organisation, lane, stage, key, wanted)
   select organisation, source, 'usage.allocate', source || '/' || id, 1 from delivery where supplement is not null
   on conflict (organisation, lane, stage, key) do update set wanted = work.wanted + 1, parked_at = null, attempts = 0`,
];

export class Supplements1764000000047 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(lines(...LINES, LOOKED_UP, EFFECTIVE));
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(lines(...LINES, LOOKED_UP));
  }
}
