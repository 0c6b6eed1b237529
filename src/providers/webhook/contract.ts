/**
 * The signed HTTP contract, as the schemas that check every answer; openapi.ts publishes the same schemas.
 *
 * The wire's own forms: times are ISO 8601 with a zone, amounts are decimal strings, what is not known is null or
 * absent and never zero. A field that is not in the contract is an error: a misspelt one must not become an unknown
 * one.
 */
import { z } from 'zod';
import {
  EFFECT_KINDS,
  TARGET_KINDS,
  type EffectKind,
  type RunState,
  type BillingState,
} from '../../core/fleet/fleet.js';
import { TERMS, type Term } from '../../core/usage.js';

/** The version of the contract that is spoken here. */
export const CONTRACT_VERSION = 1;

/** Most entries of one page. */
const MOST_ENTRIES = 5000;

export const OPERATIONS = ['prices', 'usage', 'fleet', 'offers', 'target', 'apply', 'outcome'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A NUL or half of a surrogate pair: JSON can hold them, the database cannot. */
const NOT_STORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
const storable = (value: string): boolean => !NOT_STORABLE.test(value);
const anyText = (most: number) => z.string().max(most).refine(storable, 'holds a character that cannot be stored');
const text = (most: number) => anyText(most).min(1);
const key = text(512);
const instant = z.iso.datetime({ offset: true });
/** An amount of money: at most nine digits after the point, so that it is a whole number of nanos. */
const amount = z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, 'is not an amount as a decimal string, such as "12.50"');
/** A price may be finer than a nano; it is kept as a fraction. */
const price = z
  .string()
  .regex(/^(?=.*[1-9])\d{1,9}(\.\d{1,18})?$/, 'is not a price above zero as a decimal string, such as "2.49"');
const currency = z.string().regex(/^[A-Z]{3}$/, 'is not a currency code of ISO 4217');
const count = z.int().min(0).max(1_000_000);
const ratio = z.number().min(0).max(1);
const term = z.enum(TERMS as readonly [Term, ...Term[]]);
const labels = z
  .record(key, anyText(4096))
  .refine((value) => Object.keys(value).length <= 200, 'has more than 200 entries');
const inThousandths = (value: number): boolean => Math.round(value * 1000) / 1000 === value;
const gpus = z.number().min(0).max(100_000).refine(inThousandths, 'is not a number of GPUs in thousandths');
const cursor = text(2048);

const RUN_STATES: readonly [RunState, ...RunState[]] = [
  'starting',
  'running',
  'stopping',
  'stopped',
  'gone',
  'unknown',
];
const BILLING_STATES: readonly [BillingState, ...BillingState[]] = ['billed', 'partly', 'ended', 'unknown'];
const effectKinds = EFFECT_KINDS as readonly [EffectKind, ...EffectKind[]];

export const descriptionSchema = z
  .strictObject({
    contract: z.literal(CONTRACT_VERSION).describe('Version of the contract'),
    name: text(100).describe('What the platform calls itself; becomes the source of its prices'),
    abilities: z.strictObject({
      prices: z.boolean(),
      usage: z.boolean(),
      fleet: z.boolean(),
      offers: z.boolean(),
      effects: z.array(z.enum(effectKinds)).describe('Effects that `apply` may be asked for; none: read-only'),
    }),
  })
  .meta({ id: 'Description' });
export type Description = z.infer<typeof descriptionSchema>;

const replicasSchema = z.strictObject({
  desired: count,
  ready: count.nullish(),
  min: count.nullish(),
  max: count.nullish(),
});

/** Names of one target. */
const MOST_NAMES = 1000;

export const targetSchema = z
  .strictObject({
    target: key.describe('Unique and stable: the key by which it is asked for and acted on'),
    kind: z.enum(TARGET_KINDS),
    name: key,
    provider: key.describe('FOCUS ProviderName; the same as in usage and prices'),
    account: key.nullish(),
    region: key.nullish(),
    sku: key.nullish(),
    gpuModel: key.nullish(),
    gpus: gpus.nullish().describe('Of one replica, or of the instance itself'),
    term: term.nullish(),
    state: z.enum(RUN_STATES),
    billing: z.enum(BILLING_STATES).describe('Whether its machines still cost money'),
    replicas: replicasSchema.nullish().describe('Of groups, workloads and pools'),
    spotRatio: ratio.nullish(),
    labels: labels.nullish(),
    launchedAt: instant.nullish(),
    revision: text(200).nullish().describe('Changes whenever the target changes'),
    knownAs: z
      .array(key)
      .max(MOST_NAMES)
      .nullish()
      .describe('Host names and private addresses by which GPU readings name it; of a workload its pods: pod/ml/a-0'),
    zone: key.nullish().describe('The zone in which it runs, or outside of which it may not run'),
    movesTo: z
      .array(z.strictObject({ region: key, zone: key.nullable().describe('null: any of the region') }))
      .max(MOST_NAMES)
      .nullish()
      .describe('Where the platform can start it again: it is moved nowhere else'),
    network: key.nullish().describe('Within which its addresses are its alone, such as a VPC'),
  })
  .meta({ id: 'Target' });
export type WireTarget = z.infer<typeof targetSchema>;

export const recordSchema = z
  .strictObject({
    id: key.describe('Identity: the same whenever it is asked for again'),
    provider: key,
    account: key.nullish(),
    subAccount: key.nullish(),
    resource: text(2048).nullish(),
    namespace: key.nullish(),
    service: key.nullish(),
    sku: key.nullish(),
    region: key.nullish(),
    term: term.nullish(),
    gpuModel: key.nullish(),
    gpus: gpus.nullish().describe('Held over the whole interval'),
    storageMib: z.int().min(0).nullish(),
    networkBytes: z.int().min(0).nullish(),
    start: instant.describe('Inclusive, and within the interval that was asked for, as the end is'),
    end: instant.describe('Exclusive, and final; start and end lie in one UTC hour'),
    tags: labels.nullish(),
  })
  .superRefine((record, context) => {
    if (Date.parse(record.end) < Date.parse(record.start))
      context.addIssue({ code: 'custom', path: ['end'], message: 'is before the start' });
    if ([record.gpus, record.storageMib, record.networkBytes].every((quantity) => (quantity ?? null) === null)) {
      context.addIssue({ code: 'custom', message: 'states no quantity: one of gpus, storageMib and networkBytes' });
    }
  })
  .meta({ id: 'UsageRecord' });
export type WireRecord = z.infer<typeof recordSchema>;

/** The unit of a price, and the component that it prices. */
export const PER = {
  'instance-hour': 'gpu',
  'gpu-hour': 'gpu',
  'gpu-second': 'gpu',
  'gib-hour': 'storage',
  gib: 'network',
} as const;
const per = z.enum(Object.keys(PER) as [keyof typeof PER, ...(keyof typeof PER)[]]);

export const priceSchema = z
  .discriminatedUnion('event', [
    z
      .strictObject({
        event: z.literal('price'),
        provider: key,
        sku: key,
        region: key.nullish(),
        term,
        upfront: z.enum(['none', 'partial', 'all']).nullish(),
        gpuModel: key.nullish(),
        gpus: gpus.nullish().describe('GPUs in one unit of the SKU'),
        price,
        currency,
        per,
        effectiveFrom: instant,
        effectiveTo: instant.nullish(),
        incrementSeconds: z
          .int()
          .min(1)
          .max(86_400)
          .nullish()
          .describe('Usage is charged in whole ones of these; 1 where it is not stated'),
        minimumSeconds: z.int().min(0).max(31_536_000).nullish(),
      })
      .superRefine((entry, context) => {
        if (entry.per === 'instance-hour' && !((entry.gpus ?? 0) > 0)) {
          context.addIssue({
            code: 'custom',
            path: ['gpus'],
            message: 'is missing: a price per instance-hour needs the GPUs of the instance',
          });
        }
        if (typeof entry.effectiveTo === 'string' && Date.parse(entry.effectiveTo) <= Date.parse(entry.effectiveFrom)) {
          context.addIssue({ code: 'custom', path: ['effectiveTo'], message: 'is not after effectiveFrom' });
        }
      }),
    z.strictObject({ event: z.literal('withdrawn'), provider: key, sku: key, region: key.nullish(), at: instant }),
  ])
  .meta({ id: 'PriceEvent' });
export type WirePrice = z.infer<typeof priceSchema>;

const offerSchema = z
  .strictObject({
    offer: key,
    kind: z.enum(['reserved-instance', 'savings-plan']),
    sku: key.nullish(),
    region: key.nullish(),
    termHours: z.int().min(1).max(87_600),
    upfront: z.enum(['none', 'partial', 'all']),
    upfrontAmount: amount.describe('Paid at once, per unit'),
    hourlyAmount: amount.describe('Paid per hour, per unit'),
    currency,
  })
  .meta({ id: 'Offer' });
export type WireOffer = z.infer<typeof offerSchema>;

/** A page of entries under their name, with the cursor of the next page; no cursor: it was the last one. */
const wirePageOf = <Entry extends z.ZodType>(entry: Entry, name: string) =>
  z.strictObject({ [name]: z.array(entry).max(MOST_ENTRIES), cursor: cursor.nullish() });

/** As wirePageOf, read: the entries by that name whatever the wire's is. */
export const pageOf = <Entry extends z.ZodType>(entry: Entry, name: string) =>
  wirePageOf(entry, name).transform((page) => ({
    entries: page[name] as z.infer<Entry>[],
    cursor: (page['cursor'] as string | null | undefined) ?? null,
  }));

export const offersSchema = z.strictObject({ offers: z.array(offerSchema).max(MOST_ENTRIES) });
export const targetAnswerSchema = z.strictObject({ target: targetSchema.nullable().describe('null: it is not there') });

const detail = anyText(1000);
const code = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'is not a code of small letters, digits and dashes');
const taken = z.strictObject({
  outcome: z.literal('taken'),
  reference: text(512).nullish().describe("The platform's own id of the request"),
  detail: detail.nullish(),
});
const unknown = z.strictObject({ outcome: z.literal('unknown'), detail: detail.nullish() });

export const appliedSchema = z.discriminatedUnion('outcome', [taken, unknown]).meta({ id: 'Applied' });
export const outcomeSchema = z
  .discriminatedUnion('outcome', [
    taken,
    unknown,
    z.strictObject({ outcome: z.literal('refused'), code, detail: detail.nullish() }),
    z.strictObject({ outcome: z.literal('absent') }),
  ])
  .meta({ id: 'Outcome' });
export type WireOutcome = z.infer<typeof outcomeSchema>;

/** Every answer that is no success has this body; with 409 and 422 it is what makes the refusal one. */
export const errorSchema = z.strictObject({ code, detail: detail.nullish() }).meta({ id: 'Error' });

const effect = <Kind extends EffectKind, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ kind: z.literal(kind), target: key, ...shape });

const effectSchema = z
  .discriminatedUnion('kind', [
    effect('stop', {}),
    effect('start', {}),
    effect('terminate', {}),
    effect('scale', { replicas: count }),
    effect('set-bounds', { min: count, max: count }),
    effect('set-spot-ratio', { spotRatio: ratio }),
    effect('cordon', { cordoned: z.boolean() }),
    effect('drain', {}),
    effect('replace', { group: key.nullable() }),
    effect('resize', { sku: key }),
    effect('move', {
      region: key,
      zone: key.nullable().describe('null: any of the region'),
      term: z.enum(['spot', 'on-demand']),
      sku: key.nullable().describe('null: whatever machine it asks for'),
    }),
    effect('purchase', {
      offer: key,
      units: z.int().min(1),
      most: amount.describe('Nothing dearer may be bought, in all'),
      currency,
    }),
  ])
  .meta({ id: 'Effect' });
export type WireEffect = z.infer<typeof effectSchema>;

const token = key.describe('Idempotency token: the same token is the same request, done once');

/** The `data` of each request; openapi.ts wraps it in the envelope. */
const REQUESTS = {
  prices: z.strictObject({ since: instant, cursor: cursor.nullable() }),
  usage: z.strictObject({ from: instant, to: instant, cursor: cursor.nullable() }),
  fleet: z.strictObject({ cursor: cursor.nullable() }),
  offers: z.strictObject({}),
  target: z.strictObject({ target: key }),
  apply: z.strictObject({
    token,
    effect: effectSchema,
    before: targetSchema.nullable().describe('The target as it was read just before'),
  }),
  outcome: z.strictObject({ token, effect: effectSchema }),
} satisfies Record<Operation, z.ZodType>;

/** The body of every POST: the type repeats the path, so that the signature covers it. */
export const envelopeOf = (operation: Operation) =>
  z.strictObject({ type: z.literal(`bursar.${operation}`), timestamp: instant, data: REQUESTS[operation] });

export const RESPONSES = {
  prices: wirePageOf(priceSchema, 'prices'),
  usage: wirePageOf(recordSchema, 'records'),
  fleet: wirePageOf(targetSchema, 'targets'),
  offers: offersSchema,
  target: targetAnswerSchema,
  apply: appliedSchema,
  outcome: outcomeSchema,
} satisfies Record<Operation, z.ZodType>;
