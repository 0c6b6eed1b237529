/**
 * The depth of a JSON text and the number of its values, counted before parsing.
 *
 * A few kilobytes of gzip may be many megabytes of `{},{},{}`: without the count each of them would become an object
 * that is walked and reported. The code is not recursive, so no depth is too much for it.
 */

/** No document of the API, no record and no pod is nested deeper than a few dozen. */
export const MOST_DEPTH = 100;

const [OPENS, CLOSES, SEPARATES, QUOTES] = [1, 2, 3, 4];
/** What a byte of UTF-8 does outside of texts. */
const DOES = new Uint8Array(256);
for (const [characters, does] of [
  ['{[', OPENS],
  ['}]', CLOSES],
  [',', SEPARATES],
  ['"', QUOTES],
] as const)
  for (const character of characters) DOES[character.charCodeAt(0)] = does ?? 0;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Depth and number of values of a JSON text in UTF-8, counted no further than the bounds: beyond is beyond. */
export function measured(bytes: Uint8Array, mostCounted: number): { readonly depth: number; readonly values: number } {
  let [depth, deepest, values] = [0, 0, 1];
  const { length } = bytes;
  for (let at = 0; at < length; ) {
    const does = DOES[bytes[at++] as number];
    if (does === 0) continue;
    if (does === QUOTES) {
      while (at < length) {
        const inside = bytes[at++];
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) at++;
      }
    } else if (does === CLOSES) depth--;
    else {
      // A list or an object with something in it has one value more than it has commas.
      values++;
      if (does === OPENS && ++depth > deepest) deepest = depth;
      if (deepest > MOST_DEPTH || values > mostCounted) break;
    }
  }
  return { depth: deepest, values };
}
