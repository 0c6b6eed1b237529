/**
 * Moves raw records of old months to an archive, and back. A file is written, read back with the same reader, and
 * compared with the blocks record by record and by its sums before the database deletes anything. It works on one file
 * at a time, so a run that ends early keeps its progress. A later run writes the same content to the same path.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ArchiveFormat, ArchivePlace, RawBlock } from '../../core/archive.js';
import { addDecimal, formatDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { conflict, invalid, missing, type Failure } from '../../core/errors.js';
import { civilFromDays, daysFromCivil, DAY_MS } from '../../core/time.js';
import type { Stores } from '../../store/stores.js';
import { rawBlocks, type ArchivedFile, type Portion } from '../../store/usage/archiving.js';

type Needs = Pick<Stores, 'db' | 'archives' | 'audit'>;

export interface Archive {
  readonly place: ArchivePlace;
  readonly format: ArchiveFormat;
}

/** How long restored records stay, whatever a later run requests. */
const KEPT_DAYS = 30;
const MOST_FOLDER_BYTES = 200;

export interface Done {
  readonly files: number;
  readonly blocks: number;
  readonly records: number;
  readonly bytes: number;
}

/** The first instant of the month of UTC that lies so many months before that of `now`. */
export function monthsBefore(now: number, months: number): number {
  const { year, month } = civilFromDays(Math.floor(now / DAY_MS));
  const all = year * 12 + (month - 1) - months;
  return daysFromCivil(Math.floor(all / 12), (((all % 12) + 12) % 12) + 1, 1) * DAY_MS;
}

/**
 * Archives deliveries that ended before a given time. @param told called for each file @throws Failure conflict if a
 * file reads back differently; the database then still has everything
 */
export async function archiveBefore(
  { db, archives, audit }: Needs,
  { place, format }: Archive,
  organisation: string,
  { before, by, now }: { readonly before: number; readonly by: string; readonly now: number },
  told: (path: string, records: number) => void,
): Promise<Done> {
  const done = { files: 0, blocks: 0, records: 0, bytes: 0 };
  for (;;) {
    const portion = await archives.next(organisation, before, now);
    if (portion === null) return done;
    const read = await archives.blocks(db, organisation, portion);
    const raw = rawBlocks(portion.source, read);
    const bytes = format.write(raw);
    const path = pathOf(portion);
    await place.write(path, bytes);
    const back = await place.read(path);
    const digest = digestOf(back);
    if (digest !== digestOf(bytes)) throw notAsWritten(path);
    compare(path, raw, await format.read(back));
    await db.transaction(async (tx) => {
      const file = { path, place: place.name, digest, bytes: back.length };
      await archives.letGo(tx, organisation, portion, read, file, { by, now });
      const { source, month } = portion;
      await audit.audit(tx, organisation, by, 'archive.write', path, { source, month, place: place.name, digest });
    });
    const records = raw.reduce((sum, block) => sum + block.records.length, 0);
    done.files += 1;
    done.blocks += raw.length;
    done.records += records;
    done.bytes += back.length;
    told(path, records);
  }
}

/** By month and source, as DuckDB, Spark and others know partitions (`month=2025-03`). */
function pathOf({ month, source, blocks: [first] }: Portion): string {
  return `month=${month}/source=${folderOf(source)}/${first?.delivery}-${first?.no}.parquet`;
}

/** File systems limit a name to 255 bytes: a longer one is cut, and distinguished by its digest. */
function folderOf(source: string): string {
  const name = encodeURIComponent(source);
  if (name.length <= MOST_FOLDER_BYTES) return name;
  return `${name.slice(0, MOST_FOLDER_BYTES).replace(/%[^%]{0,1}$/, '')}-${digestOf(Buffer.from(source)).slice(0, 16)}`;
}

const notAsWritten = (path: string): Failure =>
  conflict(`${path} does not read back as it was written: none of its records were removed`);

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Record by record, and what they sum up to: the sums are what people will ask the archive for. */
function compare(path: string, written: readonly RawBlock[], back: readonly RawBlock[]): void {
  if (isDeepStrictEqual(sumsOf(written), sumsOf(back)) && isDeepStrictEqual(written, back)) return;
  throw notAsWritten(path);
}

function sumsOf(blocks: readonly RawBlock[]): unknown {
  const counted = blocks.flatMap(({ records }) => records.filter(({ counts }) => counts).map(({ record }) => record));
  const billed = new Map<string, Decimal>();
  let partMs = 0n;
  for (const { charge, gpuParts, start, end } of counted) {
    if (charge !== null) billed.set(charge.currency, addDecimal(billed.get(charge.currency) ?? ZERO, charge.billed));
    if (Number.isSafeInteger(gpuParts)) partMs += BigInt(gpuParts ?? 0) * BigInt(Math.round(end - start));
  }
  const amounts = [...billed].map(([currency, sum]) => `${currency} ${formatDecimal(sum)}`);
  return { blocks: blocks.length, records: counted.length, partMs, amounts };
}

/**
 * Restores months. @param where everything of a month, or of a source, in the archive @throws Failure missing if there
 * is nothing, conflict if a file has changed, or lies elsewhere
 */
export async function restoreArchived(
  { db, archives, audit }: Needs,
  { place, format }: Archive,
  organisation: string,
  where: { readonly month: string; readonly source?: string | undefined },
  { by, now }: { readonly by: string; readonly now: number },
): Promise<Done> {
  if (!/^\d{4}-\d{2}$/.test(where.month)) throw invalid(`"${where.month}" is not a month: write 2025-03`);
  const files = (await archives.files(organisation, where)).filter(({ restoredAt }) => restoredAt === null);
  if (files.length === 0) throw missing(`the archive holds nothing of ${where.month}`);
  const done = { files: 0, blocks: 0, records: 0, bytes: 0 };
  for (const file of files) {
    const blocks = await readFile({ place, format }, file);
    await db.transaction(async (tx) => {
      await archives.takeBack(tx, organisation, file, blocks, { by, now, keepUntil: now + KEPT_DAYS * DAY_MS });
      await audit.audit(tx, organisation, by, 'archive.restore', file.path, {
        source: file.source,
        month: file.month,
        place: place.name,
      });
    });
    done.files += 1;
    done.blocks += blocks.length;
    done.records += blocks.reduce((sum, block) => sum + block.records.length, 0);
    done.bytes += Number(file.bytes);
  }
  return done;
}

/** A file of the archive, as the database knows it. */
async function readFile({ place, format }: Archive, file: ArchivedFile): Promise<RawBlock[]> {
  const bytes = await place.read(file.path);
  if (digestOf(bytes) !== file.digest)
    throw conflict(`${place.name}/${file.path} is not as it was written (then in ${file.place})`);
  return format.read(bytes);
}
