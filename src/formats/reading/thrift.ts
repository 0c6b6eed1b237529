/**
 * A walk over Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift) as Parquet writes it: where a
 * struct ends, and its integers.
 *
 * Never builds what it walks over, never goes deeper than MOST_DEPTH, and takes no integer of more than ten bytes: what
 * has passed here is read by the Parquet library in time and memory bounded by its bytes.
 */

/** Integers and booleans (1 and 0) of a struct, and its structs, by field number. */
export type Fields = ReadonlyMap<number, number | Fields>;

const MOST_DEPTH = 32;
const MOST_VARINT_BYTES = 10;

/** Thrown where bytes break a rule; its message goes into a Failure. */
export class Malformed extends Error {}

const [TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12];

export class ThriftWalk {
  /** Fields and elements passed. */
  passed = 0;

  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
    private readonly mostPassed: number,
  ) {}

  /** Walks over the struct at `at`, and leaves `at` behind it. @throws Malformed */
  struct(depth = 0): Fields {
    if (depth > MOST_DEPTH) throw new Malformed(`its structure is nested deeper than ${MOST_DEPTH}`);
    const fields = new Map<number, number | Fields>();
    for (let field = 0; ; ) {
      const head = this.byte();
      const type = head & 15;
      if (type === 0) return fields;
      field = head >> 4 === 0 ? this.signed() : field + (head >> 4);
      const value = this.value(type, depth);
      // A field that is there twice counts as it came last, as in every reader.
      if (value === null) fields.delete(field);
      else fields.set(field, value);
    }
  }

  /** An unsigned integer; exact up to 2^53, which is beyond every bound that it is compared with. */
  unsigned(): number {
    let value = 0;
    for (let count = 0; count < MOST_VARINT_BYTES; count++) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** (7 * count);
      if (byte < 128) return value;
    }
    throw new Malformed(`an integer is longer than ${MOST_VARINT_BYTES} bytes`);
  }

  signed(): number {
    const zigzag = this.unsigned();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  private byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Malformed('its structure is cut short');
    return byte;
  }

  private value(type: number, depth: number): number | Fields | null {
    if (++this.passed > this.mostPassed) throw new Malformed(`its structure holds more than ${this.mostPassed} values`);
    if (type === TRUE || type === FALSE) return type === TRUE ? 1 : 0;
    if (type === I16 || type === I32 || type === I64) return this.signed();
    if (type === STRUCT) return this.struct(depth + 1);
    if (type === BYTE) this.skip(1);
    else if (type === DOUBLE) this.skip(8);
    else if (type === BINARY) this.skip(this.unsigned());
    else if (type === LIST) this.list(depth);
    else throw new Malformed(`its structure holds a value of the unknown type ${type}`);
    return null;
  }

  private list(depth: number): void {
    if (depth >= MOST_DEPTH) throw new Malformed(`its structure is nested deeper than ${MOST_DEPTH}`);
    const head = this.byte();
    const type = head & 15;
    const length = head >> 4 === 15 ? this.unsigned() : head >> 4;
    for (let index = 0; index < length; index++) this.value(type === TRUE || type === FALSE ? BYTE : type, depth + 1);
  }

  private skip(count: number): void {
    this.at += count;
    if (this.at > this.bytes.length) throw new Malformed('its structure is cut short');
  }
}
