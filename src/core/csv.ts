/**
 * Rows as CSV (RFC 4180). Escapes texts that a spreadsheet would run as a formula.
 */

/** OWASP, "CSV Injection": a cell that begins so is a formula to a spreadsheet. A number may begin with a minus. */
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

function cell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** @param end of each row: RFC 4180's, or what the tools of a terminal expect */
export const csvOf = (rows: readonly (readonly string[])[], end: '\r\n' | '\n' = '\r\n'): string =>
  rows.map((row) => `${row.map(cell).join(',')}${end}`).join('');
