/**
 * PUT takes what GET of the same address answers, unchanged: who changes one field sends back the rest as it came. The
 * fields that only an answer has are listed here, by endpoint, and are taken out before the body is checked.
 */
import { invalid, type Problem } from '../core/errors.js';

export interface ReadBack {
  /** Fields that repeat the address: they have to say the same. */
  readonly addressed?: readonly string[];
  /** Fields that a write does not set. `credits[].left`: of each item. */
  readonly ignored?: readonly string[];
  /** Fields by what the body calls them. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** The field that is the body, where it stands in the answer with nothing else that a write sets. */
  readonly within?: string;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The body without what only an answer has.
 * @param address the parts of the path and of the query, by name
 * @throws Failure invalid if a field says another address
 */
export function settingsOf(
  { addressed = [], ignored = [], renamed = {}, within }: ReadBack,
  value: unknown,
  address: Readonly<Record<string, unknown>>,
): unknown {
  if (!isFields(value)) return value;
  const body = { ...value };
  const problems: Problem[] = [];
  for (const name of addressed.filter((one) => Object.hasOwn(body, one))) {
    const expected = address[name] ?? null;
    if (body[name] !== expected)
      problems.push({
        path: name,
        message: expected === null ? 'is not null, as in the address' : `is not ${String(expected)}, as in the address`,
      });
    delete body[name];
  }
  if (problems.length > 0) throw invalid(`the request has ${problems.length} problem(s)`, problems);
  for (const path of ignored) drop(body, path);
  for (const [from, to] of Object.entries(renamed).filter(([name]) => Object.hasOwn(body, name))) {
    if (!Object.hasOwn(body, to)) body[to] = body[from];
    delete body[from];
  }
  const isWhole = within !== undefined && Object.hasOwn(body, within) && Object.keys(body).length === 1;
  return isWhole ? body[within] : body;
}

/** `paused`, or `credits[].left`. */
function drop(body: Fields, path: string): void {
  const [list, name] = path.split('[].', 2) as [string, string?];
  if (name === undefined) delete body[list];
  else if (Array.isArray(body[list]))
    body[list] = body[list].map((item: unknown) => {
      if (!isFields(item)) return item;
      const { [name]: _, ...rest } = item;
      return rest;
    });
}

/** For people who read the API's document. */
export function readBackText({ addressed = [], ignored = [], renamed = {}, within }: ReadBack): string {
  const names = (all: readonly string[]): string => all.join(', ');
  return [
    'Takes the answer of GET unchanged too.',
    ...(addressed.length === 0 ? [] : [`Has to be as in the address: ${names(addressed)}.`]),
    ...(ignored.length === 0 ? [] : [`Ignored: ${names(ignored)}.`]),
    ...Object.entries(renamed).map(([from, to]) => `${from} counts as ${to}.`),
    ...(within === undefined ? [] : [`The settings are then those in ${within}.`]),
  ].join(' ');
}
