/**
 * Values computed once per distinct text: bills repeat a few dates, tags and names over millions of rows.
 *
 * Bounded: when it is full it forgets everything and starts again, so a hostile file costs time, never memory.
 */
const MOST_ENTRIES = 20_000;
const MOST_CHARACTERS = 4096;
/** Of longer texts only the last few are kept: a Parquet dictionary may share one of them between all rows. */
const MOST_LONG_TEXTS = 16;
const MOST_LONG_CHARACTERS = 2 << 20;

export class Memo<T> {
  private readonly values = new Map<string, T>();
  private readonly longValues = new Map<string, T>();
  private longCharacters = 0;
  private lastText: string | null = null;
  private lastValue: T | undefined;

  constructor(private readonly compute: (text: string) => T) {}

  /** The computed results are no longer valid. */
  forget(): void {
    this.values.clear();
    this.longValues.clear();
    this.longCharacters = 0;
    this.lastText = null;
  }

  valueOf(text: string): T {
    if (text === this.lastText) return this.lastValue as T;
    if (text.length > MOST_CHARACTERS) return this.valueOfLong(text);
    let value = this.values.get(text);
    if (value === undefined) {
      value = this.compute(text);
      if (this.values.size >= MOST_ENTRIES) this.values.clear();
      this.values.set(text, value);
    }
    this.lastText = text;
    this.lastValue = value;
    return value;
  }

  private valueOfLong(text: string): T {
    const known = this.longValues.get(text);
    if (known !== undefined) return known;
    const value = this.compute(text);
    if (text.length > MOST_LONG_CHARACTERS) return value;
    this.longCharacters += text.length;
    if (this.longValues.size >= MOST_LONG_TEXTS || this.longCharacters > MOST_LONG_CHARACTERS) {
      this.longValues.clear();
      this.longCharacters = text.length;
    }
    this.longValues.set(text, value);
    return value;
  }
}
