/**
 * Bursar's own usage record as JSON: one definition of its fields, read two ways.
 *
 * `readFields` is written by hand, because a million records go through it in a second or two; `recordSchema` is the
 * same record for OpenAPI. A property test holds them together. Every problem of a record is named, an unknown field
 * among them: a misspelt quantity must not become an unknown one.
 */
import { z } from 'zod';
import { migParts, modelOf } from '../../core/fleet/gpu-model.js';
import type { Problem } from '../../core/errors.js';
import { providerName } from '../../core/price/price.js';
import { GPU_PARTS, MOST_GPU_PARTS, TERMS, type RecordVersion, type Term, type UsageRecord } from '../../core/usage.js';
import { MOST_KEY_CHARACTERS, MOST_RESOURCE_CHARACTERS } from './bill.js';
import { Memo } from './memo.js';
import { decimalOf, decimalOfNumber, scaledInteger } from './numbers.js';
import { isStorable, type Tags } from './tags.js';
import { DAY_MS, isoInstant } from '../../core/time.js';

const MOST_TAGS = 200;
const MOST_TAG_CHARACTERS = 4096;
/** A record spans at most this: a leap year. */
const MOST_RECORD_MILLISECONDS = 366 * DAY_MS;
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const MIB_PER_GIB = 1024;
const BYTES_PER_GIB = 1_073_741_824;
/** An exbibyte, in MiB. */
const MOST_STORAGE_MIB = 2 ** 40;

const FIELDS: ReadonlySet<string> = new Set([
  'id',
  'provider',
  'account',
  'subAccount',
  'resource',
  'namespace',
  'service',
  'sku',
  'region',
  'term',
  'gpuModel',
  'gpus',
  'gpuMilli',
  'migProfile',
  'storageGib',
  'networkGib',
  'networkBytes',
  'start',
  'end',
  'tags',
  'labels',
  'revision',
  'updatedAt',
  'corrects',
]);

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object with fields. */
export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= most && isStorable(value);

/** Epoch milliseconds of an ISO 8601 time (UTC where it names no zone) in 2000 to 2099, or null. */
function instantOf(value: unknown): number | null {
  const instant = typeof value === 'string' ? isoInstant(value) : Number.NaN;
  return instant >= EARLIEST && instant < LATEST ? instant : null;
}

/** Parts of whole or fractional GPUs: exact to a part (a 7000th), not rounded. */
function partsOfGpus(value: unknown): number | null {
  if (typeof value === 'number') {
    // The nearest float64 of m/1000 is `value`: then m/1000 is what was written.
    const milli = Math.round(value * 1000);
    if (milli / 1000 === value) return partsWithin(milli * (GPU_PARTS / 1000));
  }
  const decimal =
    typeof value === 'number' ? decimalOfNumber(value) : typeof value === 'string' ? decimalOf(value) : undefined;
  return decimal === undefined ? null : partsWithin(scaledInteger(decimal, BigInt(GPU_PARTS)));
}

function partsOfMilli(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) ? partsWithin(value * (GPU_PARTS / 1000)) : null;
}

/** The amount that a correction reverses: the same, negative. */
const below =
  (convert: (value: unknown) => number | null) =>
  (value: unknown): number | null => {
    const text =
      typeof value === 'number' ? -value : typeof value === 'string' && value.startsWith('-') ? value.slice(1) : null;
    const amount = text === null ? null : convert(text);
    return amount === null ? null : 0 - amount;
  };

const partsWithin = (parts: number | null): number | null =>
  parts !== null && parts >= 0 && parts <= MOST_GPU_PARTS ? Math.abs(parts) : null;

/** `value` (a number or decimal text) GiB in smaller units, to the nearest one; null if it is none or too much. */
function unitsOfGib(value: unknown, unitsPerGib: number, most: number): number | null {
  const gib =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && decimalOf(value) !== undefined
        ? Number(value)
        : Number.NaN;
  const units = Math.round(gib * unitsPerGib);
  return units >= 0 && units <= most ? Math.abs(units) : null;
}

function bytesOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? Math.abs(value) : null;
}

function areTags(value: unknown): value is Tags {
  if (!isObject(value)) return false;
  const keys = Object.keys(value);
  return (
    keys.length <= MOST_TAGS &&
    keys.every((key) => isText(key, MOST_KEY_CHARACTERS) && key !== '__proto__' && isTagValue(value[key]))
  );
}

const isTagValue = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MOST_TAG_CHARACTERS && isStorable(value);

const isTerm = (value: unknown): value is Term => (TERMS as readonly unknown[]).includes(value);

const providers = new Memo(providerName);
const models = new Memo((text) => modelOf(text) ?? text);

/** The problem message for a field of each kind. */
const WRONG = {
  key: `is not a text of 1 to ${MOST_KEY_CHARACTERS} characters`,
  resource: `is not a text of 1 to ${MOST_RESOURCE_CHARACTERS} characters`,
  instant: 'is not an ISO 8601 time of the years 2000 to 2099',
  gpus: 'is not a number of GPUs from 0 to 100000 in thousandths or MIG slices of 7',
  gpuMilli: 'is not a whole number of thousandths of a GPU from 0 to 100000000',
  migProfile: 'is not a MIG profile of this GPU, such as 1g.10gb',
  storageGib: 'is not a number of GiB from 0 to 1073741824',
  networkGib: 'is not a number of GiB from 0 to 8388607',
  networkBytes: 'is not a whole number of bytes',
  tags: `is not an object of at most ${MOST_TAGS} texts`,
  term: `is none of ${TERMS.join(', ')}`,
  missing: 'is missing',
  revision: 'is not a whole number from 0',
  correction: 'is not below zero: a correction takes back what the record that it names states too much of',
  unknown: 'is not a field of a usage record',
  end: 'is before the start',
  span: 'is more than 366 days after the start',
  twoGpus: 'is stated beside another number of GPUs',
  twoNetworks: 'is stated beside networkBytes',
  nothing: 'states no quantity: one of gpus, gpuMilli, migProfile, storageGib, networkGib and networkBytes',
} as const;

/** Reads one record's fields and says under `path` everything that is wrong. */
class FieldReader {
  private readonly before: number;

  constructor(
    private readonly fields: Fields,
    private readonly path: string,
    private readonly problems: Problem[],
  ) {
    this.before = problems.length;
  }

  get sound(): boolean {
    return this.problems.length === this.before;
  }

  wrong(name: string | null, message: string): null {
    this.problems.push({ path: name === null ? this.path : this.path === '' ? name : `${this.path}/${name}`, message });
    return null;
  }

  refuseUnknown(): void {
    for (const name in this.fields) if (!FIELDS.has(name)) this.wrong(name, WRONG.unknown);
  }

  text(name: string, value: unknown, most: number, message: string): string | null {
    if (value === undefined || value === null) return null;
    return isText(value, most) ? value : this.wrong(name, message);
  }

  key(name: string, value: unknown): string | null {
    return this.text(name, value, MOST_KEY_CHARACTERS, WRONG.key);
  }

  requiredKey(name: string, value: unknown): string {
    if (value === undefined || value === null) this.wrong(name, WRONG.missing);
    return this.key(name, value) ?? '';
  }

  instant(name: string, value: unknown): number {
    const instant = instantOf(value);
    if (instant === null) this.wrong(name, value === undefined || value === null ? WRONG.missing : WRONG.instant);
    return instant ?? Number.NaN;
  }

  read<T>(name: string, value: unknown, convert: (value: unknown) => T | null, message: string): T | null {
    if (value === undefined || value === null) return null;
    return convert(value) ?? this.wrong(name, message);
  }

  tags(name: string, value: unknown): Tags | null {
    const tags = this.read(name, value, (given) => (areTags(given) ? given : null), WRONG.tags);
    if (tags === null) return null;
    for (const _ in tags) return tags;
    return null;
  }

  /** A quantity; of a correction its negative. */
  private quantity(
    name: string,
    value: unknown,
    convert: (value: unknown) => number | null,
    message: string,
  ): number | null {
    if (value === undefined || value === null) return null;
    return this.isCorrection
      ? this.read(name, value, below(convert), WRONG.correction)
      : this.read(name, value, convert, message);
  }

  private get isCorrection(): boolean {
    return isStated(this.fields['corrects']);
  }

  storageMib(value: unknown): number | null {
    return this.quantity('storageGib', value, storageOf, WRONG.storageGib);
  }

  /** Which statement of the record this is; undefined: it does not say. */
  version(revision: unknown, updatedAt: unknown): RecordVersion | undefined {
    if (!isStated(revision) && !isStated(updatedAt)) return undefined;
    return {
      revision: this.read('revision', revision, revisionOf, WRONG.revision),
      updatedAt: this.read('updatedAt', updatedAt, instantOf, WRONG.instant),
    };
  }

  gpuParts(model: string | null, profile: unknown, milli: unknown, gpus: unknown): number | null {
    const ofProfile = this.read(
      'migProfile',
      profile,
      (value) => (typeof value === 'string' ? migParts(value, model) : null),
      WRONG.migProfile,
    );
    const ofMilli = this.quantity('gpuMilli', milli, partsOfMilli, WRONG.gpuMilli);
    const ofGpus = this.quantity('gpus', gpus, partsOfGpus, WRONG.gpus);
    if (isStated(gpus) && (isStated(milli) || isStated(profile))) this.wrong('gpus', WRONG.twoGpus);
    else if (isStated(milli) && isStated(profile)) this.wrong('gpuMilli', WRONG.twoGpus);
    return ofGpus ?? ofMilli ?? ofProfile;
  }

  networkBytes(bytes: unknown, gib: unknown): number | null {
    const ofBytes = this.quantity('networkBytes', bytes, bytesOf, WRONG.networkBytes);
    const ofGib = this.quantity('networkGib', gib, networkOfGib, WRONG.networkGib);
    if (isStated(bytes) && isStated(gib)) this.wrong('networkGib', WRONG.twoNetworks);
    return ofBytes ?? ofGib;
  }
}

const isStated = (value: unknown): boolean => value !== undefined && value !== null;

const storageOf = (value: unknown): number | null => unitsOfGib(value, MIB_PER_GIB, MOST_STORAGE_MIB);
const networkOfGib = (value: unknown): number | null => unitsOfGib(value, BYTES_PER_GIB, Number.MAX_SAFE_INTEGER);
const revisionOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
const termOf = (value: unknown): Term | null => (isTerm(value) ? value : null);

/** The envelope's identity; an id inside must still be one. */
function enclosedId(reader: FieldReader, inside: unknown, id: string): string {
  reader.key('id', inside);
  return id;
}

/**
 * The record in a JSON value, or null with every problem named under `path` (`records/3/start`). `id` replaces the
 * field of that name where an envelope carries the identity. GPUs are exact; storage is metered to the MiB and network
 * to the byte, to the nearest.
 */
export function readFields(
  value: unknown,
  path: string,
  problems: Problem[],
  id: string | null = null,
): UsageRecord | null {
  if (!isObject(value)) {
    problems.push({ path, message: 'is not an object' });
    return null;
  }
  const reader = new FieldReader(value, path, problems);
  reader.refuseUnknown();
  // Each field by a name that is written here: of records that all have one shape that is many times faster.
  const { gpus, gpuMilli, migProfile, storageGib, networkGib, networkBytes } = value;
  const model = reader.key('gpuModel', value['gpuModel']);
  const gpuModel = model === null ? null : models.valueOf(model);
  const tags = reader.tags('tags', value['tags']);
  const labels = reader.tags('labels', value['labels']);
  const start = reader.instant('start', value['start']);
  const end = reader.instant('end', value['end']);
  if (end < start) reader.wrong('end', WRONG.end);
  if (end - start > MOST_RECORD_MILLISECONDS) reader.wrong('end', WRONG.span);
  const provider = reader.requiredKey('provider', value['provider']);
  const record: UsageRecord = {
    id: id === null ? reader.requiredKey('id', value['id']) : enclosedId(reader, value['id'], id),
    provider: providers.valueOf(provider),
    account: reader.key('account', value['account']),
    subAccount: reader.key('subAccount', value['subAccount']),
    resource: reader.text('resource', value['resource'], MOST_RESOURCE_CHARACTERS, WRONG.resource),
    namespace: reader.key('namespace', value['namespace']),
    service: reader.key('service', value['service']),
    sku: reader.key('sku', value['sku']),
    region: reader.key('region', value['region']),
    term: reader.read('term', value['term'], termOf, WRONG.term),
    gpuModel,
    tags: tags === null ? labels : labels === null ? tags : { ...tags, ...labels },
    start,
    end,
    gpuParts: reader.gpuParts(gpuModel, migProfile, gpuMilli, gpus),
    storageMib: reader.storageMib(storageGib),
    networkBytes: reader.networkBytes(networkBytes, networkGib),
    charge: null,
  };
  if (![gpus, gpuMilli, migProfile, storageGib, networkGib, networkBytes].some(isStated))
    reader.wrong(null, WRONG.nothing);
  const version = reader.version(value['revision'], value['updatedAt']);
  const corrects = reader.key('corrects', value['corrects']);
  if (!reader.sound) return null;
  // Few records state these: the others keep one shape, which is read faster.
  return version === undefined && corrects === null
    ? record
    : { ...record, ...(version === undefined ? {} : { version }), ...(corrects === null ? {} : { corrects }) };
}

const keySchema = z.string().min(1).max(MOST_KEY_CHARACTERS).refine(isStorable, 'the text holds what cannot be stored');
const instantSchema = z
  .string()
  .refine((value) => instantOf(value) !== null, WRONG.instant)
  .meta({ format: 'date-time' });
// Not z.record: that passes over a key `__proto__`, and what is passed over is not checked.
const tagsSchema = z
  .unknown()
  .refine(areTags, WRONG.tags)
  .meta({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: MOST_TAG_CHARACTERS },
    maxProperties: MOST_TAGS,
  });
const quantitySchema = (convert: (value: unknown) => number | null, message: string) =>
  z
    .union([z.number(), z.string()])
    .refine((value) => convert(value) !== null || below(convert)(value) !== null, message);

const fieldShape = {
  provider: keySchema.describe('FOCUS ProviderName, or a name that people use for it (aws, azure, gcp)'),
  account: keySchema
    .nullish()
    .describe("Whose bill it is in: FOCUS BillingAccountId (the payer), or a SubAccountId of that payer's bill"),
  subAccount: keySchema.nullish().describe('FOCUS SubAccountId: AWS linked account, Azure subscription, GCP project'),
  resource: z
    .string()
    .min(1)
    .max(MOST_RESOURCE_CHARACTERS)
    .refine(isStorable)
    .nullish()
    .describe('Instance, pod or volume'),
  namespace: keySchema.nullish().describe('Kubernetes namespace'),
  service: keySchema.nullish(),
  sku: keySchema.nullish().describe('Instance type or SKU: the key into the price book'),
  region: keySchema.nullish(),
  term: z.enum(TERMS as readonly [Term, ...Term[]]).nullish(),
  gpuModel: keySchema.nullish(),
  gpus: quantitySchema(partsOfGpus, WRONG.gpus)
    .nullish()
    .describe('GPUs held over the interval, fractions allowed: 0.46'),
  gpuMilli: z
    .number()
    .int()
    .refine((value) => partsOfMilli(Math.abs(value)) !== null, WRONG.gpuMilli)
    .nullish()
    .describe('Thousandths of a GPU'),
  migProfile: z.string().nullish().describe('NVIDIA MIG profile of one instance: 1g.10gb'),
  storageGib: quantitySchema(storageOf, WRONG.storageGib).nullish(),
  networkGib: quantitySchema(networkOfGib, WRONG.networkGib).nullish(),
  networkBytes: z.number().int().nullish(),
  start: instantSchema.describe('Inclusive, ISO 8601, UTC where no zone is named'),
  end: instantSchema.describe('Exclusive'),
  tags: tagsSchema.nullish(),
  labels: tagsSchema.nullish().describe('Joined with tags; a label wins over a tag of the same name'),
  revision: z
    .number()
    .refine((value) => revisionOf(value) !== null, WRONG.revision)
    .nullish()
    .describe('Of two statements of one id that of the higher revision counts; none is the lowest'),
  updatedAt: instantSchema.nullish().describe('Of two statements of one id and revision the later one counts'),
  corrects: keySchema
    .nullish()
    .describe(
      'The id of the record that this one corrects: its quantities are below zero, within what that one holds; it names ' +
        'the same provider, accounts, SKU, resource, tags and so on',
    ),
};

/** The rules that concern two fields, for both schemas. */
function checkTogether(fields: Fields, context: z.RefinementCtx): void {
  const problems: Problem[] = [];
  if (readFields({ ...fields, id: fields['id'] ?? '-' }, '', problems) !== null) return;
  for (const { path, message } of problems)
    context.addIssue({ code: 'custom', path: path === '' ? [] : [path ?? ''], message });
}

/** A usage record, as `readFields` reads it. */
export const recordSchema = z
  .strictObject({ id: keySchema, ...fieldShape })
  .superRefine(checkTogether)
  .meta({ id: 'UsageRecord' });

/** The same record inside an envelope that carries the identity: `id` may be absent and is not used. */
export const enclosedRecordSchema = z
  .strictObject({ id: keySchema.nullish(), ...fieldShape })
  .superRefine(checkTogether)
  .meta({ id: 'UsageData' });
