/**
 * Values computed once per distinct text: bills repeat a few dates, tags and names over millions of rows.
 *
 * Bounded: when it is full it forgets everything and starts again, so a hostile file costs time, never memory.
 */
const MOST_ENTRIES = 20_000;
/** Longer texts are computed each time. */
const MOST_CHARACTERS = 4096;

export class Memo<T> {
  private readonly values = new Map<string, T>();
  private lastText: string | null = null;
  private lastValue: T | undefined;

  constructor(private readonly compute: (text: string) => T) {}

  /** What was computed holds no more. */
  forget(): void {
    this.values.clear();
    this.lastText = null;
  }

  valueOf(text: string): T {
    if (text === this.lastText) return this.lastValue as T;
    let value = this.values.get(text);
    if (value === undefined) {
      value = this.compute(text);
      if (text.length > MOST_CHARACTERS) return value;
      if (this.values.size >= MOST_ENTRIES) this.values.clear();
      this.values.set(text, value);
    }
    this.lastText = text;
    this.lastValue = value;
    return value;
  }
}
