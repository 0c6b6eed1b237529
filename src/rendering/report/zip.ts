/**
 * Files in one ZIP archive (PKWARE APPNOTE 6.3.10, sections 4.3 and 4.4): deflated, with UTF-8 names, without the 64-bit
 * extensions, so for less than 4 GiB in all.
 *
 * The same files make the same bytes: every entry has the first time that the format knows.
 */
import { crc32, deflateRawSync } from 'node:zlib';

const DEFLATED = 8;
/** Bit 11: names are UTF-8. */
const UTF8 = 0x0800;
const VERSION = 20;
/** 1 January 1980, as MS-DOS writes dates. */
const FIRST_DAY = 0x21;

/** @param files by name, in this order */
export function zipOf(files: ReadonlyMap<string, string>): Uint8Array {
  const [bodies, directory] = [[] as Buffer[], [] as Buffer[]];
  let offset = 0;
  for (const [name, text] of files) {
    const [path, plain] = [Buffer.from(name), Buffer.from(text)];
    const packed = deflateRawSync(plain);
    // What stands in both headers, from the version that is needed to the length of the extra field.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(VERSION, 0);
    shared.writeUInt16LE(UTF8, 2);
    shared.writeUInt16LE(DEFLATED, 4);
    shared.writeUInt16LE(FIRST_DAY, 8);
    shared.writeUInt32LE(crc32(plain), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(plain.length, 18);
    shared.writeUInt16LE(path.length, 22);
    bodies.push(Buffer.from('PK\x03\x04'), shared, path, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02'), Buffer.from([VERSION, 0]), shared, rest, path);
    offset += 4 + shared.length + path.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.size, 4);
  end.writeUInt16LE(files.size, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...bodies, listed, Buffer.from('PK\x05\x06'), end]);
}
