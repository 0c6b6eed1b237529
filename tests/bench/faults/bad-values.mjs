/**
 * Values, texts and bytes that are wrong in ways that have broken servers: half surrogate pairs, NUL, numbers at the
 * edges, dates that do not exist, depth, length, and bodies that are cut, flipped or packed wrong. Made from a seeded
 * source alone, so that an input is the same in every run of a seed.
 */
import { gzipSync, deflateSync, brotliCompressSync } from 'node:zlib';

const LONE = '\ud800';
const TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  LONE,
  `a${LONE}`,
  `\udfff${LONE}`,
  '\u202egnp.exe',
  '\u{1f4a9}'.repeat(40),
  'x'.repeat(300),
  'y'.repeat(20_000),
  '../../etc/passwd',
  "'; drop table work; --",
  '=cmd|calc',
  '%s%n%x',
  '{{7*7}}',
  '<script>1</script>',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  'true',
  '-0',
  '1e400',
  '1e-400',
  '9'.repeat(400),
  `0.${'1'.repeat(400)}`,
  '-1',
  '0x10',
  '１２',
  '1,5',
  '9223372036854775808',
  '-9223372036854775809',
  '2026-02-30',
  '2026-13-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '294277-01-01T00:00:00Z',
  '2026-11-01T00:00:60Z',
  '2026-11-01T24:00:00Z',
  '2026-11-01T00:00:00+99:99',
  '1969-12-31T23:59:59.999Z',
  '4714-11-24 BC',
  'infinity',
  'Europe/Nowhere',
  'Etc/GMT+14',
  'USD',
  'usd',
  'XXX',
  '€€€',
  'aws',
  'AWS',
  'research',
  '*',
  'act-0000000000000000',
];
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '0.1',
  '1.5',
  '1e308',
  '-1e308',
  '1e309',
  '5e-324',
  '2147483648',
  '-2147483649',
  '4294967296',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '1e19',
  '1e40',
  `1${'0'.repeat(400)}`,
  '253402300800000',
  '8640000000000001',
  '100000000',
  '32768',
];
const MEDIA = [
  'application/json',
  'application/json; charset=utf-16',
  'application/JSON;charset=',
  'application/cloudevents+json',
  'application/cloudevents-batch+json',
  'application/x-ndjson',
  'application/scim+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'text/csv',
  'text/plain',
  'application/octet-stream',
  'application/json/json',
  ';',
  '',
  'a'.repeat(4000),
];

/** A number that JSON.stringify writes as the text says: marked, and unmarked in `written`. */
const MARK = '\uE000';
const marked = (text) => `${MARK}${text}${MARK}`;
const UNMARKED = new RegExp(`"${MARK}([^"]*?)${MARK}"`, 'g');

export class Chance {
  constructor(random) {
    this.random = random;
  }

  below(n) {
    return Math.floor(this.random() * n);
  }

  is(share) {
    return this.random() < share;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  text() {
    if (this.is(0.2)) return this.pick(TEXTS) + this.pick(TEXTS);
    if (this.is(0.2))
      return String.fromCharCode(...Array.from({ length: 1 + this.below(12) }, () => this.below(0x10000)));
    return this.pick(TEXTS);
  }

  number() {
    return marked(this.pick(NUMBERS));
  }

  media() {
    return this.pick(MEDIA);
  }

  /** Any value of JSON. */
  value() {
    switch (this.below(9)) {
      case 0:
      case 1:
      case 2:
        return this.text();
      case 3:
      case 4:
        return this.number();
      case 5:
        return this.pick([null, true, false]);
      case 6:
        return Array.from({ length: this.pick([0, 1, 3, 1500]) }, () => this.pick([null, '', 0, {}]));
      case 7:
        return this.deep(this.pick([3, 50, 99, 101, 2000, 100_000]));
      default:
        return { [this.text()]: this.text() };
    }
  }

  /** Lists within one another. */
  deep(levels) {
    return marked('['.repeat(levels) + ']'.repeat(levels));
  }

  /** The value with one place of it changed: replaced, taken away, doubled, or with a name that is not known. */
  mutated(value) {
    const places = placesOf(value);
    if (places.length === 0) return this.value();
    const copy = structuredClone(value);
    const place = this.pick(places);
    let holder = copy;
    for (const step of place.slice(0, -1)) holder = holder[step];
    const last = place.at(-1);
    switch (this.below(8)) {
      case 0:
        if (Array.isArray(holder)) holder.splice(Number(last), 1);
        else delete holder[last];
        break;
      case 1:
        if (Array.isArray(holder)) holder.push(structuredClone(holder[last]), structuredClone(holder[last]));
        else holder[this.text()] = holder[last];
        break;
      case 2:
        holder[last] = [holder[last]];
        break;
      case 3:
        holder[last] = typeof holder[last] === 'string' ? this.text() : this.value();
        break;
      default:
        holder[last] = typeof holder[last] === 'number' ? this.number() : this.value();
    }
    return copy;
  }

  /** The bytes with some of them flipped, left out, doubled or cut off. */
  damaged(bytes) {
    const copy = Buffer.from(bytes);
    if (copy.length === 0) return Buffer.from([this.below(256)]);
    switch (this.below(5)) {
      case 0:
        return copy.subarray(0, this.below(copy.length));
      case 1: {
        const at = this.below(copy.length);
        return Buffer.concat([copy.subarray(0, at), Buffer.from([this.below(256), 0xff, 0]), copy.subarray(at)]);
      }
      case 2: {
        const [at, length] = [this.below(copy.length), this.below(64)];
        return Buffer.concat([copy.subarray(0, at), copy.subarray(at + length)]);
      }
      case 3:
        return Buffer.concat([copy, copy.subarray(this.below(copy.length))]);
      default:
        for (let n = 0; n <= this.below(6); n += 1) copy[this.below(copy.length)] = this.below(256);
        return copy;
    }
  }

  /** A body and the encoding that it says to have, often another one. */
  packed(bytes) {
    switch (this.below(8)) {
      case 0:
        return { bytes: gzipSync(bytes), encoding: 'gzip' };
      case 1:
        return { bytes: this.damaged(gzipSync(bytes)), encoding: 'gzip' };
      case 2:
        return { bytes, encoding: 'gzip' };
      case 3:
        return { bytes: deflateSync(bytes), encoding: this.pick(['deflate', 'gzip']) };
      case 4:
        return { bytes: brotliCompressSync(bytes), encoding: this.pick(['br', 'gzip', 'zstd', 'identity', ',']) };
      case 5:
        return {
          bytes: gzipSync(Buffer.alloc(this.pick([1e5, 3e6, 2e7]), this.pick([0, 0x20, 0x5b, 0x7b]))),
          encoding: 'gzip',
        };
      case 6:
        return { bytes: gzipSync(gzipSync(bytes)), encoding: this.pick(['gzip', 'gzip, gzip']) };
      default:
        return { bytes: Buffer.concat([gzipSync(bytes), gzipSync(bytes)]), encoding: 'gzip' };
    }
  }
}

/** JSON of a value, its marked numbers as they are written. Half surrogates stand as JSON can hold them: escaped. */
export const written = (value) => (JSON.stringify(value) ?? 'null').replace(UNMARKED, '$1');

/** The path of every place in a value, the first few hundred. */
function placesOf(value) {
  const places = [];
  const stack = [[[], value]];
  while (stack.length > 0 && places.length < 300) {
    const [path, one] = stack.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const name of Object.keys(one)) {
      const here = [...path, name];
      places.push(here);
      stack.push([here, one[name]]);
    }
  }
  return places;
}

/** A text as a part of a path or a query: percent-encoded, also what UTF-8 cannot hold, and sometimes wrong. */
export function encoded(text, chance) {
  if (chance.is(0.05))
    return chance.pick(['%', '%0', '%zz', '%00', '%ED%A0%80', '%C0%AF', '%FF', '%2F', '..%2f..', '%E2%82']);
  return [...text]
    .map((one) => {
      const code = one.codePointAt(0);
      return code >= 0xd800 && code <= 0xdfff ? '%ED%A0%80' : encodeURIComponent(one);
    })
    .join('');
}
