/**
 * The shapes of the parts: what a format, a policy, a provider, a telemetry source and a channel must be.
 *
 * Parts live in folders (one file or folder each), are loaded by parts.ts and handed to the line by app.module. The line
 * knows them by these types alone.
 */
import type { PriceEvent } from './price.js';
import type { RecordBatch, Reject } from './usage.js';

/** A file or an upload, already un-gzipped. `slice` and `size` are there for formats that read at random (Parquet). */
export interface Input {
  /** For messages and for recognising a format: the file's own name without `.gz`. */
  readonly name: string;
  readonly size: number;
  /** The first bytes, up to 64 KiB, enough to recognise a format by. */
  readonly head: Uint8Array;
  stream(): AsyncIterable<Uint8Array>;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

export interface ReadOptions {
  /** Largest Parquet row group that is read, in bytes. */
  readonly mostRowGroupBytes?: number;
  /** Told about columns that the format does not know and keeps aside. */
  onUnknownColumns?(columns: readonly string[]): void;
}

/** A bill or event format: bytes in, usage records and rejects out, in bounded memory. Knows no SQL. */
export interface UsageFormat {
  readonly kind: 'usage';
  readonly name: string;
  readonly description: string;
  /** Whether the input looks like this format. At most one format may answer yes. */
  recognises(input: Input): boolean;
  read(input: Input, options?: ReadOptions): AsyncIterable<RecordBatch>;
}

/** A price list's format. */
export interface PriceFormat {
  readonly kind: 'price';
  readonly name: string;
  readonly description: string;
  recognises(input: Input): boolean;
  read(input: Input): AsyncIterable<{ readonly events: readonly PriceEvent[]; readonly rejects: readonly Reject[] }>;
}

export interface BilledTotal {
  readonly provider: string;
  readonly currency: string;
  /** Exact, with the digits of the source. */
  readonly amount: string;
}

export interface ImportedFile {
  readonly import: string | null;
  readonly file: string;
  readonly format: string;
  /** rows = accepted + rejected + unchanged. */
  readonly rows: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unchanged: number;
  /** Of all rows that could be read, per provider and currency. */
  readonly billed: readonly BilledTotal[];
  /** Bill periods that this file restated. */
  readonly replaced: readonly { provider: string; account: string | null; periodStart: string; records: number }[];
  readonly unknownColumns: readonly string[];
}

export interface ImportOptions {
  readonly organisation: string;
  /** Names the meter or the origin of the bills; ids are unique within it. */
  readonly source: string;
  /** A format's name, or `auto`. */
  readonly format: string;
  /** Any reject refuses the import whole. */
  readonly strict: boolean;
  /** Everything is read and counted, nothing is written. */
  readonly dryRun: boolean;
  /** Who imports, for the audit. */
  readonly by: string;
}

export interface ImportedPrices {
  readonly file: string;
  readonly format: string;
  readonly rows: number;
  /** Prices (and withdrawals) that were new. */
  readonly accepted: number;
  readonly rejected: number;
  readonly unchanged: number;
  readonly rejects: readonly Reject[];
}

/** Takes files and batches in; made by app.module from the formats and handed to the doors. */
export interface Importer {
  /**
   * Imports files as one delivery, in one transaction.
   * @throws Failure invalid for a format that is not known or not recognised, or a strict import with rejects.
   */
  files(inputs: readonly Input[], options: ImportOptions, progress?: (rows: number) => void): Promise<ImportedFile[]>;
  /** Imports a parsed JSON batch of records or CloudEvents. */
  batch(body: unknown, options: ImportOptions): Promise<ImportedFile & { readonly rejects: readonly Reject[] }>;
  prices(inputs: readonly Input[], options: ImportOptions): Promise<ImportedPrices[]>;
  /** Opens a file (plain or gzip) or bytes of an upload; close() frees what it holds. */
  openFile(path: string): Promise<Input & { close(): Promise<void> }>;
  openBytes(name: string, bytes: Uint8Array): Promise<Input & { close(): Promise<void> }>;
  readonly usageFormats: readonly { readonly name: string; readonly description: string }[];
  readonly priceFormats: readonly { readonly name: string; readonly description: string }[];
}

/** Tells the time, in epoch milliseconds UTC; clock.ts has the real one. */
export interface Clock {
  now(): number;
}
