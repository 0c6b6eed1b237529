/**
 * How a reader sees a value: amounts, numbers and dates by Intl in the reader's form and the report's zone.
 *
 * Pure, given reader and zone. A decimal is handed to Intl as text, so that no amount passes through a float. It shows
 * amounts to the cent; below one unit to four digits. The exact value is in `exact`.
 */
import type { Reader } from '../../core/report/reader.js';
import { offsetAt } from '../../core/time.js';
import type { Cell } from './cells.js';
import type { Texts } from './texts.js';

/** A cell as it is shown, and as a machine reads it; null: not known, or a word. */
export interface Shown {
  readonly text: string;
  readonly exact: string | null;
  /** Of the exact value: a currency, `GPU-hours`, `ratio`, `count`. */
  readonly unit: string | null;
  readonly isNumber: boolean;
  /** Somebody else's words, without what shows nothing. */
  readonly isName: boolean;
}

type Decimal = `${number}`;
/** ECMA-402: Intl takes a decimal as text, to the last digit. */
const asDecimal = (amount: string): Decimal => amount as Decimal;

export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** A name without characters that show nothing or turn the line around. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, ' ').replace(/\s+/g, ' ').trim();

/** Between minus one and one, and not zero. */
const isSmall = (amount: string): boolean => /^-?0?\.\d*[1-9]/.test(amount);

export class Formatter {
  private readonly numbers = new Map<string, Intl.NumberFormat>();

  constructor(
    readonly reader: Reader,
    readonly zone: string,
    private readonly texts: Texts,
  ) {}

  /** What rounds to nothing has no sign. */
  private number(options: Intl.NumberFormatOptions): Intl.NumberFormat {
    const key = JSON.stringify(options);
    const known =
      this.numbers.get(key) ?? new Intl.NumberFormat(this.reader.locale, { signDisplay: 'negative', ...options });
    this.numbers.set(key, known);
    return known;
  }

  money(amount: string, currency: string): string {
    const digits = isSmall(amount)
      ? { minimumFractionDigits: 2, maximumFractionDigits: 4 }
      : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
    return this.number({ style: 'currency', currency, ...digits }).format(asDecimal(amount));
  }

  /** With its sign, a plus too: what was added or taken away. */
  signed(amount: string, currency: string): string {
    const digits = isSmall(amount) ? 4 : 2;
    return this.number({
      style: 'currency',
      currency,
      signDisplay: 'exceptZero',
      minimumFractionDigits: 2,
      maximumFractionDigits: digits,
    }).format(asDecimal(amount));
  }

  hours(amount: string): string {
    return this.number({ maximumFractionDigits: isSmall(amount) ? 4 : 1 }).format(asDecimal(amount));
  }

  ratio(value: number): string {
    return this.number({ style: 'percent', maximumFractionDigits: 1 }).format(value);
  }

  count(value: number): string {
    return this.number({ maximumFractionDigits: 0 }).format(value);
  }

  /** @param day `YYYY-MM-DD` */
  day(day: string): string {
    return new Intl.DateTimeFormat(this.reader.locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(
      new Date(`${day}T00:00:00Z`),
    );
  }

  /** Two days of one month and all between them. @param first, last `YYYY-MM-DD` */
  days(first: string, last: string): string {
    return first === last
      ? this.day(first)
      : this.texts.text('interval', { low: this.day(first), high: this.day(last) });
  }

  /** The date and time that the zone's clocks show, as if it were UTC. */
  localTime(at: string): number {
    const time = Date.parse(at);
    return time + offsetAt(this.zone, time);
  }

  instant(at: string): string {
    return new Intl.DateTimeFormat(this.reader.locale, {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: this.zone,
    }).format(new Date(at));
  }

  /** @param month `2026-10` */
  month(month: string): string {
    return new Intl.DateTimeFormat(this.reader.locale, { year: 'numeric', month: 'long', timeZone: 'UTC' }).format(
      new Date(`${month}-01T00:00:00Z`),
    );
  }

  cell(cell: Cell): Shown {
    const plain = (text: string, isName = false): Shown => ({ text, exact: null, unit: null, isNumber: false, isName });
    const number = (exact: string | null, unit: string, text: (known: string) => string): Shown =>
      exact === null
        ? { ...plain(this.texts.text('unknown')), unit, isNumber: true }
        : { text: text(exact), exact, unit, isNumber: true, isName: false };
    switch (cell.kind) {
      case 'money':
        return number(cell.amount, cell.currency, (amount) => this.money(amount, cell.currency));
      case 'hours':
        return number(cell.amount, 'GPU-hours', (amount) => this.hours(amount));
      case 'ratio':
        return number(cell.value === null ? null : String(cell.value), 'ratio', () => this.ratio(cell.value ?? 0));
      case 'count':
        return number(cell.value === null ? null : String(cell.value), 'count', () => this.count(cell.value ?? 0));
      case 'day':
        return { ...plain(this.day(cell.day)), exact: cell.day, unit: 'day' };
      case 'instant':
        return cell.at === null
          ? { ...plain(this.texts.text('unknown')), unit: 'time' }
          : { ...plain(this.instant(cell.at)), exact: cell.at, unit: 'time' };
      case 'name':
        return cell.text === null ? plain(this.texts.text('unknown')) : plain(printable(cell.text), true);
      case 'text':
        return plain(cell.text);
      case 'none':
        return plain('');
    }
  }
}
