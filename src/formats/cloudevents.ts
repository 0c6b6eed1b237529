/**
 * Usage as CloudEvents 1.0 in structured mode: one event, a batch (array) or JSON lines.
 *
 * Source: CloudEvents specification 1.0.2 (REQUIRED attributes id, source, specversion, type; source + id is unique for
 * each distinct event) and its JSON event format. `data` holds the fields of Bursar's own record; the identity of the
 * record is the event's source and id. Attributes that Bursar does not use, extensions among them, are allowed.
 */
import { z } from 'zod';
import type { Problem } from '../core/errors.js';
import type { UsageFormat } from '../core/ports.js';
import type { UsageRecord } from '../core/usage.js';
import { MOST_KEY_CHARACTERS } from './reading/bill.js';
import { looksLikeJson, readJsonRecords } from './reading/json.js';
import { enclosedRecordSchema, isObject, readFields } from './reading/record.js';
import { isStorable } from './reading/tags.js';

/** The one type of event that is a usage record. */
const USAGE_EVENT_TYPE = 'bursar.usage.v1';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'cloudevents',
  description: `CloudEvents 1.0 of type ${USAGE_EVENT_TYPE}, structured mode, as JSON or JSON lines`,
  recognises: (input) => looksLikeJson(input, /"specversion"\s*:/),
  read: (input) => readJsonRecords(input, readRecord),
};

/** Half the key, so that source and id together fit in one. */
const MOST_PART_CHARACTERS = MOST_KEY_CHARACTERS / 2;
const JSON_TYPE = /^[a-z]+\/(?:[^;]+\+)?json(?:\s*;.*)?$/i;

const isSource = (value: string): boolean => !/\s/.test(value) && isStorable(value);

/** The record in an event, or null with every problem named under `path`. */
export function readRecord(value: unknown, path: string, problems: Problem[]): UsageRecord | null {
  const wrong = (name: string, message: string): void => {
    problems.push({ path: path === '' ? name : `${path}/${name}`, message });
  };
  if (!isObject(value)) {
    problems.push({ path, message: 'is not an object' });
    return null;
  }
  const before = problems.length;
  const { specversion, type, source, id, data, datacontenttype } = value;
  if (specversion !== '1.0') wrong('specversion', specversion === undefined ? 'is missing' : 'is not 1.0');
  if (type !== USAGE_EVENT_TYPE) wrong('type', type === undefined ? 'is missing' : `is not ${USAGE_EVENT_TYPE}`);
  if (!isPart(source) || !isSource(source)) {
    wrong(
      'source',
      source === undefined ? 'is missing' : `is not a URI reference of at most ${MOST_PART_CHARACTERS - 1} characters`,
    );
  }
  if (!isPart(id) || !isStorable(id))
    wrong('id', id === undefined ? 'is missing' : `is not a text of 1 to ${MOST_PART_CHARACTERS - 1} characters`);
  if (
    datacontenttype !== undefined &&
    datacontenttype !== null &&
    (typeof datacontenttype !== 'string' || !JSON_TYPE.test(datacontenttype))
  ) {
    wrong('datacontenttype', 'is not JSON');
  }
  if (data === undefined) wrong('data', 'is missing');
  // A URI reference has no blank, so that source and id cannot run into each other.
  const record =
    data === undefined
      ? null
      : readFields(data, path === '' ? 'data' : `${path}/data`, problems, `${String(source)} ${String(id)}`);
  return problems.length === before ? record : null;
}

function isPart(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length < MOST_PART_CHARACTERS;
}

/** The event, as `readRecord` reads it. */
export const recordSchema = z
  .looseObject({
    specversion: z.literal('1.0'),
    type: z.literal(USAGE_EVENT_TYPE),
    source: z
      .string()
      .min(1)
      .max(MOST_PART_CHARACTERS - 1)
      .refine(isSource),
    id: z
      .string()
      .min(1)
      .max(MOST_PART_CHARACTERS - 1)
      .refine(isStorable),
    datacontenttype: z.string().regex(JSON_TYPE).nullish(),
    data: enclosedRecordSchema,
  })
  .meta({ id: 'UsageEvent' });
