/**
 * The interfaces of the parts: formats, policies, providers and telemetry sources. The interface of a channel is in
 * alert/channel.ts.
 *
 * Parts live in folders (one file or folder each), are loaded by parts.ts and passed to the line by app.module. The
 * line knows them only by these types.
 */
import type { Clock } from './time.js';
import type { ProviderSetting } from './setting.js';
import type { SilentExporter } from './fleet/silence.js';
import type { PartialRead } from './partial-read.js';
import type { SpotReading } from './price/spot-reading.js';
import type { CommitmentOffer } from './price/commitment-offer.js';
import type { BacktestReport } from './policy/backtest.js';
import { EFFECT_KINDS, type Effect, type EffectKind, type FleetReading, type FleetTarget } from './fleet/fleet.js';
import type { PriceEvent, PriceOrigin } from './price/price.js';
import type { Reader, ReportFormat } from './report/reader.js';
import type { Report } from './report/report.js';
import type { RecordBatch, Reject } from './usage.js';

/** A file or an upload, already un-gzipped. `slice` and `size` are there for formats that read at random (Parquet). */
export interface Input {
  /** For messages and for recognising a format: the file's own name without `.gz`. */
  readonly name: string;
  readonly size: number;
  /** The first bytes, up to 64 KiB, enough to recognise a format by. */
  readonly head: Uint8Array;
  /** For a Parquet file, whose header is at its end: the names of its columns, none if they cannot be read. */
  readonly columns?: readonly string[];
  /** The separator of a table's header instead of commas (`semicolons`); absent if it has commas, or is not a table. */
  readonly separator?: string;
  stream(): AsyncIterable<Uint8Array>;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

export interface ReadOptions {
  /** Largest Parquet row group that is read, in bytes. */
  readonly mostRowGroupBytes?: number;
  /** Called with columns that the format does not know and keeps. */
  onUnknownColumns?(columns: readonly string[]): void;
}

/** A bill or event format: bytes in, usage records and rejects out, in bounded memory. Knows no SQL. */
export interface UsageFormat {
  readonly kind: 'usage';
  readonly name: string;
  readonly description: string;
  /**
   * True: each file adds to its bill period, and the same file again replaces only itself. Absent: a file, or the files
   * of one delivery, state their period whole.
   */
  readonly increments?: boolean;
  /** Whether the input looks like this format. At most one format may answer yes. */
  recognises(input: Input): boolean;
  read(input: Input, options?: ReadOptions): AsyncIterable<RecordBatch>;
}

/** A price list's format. */
export interface PriceFormat {
  readonly kind: 'price';
  readonly name: string;
  readonly description: string;
  /** The origin of such a list; absent: the provider. */
  readonly origin?: PriceOrigin;
  recognises(input: Input): boolean;
  read(input: Input): AsyncIterable<{ readonly events: readonly PriceEvent[]; readonly rejects: readonly Reject[] }>;
}

export interface BilledTotal {
  readonly provider: string;
  readonly currency: string;
  /** Exact, with the digits of the source. */
  readonly amount: string;
}

export interface BillOfPeriod {
  readonly provider: string;
  readonly account: string | null;
  /** ISO 8601. */
  readonly periodStart: string;
  readonly records: number;
}

export interface ImportedFile {
  readonly import: string | null;
  readonly file: string;
  readonly format: string;
  /** rows = accepted + rejected + unchanged + outdated. */
  readonly rows: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly unchanged: number;
  /** The sums of all readable rows, per provider and currency. */
  readonly billed: readonly BilledTotal[];
  /** Bill periods that this file restated. */
  readonly replaced: readonly BillOfPeriod[];
  /** Bill periods that came together with one that this file restates, and that are in none of the files. */
  readonly removed: readonly BillOfPeriod[];
  /** Records that count in place of an earlier statement of the same id; among the accepted. */
  readonly restated: number;
  /** Records that are kept and change nothing: a later statement of their id came before. */
  readonly outdated: number;
  /** Warnings for people: overlapping records of one GPU, supplements that wait for their bill. */
  readonly warnings: readonly string[];
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
  /** Bills that another source has delivered are replaced; without it they are a conflict. */
  readonly replace?: boolean;
  /** Who imports, for the audit. */
  readonly by: string;
  /** Told of the hours that metered records are spread over beyond 50 for each; throws if they are too many. */
  readonly spread?: (hours: number) => void;
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

/** Takes files and batches in; made by app.module from the formats and handed to the entry points. */
export interface Importer {
  /**
   * Imports files as one delivery, in one transaction.
   * @throws Failure invalid for a format that is not known or not recognised, or a strict import with rejects.
   */
  files(inputs: readonly Input[], options: ImportOptions, progress?: (rows: number) => void): Promise<ImportedFile[]>;
  /**
   * Imports the files of an open delivery as `files` does, and closes it. A dry run, or one that fails, leaves it open.
   * @throws Failure missing if no such delivery is open, invalid if it has no file.
   */
  commit(
    delivery: string,
    options: Pick<ImportOptions, 'organisation' | 'strict' | 'dryRun' | 'replace' | 'by' | 'spread'>,
  ): Promise<ImportedFile[]>;
  /** Imports a parsed JSON batch of records or CloudEvents, which is asked for when it is its source's turn. */
  batch(body: () => unknown, options: ImportOptions): Promise<ImportedFile & { readonly rejects: readonly Reject[] }>;
  prices(inputs: readonly Input[], options: ImportOptions): Promise<ImportedPrices[]>;
  /** Opens a file (plain or gzip) or bytes of an upload; close() frees what it holds. */
  openFile(path: string): Promise<Input & { close(): Promise<void> }>;
  openBytes(name: string, bytes: Uint8Array): Promise<Input & { close(): Promise<void> }>;
  readonly usageFormats: readonly { readonly name: string; readonly description: string }[];
  readonly priceFormats: readonly { readonly name: string; readonly description: string }[];
}

/** The abilities of a provider, and the cloud's own permissions that each needs. */
export interface ProviderAbilities {
  readonly prices: readonly string[] | null;
  readonly usage: readonly string[] | null;
  /** The provider's own bill. */
  readonly bill: readonly string[] | null;
  readonly spotHistory: readonly string[] | null;
  readonly offers: readonly string[] | null;
  readonly fleet: readonly string[] | null;
  /** Effects that it can apply, each with its permissions. */
  readonly effects: Readonly<Partial<Record<EffectKind, readonly string[]>>>;
}

/** The effects for which a provider states the required permissions. */
export const effectsOf = ({ effects }: Pick<ProviderAbilities, 'effects'>): EffectKind[] =>
  EFFECT_KINDS.filter((kind) => effects[kind] !== undefined);

/** One folder per cloud: knows its SDK, never SQL. Loaded from `providers/<name>/<name>.ts`, exported as `provider`. */
export interface Provider {
  readonly name: string;
  /** FOCUS ProviderName, or null if the settings say it. */
  readonly providerName: string | null;
  readonly description: string;
  readonly abilities: ProviderAbilities;
  readonly settings: readonly ProviderSetting[];
  /**
   * Opens a connection; nothing is called yet.
   * @returns null if none of its settings is there: this cloud is not used
   * @throws Failure invalid that names every missing or wrong setting, never a value
   */
  connect(settings: Readonly<Record<string, string | undefined>>, clock: Clock): ProviderConnection | null;
}

/** The provider's answer about an effect. */
export type EffectOutcome =
  /**
   * It was accepted (perhaps earlier, under the same token). `reference` is the provider's own id of the request, if it
   * has one. `lacks`: the attributes of the old machine that the new one lacks, each as a clause.
   */
  | {
      readonly kind: 'taken';
      readonly reference: string | null;
      readonly detail: string;
      readonly lacks?: readonly string[];
    }
  /** The provider refused it, and nothing has changed. */
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string }
  /**
   * The replacement of the target runs (`reference`), and the target was not ended: sent again under the same token,
   * the effect starts no second replacement and continues with the end.
   */
  | {
      readonly kind: 'half-done';
      readonly reference: string;
      readonly detail: string;
      readonly lacks?: readonly string[];
    }
  /** It surely never arrived: it may be sent. */
  | { readonly kind: 'absent' }
  /** Nobody can tell (a lost answer): ask again later, do not send again. */
  | { readonly kind: 'unknown'; readonly detail: string };

/**
 * A connection to one account of one cloud. Every failure is a Failure: `unavailable` if a retry may help (throttled,
 * network, time-out), `denied` if a permission is missing (the message names it), `invalid` otherwise. Methods that the
 * provider cannot serve are absent.
 */
export interface ProviderConnection {
  /** The provider's name, or `name:label` if there are several. */
  readonly name: string;
  readonly account: string | null;
  /** False: there are no credentials for acting; `apply` refuses with `denied`. */
  readonly canAct: boolean;
  /** Effects that it can carry out if it may act; absent: unknown. */
  effects?(): Promise<readonly EffectKind[]>;
  /**
   * @param partial receives the parts that could not be read, here and below; without it such a part fails the whole
   * call
   */
  prices?(since: number, partial?: PartialRead): AsyncIterable<readonly PriceEvent[]>;
  /** The scope of `usage`; absent: it includes machines. Otherwise the readings of the fleet meter the machines. */
  readonly usageOf?: 'storage-and-traffic';
  /**
   * Metered usage within [from, to), as records whose ids are the same at every call. @param meteredTo the `to` of the
   * last reading whose records were kept, null if there was none: usage that is only visible in the present is metered
   * once, from there on
   */
  usage?(from: number, to: number, meteredTo?: number | null, partial?: PartialRead): AsyncIterable<RecordBatch>;
  /** The provider's bill, by lines, for the days within [from, to). */
  bill?(from: number, to: number, partial?: PartialRead): AsyncIterable<RecordBatch>;
  spotHistory?(since: number, partial?: PartialRead): AsyncIterable<readonly SpotReading[]>;
  offers?(partial?: PartialRead): Promise<readonly CommitmentOffer[]>;
  fleet?(): Promise<FleetReading>;
  /** One target, read now; null: the provider says that it is not there. */
  target?(target: string): Promise<FleetTarget | null>;
  /**
   * Requests an effect, once. A lost answer is `unknown`, not a failure: the request may have arrived. A failure means
   * that nothing was sent. @param before the target's reading just before: a provider with revisions refuses if it has
   * changed since
   */
  apply?(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome>;
  /** The outcome of the effect that was sent under the token. */
  outcome?(effect: Effect, token: string): Promise<EffectOutcome>;
  /**
   * Asks the provider whether it grants a permission, as `abilities` words it, to the credentials for reading or for
   * acting; changes nothing.
   * Null: it does not tell. Absent: there is no way to ask.
   */
  granted?(permission: string, use: ProviderSetting['use']): Promise<boolean | null>;
  /** Frees what it holds (watches, agents). */
  close?(): Promise<void>;
}

/**
 * One GPU (or MIG slice) at one instant, as a source of evidence reports it. Null: missing, blank or stale; never zero
 * for that.
 */
export interface GpuSample {
  /** The host or pod's resource name, as the source gives it. */
  readonly resource: string;
  /** UUID, or host and index. */
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly gpuModel: string | null;
  readonly namespace: string | null;
  readonly pod: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly gpuUtilisationRatio: number | null;
  readonly memoryUsedRatio: number | null;
  readonly memoryUsedMib: number | null;
  readonly temperatureCelsius: number | null;
  readonly powerWatts: number | null;
  /** Running count since the card's driver started; a smaller value than before is a reset. */
  readonly pcieReplays: number | null;
  readonly requestsPerSecond: number | null;
  readonly networkLatencySeconds: number | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The exporter that reported it, under its name in TelemetryReading.exportersUp; absent or null: unknown. */
  readonly exporter?: string | null;
  /**
   * The fault that the card itself reports (an XID that ends it, a recovery action, cells that read ERR!); absent or
   * null: none.
   */
  readonly fault?: string | null;
}

export interface TelemetryReading {
  readonly at: number;
  readonly samples: readonly GpuSample[];
  /** Share of the expected exporters that answered, 0 to 1; null: it is not known how many there should be. */
  readonly coverage: number | null;
  readonly problems: readonly string[];
  /** Exporters that answered: a card that they no longer name is gone. Absent: the source cannot tell. */
  readonly exportersUp?: readonly string[];
  /**
   * When exporters that answer and name no card any more were started, epoch milliseconds: one that was started since
   * may only not have found them yet. Absent: not known.
   */
  readonly startedAt?: Readonly<Record<string, number>>;
  /**
   * Exporters that named cards a while ago and do not answer now, with what else the source knows of their machines.
   * Absent: none, or it cannot tell.
   */
  readonly silent?: readonly SilentExporter[];
}

/** A source of GPU evidence: one file of telemetry/, exported as `source`. */
export interface TelemetrySource {
  readonly name: string;
  readonly description: string;
  readonly settings: readonly ProviderSetting[];
  /** Null if none of its settings is there. @throws Failure invalid that names every wrong setting. */
  connect(settings: Readonly<Record<string, string | undefined>>, clock: Clock): TelemetryConnection | null;
}

export interface TelemetryConnection {
  readonly name: string;
  /**
   * Readings within (from, to], oldest first, at most one a minute and GPU; the minute of `from` may come again, with
   * more in it. A source that has nothing new yet, but may have it later, gives one empty reading at `from`.
   */
  read(from: number, to: number): AsyncIterable<TelemetryReading>;
  close?(): Promise<void>;
}

/**
 * Writes a report in one format: a file of rendering/formats/, exported as `renderer`. The same report and reader give
 * the same bytes.
 */
export interface ReportRenderer {
  readonly name: ReportFormat;
  /** Media type with its parameters. */
  readonly media: string;
  render(report: Report, reader: Reader): Promise<Uint8Array>;
}

/** By format. */
export type ReportRenderers = ReadonlyMap<ReportFormat, ReportRenderer>;

/** Draws backtests; made of rendering/ by the composition root. */
export interface BacktestPlotter {
  /** One picture of a report: SVG text or PNG, as bytes. */
  plot(report: BacktestReport, format: 'svg' | 'png'): Promise<Uint8Array>;
}
