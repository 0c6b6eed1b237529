/**
 * Reads a file of exchange rates: CSV with the columns day, currency and per_usd, or the same in JSON. Every problem is
 * reported, with its line or place; a file with a problem is refused as a whole.
 */
import { Failure, invalid, type Problem } from '../core/errors.js';
import { quotesOfRates, type FxRate } from '../core/price/fx.js';
import { isObject, parseStructured, textOf } from './structured-file.js';

const COLUMNS = ['day', 'currency', 'per_usd'] as const;

/** One rate as the file has it, and where. */
interface PlacedRate {
  readonly rate: FxRate;
  readonly place: string;
}

/** @throws Failure missing if there is no such file, invalid naming every problem of its content. */
export async function readFx(file: string): Promise<FxRate[]> {
  const text = await textOf(file);
  const placed = /^\s*[[{]/.test(text) ? fromJson(parseStructured(text, file), file) : fromCsv(text, file);
  if (placed.length === 0) throw invalid(`${file} holds no exchange rate`);
  const rates = placed.map(({ rate }) => rate);
  try {
    quotesOfRates(rates);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw invalid(
      `${file} has ${error.problems.length} problem(s)`,
      error.problems.map((problem) => inFile(problem, placed)),
    );
  }
  return rates;
}

/** `rates/3/perUsd` as the place in the file: `line 5/per_usd`. */
function inFile({ path, message }: Problem, placed: readonly PlacedRate[]): Problem {
  const match = /^rates\/(\d+)\/(\w+)$/.exec(path ?? '');
  if (match === null) return { path, message };
  const place = placed[Number(match[1])]?.place ?? '';
  return { path: `${place}/${match[2] === 'perUsd' ? 'per_usd' : (match[2] ?? '')}`, message };
}

function fromCsv(text: string, file: string): PlacedRate[] {
  const lines = text
    .split(/\r?\n/)
    .map((line, at) => ({ cells: cellsOf(line), place: `line ${at + 1}` }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const head = lines[0]?.cells.map((cell) => cell.toLowerCase()) ?? [];
  const at = COLUMNS.map((name) => head.indexOf(name));
  const absent = COLUMNS.filter((_, n) => at[n] === -1);
  if (absent.length > 0)
    throw invalid(
      `${file} begins without the column(s) ${absent.join(', ')}: a file of rates has ${COLUMNS.join(',')}`,
    );
  return lines.slice(1).map(({ cells, place }) => {
    const [day = '', currency = '', perUsd = ''] = at.map((column) => cells[column] ?? '');
    return { place, rate: { day, currency, perUsd } };
  });
}

/** None of the three columns can hold a comma or a quote. */
const cellsOf = (line: string): string[] => line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));

function fromJson(content: unknown, file: string): PlacedRate[] {
  const list = isObject(content) && 'rates' in content ? content['rates'] : content;
  if (!Array.isArray(list)) throw invalid(`${file} holds neither a list of rates nor { "rates": [...] }`);
  return list.map((item: unknown, at) => {
    const rate = isObject(item) ? item : {};
    return {
      place: `rates/${at}`,
      rate: {
        day: textIn(rate['day']),
        currency: textIn(rate['currency']),
        perUsd: textIn(rate['per_usd'] ?? rate['perUsd']),
      },
    };
  });
}

/** A number of JSON as it is written; anything else but a text is none. */
const textIn = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
