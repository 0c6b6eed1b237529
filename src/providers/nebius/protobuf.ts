/**
 * Messages of protocol buffers (proto3), written and read by tables of their fields.
 *
 * It knows the wire format and no service; fields that no table names are passed over. The invariant: bytes that are no
 * such message are an error, never a message with fewer fields. A message that is absent is null; of scalars proto3
 * does not tell absent from zero, so whoever reads one has to know what its zero means.
 * Source: protobuf.dev, "Encoding" and "Language Guide (proto 3)".
 */

/** An enumeration: the place of a word is its number. */
export interface Words<Word extends string = string> {
  readonly words: readonly Word[];
}
export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64';
export interface Field {
  readonly number: number;
  readonly type: Scalar | Words | Message;
  /** `map`: of texts to the type. */
  readonly many?: 'list' | 'map';
}
export interface Message {
  /** With its package: `nebius.compute.v1.Instance`. */
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
}

type One<Type> = Type extends 'string'
  ? string
  : Type extends 'bytes'
    ? Uint8Array
    : Type extends 'bool'
      ? boolean
      : Type extends 'int32' | 'int64'
        ? bigint
        : Type extends Words<infer Word>
          ? Word | null
          : Type extends Message
            ? Decoded<Type> | null
            : never;
type Listed<Type> = Exclude<One<Type>, null>;

/** The decoded fields of a message. An unknown enumeration value is null. */
export type Decoded<Of extends Message> = {
  readonly [Name in keyof Of['fields']]: Of['fields'][Name] extends { readonly many: 'list' }
    ? readonly Listed<Of['fields'][Name]['type']>[]
    : Of['fields'][Name] extends { readonly many: 'map' }
      ? Readonly<Record<string, Listed<Of['fields'][Name]['type']>>>
      : One<Of['fields'][Name]['type']>;
};

/** The encoded fields of a message: absent fields are not sent. */
export type Encodable = Readonly<Record<string, unknown>>;

/** Bytes that are no message. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const MOST_BITS = 64n;

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 0x80n; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return Uint8Array.from(bytes);
}

const tagged = (number: number, wire: number, ...rest: Uint8Array[]): Uint8Array =>
  Buffer.concat([varint(BigInt(number * 8 + wire)), ...rest]);
const delimited = (number: number, bytes: Uint8Array): Uint8Array =>
  tagged(number, BYTES, varint(BigInt(bytes.length)), bytes);

/** Bytes of a message. What its table does not have is a bug. */
export function encode({ name, fields }: Message, value: Encodable): Uint8Array {
  return Buffer.concat(
    Object.entries(value).map(([key, given]) => {
      const field = fields[key];
      if (field === undefined) throw new Error(`broken invariant: ${name} has no field ${key}`);
      if (field.many === 'map') throw new Error(`broken invariant: ${name}.${key} is a map, and none is sent`);
      if (given === undefined || given === null) return new Uint8Array();
      return field.many === 'list' ? encodeList(field, given as readonly unknown[]) : encodeOne(field, given, true);
    }),
  );
}

const isMessage = (type: Field['type']): type is Message => typeof type === 'object' && 'fields' in type;
const isNumber = (type: Field['type']): boolean => type !== 'string' && type !== 'bytes' && !isMessage(type);

/** Numbers are packed into one. */
function encodeList(field: Field, all: readonly unknown[]): Uint8Array {
  if (!isNumber(field.type)) return Buffer.concat(all.map((one) => encodeOne(field, one, false)));
  const numbers = Buffer.concat(all.map((one) => varint(numberOf(field.type, one))));
  return numbers.length === 0 ? numbers : delimited(field.number, numbers);
}

/** @param leaves out what is zero, as proto3 does */
function encodeOne({ number, type }: Field, value: unknown, leaves: boolean): Uint8Array {
  if (isMessage(type)) return delimited(number, encode(type, value as Encodable));
  if (isNumber(type)) {
    const figure = numberOf(type, value);
    return leaves && figure === 0n ? new Uint8Array() : tagged(number, VARINT, varint(figure));
  }
  const bytes = type === 'string' ? Buffer.from(String(value), 'utf8') : (value as Uint8Array);
  return leaves && bytes.length === 0 ? new Uint8Array() : delimited(number, bytes);
}

function numberOf(type: Field['type'], value: unknown): bigint {
  if (typeof type !== 'object' || isMessage(type)) return BigInt(value as bigint | number | boolean);
  const place = type.words.indexOf(String(value));
  if (place < 0) throw new Error(`broken invariant: ${String(value)} is no word`);
  return BigInt(place);
}

/** Decodes the bytes of a message. @throws ProtoError */
export function decode<Of extends Message>(message: Of, bytes: Uint8Array): Decoded<Of> {
  const found: Record<string, unknown> = {};
  const names = new Map<number, string>();
  for (const [name, field] of Object.entries(message.fields)) {
    names.set(field.number, name);
    found[name] = zeroOf(field);
  }
  for (const { number, wire, value } of partsOf(bytes)) {
    const name = names.get(number);
    const field = name === undefined ? undefined : message.fields[name];
    if (name === undefined || field === undefined) continue;
    if (field.many === 'map') {
      const entry = decode(
        {
          name: '',
          fields: { key: { number: 1, type: 'string' }, value: { ...field, number: 2, many: undefined } as Field },
        },
        bytesOf(value),
      );
      (found[name] as Record<string, unknown>)[String(entry['key'])] = entry['value'];
    } else if (field.many === 'list') (found[name] as unknown[]).push(...listed(field, wire, value));
    else found[name] = decodeOne(field, value);
  }
  return found as Decoded<Of>;
}

function zeroOf({ type, many }: Field): unknown {
  if (many === 'list') return [];
  if (many === 'map') return {};
  switch (type) {
    case 'string':
      return '';
    case 'bytes':
      return new Uint8Array();
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
      return 0n;
    default:
      return 'words' in type ? (type.words[0] ?? null) : null;
  }
}

/** Numbers of a list may come packed into one. */
function listed(field: Field, wire: number, value: bigint | Uint8Array): unknown[] {
  if (!isNumber(field.type) || wire !== BYTES) return [decodeOne(field, value)];
  const numbers: unknown[] = [];
  const reader = new Reader(bytesOf(value));
  while (!reader.isDone) numbers.push(decodeOne(field, reader.varint()));
  return numbers;
}

function decodeOne({ type }: Field, value: bigint | Uint8Array): unknown {
  if (type === 'string') return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(value));
  if (type === 'bytes') return bytesOf(value);
  if (typeof type === 'object' && 'fields' in type) return decode(type, bytesOf(value));
  if (typeof value !== 'bigint') throw new ProtoError('a number is expected');
  if (typeof type === 'object') return type.words[Number(value)] ?? null;
  if (type === 'bool') return value !== 0n;
  return BigInt.asIntN(type === 'int32' ? 32 : 64, value);
}

function bytesOf(value: bigint | Uint8Array): Uint8Array {
  if (typeof value === 'bigint') throw new ProtoError('bytes are expected');
  return value;
}

interface Part {
  readonly number: number;
  readonly wire: number;
  readonly value: bigint | Uint8Array;
}

function* partsOf(bytes: Uint8Array): Generator<Part> {
  const reader = new Reader(bytes);
  while (!reader.isDone) {
    const tag = Number(reader.varint());
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    if (number === 0) throw new ProtoError('a field has the number 0');
    if (wire === VARINT) yield { number, wire, value: reader.varint() };
    else if (wire === BYTES) yield { number, wire, value: reader.take(Number(reader.varint())) };
    else if (wire === FIXED64) reader.take(8);
    else if (wire === FIXED32) reader.take(4);
    else throw new ProtoError(`a field has the wire type ${wire}`);
  }
}

class Reader {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get isDone(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < MOST_BITS + 6n; shift += 7n) {
      const byte = this.bytes[this.at];
      if (byte === undefined) break;
      this.at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtoError('a number has no end');
  }

  take(length: number): Uint8Array {
    const part = this.bytes.subarray(this.at, this.at + length);
    if (part.length !== length) throw new ProtoError('a field is longer than its message');
    this.at += length;
    return part;
  }
}
