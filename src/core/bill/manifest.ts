/**
 * Which files a bill in parts consists of, where its source says so: the manifest of an AWS Cost and Usage Report
 * (`reportKeys`; AWS CUR User Guide, "Cost and Usage Report files") or of an AWS Data Export (`dataFiles`; AWS Data
 * Exports User Guide, "Understanding export delivery").
 *
 * Never reads a file. The invariant: a set that a manifest calls incomplete is not imported.
 */
import { invalid } from '../errors.js';

/** The names of the files, without their folders and `.gz`; null where the value is no manifest. */
export function manifestFiles(value: unknown): readonly string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  const { reportKeys, dataFiles } = value as { readonly reportKeys?: unknown; readonly dataFiles?: unknown };
  const keys = Array.isArray(reportKeys) ? reportKeys : dataFiles;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === 'string')) return null;
  return keys.map((key) => nameOf(key));
}

/** @throws Failure invalid, naming every file that the manifest names and that is not there. */
export function checkComplete(manifest: string, files: readonly string[], present: readonly string[]): void {
  const there = new Set(present.map(nameOf));
  const absent = files.filter((file) => !there.has(file));
  if (absent.length === 0) return;
  throw invalid(
    `${manifest} names ${files.length} file(s), and ${absent.length} of them ${absent.length === 1 ? 'is' : 'are'} missing: nothing was imported`,
    absent.map((file) => ({ path: file, message: 'is missing' })),
  );
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1).replace(/\.gz$/, '');
