/**
 * The output of an answer: its width, its colours and bars, or CSV.
 *
 * Colours follow NO_COLOR (no-color.org) and FORCE_COLOR as Node reads them (`tty.WriteStream.getColorDepth`): the
 * second takes precedence. Without a request, only a terminal gets colours or bars.
 */
import type { Output } from './context.js';

export interface Screen {
  /** Columns that a line may have; null: as many as it needs. */
  readonly columns: number | null;
  /** Every column of a table, and no cell cut. */
  readonly isWide: boolean;
  readonly hasColour: boolean;
  readonly hasBars: boolean;
  /** Where a table goes as CSV, each in turn, instead of into the text; null: tables are text. */
  readonly csv: string[] | null;
  /** What stands beside tables that go as CSV is drawn: sentences for people. */
  readonly isForPeople?: true;
}

/** A pipe or a file. */
export const PLAIN: Screen = { columns: null, isWide: false, hasColour: false, hasBars: false, csv: null };

/** The variables of the environment. */
type Environment = Readonly<Record<string, string | undefined>>;

const LEAST_COLUMNS = 40;

export function screenOf(
  output: Output,
  environment: Environment,
  { wide, csv }: { readonly wide: boolean; readonly csv: boolean },
): Screen {
  if (csv) return { ...PLAIN, isWide: true, csv: [] };
  const isTerminal = output.isTTY === true;
  const columns = output.columns ?? (Number(environment['COLUMNS']) || 80);
  return {
    columns: isTerminal && !wide ? Math.max(LEAST_COLUMNS, columns) : null,
    isWide: wide,
    hasColour: hasColour(isTerminal, environment),
    hasBars: isTerminal && environment['TERM'] !== 'dumb',
    csv: null,
  };
}

function hasColour(isTerminal: boolean, environment: Environment): boolean {
  const forced = environment['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  // "When present and not an empty string (regardless of its value)".
  if (environment['NO_COLOR']) return false;
  return isTerminal && environment['TERM'] !== 'dumb';
}
