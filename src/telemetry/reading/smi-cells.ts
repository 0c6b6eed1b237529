/**
 * Cells of nvidia-smi's output: a number with its unit, or one of the many words that it writes instead.
 *
 * A word is never a zero. Words for a lost card, or for a card that needs a reset, are faults; all others mean only
 * that nothing was measured.
 */

/**
 * NVML's words for a card that no longer works (NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED, NVML_ERROR_UNKNOWN
 * as nvidia-smi writes them).
 */
const FAULTS = /\bERR!|GPU is lost|requires (?:a )?(?:reset|restart)|\bUnknown Error\b/i;

export interface Cell {
  readonly value: number | null;
  readonly fault: string | null;
}

const NUMBER = /^([+-]?\d+(?:\.\d+)?)\s*(%|MiB|C|W|ms)?$/;

/** A cell's number in percent, MiB, Celsius or watts, as its column is. */
export function cellOf(text: string | null | undefined): Cell {
  const trimmed = (text ?? '').trim();
  const match = NUMBER.exec(trimmed);
  if (match !== null) return { value: Number(match[1]), fault: null };
  return { value: null, fault: FAULTS.test(trimmed) ? trimmed.replace(/[[\]]/g, '') : null };
}

/** A word, or null if nvidia-smi says that there is none. */
export function wordOf(text: string | null | undefined): string | null {
  const trimmed = (text ?? '').trim();
  return trimmed === '' ||
    /^\[?(?:N\/A|Not Supported|Requested functionality has been deprecated|Insufficient Permissions|Unknown Error)\]?$/i.test(
      trimmed,
    )
    ? null
    : trimmed;
}

/** One reading of one card; all values as written. */
export interface SmiRow {
  /** Epoch milliseconds; null: the output does not say when. */
  readonly at: number | null;
  readonly host: string | null;
  readonly uuid: string | null;
  readonly index: string | null;
  readonly migInstance: string | null;
  readonly name: string | null;
  readonly utilisation: string | null;
  readonly memoryUsed: string | null;
  readonly memoryTotal: string | null;
  readonly temperature: string | null;
  readonly power: string | null;
  readonly pcieReplays: string | null;
  readonly recoveryAction: string | null;
}

export interface SmiRead {
  readonly rows: readonly SmiRow[];
  readonly problems: readonly string[];
}
