/**
 * usage.collect and price.collect: files and batches become usage and prices in the store, and enqueue the work that
 * follows. They choose the format but never read one themselves: the formats are passed in. A row that cannot be read
 * never stops a file.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { formatInstant, type Clock } from '../core/time.js';
import { invalid, type Problem } from '../core/errors.js';
import type {
  ImportedFile,
  ImportedPrices,
  Importer,
  ImportOptions,
  Input,
  PriceFormat,
  UsageFormat,
} from '../core/ports.js';
import { checkFiles, manifestOf, periodsOf, type Manifest } from '../core/bill/manifest.js';
import type { PriceEvent } from '../core/price/price.js';
import { placeOfReject, type RecordBatch, type Reject, type UsageRecord } from '../core/usage.js';
import type { FileToImport, ImportRequest } from '../store/usage/intake.js';
import type { Stores } from '../store/stores.js';
import { enqueueUrgent } from '../store/work.js';
import { teamDayItems } from './keys.js';

type ReadRecord = (value: unknown, path: string, problems: Problem[]) => UsageRecord | null;

/** The parts that app.module passes in. */
export interface CollectParts {
  readonly usageFormats: readonly UsageFormat[];
  readonly priceFormats: readonly PriceFormat[];
  /** Readers of one JSON value: Bursar's own record, and a CloudEvent. */
  readonly readRecord: ReadRecord;
  readonly readEvent: ReadRecord;
  readonly openFile: Importer['openFile'];
  readonly openBytes: Importer['openBytes'];
  /** As openFile, of bytes that come from elsewhere; close() frees them. */
  openStream(name: string, stream: AsyncIterable<Uint8Array>): Promise<OpenInput>;
}

type OpenInput = Input & { close(): Promise<void> };

export class Collector implements Importer {
  readonly openFile: Importer['openFile'];
  readonly openBytes: Importer['openBytes'];

  constructor(
    private readonly stores: Pick<
      Stores,
      'db' | 'audit' | 'deliveries' | 'intake' | 'organisations' | 'prices' | 'rejects'
    >,
    private readonly parts: CollectParts,
    private readonly clock: Clock,
  ) {
    this.openFile = parts.openFile;
    this.openBytes = parts.openBytes;
  }

  get usageFormats(): readonly UsageFormat[] {
    return this.parts.usageFormats;
  }

  get priceFormats(): readonly PriceFormat[] {
    return this.parts.priceFormats;
  }

  async files(
    inputs: readonly Input[],
    options: ImportOptions,
    progress?: (rows: number) => void,
  ): Promise<ImportedFile[]> {
    const { bills, manifests } = await withoutManifests(inputs);
    const chosen = chooseAll(this.parts.usageFormats, bills, options.format);
    checkFiles(
      manifests,
      chosen.map(({ input, format }) => ({ name: input.name, format: format.name })),
    );
    const twins = await twinsOf(bills);
    const files = chosen.map(
      ({ input, format }): FileToImport => ({
        name: input.name,
        format: format.name,
        ...(format.increments === true ? { increment: input.name } : {}),
        isDelivered: true,
        batches: (onUnknownColumns) =>
          checked(
            { name: input.name, periods: periodsOf(manifests, input.name), twin: twins.get(input) ?? null },
            format.read(input, { onUnknownColumns }),
          ),
      }),
    );
    return this.stores.intake.import({ ...(await this.request(options)), urgent: true }, files, progress);
  }

  async commit(
    delivery: string,
    { organisation, strict, dryRun, replace = false, by }: Parameters<Importer['commit']>[1],
  ): Promise<ImportedFile[]> {
    const { deliveries, db, audit } = this.stores;
    const { source, format, files } = await deliveries.get(db, organisation, delivery);
    if (files.length === 0) throw invalid(`the delivery ${delivery} has no file yet`);
    const inputs: OpenInput[] = [];
    try {
      for (const { file } of files)
        inputs.push(await this.parts.openStream(file, deliveries.content(organisation, delivery, file)));
      const imported = await this.files(inputs, { organisation, source, format, strict, dryRun, replace, by });
      if (dryRun) return imported;
      // Should this fail, the delivery is open still, and committing it again changes nothing.
      await db.transaction(async (tx) => {
        await deliveries.close(tx, organisation, delivery, files);
        await audit.audit(tx, organisation, by, 'delivery.commit', delivery, {
          files: imported.map(({ file, import: id, accepted, rejected }) => ({ file, import: id, accepted, rejected })),
        });
      });
      return imported;
    } finally {
      for (const input of inputs) await input.close();
    }
  }

  async batch(
    body: () => unknown,
    options: ImportOptions,
  ): Promise<ImportedFile & { readonly rejects: readonly Reject[] }> {
    let batch: RecordBatch = { records: [], rejects: [] };
    const rejects: Reject[] = [];
    const file: FileToImport = {
      name: 'batch',
      format: options.format,
      prepare: () => {
        batch = this.read(valuesOf(body()));
      },
      async *batches() {
        // An import that conflicted with others starts again.
        rejects.length = 0;
        yield batch;
      },
      rejected: (more) => void rejects.push(...more),
    };
    const [result] = await this.stores.intake.import(await this.request(options), [file]);
    if (result === undefined) throw new Error('broken invariant: one file gives one result');
    return { ...result, rejects };
  }

  async prices(inputs: readonly Input[], options: ImportOptions): Promise<ImportedPrices[]> {
    const chosen = chooseAll(this.parts.priceFormats, inputs, options.format);
    const lists = await Promise.all(
      chosen.map(async ({ input, format }) => ({
        name: input.name,
        format: format.name,
        origin: format.origin,
        ...(await readList(input, format)),
      })),
    );
    const empty = lists.filter(({ events, rejects }) => events.length + rejects.length === 0);
    if (empty.length > 0) {
      const problems = empty.map(({ name }) => ({ path: name, message: 'has no price, at most a header' }));
      throw invalid(joined(problems), problems);
    }
    const refused = lists.filter((list) => list.rejects.length > 0);
    if (options.strict && refused.length > 0) {
      throw invalid(
        'some rows could not be read, and the import is strict: nothing was imported',
        refused.flatMap((list) =>
          list.rejects.slice(0, 100).map((r) => ({ path: `${list.name}, ${placeOfReject(r)}`, message: r.reason })),
        ),
      );
    }
    const { organisation, source, by } = options;
    return this.stores.db.transaction(async (tx) => {
      const results: ImportedPrices[] = [];
      const fresh: PriceEvent[] = [];
      for (const list of lists) {
        const { fresh: added, statement } = options.dryRun
          ? { fresh: list.events, statement: null }
          : await this.stores.prices.state(tx, organisation, list.events, list.name, list.origin);
        fresh.push(...added);
        const rows = list.events.length + list.rejects.length;
        const result = {
          file: list.name,
          format: list.format,
          rows,
          accepted: added.length,
          rejected: list.rejects.length,
          unchanged: list.events.length - added.length,
          rejects: list.rejects,
        };
        results.push(result);
        if (!options.dryRun)
          await this.stores.rejects.saveList(tx, organisation, source, result, statement, by, this.clock.now());
      }
      if (!options.dryRun)
        await enqueueUrgent(
          tx,
          organisation,
          teamDayItems('cost.price', await this.stores.prices.affected(tx, organisation, fresh)),
        );
      return results;
    });
  }

  private read(values: readonly unknown[]): RecordBatch {
    const records: UsageRecord[] = [];
    const rejects: Reject[] = [];
    values.forEach((value, at) => {
      const problems: Problem[] = [];
      const isEvent = typeof value === 'object' && value !== null && 'specversion' in value;
      const record = (isEvent ? this.parts.readEvent : this.parts.readRecord)(value, '', problems);
      if (record !== null) records.push(record);
      else
        rejects.push({
          line: at + 1,
          column: problems[0]?.path ?? null,
          reason: problems.map((p) => `${p.path ?? ''} ${p.message}`.trim()).join('; '),
          raw: JSON.stringify(value)?.slice(0, 4000) ?? '',
        });
    });
    return { records, rejects };
  }

  private async request(options: ImportOptions): Promise<ImportRequest> {
    const { organisations, db } = this.stores;
    const rules = await organisations.rules(db, options.organisation);
    const trackedTags = await organisations.trackedTags(db, options.organisation);
    const { organisation, source, strict, dryRun, by, replace = false, spread } = options;
    return {
      organisation,
      source,
      strict,
      dryRun,
      replace,
      by,
      now: this.clock.now(),
      teamOf: (record) => rules.teamOf(record),
      rulesVersion: rules.version,
      trackedTags,
      spread,
    };
  }
}

/** The values of a batch: `{ records: [...] }`, an array, or one value. */
function valuesOf(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (typeof body === 'object' && body !== null && 'records' in body && Array.isArray(body.records))
    return body.records;
  return [body];
}

/** A manifest is small; a larger JSON file is no manifest. */
const MOST_MANIFEST_BYTES = 16 << 20;

async function withoutManifests(
  inputs: readonly Input[],
): Promise<{ readonly bills: readonly Input[]; readonly manifests: readonly Manifest[] }> {
  const bills: Input[] = [];
  const manifests: Manifest[] = [];
  for (const input of inputs) {
    const manifest = await readManifest(input);
    if (manifest === null) bills.push(input);
    else manifests.push(manifest);
  }
  return { bills, manifests };
}

async function readManifest(input: Input): Promise<Manifest | null> {
  if (!/\.json$/i.test(input.name) || input.size > MOST_MANIFEST_BYTES) return null;
  const parts: Uint8Array[] = [];
  for await (const part of input.stream()) parts.push(part);
  try {
    return manifestOf(input.name, JSON.parse(Buffer.concat(parts).toString('utf8')));
  } catch {
    return null;
  }
}

/**
 * For each input that is byte for byte equal to an earlier one: the earlier one's name. Only inputs of the same size
 * are read.
 */
async function twinsOf(inputs: readonly Input[]): Promise<ReadonlyMap<Input, string>> {
  const twins = new Map<Input, string>();
  const sizes = new Map<number, Map<string, Input>>();
  for (const input of inputs) {
    const same = inputs.filter(({ size }) => size === input.size);
    if (same.length < 2) continue;
    const digest = createHash('sha256');
    for await (const part of input.stream()) digest.update(part);
    const key = digest.digest('hex');
    const known = sizes.get(input.size) ?? new Map<string, Input>();
    sizes.set(input.size, known);
    const first = known.get(key);
    if (first === undefined) known.set(key, input);
    else twins.set(input, first.name);
  }
  return twins;
}

/** The requirements that a bill's file must meet before its lines count. */
interface Expected {
  readonly name: string;
  /** The periods of its manifest; null: any. */
  readonly periods: ReadonlySet<number> | null;
  /** Another file of the call with the same content. */
  readonly twin: string | null;
}

/**
 * @throws Failure invalid: lines of a bill occur twice (metered records are distinguished by their ids), or belong to a
 * billing period that the file's manifest does not state
 */
async function* checked(
  { name: file, periods, twin }: Expected,
  batches: AsyncIterable<RecordBatch>,
): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    if (twin !== null && batch.records.some(({ charge }) => charge !== null))
      throw invalid(`${file} has the same content as ${twin}: its lines would count twice; nothing was imported`);
    const other = batch.records.find(({ charge }) => charge !== null && periods?.has(charge.periodStart) === false);
    if (other !== undefined && other.charge !== null) {
      const stated = [...(periods ?? [])].map((period) => formatInstant(period).slice(0, 10)).join(', ');
      throw invalid(
        `${file}: its manifest is of the billing period from ${stated}, but it has lines of the one from ` +
          `${formatInstant(other.charge.periodStart).slice(0, 10)}: nothing was imported`,
      );
    }
    yield batch;
  }
}

interface Format {
  readonly name: string;
  recognises(input: Input): boolean;
}

/** A format for every input; the error names every input that has none. */
function chooseAll<F extends Format>(
  formats: readonly F[],
  inputs: readonly Input[],
  wanted: string,
): { input: Input; format: F }[] {
  const names = formats.map((format) => format.name).join(', ');
  if (wanted !== 'auto') {
    const format = formats.find((candidate) => candidate.name === wanted);
    if (format === undefined) {
      const message = `there is no format "${wanted}": it is one of auto, ${names}`;
      throw invalid(message, [{ path: 'format', message }]);
    }
    const separated = inputs.filter((input) => input.separator !== undefined && !format.recognises(input));
    const problems = separated.map((input) => ({ path: input.name, message: `cannot be read${hintOf(input)}` }));
    if (problems.length > 0) throw invalid(joined(problems), problems);
    return inputs.map((input) => ({ input, format }));
  }
  const problems: Problem[] = [];
  const chosen = inputs.flatMap((input) => {
    const fitting = formats.filter((format) => format.recognises(input));
    const [format] = fitting;
    if (format !== undefined && fitting.length === 1) return [{ input, format }];
    problems.push({
      path: input.name,
      message:
        format === undefined
          ? `is not in a known format (${names}); name one (--format, or the parameter format)${hintOf(input)}`
          : `could be ${fitting.map((f) => f.name).join(' or ')}; choose one (--format, or the parameter format)`,
    });
    return [];
  });
  if (problems.length > 0) throw invalid(joined(problems), problems);
  return chosen;
}

const joined = (problems: readonly Problem[]): string => problems.map((p) => `${p.path ?? ''} ${p.message}`).join('; ');

/** A hint why a file was not recognised. */
function hintOf({ head, columns, separator }: Input): string {
  if (head.length === 0) return '. It is empty';
  if (separator !== undefined)
    return `. It is separated by ${separator}: save it as CSV separated by commas, with points in its numbers`;
  return columns !== undefined || isUtf8(head.subarray(0, head.lastIndexOf(LF) + 1))
    ? ''
    : '. It is not UTF-8 text: save it as CSV in UTF-8';
}
const LF = 10;

async function readList(input: Input, format: PriceFormat): Promise<{ events: PriceEvent[]; rejects: Reject[] }> {
  const events: PriceEvent[] = [];
  const rejects: Reject[] = [];
  for await (const batch of format.read(input)) {
    for (const event of batch.events) events.push(event);
    for (const reject of batch.rejects) rejects.push(reject);
  }
  return { events, rejects };
}
