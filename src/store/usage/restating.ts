/**
 * Imports records whose id is already known, and corrections: distinguishes repetitions, later statements, and earlier
 * statements that arrived late, and returns the sums to compute again.
 *
 * Nothing is overwritten: a record that no longer counts is set aside in its block. Two contents of one version are a
 * conflict, which is refused by name, never guessed. In whatever order a record and its correction arrive, together
 * they are never below zero at any time; otherwise the later one is refused.
 */
import type { Group, Grouping } from '../../core/cost/rollup.js';
import { Corrected, misfit, whyMisfit } from '../../core/corrections.js';
import { hourOf } from '../../core/time.js';
import { compareVersions, isSameRecord, type Reject, type UsageRecord } from '../../core/usage.js';
import type { Transaction } from '../database.js';
import type { DeliveryTarget, DeliveryWriter } from './delivery.js';
import type { TeamDay } from './raw.js';
import type { SeenHours } from './seen.js';
import { noteStatements, Places, placesOf, recordsAt, setAside, sumAnew, type Statement } from './statements.js';

export interface Incoming {
  readonly group: Group;
  readonly record: UsageRecord;
}

/** What became of records that were known. */
export interface Restated {
  /** Kept; of these `later` count in place of what was sent before. */
  accepted: number;
  later: number;
  /** Kept too, and in no sum: a later statement of their id counts. */
  outdated: number;
  unchanged: number;
  readonly refused: { readonly record: UsageRecord; readonly column: string; readonly reason: string }[];
}

export class Restating {
  /** Hours of deliveries that have to be summed again when all is written. */
  private readonly touched = new Places();

  constructor(
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly source: string,
  ) {}

  /**
   * Takes known records into a delivery. Its records accepted before must already be written.
   * @param flushed writes what has been accepted since
   */
  async take(
    known: readonly Incoming[],
    delivery: { readonly id: string; readonly writer: DeliveryWriter },
    seenHours: SeenHours,
    flushed: () => Promise<void>,
  ): Promise<Restated> {
    const result: Restated = { accepted: 0, later: 0, outdated: 0, unchanged: 0, refused: [] };
    for (let left = known; left.length > 0; ) {
      await flushed();
      // An id that comes twice is looked at again, when the first is written.
      const round = new Map<string, Incoming>();
      for (const one of left) if (!round.has(one.record.id)) round.set(one.record.id, one);
      left = left.filter((one) => round.get(one.record.id) !== one);
      await this.takeRound([...round.values()], delivery, seenHours, result);
    }
    await flushed();
    return result;
  }

  private async takeRound(
    round: readonly Incoming[],
    { id: delivery, writer }: { readonly id: string; readonly writer: DeliveryWriter },
    seenHours: SeenHours,
    result: Restated,
  ): Promise<void> {
    const { statements, corrected } = await this.statementsOf(
      round.map(({ record }) => record.id),
      round,
      seenHours,
    );
    const [replaced, noted]: [Statement[], { id: string; delivery: string; start: number }[]] = [[], []];
    for (const { group, record } of round) {
      const before = statements.get(record.id) ?? [];
      if (before.some((one) => isSameRecord(one.record, record))) {
        result.unchanged += 1;
        continue;
      }
      if (before.some((one) => compareVersions(record.version, one.record.version) === 0)) {
        result.refused.push({
          record,
          column: 'id',
          reason: `the id "${record.id}" was sent before with other content`,
        });
        continue;
      }
      const counted = before.find(({ aside }) => !aside);
      const isLater = counted === undefined || compareVersions(record.version, counted.record.version) > 0;
      const left = isLater ? misfit(record, corrected.correctedBy(record.id)) : null;
      if (left !== null) {
        result.refused.push({
          record,
          column: 'id',
          reason:
            `the correction "${left.id}" ${whyMisfit(record, left, `this later statement of "${record.id}"`)}: ` +
            `restate or undo that correction first`,
        });
        continue;
      }
      if (isLater) corrected.set(record);
      seenHours.admit(group, record);
      if (isLater) result.accepted += 1;
      else result.outdated += 1;
      if (isLater) writer.add(group, record);
      else writer.addAside(group, record);
      if (counted !== undefined && isLater) {
        replaced.push(counted);
        this.touched.addAll(counted.delivery, counted.record);
        result.later += 1;
      }
      if (before.length > 0) noted.push({ id: record.id, delivery, start: record.start });
      for (const one of before) noted.push({ id: record.id, delivery: one.delivery, start: one.record.start });
    }
    const { tx, organisation, source } = this;
    await setAside(tx, organisation, source, replaced, true);
    await noteStatements(tx, organisation, source, noted);
  }

  /** All statements of some ids, and what counts of these and of their corrections. `near`: likely in their hours. */
  private async statementsOf(
    wanted: readonly string[],
    near: readonly Incoming[],
    seenHours: SeenHours,
  ): Promise<{ readonly statements: Map<string, Statement[]>; readonly corrected: Corrected }> {
    const { tx, organisation, source } = this;
    const ids = new Map(wanted.map((id) => [id, seenHours.versionsOf(id)]));
    const hours = new Set(near.map(({ record }) => hourOf(record.start)));
    const places = await placesOf(tx, organisation, source, ids, hours);
    const statements = new Map<string, Statement[]>();
    const corrected = new Corrected();
    const passes = ({ id, corrects }: UsageRecord): boolean =>
      ids.has(id) || (corrects !== undefined && ids.has(corrects));
    for await (const one of recordsAt(tx, organisation, source, places, passes)) {
      const { id } = one.record;
      if (ids.has(id)) statements.set(id, [...(statements.get(id) ?? []), one]);
      if (!one.aside) corrected.set(one.record);
    }
    return { statements, corrected };
  }

  /**
   * Of corrections those that fit what they correct, and those that will not count; why the others are refused. What
   * they correct has to be written by now.
   */
  async checked(
    corrections: readonly Incoming[],
    delivery: string,
    seenHours: SeenHours,
  ): Promise<{ readonly sound: Incoming[]; readonly refused: Restated['refused'] }> {
    const ids = new Set(corrections.flatMap(({ record: { id, corrects = '' } }) => [id, corrects]));
    const { statements, corrected } = await this.statementsOf([...ids], corrections, seenHours);
    const [sound, refused]: [Incoming[], Restated['refused']] = [[], []];
    for (const one of corrections) {
      const { id, corrects = '', version } = one.record;
      const counted = corrected.get(id);
      const isLater = counted === undefined || compareVersions(version, counted.version) > 0;
      const record = corrected.get(corrects);
      const reason =
        record === undefined
          ? `corrects "${corrects}", which this source has not sent`
          : isLater && !corrected.fits(one.record)
            ? whyMisfit(record, one.record, `"${corrects}"`)
            : null;
      if (reason !== null) refused.push({ record: one.record, column: 'corrects', reason });
      else sound.push(one);
      if (reason === null && isLater) corrected.set(one.record);
    }
    await noteStatements(
      this.tx,
      this.organisation,
      this.source,
      sound.flatMap(({ record: { corrects = '', start } }) => [
        { id: corrects, delivery, start },
        ...(statements.get(corrects) ?? []).map((one) => ({
          id: corrects,
          delivery: one.delivery,
          start: one.record.start,
        })),
      ]),
    );
    return { sound, refused };
  }

  /** Sums again what no longer counts; the days that this changes. Everything has to be written by now. */
  async finish(targetOf: (delivery: string) => DeliveryTarget, grouping: Grouping): Promise<TeamDay[]> {
    const days: TeamDay[] = [];
    for (const [delivery, hours] of this.touched.hours)
      days.push(...(await sumAnew(targetOf(delivery), hours, grouping)));
    return days;
  }
}

export const refusal = ({ record, column, reason }: Restated['refused'][number], line: number): Reject => ({
  line,
  column,
  reason,
  raw: JSON.stringify(record).slice(0, 4000),
});
