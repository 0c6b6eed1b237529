/**
 * How a customer writes down the HTTP interface by which its account at Matpool is read and acted on: one JSON
 * document, one schema.
 *
 * Nothing in it is guessed: what an answer means is what the document says it means. A secret appears in headers only,
 * as `{secret}`, so that no address and no body ever holds one.
 */
import { z } from 'zod';
import type { BillingState, EffectKind, RunState } from '../../core/fleet/fleet.js';

/** Effects that can be written down, and what their templates may name beside `{target}` and `{token}`. */
const EFFECT_FIELDS = {
  stop: [],
  start: [],
  terminate: [],
  scale: ['replicas'],
  'set-bounds': ['min', 'max'],
  'set-spot-ratio': ['spotRatio'],
  resize: ['sku'],
} as const satisfies Partial<Record<EffectKind, readonly string[]>>;
export type WrittenKind = keyof typeof EFFECT_FIELDS;
export const WRITTEN_KINDS = Object.keys(EFFECT_FIELDS) as WrittenKind[];

const RUN_STATES: readonly [RunState, ...RunState[]] = [
  'starting',
  'running',
  'stopping',
  'stopped',
  'gone',
  'unknown',
];
const BILLING_STATES: readonly [BillingState, ...BillingState[]] = ['billed', 'partly', 'ended', 'unknown'];

/** RFC 6901; the empty pointer is the whole. */
const pointer = z.string().regex(/^(\/([^~/]|~[01])*)*$/, 'is not a JSON pointer such as /job/status');
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const where = z.strictObject({ pointer, equals: z.array(scalar).min(1) });
const match = z.strictObject({ statuses: z.array(z.int().min(100).max(599)).min(1), where: where.optional() });
export type Match = z.infer<typeof match>;

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'is not the name of a header');
const headerValue = z.string().regex(/^[\x20-\x7e]{0,1000}$/, 'is not printable ASCII');

/** A request whose address and body may name only `fields`. */
const requestWith = (...fields: readonly string[]) =>
  z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
      path: z
        .string()
        .max(2000)
        .regex(/^\/(?!\/)/, 'does not begin with one slash'),
      headers: z.record(headerName, headerValue).default({}),
      body: z.json().optional(),
    })
    .superRefine((request, context) => {
      const check = (part: 'path' | 'headers' | 'body', text: string, allowed: readonly string[]): void => {
        for (const [, name = ''] of text.matchAll(/\{([A-Za-z]+)\}/g)) {
          if (!allowed.includes(name))
            context.addIssue({
              code: 'custom',
              path: [part],
              message: `names {${name}}, which is none of ${allowed.map((each) => `{${each}}`).join(', ') || 'nothing'}`,
            });
        }
      };
      check('path', request.path, fields);
      check('body', JSON.stringify(request.body ?? null), fields);
      check('headers', Object.values(request.headers).join('\n'), ['secret', 'token']);
      if (request.method === 'GET' && request.body !== undefined)
        context.addIssue({ code: 'custom', path: ['body'], message: 'does not go with GET' });
    });
export type WrittenRequest = z.infer<ReturnType<typeof requestWith>>;

const valuesTo = <Value extends string>(values: readonly [Value, ...Value[]]) =>
  z.strictObject({ pointer, values: z.record(z.string(), z.enum(values)) });

/** Where a target's properties are, from the object that describes it. */
const reading = z.strictObject({
  id: pointer,
  name: pointer.optional(),
  kind: z.enum(['instance', 'group', 'workload', 'node-pool']).default('instance'),
  state: valuesTo(RUN_STATES),
  billing: valuesTo(BILLING_STATES).optional(),
  gpuModel: pointer.optional(),
  gpus: pointer.optional(),
  sku: pointer.optional(),
  region: pointer.optional(),
  revision: pointer.optional(),
  launchedAt: pointer.optional(),
  hostName: pointer.optional(),
  address: pointer.optional(),
  desired: pointer.optional(),
  ready: pointer.optional(),
  min: pointer.optional(),
  max: pointer.optional(),
});
export type Reading = z.infer<typeof reading>;

const effectOf = (kind: WrittenKind) =>
  z.strictObject({
    request: requestWith('target', 'token', ...EFFECT_FIELDS[kind]),
    success: match,
    refused: match.extend({ code: pointer.optional(), detail: pointer.optional() }).optional(),
    reference: pointer.optional(),
  });

const effectShapes = Object.fromEntries(WRITTEN_KINDS.map((kind) => [kind, effectOf(kind).optional()])) as Record<
  WrittenKind,
  z.ZodOptional<ReturnType<typeof effectOf>>
>;

export const apiSchema = z.strictObject({
  baseUrl: z.string(),
  denied: match.optional(),
  target: z.strictObject({
    request: requestWith('target'),
    success: match,
    missing: match.optional(),
    at: pointer.default(''),
  }),
  fleet: z.strictObject({ request: requestWith('page'), success: match, items: pointer }).optional(),
  reading,
  effects: z.strictObject(effectShapes).default({}),
  outcome: z
    .strictObject({
      request: requestWith('target', 'token'),
      success: match,
      state: valuesTo(['taken', 'refused', 'absent', 'unknown']),
    })
    .optional(),
});
/** The interface as it is written, every default filled in. */
export type WrittenApi = z.infer<typeof apiSchema>;

/** The value that a JSON pointer (RFC 6901) finds; undefined if there is none. */
export function valueAt(json: unknown, at: string): unknown {
  let value = json;
  for (const step of at
    .split('/')
    .slice(1)
    .map((each) => each.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** Whether an answer is of a kind. */
export function matches(kind: Match, status: number, json: unknown): boolean {
  return (
    kind.statuses.includes(status) &&
    (kind.where === undefined || kind.where.equals.some((value) => value === valueAt(json, kind.where?.pointer ?? '')))
  );
}
