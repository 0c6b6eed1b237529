/**
 * CSV in GB18030 (and so in GBK and GB2312, which it contains), as spreadsheets and cloud consoles in China save it:
 * converted to UTF-8.
 *
 * Followed: WHATWG Encoding Standard, "gb18030 decoder". Never guesses from single bytes: a file counts as GB18030 if
 * its first row is not UTF-8, is GB18030 from its first byte to its last, and contains Chinese characters. Later bytes
 * that cannot be decoded are passed on as bytes that are not UTF-8 either, so that the row is refused like any such
 * row.
 */
import { isUtf8 } from 'node:buffer';

const LF = 10;
const ENCODING = 'gb18030';
const HAN = /\p{Script=Han}/u;

/** Whether the first row is Chinese in GB18030. */
export function beginsInGb18030(head: Uint8Array): boolean {
  const end = head.indexOf(LF);
  const row = head.subarray(0, end < 0 ? head.length : end);
  if (isUtf8(row)) return false;
  try {
    return HAN.test(new TextDecoder(ENCODING, { fatal: true }).decode(row));
  } catch {
    return false;
  }
}

/** The bytes as UTF-8. */
export async function* utf8Of(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(ENCODING);
  for await (const chunk of stream) yield encoded(decoder.decode(chunk, { stream: true }));
  const rest = decoder.decode();
  if (rest !== '') yield encoded(rest);
}

/** U+FFFD is what could not be decoded. */
function encoded(text: string): Uint8Array {
  if (!text.includes('\uFFFD')) return Buffer.from(text);
  const parts = text.split('\uFFFD').flatMap((part, at) => (at === 0 ? [] : [UNDECODED]).concat(Buffer.from(part)));
  return Buffer.concat(parts);
}

/** In no UTF-8 text. */
const UNDECODED = Buffer.from([0xff]);
