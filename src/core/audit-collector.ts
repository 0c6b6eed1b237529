/**
 * The collector of the audit: the installation's own system (SIEM, log store) that receives new entries.
 */

/** An entry of the audit with its place in the chain (docs/reference/audit.md). */
export interface ChainedEntry {
  /** From 1, without a gap. */
  readonly seq: string;
  /** SHA-256 of `text`, hexadecimal. */
  readonly hash: string;
  /** The JSON text that the hash is of; its first item is the hash before. */
  readonly text: string;
}

export type CollectorOutcome =
  | { readonly kind: 'taken' }
  /** Nothing is said of what it holds now: it is sent again, from the same place. `waitMs`: what it asked for. */
  | { readonly kind: 'not-taken'; readonly problem: string; readonly waitMs: number | null };

export interface AuditCollector {
  /** A digest of its address, which is never shown. */
  readonly id: string;
  /** In the order of the chain; at least once. Never throws for what the network or the other side does. */
  send(entries: readonly ChainedEntry[]): Promise<CollectorOutcome>;
}
