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

/** Tells the time, in epoch milliseconds UTC; clock.ts has the real one. */
export interface Clock {
  now(): number;
}
