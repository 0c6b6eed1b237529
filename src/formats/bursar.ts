/**
 * Bursar's own usage records as JSON: `{ "records": [...] }`, an array, one object, or JSON lines.
 *
 * The fields of a record are defined in reading/record.ts. The `id` is the record's identity within its source: the
 * same id again is the same record.
 */
import type { Problem } from '../core/errors.js';
import type { Input, UsageFormat } from '../core/ports.js';
import type { UsageRecord } from '../core/usage.js';
import { looksLikeJson, readJsonRecords } from './reading/json.js';
import { readFields } from './reading/record.js';

export { recordSchema } from './reading/record.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'bursar',
  description: "Bursar's own usage records as JSON or JSON lines",
  recognises,
  read: (input) => readJsonRecords(input, readRecord),
};

function recognises(input: Input): boolean {
  if (looksLikeJson(input, /"specversion"\s*:/)) return false;
  return (
    looksLikeJson(input, /"records"\s*:\s*\[/) ||
    (looksLikeJson(input, /"provider"\s*:/) && looksLikeJson(input, /"start"\s*:/))
  );
}

/** The record in a JSON value, or null with every problem named under `path`. */
export function readRecord(value: unknown, path: string, problems: Problem[]): UsageRecord | null {
  return readFields(value, path, problems);
}
