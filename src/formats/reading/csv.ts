/**
 * CSV over bytes: RFC 4180 rows from a stream of chunks, one pass, in memory bounded by one block and one row.
 *
 * Never guesses a value: a row that is not well formed is passed on as malformed with the physical line it starts on,
 * and reading goes on at the next physical line, so that one stray quote costs one line. The rows, their lines and what
 * is malformed do not depend on where the chunks are cut.
 *
 * Beyond RFC 4180: LF alone ends a row, a byte order mark is skipped, empty lines are skipped, a quote inside a field
 * that does not begin with one is text.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { ByteMemo } from './byte-memo.js';

/** A longer row is malformed: no bill has one, and an unclosed quote would swallow the file. */
export const MOST_ROW_BYTES = 1 << 20;
/** Characters of a bad row that a reject keeps. */
export const MOST_RAW_CHARACTERS = 4000;

const COMMA = 44;
const QUOTE = 34;
const LF = 10;
const CR = 13;

const BARE = 0;
const QUOTED = 1;
/** Quoted, with doubled quotes inside. */
const ESCAPED = 2;

/** What `scan` found at a row's start. */
const UNFINISHED = -1;
const MALFORMED = -2;

/**
 * Pull parser: `push` bytes, take rows with `next` until it says false, `finish` after the last chunk and take the
 * rest.
 * The fields of a row are read with `text` and its kin until the following `next`.
 */
export class CsvTokenizer {
  /** Physical line, 1-based, on which the current row starts; newlines inside quotes count. */
  line = 0;
  /** Number of fields of the current row. */
  width = 0;
  /** Why the current row is malformed, or null. A malformed row has no fields, only `raw`. */
  malformed: string | null = null;

  private block = Buffer.allocUnsafe(1 << 16);
  private limit = 0;
  private at = 0;
  private nextLine = 1;
  private final = false;
  private begun = false;
  private skipping = false;
  private ascii = true;
  private hasNul = false;
  private rowStart = 0;
  private rowEnd = 0;
  private newlines = 0;
  private fault = '';
  private starts = new Int32Array(128);
  private ends = new Int32Array(128);
  private kinds = new Uint8Array(128);
  private readonly memos: (ByteMemo | undefined)[] = [];
  private readonly decode = (block: Buffer, start: number, end: number): string => this.decoded(block, start, end);
  private readonly decodeEscaped = (block: Buffer, start: number, end: number): string =>
    this.decoded(block, start, end).replaceAll('""', '"');

  /** Adds bytes; they are copied. */
  push(chunk: Uint8Array): void {
    const left = this.limit - this.at;
    const needed = left + chunk.length + 1;
    if (needed > this.block.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.block.length));
      this.block.copy(larger, 0, this.at, this.limit);
      this.block = larger;
    } else if (this.at > 0) {
      this.block.copyWithin(0, this.at, this.limit);
    }
    this.block.set(chunk, left);
    this.at = 0;
    this.limit = left + chunk.length;
    this.sealBlock();
  }

  /** Says that no more bytes come. */
  finish(): void {
    this.final = true;
    this.sealBlock();
  }

  /** Moves to the next row. False: more bytes are needed, or after `finish` the file is over. */
  next(): boolean {
    if (!this.begun && !this.skipMark()) return false;
    for (;;) {
      if (this.skipping && !this.skipLine()) return false;
      const at = this.at;
      if (at >= this.limit) return false;
      const first = this.block[at];
      if (first === LF) {
        this.at = at + 1;
        this.nextLine++;
        continue;
      }
      if (first === CR && (at + 1 < this.limit ? this.block[at + 1] === LF : this.final)) {
        this.at = Math.min(at + 2, this.limit);
        this.nextLine++;
        continue;
      }
      return this.takeRow(at);
    }
  }

  /** The field's text, `''` where the row is shorter. Bytes that are not UTF-8 become U+FFFD, see `isClean`. */
  text(column: number): string {
    const start = this.starts[column] ?? 0;
    const end = this.ends[column] ?? 0;
    if (start === end) return '';
    return this.kinds[column] === ESCAPED
      ? this.decodeEscaped(this.block, start, end)
      : this.decoded(this.block, start, end);
  }

  /** As `text`, for columns whose values repeat: the same string object again for the same bytes. */
  repeated(column: number): string {
    const start = this.starts[column] ?? 0;
    const end = this.ends[column] ?? 0;
    if (start === end) return '';
    const escaped = this.kinds[column] === ESCAPED;
    const memo = (this.memos[2 * column + (escaped ? 1 : 0)] ??= new ByteMemo());
    return memo.decoded(this.block, start, end, escaped ? this.decodeEscaped : this.decode);
  }

  /** The field's bytes for `read(block, start, end)`, before any un-escaping: for numbers, which hold no quotes. */
  bytes<T>(column: number, read: (block: Uint8Array, start: number, end: number) => T): T {
    return read(this.block, this.starts[column] ?? 0, this.ends[column] ?? 0);
  }

  /** Whether two fields of the row are the same bytes. */
  areSame(column: number, other: number): boolean {
    const { block, starts, ends } = this;
    let at = starts[column] ?? 0;
    let p = starts[other] ?? 0;
    const end = ends[other] ?? 0;
    if (end - p !== (ends[column] ?? 0) - at) return false;
    for (; p < end; p++) if (block[at++] !== block[p]) return false;
    return true;
  }

  /** False where the field holds a NUL or bytes that are not UTF-8: text that could not be stored as it came. */
  isClean(column: number): boolean {
    if (this.ascii && !this.hasNul) return true;
    const field = this.block.subarray(this.starts[column] ?? 0, this.ends[column] ?? 0);
    return !field.includes(0) && isUtf8(field);
  }

  /** True where no row of the current block can have an unclean field. */
  get blockIsClean(): boolean {
    return this.ascii && !this.hasNul;
  }

  /** Length of the row as it came, without its line end. */
  get rowBytes(): number {
    return this.rowEnd - this.rowStart;
  }

  /** The row as it came, without its line end, cut at MOST_RAW_CHARACTERS; a NUL shows as U+FFFD. */
  raw(): string {
    return rawText(this.block.subarray(this.rowStart, this.rowEnd));
  }

  private decoded(block: Buffer, start: number, end: number): string {
    return this.ascii || isAscii(block.subarray(start, end))
      ? block.toString('latin1', start, end)
      : block.toString('utf8', start, end);
  }

  /** Prepares the block for scanning: a line feed past the end stops every inner loop. */
  private sealBlock(): void {
    this.block[this.limit] = LF;
    const bytes = this.block.subarray(0, this.limit);
    this.ascii = isAscii(bytes);
    this.hasNul = bytes.includes(0);
  }

  /** Skips a UTF-8 byte order mark; false until three bytes (or the end) have come. */
  private skipMark(): boolean {
    if (this.limit < 3 && !this.final) return false;
    this.begun = true;
    if (this.limit >= 3 && this.block[0] === 0xef && this.block[1] === 0xbb && this.block[2] === 0xbf) this.at = 3;
    return true;
  }

  /** Drops the rest of a line that is longer than a row may be; false while its end has not come. */
  private skipLine(): boolean {
    const end = this.lineFeed(this.at);
    this.at = end < 0 ? this.limit : end + 1;
    if (end < 0 && !this.final) return false;
    this.skipping = false;
    this.nextLine++;
    return true;
  }

  private lineFeed(from: number): number {
    const end = this.block.indexOf(LF, from);
    return end < this.limit ? end : -1;
  }

  private takeRow(at: number): boolean {
    this.newlines = 0;
    let next = this.scan(at);
    if (next === UNFINISHED && this.limit - at <= MOST_ROW_BYTES) return false;
    if (next === UNFINISHED || (next === MALFORMED ? this.rowEnd : next) - at > MOST_ROW_BYTES) {
      this.fault = `the row is longer than ${MOST_ROW_BYTES} bytes`;
      next = MALFORMED;
    }
    if (next === MALFORMED) return this.takeLine(at);
    this.line = this.nextLine;
    this.nextLine += 1 + this.newlines;
    this.malformed = null;
    this.rowStart = at;
    this.at = next;
    return true;
  }

  /** A malformed row is the physical line that it starts on. */
  private takeLine(at: number): boolean {
    const end = this.lineFeed(at);
    if (end < 0 && !this.final && this.limit - at <= MOST_ROW_BYTES) return false;
    this.line = this.nextLine;
    this.width = 0;
    this.malformed = this.fault;
    this.rowStart = at;
    this.rowEnd = end < 0 ? this.limit : end;
    if (this.rowEnd > at && this.block[this.rowEnd - 1] === CR) this.rowEnd--;
    if (end < 0) this.skipping = true;
    else this.nextLine++;
    this.at = end < 0 ? this.limit : end + 1;
    return true;
  }

  /**
   * Finds the fields of the row at `at`. Returns where the next row starts, UNFINISHED, or MALFORMED with `fault` and
   * `rowEnd` (where the fault showed). The row's own line feed is not counted in `newlines`.
   */
  private scan(at: number): number {
    const { block, limit } = this;
    let { starts, ends, kinds } = this;
    let p = at;
    for (let column = 0; ; column++) {
      if (column === starts.length) {
        this.widen();
        ({ starts, ends, kinds } = this);
      }
      let end: number;
      if (block[p] === QUOTE && p < limit) {
        end = this.scanQuoted(p, column);
        if (end < 0) return end;
        p = end;
        if (block[p] === CR && p < limit) {
          if (p + 1 === limit && !this.final) return UNFINISHED;
          if (p + 1 === limit || block[p + 1] === LF) p++;
        }
      } else {
        let c = block[p];
        while (c !== COMMA && c !== LF) c = block[++p];
        end = p;
        starts[column] = at;
        kinds[column] = BARE;
        if (c === LF && end > at && block[end - 1] === CR) end--;
        ends[column] = end;
      }
      const delimiter = block[p];
      if (p < limit && delimiter === COMMA) {
        p++;
        at = p;
        continue;
      }
      if (p >= limit && !this.final) return UNFINISHED;
      if (p < limit && delimiter !== LF) {
        this.fault = 'text follows a closing quote';
        this.rowEnd = p;
        return MALFORMED;
      }
      this.width = column + 1;
      this.rowEnd = end;
      return p < limit ? p + 1 : limit;
    }
  }

  /**
   * Finds the end of the quoted field at `p`; returns the position after its closing quote, UNFINISHED or MALFORMED.
   */
  private scanQuoted(p: number, column: number): number {
    const block = this.block;
    const limit = this.limit;
    let kind = QUOTED;
    let q = p + 1;
    for (;;) {
      let c = block[q];
      while (c !== QUOTE) {
        if (c === LF) {
          if (q >= limit) return this.unclosed();
          this.newlines++;
        }
        c = block[++q];
      }
      if (q + 1 >= limit && !this.final) return UNFINISHED;
      if (q + 1 >= limit || block[q + 1] !== QUOTE) break;
      kind = ESCAPED;
      q += 2;
    }
    this.starts[column] = p + 1;
    this.ends[column] = q;
    this.kinds[column] = kind;
    return q + 1;
  }

  private unclosed(): number {
    if (!this.final) return UNFINISHED;
    this.fault = 'a quoted field is not closed';
    this.rowEnd = this.limit;
    return MALFORMED;
  }

  private widen(): void {
    const grow = <T extends Int32Array | Uint8Array>(from: T, to: T): T => (to.set(from), to);
    this.starts = grow(this.starts, new Int32Array(2 * this.starts.length));
    this.ends = grow(this.ends, new Int32Array(2 * this.ends.length));
    this.kinds = grow(this.kinds, new Uint8Array(2 * this.kinds.length));
  }
}

/** Bytes of a bad row or record for people to read: at most MOST_RAW_CHARACTERS, without NUL. */
export function rawText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4 * MOST_RAW_CHARACTERS)).toString(
    'utf8',
  );
  return text.slice(0, MOST_RAW_CHARACTERS).replaceAll('\0', '\uFFFD');
}
