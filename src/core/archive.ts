/**
 * The archive of raw records that the database deletes, and its format. Archived data is read back and compared before
 * anything is deleted (application/usage/archive.ts).
 */
import type { UsageRecord } from './usage.js';

/** A block of raw records, whole. */
export interface RawBlock {
  readonly source: string;
  readonly delivery: string;
  readonly no: number;
  readonly records: readonly RawRecord[];
}

export interface RawRecord {
  readonly record: UsageRecord;
  /** Which records of a block have the same description: equal numbers, from 0. */
  readonly group: number;
  /** False: a later statement counts in its place. */
  readonly counts: boolean;
}

/** A folder, or a bucket of an object store. */
export interface ArchivePlace {
  /** For messages; no secret. */
  readonly name: string;
  /** Replaces what is there. @throws Failure unavailable */
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** @throws Failure missing if there is nothing, unavailable */
  read(path: string): Promise<Uint8Array>;
}

export interface ArchiveFormat {
  write(blocks: readonly RawBlock[]): Uint8Array;
  /** @throws Failure invalid if it is none of what `write` wrote */
  read(bytes: Uint8Array): Promise<RawBlock[]>;
}
