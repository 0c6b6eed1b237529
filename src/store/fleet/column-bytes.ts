/**
 * Numbers as bytes: whole numbers of variable length (protobuf.dev, "Encoding", with the ZigZag form of signed ones),
 * and columns of measures as decimals of one scale, stored as differences. If that would not return the same number,
 * the eight bytes of a double are stored. Reading returns exactly the written value. Knows no SQL.
 */
import { assert } from '../../core/errors.js';

const MOST_SCALE = 12;
/** Whole numbers up to here, and their differences doubled, are exact. */
const MOST_WHOLE = 2 ** 50;
const TENS = Array.from({ length: MOST_SCALE + 1 }, (_, power) => 10 ** power);

const EMPTY = 0;
const WHOLE = 1;
const WHOLE_WITH_GAPS = 2;
const DOUBLES = 3;

/** The scale at which every value is a whole number; null: there is none. */
function scaleOf(column: readonly number[]): number | null {
  let scale = 0;
  for (const value of column) {
    if (Number.isNaN(value)) continue;
    while (Math.round(value * (TENS[scale] ?? 1)) / (TENS[scale] ?? 1) !== value) if (++scale > MOST_SCALE) return null;
  }
  const tens = TENS[scale] ?? 1;
  const isExact = column.every((value) => {
    const whole = Math.round(value * tens);
    return Number.isNaN(value) || (Math.abs(whole) < MOST_WHOLE && whole / tens === value && !Object.is(value, -0));
  });
  return isExact ? scale : null;
}

/** @param column NaN: nothing was measured */
export function writeColumn(bytes: BytesWritten, column: readonly number[]): void {
  const known = column.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return bytes.byte(EMPTY);
  const scale = scaleOf(known);
  if (scale === null) {
    bytes.byte(DOUBLES);
    return bytes.raw(Buffer.from(Float64Array.from(column).buffer));
  }
  bytes.byte(known.length === column.length ? WHOLE : WHOLE_WITH_GAPS);
  bytes.byte(scale);
  if (known.length < column.length) {
    const gaps = Buffer.alloc(Math.ceil(column.length / 8));
    column.forEach((value, sample) => {
      if (Number.isNaN(value)) gaps[sample >> 3] = (gaps[sample >> 3] ?? 0) | (1 << (sample & 7));
    });
    bytes.raw(gaps);
  }
  const tens = TENS[scale] ?? 1;
  bytes.differences(known.map((value) => Math.round(value * tens)));
}

/** Null: nothing was measured in any place. */
export function readColumn(bytes: BytesRead, count: number): Float64Array | null {
  const how = bytes.byte();
  if (how === EMPTY) return null;
  const column = new Float64Array(count);
  if (how === DOUBLES) {
    const doubles = bytes.raw(8 * count);
    for (let sample = 0; sample < count; sample += 1) column[sample] = doubles.readDoubleLE(8 * sample);
    return column;
  }
  assert(how === WHOLE || how === WHOLE_WITH_GAPS, `a column of samples is written in a form of its own (${how})`);
  const tens = TENS[bytes.byte()] ?? 1;
  const gaps = how === WHOLE ? null : bytes.raw(Math.ceil(count / 8));
  let whole = 0;
  for (let sample = 0; sample < count; sample += 1) {
    if (gaps !== null && ((gaps[sample >> 3] ?? 0) & (1 << (sample & 7))) !== 0) column[sample] = Number.NaN;
    else {
      whole += bytes.signed();
      column[sample] = whole / tens;
    }
  }
  return column;
}

/** Bytes that grow as they are written. */
export class BytesWritten {
  private bytes = Buffer.allocUnsafe(4096);
  private length = 0;

  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  byte(value: number): void {
    this.room(1);
    this.bytes[this.length++] = value;
  }

  raw(value: Buffer): void {
    this.room(value.length);
    value.copy(this.bytes, this.length);
    this.length += value.length;
  }

  text(value: string): void {
    const bytes = Buffer.from(value);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }

  unsigned(value: number): void {
    this.room(8);
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.length++] = rest;
  }

  differences(values: readonly number[]): void {
    let before = 0;
    for (const value of values) {
      const more = value - before;
      this.unsigned(more < 0 ? -2 * more - 1 : 2 * more);
      before = value;
    }
  }

  private room(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.length + more));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

export class BytesRead {
  private place = 0;

  constructor(private readonly bytes: Buffer) {}

  byte(): number {
    const value = this.bytes[this.place++];
    assert(value !== undefined, 'a block of samples ends too early');
    return value;
  }

  raw(length: number): Buffer {
    const value = this.bytes.subarray(this.place, this.place + length);
    assert(value.length === length, 'a block of samples ends too early');
    this.place += length;
    return value;
  }

  text(): string {
    return this.raw(this.unsigned()).toString('utf8');
  }

  unsigned(): number {
    let [value, factor, next] = [0, 1, this.byte()];
    while (next >= 128) {
      value += (next - 128) * factor;
      factor *= 128;
      next = this.byte();
    }
    return value + next * factor;
  }

  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  differences<Numbers extends Uint32Array | Float64Array>(into: Numbers): Numbers {
    let before = 0;
    for (let place = 0; place < into.length; place += 1) {
      before += this.signed();
      into[place] = before;
    }
    return into;
  }
}
