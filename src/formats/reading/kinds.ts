/**
 * The type of a file that no format can read, by its first bytes: an archive, a workbook, a login page instead of a
 * bill. The code that opens the file reports the type, so that every entry point says the same. Also finds out why a
 * table may not be recognised.
 *
 * Never judges a file's content: it names only files that are certainly not a table or JSON. Signatures: PKWARE,
 * APPNOTE.TXT (local file header); ECMA-376 part 2 (`[Content_Types].xml`); [MS-CFB]; RFC 8878, XZ, bzip2 and 7-Zip
 * file formats; ISO 32000 (`%PDF-`).
 */
const CSV = 'save it as CSV in UTF-8, separated by commas';
const UNPACK = 'unpack it and import the files in it (gzip is unpacked here)';

/** First bytes, in hexadecimal, and what the file is by them. */
const SIGNATURES: readonly (readonly [string, string])[] = [
  ['d0cf11e0a1b11ae1', `is an old Office document (.xls): ${CSV}`],
  ['28b52ffd', `is packed with Zstandard: ${UNPACK}`],
  ['fd377a585a00', `is packed with xz: ${UNPACK}`],
  ['377abcaf271c', `is a 7z archive: ${UNPACK}`],
  ['255044462d', 'is a PDF: export the bill as CSV'],
  ['fffe', 'is UTF-16: save it as UTF-8'],
  ['feff', 'is UTF-16: save it as UTF-8'],
];
const BZIP2 = /^425a683[1-9]314159265359/;
/** POSIX.1-2024 pax, ustar Interchange Format: its magic, and where it lies. */
const TAR = { at: 257, magic: 'ustar' };
const ZIPPED = ['504b0304', '504b0506'];
/** The parts of a workbook: of Excel, and of OpenDocument, whose media type comes first and unpacked. */
const WORKBOOK = /\[Content_Types\]\.xml|xl\/|mimetypeapplication\/vnd\.oasis/;
const HTML = /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype html|html|head|body|script|title)\b/i;
const XML = /^\s*<\?xml\b/i;
/** Number of bytes of a file that show whether it is a page. */
const PAGE_BYTES = 2048;

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1').replace('\u00EF\u00BB\u00BF', '');

/** What the file is and what to do, to follow its name; null if it may be readable. */
export function unreadableKind(head: Uint8Array): string | null {
  const begin = Buffer.from(head.subarray(0, 16)).toString('hex');
  const known = SIGNATURES.find(([signature]) => begin.startsWith(signature));
  if (known !== undefined) return known[1];
  if (BZIP2.test(begin)) return `is packed with bzip2: ${UNPACK}`;
  if (ZIPPED.some((signature) => begin.startsWith(signature)))
    return WORKBOOK.test(asText(head)) ? `is a workbook (.xlsx or .ods): ${CSV}` : `is a zip archive: ${UNPACK}`;
  if (asText(head.subarray(TAR.at, TAR.at + TAR.magic.length)) === TAR.magic) return `is a tar archive: ${UNPACK}`;
  if (isWide(head)) return 'is UTF-16: save it as UTF-8';
  const text = asText(head.subarray(0, PAGE_BYTES));
  if (HTML.test(text))
    return 'is an HTML page, as a login or an error answers in place of a file: sign in, and download the file itself';
  if (!XML.test(text)) return null;
  const code = /<Code>(\w{1,60})<\/Code>/.exec(text)?.[1];
  return code === undefined
    ? `is XML: ${CSV}`
    : `is an error of the storage (${code}) in place of the file: download it again`;
}

/** UTF-16 without a byte order mark, of a file that begins in ASCII: every other byte is 0. */
function isWide(head: Uint8Array): boolean {
  if (head.length < 8) return false;
  const zeros = (from: number): boolean =>
    [0, 2, 4, 6].every((at) => head[at + from] === 0 && head[at + 1 - from] !== 0);
  return zeros(0) || zeros(1);
}

const SEPARATORS = { semicolons: ';', tabs: '\t', bars: '|' } as const;
/** A header has more columns than this, and a text without commas seldom so many of the others. */
const FEW = 2;

/** The separator of a table whose first line has it instead of commas; null for every other. */
export function otherSeparator(head: Uint8Array): string | null {
  const [line = ''] = asText(head).split('\n', 1);
  if (/^\s*[{[]/.test(line)) return null;
  const stated = /^"?sep=(.)"?\r?$/i.exec(line)?.[1];
  if (stated !== undefined && stated !== ',') return `"${stated}"`;
  const count = (separator: string): number => line.split(separator).length - 1;
  const found = Object.entries(SEPARATORS).find(
    ([, separator]) => count(separator) > FEW && count(separator) > count(','),
  );
  return found?.[0] ?? null;
}
