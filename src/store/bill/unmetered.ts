/**
 * Lines of bills that count before the bill is final although a meter stands for their SKU, because their machines are
 * not metered (core/bill/unmetered.ts). The view `hour_line` adds them to `actual` while their SKU is set aside. The
 * rows derive from the bill's lines and the metered records, and are rewritten at every comparison.
 */
import { MeteredResources, SetAside, type UnmeteredLine } from '../../core/bill/unmetered.js';
import { formatDecimal } from '../../core/decimal.js';
import type { Dimension } from '../../core/cost/rollup.js';
import { DAY_MS, dayOf, formatInstant } from '../../core/time.js';
import { countedRecords } from '../usage/block.js';
import { meteredBlocks, readSeen } from '../usage/reading.js';
import { copyText, type Queryable, type Transaction } from '../database.js';
import { enqueue } from '../work.js';
import { namesOf, rollupOf, type TeamDay } from './counting.js';

const ROW = ['organisation', 'team', 'hour', 'dimension', 'delivery', 'no', 'until', 'billed'];
/** The number of metered records that are read; if there are more, lines are set aside by their SKU alone. */
const MOST_RECORDS = 2_000_000;
const PAGE_BLOCKS = 20;

/** The fields that distinguish metered usage. */
const meterOf = (
  usage: Pick<Dimension, 'provider' | 'account' | 'subAccount' | 'sku' | 'gpuModel' | 'region' | 'term'>,
): string => JSON.stringify(namesOf(usage));

export class UnmeteredStore {
  /** The lines of a bill that are set aside, and the meters that set them aside. */
  async setAside(tx: Queryable, organisation: string, delivery: string): Promise<SetAside> {
    const rows = await tx.query<{ dimension: string; day: string; names: string[]; on: string }>(
      `select dimension::text as dimension, day::text as day, names, metered_on::text as "on" from set_aside_by
       where organisation = $1 and delivery = $2`,
      [organisation, delivery],
    );
    const aside = new SetAside();
    for (const { dimension, day, names, on } of rows)
      aside.add(dimension, Date.parse(day), JSON.stringify(names), Date.parse(on));
    return aside;
  }

  /** The resources that metered usage within [from, to) names; null if there is too much of it to be read. */
  async metered(tx: Queryable, organisation: string, from: number, to: number): Promise<MeteredResources | null> {
    const seen = await meteredBlocks(tx, organisation, { start: from, end: to });
    if (seen.reduce((sum, { records }) => sum + records, 0) > MOST_RECORDS) return null;
    const metered = new MeteredResources();
    for await (const block of readSeen(tx, organisation, seen, PAGE_BLOCKS))
      for (const record of countedRecords(block).filter(({ charge }) => charge === null))
        for (let day = dayOf(record.start); day <= Math.max(record.start, record.end - 1); day += DAY_MS)
          metered.add(meterOf(record), day, record.resource);
    return metered;
  }

  /** Keeps the lines of a bill that count; enqueues the days on which that changes. */
  async save(tx: Transaction, organisation: string, delivery: string, lines: readonly UnmeteredLine[]): Promise<void> {
    const kept = await tx.query<TeamDay & { text: string }>(
      `select team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day,
         concat_ws(' ', team, (extract(epoch from hour) * 1000)::bigint, dimension,
           coalesce((extract(epoch from until) * 1000)::bigint, 0), billed) as text
       from unmetered_line where organisation = $1 and delivery = $2`,
      [organisation, delivery],
    );
    const current = new Map(
      lines.map(({ team, hour, dimension, until, billed }) => [
        `${team} ${hour} ${dimension} ${until ?? 0} ${formatDecimal(billed)}`,
        { team, day: formatInstant(hour).slice(0, 10) },
      ]),
    );
    const before = new Map(kept.map(({ text, ...day }) => [text, day]));
    const changed = [
      ...[...before].filter(([text]) => !current.has(text)),
      ...[...current].filter(([text]) => !before.has(text)),
    ].map(([, day]) => day);
    if (changed.length === 0) return;
    await tx.query(`delete from unmetered_line where organisation = $1 and delivery = $2`, [organisation, delivery]);
    await tx.copy(
      'unmetered_line',
      ROW,
      lines.map(
        ({ team, hour, dimension, until, billed }, no) =>
          `${[organisation, team, formatInstant(hour), dimension, delivery, String(no), until === null ? null : formatInstant(until), formatDecimal(billed)].map(copyText).join('\t')}\n`,
      ),
    );
    await enqueue(tx, organisation, changed.map(rollupOf));
  }
}
