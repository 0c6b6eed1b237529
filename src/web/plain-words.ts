/**
 * States what is wrong with a request, in plain words that follow the name of a field: `hours is missing`, `gpus is a
 * text, not a number`. Applies to every schema once this file is loaded; a schema with its own words keeps them. Never
 * repeats the value itself.
 */
import { z } from 'zod';

type Issue = Parameters<NonNullable<z.core.$ZodConfig['localeError']>>[0];

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  null: 'null',
  nan: 'not a number',
  date: 'a time',
};
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'a time: write 2026-10-01T00:00:00Z',
  date: 'a day: write 2026-10-01',
  time: 'a time of day: write 08:00:00',
  duration: 'a duration: write PT1H',
  email: 'an e-mail address',
  url: 'an address (URL)',
  uuid: 'a UUID',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
};
/** With at most so many alternatives, each says why it does not fit. */
const MOST_ALTERNATIVES = 3;

const kindOf = (name: string): string => KINDS[name] ?? name;
const isAbsent = (input: unknown): boolean => input === undefined;

function wrongType({ expected, input }: Extract<Issue, { code: 'invalid_type' }>): string {
  if (isAbsent(input)) return 'is missing';
  const given = kindOf(z.core.util.parsedType(input));
  const wanted = kindOf(expected);
  const isKind = given === 'not a number' || given === wanted || (expected === 'int' && typeof input === 'number');
  return isKind ? `is not ${wanted}` : `is ${given}, not ${wanted}`;
}

function wrongValue({ values, input }: Extract<Issue, { code: 'invalid_value' }>): string {
  const all = values.map(String).join(', ');
  if (isAbsent(input)) return values.length === 1 ? `is missing: it is always ${all}` : `is missing: one of ${all}`;
  return values.length === 1 ? `is not ${all}` : `is none of ${all}`;
}

type Size = Pick<Extract<Issue, { code: 'too_big' }>, 'origin' | 'inclusive' | 'exact'>;
const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  object: ['field', 'fields'],
};

/** `2 entries`; null: this kind is not counted in anything. */
function counted(origin: string, n: number | bigint): string | null {
  const [one, many] = UNITS[origin] ?? [];
  return one === undefined ? null : `${n} ${Number(n) === 1 ? one : many}`;
}

function tooBig({ origin, inclusive, exact }: Size, maximum: number | bigint): string {
  const size = counted(origin, maximum);
  if (size !== null) return exact === true ? `has not exactly ${size}` : `has more than ${size}`;
  return inclusive === false ? `is not less than ${maximum}` : `is more than ${maximum}`;
}

function tooSmall({ origin, inclusive, exact }: Size, minimum: number | bigint): string {
  const size = counted(origin, minimum);
  if (size !== null && exact === true) return `has not exactly ${size}`;
  if (size !== null) return Number(minimum) === 1 ? 'is empty' : `has fewer than ${size}`;
  return inclusive === false ? `is not more than ${minimum}` : `is less than ${minimum}`;
}

function noneFits({ errors, inclusive }: Extract<Issue, { code: 'invalid_union' }>): string {
  if (inclusive === false) return 'fits more than one of its forms';
  const reasons = errors.map((issues) => {
    const [first] = issues;
    if (first === undefined) return '';
    return first.path.length === 0 ? first.message : `${first.path.join('/')} ${first.message}`;
  });
  const told = [...new Set(reasons)].filter((reason) => reason !== '').slice(0, MOST_ALTERNATIVES);
  return told.length === 0 ? 'has none of the accepted forms' : told.join(', or ');
}

/** The sentence that follows the field's name. */
function plainWords(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue);
    case 'invalid_value':
      return wrongValue(issue);
    case 'too_big':
      return tooBig(issue, issue.maximum);
    case 'too_small':
      return tooSmall(issue, issue.minimum);
    case 'invalid_format':
      return FORMATS[issue.format] === undefined
        ? `is not written in the required form${'pattern' in issue ? `: ${String(issue.pattern)}` : ''}`
        : `is not ${FORMATS[issue.format]}`;
    case 'not_multiple_of':
      return `is not a multiple of ${issue.divisor}`;
    case 'invalid_key':
      return 'has a name that is not accepted here';
    case 'invalid_union':
      return noneFits(issue);
    default:
      return 'is not accepted here';
  }
}

z.config({ localeError: plainWords });
