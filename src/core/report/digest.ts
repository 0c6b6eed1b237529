/** A sentence in a few letters, whatever its case (28 bits of FNV-1a): the dashboard is built with these as keys. */
export function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const letter of text.toLowerCase()) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return `#${(hash >>> 4).toString(36)}`;
}
