/**
 * Code that all bill formats share: the memos of one file and the checks of one row, which name every problem of the
 * row.
 *
 * A field that makes a row unusable (no amount, no period, an unknown category) is a problem; nothing is guessed for
 * it.
 */
import { tenTo, type Decimal } from '../../core/decimal.js';
import type { Problem } from '../../core/errors.js';
import { providerName } from '../../core/price/price.js';
import type { ChargeCategory } from '../../core/usage.js';
import { Memo } from './memo.js';
import type { Cells } from './table.js';
import { parseTags, type Tags } from './tags.js';
import { DAY_MS, isoInstant } from '../../core/time.js';

/** Longest texts that a record holds, in characters: keys of tables and roll-ups, and free resource names. */
export const MOST_KEY_CHARACTERS = 512;
export const MOST_RESOURCE_CHARACTERS = 2048;

/** More before the point than any bill has in any currency. */
const MOST_DIGITS = 18;
const MOST_AMOUNT = tenTo(MOST_DIGITS);
/**
 * A charge may cover a commitment of three or five years; a longer one is a slip, and would be spread over millennia.
 */
const MOST_INTERVAL_MILLISECONDS = 6 * 366 * DAY_MS;
const EARLIEST = Date.UTC(2000, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);

const CURRENCY = /^[A-Z]{3}$/;

/** FOCUS 1.2 ChargeCategory, by its name in lower case. */
const CATEGORIES: Readonly<Record<string, ChargeCategory>> = {
  usage: 'Usage',
  purchase: 'Purchase',
  tax: 'Tax',
  credit: 'Credit',
  adjustment: 'Adjustment',
};

/** Shows a field in a message, cut short. */
export function quotedText(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

const NO_CELLS: Cells = { line: 0, text: () => '', repeated: () => '', decimal: () => null };

/** Reads the fields of one row of a bill and collects what is wrong with them. One for a whole file. */
export class BillRow {
  private cells: Cells = NO_CELLS;
  private problems: Problem[] = [];
  /** By column, as the lines of a bill agree in each for long. */
  private readonly instants = new Map<number, Memo<number>>();
  private readonly providers = new Memo(providerName);
  private readonly currencies = new Memo((text) => CURRENCY.test(text));
  private readonly categories = new Memo((text) => CATEGORIES[text.toLowerCase()] ?? null);
  private readonly tagTexts = new Memo<Tags | 'none' | 'bad'>((text) => {
    const tags = parseTags(text);
    return tags === null ? 'none' : (tags ?? 'bad');
  });

  /**
   * @param columns the file's own names, by which problems name a field: formats spell them in several ways
   * @param instantOf reads the bill's own form of times and gives NaN for what is none
   */
  constructor(
    private readonly columns: readonly string[] = [],
    private readonly instantOf: (text: string) => number = isoInstant,
  ) {}

  /** Turns to a row; its problems go to `problems`. */
  begin(cells: Cells, problems: Problem[]): void {
    this.cells = cells;
    this.problems = problems;
  }

  problem(path: string, message: string): void {
    this.problems.push({ path, message });
  }

  /** A column as the file calls it; `name` where it has none. */
  named(column: number, name: string): string {
    return this.columns[column] ?? name;
  }

  /** A short text that repeats; null if it is empty. */
  key(column: number, name: string): string | null {
    const text = this.cells.repeated(column);
    if (text === '') return null;
    if (text.length > MOST_KEY_CHARACTERS)
      this.problem(this.named(column, name), `the text has more than ${MOST_KEY_CHARACTERS} characters`);
    return text;
  }

  /** As `key`, where the column must not be empty. */
  requiredKey(column: number, name: string): string {
    const text = this.key(column, name);
    if (text === null) this.problem(this.named(column, name), 'the value is missing');
    return text ?? '';
  }

  /** A long text; null if it is empty. */
  resource(column: number, name: string): string | null {
    const text = this.cells.repeated(column);
    if (text === '') return null;
    if (text.length > MOST_RESOURCE_CHARACTERS)
      this.problem(this.named(column, name), `the text has more than ${MOST_RESOURCE_CHARACTERS} characters`);
    return text;
  }

  provider(column: number, name: string): string {
    const text = this.requiredKey(column, name);
    return this.providers.valueOf(text);
  }

  /** Epoch milliseconds; NaN where there is a problem. */
  instant(column: number, name: string): number {
    const text = this.cells.repeated(column);
    const instant = this.instantsOf(column).valueOf(text);
    if (Number.isNaN(instant))
      this.problem(
        this.named(column, name),
        text === '' ? 'the value is missing' : `${quotedText(text)} is not a date and time`,
      );
    else if (instant < EARLIEST || instant > LATEST)
      this.problem(this.named(column, name), `${quotedText(text)} is not in the years 2000 to 2099`);
    return instant;
  }

  private instantsOf(column: number): Memo<number> {
    let memo = this.instants.get(column);
    if (memo === undefined) this.instants.set(column, (memo = new Memo(this.instantOf)));
    return memo;
  }

  /** An exact amount; null if the field is empty or has a problem. */
  amount(column: number, name: string): Decimal | null {
    const amount = this.cells.decimal(column);
    if (amount === undefined)
      this.problem(this.named(column, name), `${quotedText(this.cells.text(column))} is not a decimal`);
    return this.within(amount ?? null, column, name);
  }

  /** A slip of a column or of a key, which would stand in every total. */
  private within(amount: Decimal | null, column: number, name: string): Decimal | null {
    if (amount === null || (amount.unscaled < MOST_AMOUNT && amount.unscaled > -MOST_AMOUNT)) return amount;
    const most = MOST_AMOUNT * tenTo(amount.scale);
    if (amount.unscaled < most && amount.unscaled > -most) return amount;
    const text = quotedText(this.cells.text(column));
    this.problem(this.named(column, name), `${text} has more than ${MOST_DIGITS} digits before the point`);
    return null;
  }

  /** As `amount`, where the field must not be empty. */
  requiredAmount(column: number, name: string): Decimal | null {
    const amount = this.cells.decimal(column);
    if (amount === null) this.problem(this.named(column, name), 'the value is missing');
    if (amount === undefined)
      this.problem(this.named(column, name), `${quotedText(this.cells.text(column))} is not a decimal`);
    return this.within(amount ?? null, column, name);
  }

  /** ISO 4217. */
  currency(column: number, name: string): string {
    const text = this.cells.repeated(column);
    if (!this.currencies.valueOf(text))
      this.problem(
        this.named(column, name),
        text === '' ? 'the value is missing' : `${quotedText(text)} is not a currency code`,
      );
    return text;
  }

  category(column: number, name: string): ChargeCategory {
    const text = this.cells.repeated(column);
    const category = this.categories.valueOf(text);
    if (category === null)
      this.problem(
        this.named(column, name),
        text === '' ? 'the value is missing' : `${quotedText(text)} is not a charge category`,
      );
    return category ?? 'Usage';
  }

  tags(column: number, name: string): Tags | null {
    const text = this.cells.repeated(column);
    if (text === '') return null;
    const tags = this.tagTexts.valueOf(text);
    if (tags === 'bad') this.problem(this.named(column, name), `${quotedText(text)} is not a JSON object of tags`);
    return typeof tags === 'string' ? null : tags;
  }

  /**
   * Checks that a half-open interval does not end before it starts (or, where it must last, does not end at its start).
   */
  interval(start: number, end: number, name: string, mustLast: boolean): void {
    if (end < start) this.problem(name, 'the interval ends before it starts');
    else if (mustLast && end === start) this.problem(name, 'the interval is empty');
    else if (end - start > MOST_INTERVAL_MILLISECONDS) this.problem(name, 'the interval is longer than six years');
  }
}
