/** Reads figures back out of a report's formats, by means of its own: nothing here is shared with what wrote them. */

/** The figures of a page: what a machine reads, and what a person sees. */
export function readPage(html: string): { readonly value: string; readonly unit: string; readonly text: string }[] {
  return [...html.matchAll(/<data value="([^"]*)" data-unit="([^"]*)">([^<]*)<\/data>/g)].map(
    ([, value = '', unit = '', text = '']) => ({ value, unit, text }),
  );
}

/** RFC 4180 with a head, into objects. */
export function readCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]];
  let [cell, quoted] = ['', false];
  const end = (): void => {
    rows.at(-1)?.push(cell);
    cell = '';
  };
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quoted && letter === '"' && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (letter === '"') quoted = !quoted;
    else if (!quoted && letter === ',') end();
    else if (!quoted && letter === '\r' && text[at + 1] === '\n') {
      end();
      rows.push([]);
      at += 1;
    } else cell += letter;
  }
  const [head = [], ...body] = rows;
  return body
    .filter((row) => row.length > 0)
    .map((row) => {
      if (row.length !== head.length)
        throw new Error(`a row of ${row.length} cells under a head of ${head.length}: ${row.join('|')}`);
      return Object.fromEntries(head.map((name, column) => [name, row[column] ?? '']));
    });
}

/**
 * Whether a shown number is the exact one, rounded to the digits that are shown: half a unit of the last digit at most.
 */
export function rounded(value: string, unit: string, text: string): boolean {
  const digits = text.replace(/[^\d.-]/g, '');
  const shown = Number(digits) / (unit === 'ratio' ? 100 : 1);
  const decimals = (digits.split('.')[1] ?? '').length + (unit === 'ratio' ? 2 : 0);
  return Number.isFinite(shown) && Math.abs(shown - Number(value)) <= 0.5 * 10 ** -decimals * (1 + 1e-9);
}
