/**
 * Takes in records whose id has come before, and corrections: tells repetitions, later statements and earlier ones that
 * came late apart, and says what has to be summed anew.
 *
 * Nothing is overwritten: what no longer counts is set aside in its block. Two contents of one version are a conflict,
 * which is refused by name, never guessed.
 */
import type { Group, Grouping } from '../../core/cost/rollup.js';
import { hourOf } from '../../core/time.js';
import { compareVersions, isSameRecord, type Reject, type UsageRecord } from '../../core/usage.js';
import type { Transaction } from '../database.js';
import type { DeliveryTarget, DeliveryWriter } from './delivery.js';
import type { TeamDay } from './raw.js';
import type { Sightings } from './seen.js';
import { noteStatements, Places, placesOf, recordsAt, setAside, sumAnew, type Statement } from './statements.js';

export interface Incoming {
  readonly group: Group;
  readonly record: UsageRecord;
}

/** What became of records that were known. */
export interface Restated {
  /** Kept; of these `later` count in the stead of what was sent before. */
  accepted: number;
  later: number;
  unchanged: number;
  readonly refused: { readonly record: UsageRecord; readonly column: string; readonly reason: string }[];
}

export class Restating {
  /** Hours of deliveries that have to be summed anew when all is written. */
  private readonly touched = new Places();

  constructor(
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly source: string,
  ) {}

  /**
   * Takes known records into a delivery. What was accepted of it before has to be written by now.
   * @param flushed writes what has been accepted since
   */
  async take(
    known: readonly Incoming[],
    delivery: { readonly id: string; readonly writer: DeliveryWriter },
    sightings: Sightings,
    flushed: () => Promise<void>,
  ): Promise<Restated> {
    const result: Restated = { accepted: 0, later: 0, unchanged: 0, refused: [] };
    for (let left = known; left.length > 0; ) {
      await flushed();
      // An id that comes twice is looked at again, when the first is written.
      const round = new Map<string, Incoming>();
      for (const one of left) if (!round.has(one.record.id)) round.set(one.record.id, one);
      left = left.filter((one) => round.get(one.record.id) !== one);
      await this.takeRound([...round.values()], delivery, sightings, result);
    }
    await flushed();
    return result;
  }

  private async takeRound(
    round: readonly Incoming[],
    { id: delivery, writer }: { readonly id: string; readonly writer: DeliveryWriter },
    sightings: Sightings,
    result: Restated,
  ): Promise<void> {
    const statements = await this.statementsOf(round, sightings);
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
      sightings.admit(hourOf(record.start), group, record);
      result.accepted += 1;
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

  private async statementsOf(round: readonly Incoming[], sightings: Sightings): Promise<Map<string, Statement[]>> {
    const { tx, organisation, source } = this;
    const ids = new Map(round.map(({ record }) => [record.id, sightings.versionsOf(record.id)]));
    const hours = new Set(round.map(({ record }) => hourOf(record.start)));
    const places = await placesOf(tx, organisation, source, ids, hours);
    const found = new Map<string, Statement[]>();
    for await (const one of recordsAt(tx, organisation, source, places, (record) => ids.has(record.id)))
      found.set(one.record.id, [...(found.get(one.record.id) ?? []), one]);
    return found;
  }

  /**
   * Of corrections those that lie within what they correct; why the others are refused. What they correct has to be
   * written by now.
   */
  async checked(
    corrections: readonly Incoming[],
    delivery: string,
    sightings: Sightings,
  ): Promise<{ readonly sound: Incoming[]; readonly refused: Restated['refused'] }> {
    const { tx, organisation, source } = this;
    const ids = new Map(corrections.map(({ record: { corrects = '' } }) => [corrects, sightings.versionsOf(corrects)]));
    const places = await placesOf(
      tx,
      organisation,
      source,
      new Map([...ids].filter(([, versions]) => versions !== null)),
      new Set(),
    );
    const found = new Map<string, Statement>();
    for await (const one of recordsAt(tx, organisation, source, places, (record) => ids.has(record.id)))
      if (!one.aside) found.set(one.record.id, one);
    const [sound, refused]: [Incoming[], Restated['refused']] = [[], []];
    for (const one of corrections) {
      const { corrects = '' } = one.record;
      const corrected = found.get(corrects);
      const reason =
        corrected === undefined
          ? `corrects "${corrects}", which this source has not sent`
          : isWithin(one.record, corrected.record)
            ? null
            : `takes back more than "${corrects}" holds, or at another time`;
      if (reason !== null) refused.push({ record: one.record, column: 'corrects', reason });
      else sound.push(one);
    }
    await noteStatements(
      tx,
      organisation,
      source,
      sound.flatMap(({ record: { corrects = '', start } }) => {
        const corrected = found.get(corrects);
        return corrected === undefined
          ? []
          : [
              { id: corrects, delivery, start },
              { id: corrects, delivery: corrected.delivery, start: corrected.record.start },
            ];
      }),
    );
    return { sound, refused };
  }

  /** Sums anew what no longer counts; the days that this changes. Everything has to be written by now. */
  async finish(targetOf: (delivery: string) => DeliveryTarget, grouping: Grouping): Promise<TeamDay[]> {
    const days: TeamDay[] = [];
    for (const [delivery, hours] of this.touched.hours)
      days.push(...(await sumAnew(targetOf(delivery), hours, grouping)));
    return days;
  }
}

/** Whether a correction takes back no more than its record holds, of what it names and within its time. */
function isWithin(correction: UsageRecord, corrected: UsageRecord): boolean {
  const fits = (taken: number | null, held: number | null): boolean => taken === null || -taken <= (held ?? 0);
  return (
    correction.start >= corrected.start &&
    correction.end <= corrected.end &&
    fits(correction.gpuParts, corrected.gpuParts) &&
    fits(correction.storageMib, corrected.storageMib) &&
    fits(correction.networkBytes, corrected.networkBytes)
  );
}

export const refusal = ({ record, column, reason }: Restated['refused'][number], line: number): Reject => ({
  line,
  column,
  reason,
  raw: JSON.stringify(record).slice(0, 4000),
});
