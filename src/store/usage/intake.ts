/**
 * Imports usage: bills and metered records become blocks, hour sums and work items, in one transaction. An import is
 * saved as a whole or not at all. The same record or bill again changes nothing. A later statement of a record replaces
 * the previous one (restating.ts). A restated bill replaces its whole period (provider, account, billing period), and
 * the previous bill is kept, so that the import can be undone (undo.ts). Unreadable rows are kept as rejects. Never
 * prices.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BillParts } from '../../core/bill/parts.js';
import { formatDecimal } from '../../core/decimal.js';
import { invalid, unavailable } from '../../core/errors.js';
import { Grouping, type Group } from '../../core/cost/rollup.js';
import type { ImportedFile } from '../../core/ports.js';
import {
  placeOfReject,
  type ContractCommitment,
  type RecordBatch,
  type Reject,
  type UsageRecord,
} from '../../core/usage.js';
import { hourOf } from '../../core/time.js';
import type { Database, Transaction } from '../database.js';
import { DeliveryWriter, newDelivery, writeDelivery, type DeliveryTarget, type SpreadCount } from './delivery.js';
import type { Dimensions } from './dimensions.js';
import { printable, REJECT, rejectRows } from './rejects.js';
import { writeContracts } from '../bill/contracts.js';
import { SETTLE, type CountingStore } from '../bill/counting.js';
import { addBilled, BillDelivery, dropDelivery, NO_DIGEST, type FileCount, type Scope } from './bill-delivery.js';
import { SilentLines } from '../../core/bill/silent-lines.js';
import { Overlaps, OverlapsOfImport, OverlapWatch } from './overlaps.js';
import { refusal, Restating, type Incoming, type Restated } from './restating.js';
import { belongs, scopeKey } from './scopes.js';
import { SeenIds, type SeenHours, type SourceVersion } from './seen.js';
import { claimed, isFree, MustBeAlone, nextVersion, raisedVersion, SourceTaken } from './source-versions.js';
import { staleByTags } from './stale-tags.js';
import { KeyedMutex } from '../keyed-mutex.js';
import { enqueue, enqueueUrgent, type WorkItem } from '../work.js';

const MOST_GROUPS = 200_000;

export interface ImportRequest {
  readonly organisation: string;
  /** Names the meter or the origin of the bills; ids are unique within it. */
  readonly source: string;
  /** Any reject refuses the import whole. */
  readonly strict: boolean;
  /** Everything is done and counted, then rolled back. */
  readonly dryRun: boolean;
  readonly by: string;
  /** A bill that another source has delivered is replaced; without it that is a conflict. */
  readonly replace?: boolean;
  /** A person waits for what follows. */
  readonly urgent?: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly teamOf: (record: UsageRecord) => string;
  readonly rulesVersion: number;
  readonly trackedTags: readonly string[];
  readonly spread?: SpreadCount | undefined;
}

export interface FileToImport {
  readonly name: string;
  readonly format: string;
  /** Of a format whose files each add to their period: the file's name. */
  readonly increment?: string;
  /** A person has handed in the file: a file without lines is reported. */
  readonly isDelivered?: boolean;
  /** Of a small batch: reads what is in memory already, when it is next but one at most, and before a connection is taken. */
  prepare?(): void;
  batches(onUnknownColumns: (columns: readonly string[]) => void): AsyncIterable<RecordBatch>;
  /** Told of every record that is rejected, by the reader or by what came before. */
  rejected?(rejects: readonly Reject[]): void;
}

class RolledBack extends Error {}

/** How long an import waits for those of its source before it, and between two checks for one of another process. */
const PATIENCE_MS = 120_000;
const POLL_MS = 50;

export class Intake {
  private readonly seen = new SeenIds();
  private readonly watch = new OverlapWatch();
  private readonly reading = new KeyedMutex('another import of the source', PATIENCE_MS);
  private readonly mutex = new KeyedMutex('another import of the source', PATIENCE_MS);

  constructor(
    private readonly db: Database,
    private readonly dimensions: Dimensions,
    private readonly counting: CountingStore,
  ) {}

  /** After something was taken back: what is remembered of overlaps may be of it. */
  forgetOverlaps(): void {
    this.watch.forget();
  }

  /**
   * Takes one file in within a transaction of the caller's: what came before changes nothing and leaves no import
   * behind. Should the transaction fail later, the next import starts from what is committed.
   * @returns null if nothing was new
   */
  async importWithin(tx: Transaction, request: ImportRequest, file: FileToImport): Promise<ImportedFile | null> {
    try {
      const [result] = await this.run(tx, request, [file], false);
      if (result === undefined || result.accepted + result.rejected > 0) return result ?? null;
      await tx.query(`delete from import where organisation = $1 and id = $2`, [request.organisation, result.import]);
      return null;
    } catch (error) {
      if (error instanceof SourceTaken) throw unavailable(`another import of the source ${request.source} is at work`);
      throw error;
    } finally {
      this.seen.forget(request.organisation, request.source);
    }
  }

  /**
   * Those of one source go one after the other in a process; who waits holds no connection. Small batches go on beside
   * those of other processes until their digests are written; all else is alone with its source.
   * @throws Failure invalid, naming the rejects, if `strict` is set and there are any; unavailable if the source is not
   * free in time
   */
  async import(
    request: ImportRequest,
    files: readonly FileToImport[],
    progress?: (rows: number) => void,
  ): Promise<ImportedFile[]> {
    const name = `${request.organisation}\u0001${request.source}`;
    let result: Promise<ImportedFile[]> = Promise.resolve([]);
    // The next one is read while the one before it waits for the database; those after them are not in memory yet.
    await this.reading.runExclusive(name, async () => {
      for (const file of files) file.prepare?.();
      await new Promise<void>((resolve, reject) => {
        result = this.mutex.runExclusive(name, () => {
          resolve();
          return this.untilFree(request, files, progress);
        });
        result.catch(reject);
      });
    });
    return result;
  }

  private async untilFree(
    request: ImportRequest,
    files: readonly FileToImport[],
    progress?: (rows: number) => void,
  ): Promise<ImportedFile[]> {
    const until = performance.now() + PATIENCE_MS;
    const isSmall = !request.dryRun && files.every((file) => file.prepare !== undefined);
    for (let concurrent = isSmall; ; concurrent = false) {
      const result = await this.attempt(request, files, concurrent, progress);
      if (result !== null) return result;
      if (concurrent) continue;
      if (performance.now() > until) throw this.mutex.tooLong();
      await pause(POLL_MS * (0.5 + Math.random()));
    }
  }

  /** Null if another process is at work on the source, or where this has to be alone and is not. */
  private async attempt(
    request: ImportRequest,
    files: readonly FileToImport[],
    concurrent: boolean,
    progress?: (rows: number) => void,
  ): Promise<ImportedFile[] | null> {
    let result: ImportedFile[] = [];
    try {
      await this.db.transaction(async (tx) => {
        result = await this.run(tx, request, files, concurrent, progress);
        if (request.dryRun) throw new RolledBack();
      });
    } catch (error) {
      if (error instanceof SourceTaken) return null;
      this.seen.forget(request.organisation, request.source);
      if (error instanceof MustBeAlone) return null;
      if (!(error instanceof RolledBack)) throw error;
    }
    return result;
  }

  private async run(
    tx: Transaction,
    request: ImportRequest,
    files: readonly FileToImport[],
    concurrent: boolean,
    progress?: (rows: number) => void,
  ): Promise<ImportedFile[]> {
    // Waiting for the row of the source would hold this connection meanwhile.
    if (!concurrent && !(await isFree(tx, request))) throw new SourceTaken();
    const run = new ImportRun(tx, request, this.dimensions, this.seen, this.watch, this.counting, concurrent);
    try {
      return await run.all(files, progress);
    } catch (error) {
      this.seen.forget(request.organisation, request.source);
      throw error;
    }
  }
}

/** Metered records, each with its group at the same place; what corrects another is taken after them. */
interface Metered {
  readonly groups: Group[];
  readonly records: UsageRecord[];
  readonly corrections: Incoming[];
}

/** One import, from its first row to its last statement. */
class ImportRun {
  private readonly grouping: Grouping;
  private readonly scopes = new Map<string, Scope>();
  private metered: { writer: DeliveryWriter; id: string } | null = null;
  private version: SourceVersion = { version: 0n, forgot: 0n };
  /** The first import of the call: everything that the call brings is undone together. */
  private takenWith: string | null = null;
  private readonly restating: Restating;
  private readonly overlaps: OverlapsOfImport;
  private readonly contracts: { readonly count: FileCount; readonly contract: ContractCommitment }[] = [];
  /** Of one beside others: what it will note when it has its source. */
  private claims: SeenHours | null = null;
  private digestPart = 0;
  private isInParts = false;
  private pending: Promise<void> = Promise.resolve();

  constructor(
    private readonly tx: Transaction,
    private readonly request: ImportRequest,
    private readonly dimensions: Dimensions,
    private readonly seen: SeenIds,
    watch: OverlapWatch,
    private readonly counting: CountingStore,
    private readonly concurrent: boolean,
  ) {
    this.grouping = new Grouping(request.teamOf, request.trackedTags);
    this.restating = new Restating(tx, request.organisation, request.source);
    this.overlaps = new OverlapsOfImport(watch, request.organisation, request.source);
  }

  async all(files: readonly FileToImport[], progress?: (rows: number) => void): Promise<ImportedFile[]> {
    const { organisation } = this.request;
    this.version = await (this.concurrent ? nextVersion : raisedVersion)(this.tx, this.request);
    this.isInParts = files.length > 1;
    const counts: FileCount[] = [];
    for (const file of files) counts.push(await this.file(file, progress));
    await this.pending;
    const metered = await this.finishMetered();
    if (this.concurrent) await this.claim();
    await this.finishContracts();
    const bills = new BillDelivery(this.tx, this.request, this.counting);
    const enqueueWork = this.request.urgent === true ? enqueueUrgent : enqueue;
    await enqueueWork(this.tx, organisation, [
      ...metered,
      ...(this.scopes.size > 0 ? [SETTLE] : []),
      ...(await staleByTags(this.tx, this.request)),
      ...(await bills.finish(this.scopes, counts)),
    ]);
    const results: ImportedFile[] = [];
    for (const [at, file] of files.entries()) results.push(await this.close(file, counts[at] as FileCount));
    return results;
  }

  /** Of one that went on beside others of its source: takes the source for what is left to write. */
  private async claim(): Promise<void> {
    const { tx, request, claims, metered, version: expected } = this;
    this.version = await claimed(tx, request, expected, claims);
    // What is remembered of the source lacks what the others have written.
    if (this.version.version !== expected.version) this.seen.forget(request.organisation, request.source);
    if (claims !== null && metered !== null) await this.writeDigests(claims, metered.id);
  }

  private async file(file: FileToImport, progress?: (rows: number) => void): Promise<FileCount> {
    const { organisation, source, now, by } = this.request;
    const [row] = await this.tx.query<{ id: string }>(
      `insert into import (organisation, source, file, format, rows, accepted, rejected, unchanged, billed, imported_at, imported_by, taken_with)
       values ($1, $2, $3, $4, 0, 0, 0, 0, '[]', $5, $6, $7) returning id::text as id`,
      [organisation, source, file.name, file.format, new Date(now), by, this.takenWith],
    );
    this.takenWith ??= row?.id ?? null;
    const count: FileCount = {
      accepted: 0,
      unchanged: 0,
      rejected: 0,
      billed: new Map(),
      lastBilled: null,
      unknownColumns: new Set(),
      replaced: [],
      removed: [],
      overlaps: new Overlaps(),
      silent: new SilentLines(),
      warnings: [],
      restated: 0,
      outdated: 0,
      id: row?.id ?? '',
    };
    for await (const batch of file.batches((columns) => columns.forEach((c) => count.unknownColumns.add(c)))) {
      await this.pending;
      if (batch.rejects.length > 0) await this.reject(file, count, batch.rejects);
      await this.records(file, count, batch.records);
      for (const contract of batch.contracts ?? []) this.contracts.push({ count, contract });
      progress?.(count.accepted + count.unchanged + count.rejected);
    }
    const read = count.accepted + count.unchanged + count.rejected + count.outdated;
    if (file.isDelivered === true && read === 0 && !this.contracts.some((one) => one.count === count))
      count.warnings.push('it has no line that counts, at most a header: it changes nothing');
    return count;
  }

  private async records(file: FileToImport, count: FileCount, records: readonly UsageRecord[]): Promise<void> {
    const metered: Metered = { groups: [], records: [], corrections: [] };
    // A bill's lines are nearly all of the scope of the line before.
    let scope: Scope | null = null;
    for (const record of records) {
      const group = this.grouping.groupOf(record);
      if (record.charge === null) {
        if (record.corrects !== undefined) metered.corrections.push({ group, record });
        else {
          metered.groups.push(group);
          metered.records.push(record);
        }
        continue;
      }
      if (scope === null || !belongs(record, record.charge, scope)) {
        const key = scopeKey(record, file.increment);
        scope = this.scopes.get(key) ?? (await this.openScope(key, record, file.increment !== undefined));
      }
      scope.writer.add(group, record);
      scope.parts?.add(file.name, record);
      scope.perFile.set(count, (scope.perFile.get(count) ?? 0) + 1);
      addBilled(count, record);
      if (file.format === 'focus') count.silent.add(record, record.charge);
      count.accepted += 1;
      if (scope.writer.full) await this.behind(scope.writer);
    }
    if (metered.records.length + metered.corrections.length > 0) await this.meteredRecords(file, count, metered);
    this.grouping.trim(MOST_GROUPS);
  }

  /** Lets one write go on while the next rows are read; a failure surfaces at the next step. */
  private async behind(writer: DeliveryWriter): Promise<void> {
    await this.pending;
    this.pending = writer.flush();
    this.pending.catch(() => undefined);
  }

  private async meteredRecords(
    file: FileToImport,
    count: FileCount,
    { groups, records, corrections }: Metered,
  ): Promise<void> {
    const { organisation, source } = this.request;
    await this.pending;
    if (this.concurrent && corrections.length > 0) throw new MustBeAlone();
    const seenHours = this.claims ?? (await this.seen.seenHours(this.tx, organisation, source, this.version, this));
    if (this.concurrent) this.claims = seenHours;
    this.metered ??= await this.openMetered();
    const { writer } = this.metered;
    const old: Incoming[] = [];
    const isNew = seenHours.takeNew(groups, records);
    for (let at = 0; at < records.length; at++) {
      const [group, record] = [groups[at] as Group, records[at] as UsageRecord];
      if (isNew[at] === 0) {
        old.push({ group, record });
        continue;
      }
      this.overlaps.seeNew(group, record, count.overlaps);
      writer.add(group, record);
      count.accepted += 1;
      if (writer.full) await writer.flush();
    }
    for (const { group, record } of old) this.overlaps.see(group, record, count.overlaps);
    const known = await this.notRepeated(count, seenHours, old);
    if (known.length > 0) await this.knownRecords(file, count, seenHours, known);
    if (corrections.length > 0) await this.corrections(file, count, seenHours, corrections);
    if (!this.concurrent) await this.writeDigests(seenHours, this.metered.id);
  }

  /** Of records that may have come before those that are not as they came. */
  private async notRepeated(count: FileCount, seenHours: SeenHours, old: readonly Incoming[]): Promise<Incoming[]> {
    if (old.length === 0) return [];
    await seenHours.read(this.tx, new Set(old.map(({ record }) => hourOf(record.start))));
    const known = old.filter(({ group, record }) => seenHours.check(group, record) === 'known');
    if (this.concurrent && known.length > 0) throw new MustBeAlone();
    count.unchanged += old.length - known.length;
    return known;
  }

  /** Records whose id is known, or may be. */
  private async knownRecords(
    file: FileToImport,
    count: FileCount,
    seenHours: SeenHours,
    known: readonly Incoming[],
  ): Promise<void> {
    const delivery = this.metered;
    if (delivery === null) throw new Error('broken invariant: metered records have a delivery');
    const taken = await this.restating.take(known, delivery, seenHours, async () => {
      await delivery.writer.flushAll();
      await this.writeDigests(seenHours, delivery.id);
    });
    count.accepted += taken.accepted;
    count.restated += taken.later;
    count.outdated += taken.outdated;
    count.unchanged += taken.unchanged;
    await this.refuse(file, count, taken.refused);
  }

  /** Records with quantities below zero, each of which names what it corrects. */
  private async corrections(
    file: FileToImport,
    count: FileCount,
    seenHours: SeenHours,
    corrections: readonly Incoming[],
  ): Promise<void> {
    const delivery = this.metered;
    if (delivery === null) throw new Error('broken invariant: metered records have a delivery');
    await delivery.writer.flushAll();
    await this.writeDigests(seenHours, delivery.id);
    const { sound, refused } = await this.restating.checked(corrections, delivery.id, seenHours);
    const isNew = seenHours.takeNew(
      sound.map(({ group }) => group),
      sound.map(({ record }) => record),
    );
    const fresh = sound.filter((_, at) => isNew[at] === 1);
    const old = sound.filter((_, at) => isNew[at] === 0);
    for (const { group, record } of fresh) delivery.writer.add(group, record);
    count.accepted += fresh.length;
    const known = await this.notRepeated(count, seenHours, old);
    if (known.length > 0) await this.knownRecords(file, count, seenHours, known);
    await this.refuse(file, count, refused);
  }

  private async refuse(file: FileToImport, count: FileCount, refused: Restated['refused']): Promise<void> {
    if (refused.length === 0) return;
    const line = count.accepted + count.unchanged + count.outdated + 1;
    await this.reject(
      file,
      count,
      refused.map((one, at) => refusal(one, line + at)),
    );
  }

  private async writeDigests(seenHours: SeenHours, delivery: string): Promise<void> {
    const fresh = seenHours.drain();
    if (fresh.size === 0) return;
    const { organisation, source } = this.request;
    const hours = [...fresh.keys()];
    await this.tx.query(
      `insert into usage_id (organisation, source, hour, delivery, part, version, digests)
       select $1, $2, hour, $3, $4, $5, digests from unnest($6::timestamptz[], $7::bytea[]) as d(hour, digests)`,
      [
        organisation,
        source,
        delivery,
        this.digestPart++,
        String(this.version.version),
        hours.map((hour) => new Date(hour)),
        hours.map((hour) => fresh.get(hour)?.bytes()),
      ],
    );
  }

  private async openScope(key: string, record: UsageRecord, increment: boolean): Promise<Scope> {
    const charge = record.charge;
    if (charge === null) throw new Error('broken invariant: a scope belongs to a bill line');
    if (this.concurrent) throw new MustBeAlone();
    const scope: Scope = {
      ...(await this.openDelivery()),
      perFile: new Map(),
      provider: record.provider,
      account: record.account,
      periodStart: charge.periodStart,
      periodEnd: charge.periodEnd,
      bundle: this.takenWith ?? '',
      supplement: charge.supplement === true,
      increment,
      parts: this.isInParts && charge.supplement !== true ? new BillParts() : null,
      oldBundle: null,
      digest: NO_DIGEST,
    };
    this.scopes.set(key, scope);
    return scope;
  }

  private async openMetered(): Promise<{ writer: DeliveryWriter; id: string }> {
    await this.pending;
    const id = await newDelivery(this.tx);
    const { spread } = this.request;
    return { writer: new DeliveryWriter(this.target(id), { sumsOnly: false, spread }), id };
  }

  private async openDelivery(): Promise<{ writer: DeliveryWriter; id: string }> {
    await this.pending;
    const { organisation, source, rulesVersion, now } = this.request;
    const [row] = await this.tx.query<{ id: string }>(
      `insert into delivery (organisation, source, records, rules_version, delivered_at, import) values ($1, $2, 0, $3, $4, $5) returning id::text as id`,
      [organisation, source, rulesVersion, new Date(now), this.takenWith],
    );
    const id = row?.id ?? '';
    return { writer: new DeliveryWriter(this.target(id)), id };
  }

  private target(id: string): DeliveryTarget {
    const { organisation, source } = this.request;
    return { organisation, source, id, tx: this.tx, dimensions: this.dimensions };
  }

  private async finishMetered(): Promise<WorkItem[]> {
    const { organisation, source } = this.request;
    if (this.metered === null) return [];
    const { writer, id } = this.metered;
    const digest = await writer.finish();
    if (writer.records === 0) await dropDelivery(this.tx, organisation, source, id);
    else
      await writeDelivery(this.target(id), { ...this.request, taken: this.takenWith, records: writer.records, digest });
    const restated = await this.restating.finish((of) => this.target(of), this.grouping);
    return [...this.metered.writer.touched.values(), ...restated].map(({ team, day }) => ({
      stage: 'cost.price',
      partition: team,
      key: `${team}/${day}`,
    }));
  }

  /** What all files of the call state of contracts is what their source states of them from now on. */
  private async finishContracts(): Promise<void> {
    const { contracts, tx, takenWith: call } = this;
    if (contracts.length === 0 || call === null) return;
    const { organisation, source } = this.request;
    const terms = contracts.map(({ contract }) => contract);
    const isNew = await writeContracts(tx, { organisation, source, call }, terms);
    for (const { count } of contracts) count[isNew ? 'accepted' : 'unchanged'] += 1;
  }

  private async reject(file: FileToImport, count: FileCount, rejects: readonly Reject[]): Promise<void> {
    if (this.request.strict) {
      throw invalid(
        `${file.name}: ${rejects.length} row(s) could not be read, and the import is strict: nothing was imported`,
        rejects.slice(0, 100).map((r) => ({ path: placeOfReject(r), message: r.reason })),
      );
    }
    file.rejected?.(rejects);
    await this.tx.copy(
      'reject',
      REJECT,
      rejectRows(this.request.organisation, count.id, count.rejected, file.name, rejects),
    );
    count.rejected += rejects.length;
  }

  private async close(file: FileToImport, count: FileCount): Promise<ImportedFile> {
    const billed = [...count.billed.values()].map((b) => ({
      provider: b.provider,
      currency: b.currency,
      amount: formatDecimal(b.amount),
    }));
    const rows = count.accepted + count.rejected + count.unchanged + count.outdated;
    const warnings = [...count.warnings, ...count.silent.warnings, ...count.overlaps.warnings].map(printable);
    const unknownColumns = [...count.unknownColumns].map(printable);
    await this.tx.query(
      `update import set rows = $3, accepted = $4, rejected = $5, unchanged = $6, billed = $7, unknown_columns = $8, replaced = $9,
         warnings = $10, taken_with = $11 where organisation = $1 and id = $2`,
      [
        this.request.organisation,
        count.id,
        rows,
        count.accepted,
        count.rejected,
        count.unchanged,
        JSON.stringify(billed),
        unknownColumns,
        JSON.stringify([...count.replaced, ...count.removed.map((bill) => ({ ...bill, removed: true }))]),
        JSON.stringify(warnings),
        this.takenWith,
      ],
    );
    return {
      import: this.request.dryRun ? null : count.id,
      file: file.name,
      format: file.format,
      rows,
      accepted: count.accepted,
      rejected: count.rejected,
      unchanged: count.unchanged,
      billed,
      replaced: count.replaced,
      removed: count.removed,
      restated: count.restated,
      outdated: count.outdated,
      warnings,
      unknownColumns,
    };
  }
}
