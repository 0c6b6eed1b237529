/**
 * The files of a bill in parts, if its source lists them: the manifest of an AWS Cost and Usage Report (`reportKeys`,
 * `billingPeriod`; AWS CUR User Guide, "Cost and Usage Report files") or of an AWS Data Export (`dataFiles`, in folders
 * `BILLING_PERIOD=2026-10`; AWS Data Exports User Guide, "Understanding export delivery"). Never reads a file.
 *
 * The invariant: an import with a manifest contains exactly the files that it names, once, and of its period. A part
 * that an earlier, longer report left in the folder would otherwise count beside the parts of the newer report.
 */
import { invalid, type Problem } from '../errors.js';
import { DAY_MS, parseDay } from '../time.js';

export interface Manifest {
  readonly name: string;
  /** The files as it names them, with their folders. */
  readonly keys: readonly string[];
  /**
   * By file, without its folder and `.gz`: start of its billing period, epoch milliseconds; absent: it does not say.
   */
  readonly periods: ReadonlyMap<string, number>;
}

/** A file that is to be imported. */
export interface BillFile {
  readonly name: string;
  readonly format: string;
}

/** Null if the value is not a manifest. */
export function manifestOf(name: string, value: unknown): Manifest | null {
  if (typeof value !== 'object' || value === null) return null;
  const { reportKeys, dataFiles, billingPeriod } = value as Readonly<Record<string, unknown>>;
  const keys: unknown = Array.isArray(reportKeys) ? reportKeys : dataFiles;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === 'string')) return null;
  const start = startOf(billingPeriod);
  const periods = keys.flatMap((key): [string, number][] => {
    const period = start ?? monthOfFolder(key);
    return period === null ? [] : [[nameOf(key), period]];
  });
  return { name, keys, periods: new Map(periods) };
}

/**
 * @throws Failure invalid naming every file that a manifest names and that is not there, that is there twice, or that
 * is there and in the format of those that are named, without being one
 */
export function checkFiles(manifests: readonly Manifest[], files: readonly BillFile[]): void {
  if (manifests.length === 0) return;
  const keys = [...new Set(manifests.flatMap((manifest) => manifest.keys))].map(nameOf);
  const named = countOf(keys);
  const present = countOf(files.map(({ name }) => nameOf(name)));
  const formats = new Set(files.filter(({ name }) => named.has(nameOf(name))).map(({ format }) => format));
  const problems: Problem[] = [];
  for (const path of named.keys()) if (!present.has(path)) problems.push({ path, message: 'is missing' });
  for (const [path, count] of present)
    if (count > (named.get(path) ?? count)) problems.push({ path, message: `is there ${count} times` });
  for (const { name: path, format } of files)
    if (!named.has(nameOf(path)) && formats.has(format)) problems.push({ path, message: 'is not named by it' });
  if (problems.length === 0) return;
  const names = [...new Set(manifests.map(({ name }) => name))].join(', ');
  throw invalid(
    `${names} names ${keys.length} file(s), but the files here differ: ` +
      `${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}; nothing was imported`,
    problems,
  );
}

/** The billing periods that a file may be of; null: any. */
export function periodsOf(manifests: readonly Manifest[], file: string): ReadonlySet<number> | null {
  const naming = manifests.filter(({ keys }) => keys.some((key) => nameOf(key) === nameOf(file)));
  const periods = naming.map((manifest) => manifest.periods.get(nameOf(file)) ?? null);
  const known = periods.filter((period) => period !== null);
  return naming.length === 0 || known.length < periods.length ? null : new Set(known);
}

/** `{ "start": "20261001T000000.000Z", ... }`. */
function startOf(billingPeriod: unknown): number | null {
  if (typeof billingPeriod !== 'object' || billingPeriod === null) return null;
  const { start } = billingPeriod as { readonly start?: unknown };
  const match = typeof start === 'string' ? /^(\d{4})(\d{2})(\d{2})T0{6}(?:\.0+)?Z$/.exec(start) : null;
  return match === null ? null : dayStart(`${match[1]}-${match[2]}-${match[3]}`);
}

function monthOfFolder(key: string): number | null {
  const match = /(?:^|\/)BILLING_PERIOD=(\d{4})-(\d{2})\//.exec(key);
  return match === null ? null : dayStart(`${match[1]}-${match[2]}-01`);
}

function dayStart(text: string): number | null {
  const days = parseDay(text);
  return days === null ? null : days * DAY_MS;
}

function countOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1).replace(/\.gz$/i, '');
