/**
 * Parses the paths of PATCH operations (RFC 7644, figure 7) and list filters (section 3.4.2.2). Of filters it takes
 * `eq`, joined by `and`, as Okta and Microsoft Entra ID send them.
 */
import { isStorable } from '../../core/text.js';
import { spelledName } from './names.js';
import { ScimProblem } from './problem.js';

export interface Equal {
  readonly attribute: string;
  readonly value: string | boolean;
}

export interface PatchPath {
  /** The URN of an extension; null: the core schema. */
  readonly extension: string | null;
  readonly attribute: string;
  /** Selects entries of a list; null: the whole attribute. */
  readonly filter: Equal | null;
  readonly sub: string | null;
}

const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
const EXTENSION = /^(urn:[\w.:-]+:\d+\.\d+:\w+):(?=\w)/i;
const EXTENSION_WHOLE = /^urn:[\w.:-]+:\d+\.\d+:\w+$/i;
const NAME = '[A-Za-z$][\\w$-]*';
const VALUE = '"((?:[^"\\\\]|\\\\.)*)"|(true|false)';
const PATH = new RegExp(`^(${NAME})(?:\\[\\s*(${NAME})\\s+eq\\s+(?:${VALUE})\\s*\\])?(?:\\.(${NAME}))?$`, 'i');
const TERM = new RegExp(`^\\s*(${NAME}(?:\\.${NAME})?|emails\\[type eq "work"\\]\\.value)\\s+eq\\s+(?:${VALUE})`, 'i');
const AND = /^\s+and\s+/i;
const MOST_TERMS = 5;
const NOT_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/** @throws ScimProblem invalidPath */
export function parsePath(text: string): PatchPath {
  const core = text.replace(CORE, '');
  if (EXTENSION_WHOLE.test(core)) return { extension: null, attribute: core, filter: null, sub: null };
  const extension = EXTENSION.exec(core)?.[1] ?? null;
  const found = PATH.exec(extension === null ? core : core.slice(extension.length + 1));
  const [, attribute = '', name, quoted, bool, sub = null] = found ?? [];
  if (found === null || [attribute, name, sub].some((one) => one !== undefined && one !== null && NOT_NAMES.has(one)))
    throw new ScimProblem(400, 'invalidPath', `${text.slice(0, 200)} is not a path that is accepted here`);
  return {
    extension,
    attribute: spelledName(attribute),
    filter: name === undefined ? null : { attribute: spelledName(name), value: valueOf(quoted, bool) },
    sub: sub === null ? null : spelledName(sub),
  };
}

/** The terms of a filter, all of which must hold. @throws ScimProblem invalidFilter */
export function parseFilter(text: string): readonly Equal[] {
  const terms: Equal[] = [];
  for (let rest = text; ; ) {
    const [whole, attribute = '', quoted, bool] = TERM.exec(rest.replace(CORE, '')) ?? [];
    if (whole === undefined || terms.length === MOST_TERMS) throw unfiltered(text);
    terms.push({ attribute, value: valueOf(quoted, bool) });
    rest = rest.replace(CORE, '').slice(whole.length);
    if (rest.trim() === '') return terms;
    const and = AND.exec(rest)?.[0];
    if (and === undefined) throw unfiltered(text);
    rest = rest.slice(and.length);
  }
}

const valueOf = (quoted: string | undefined, bool: string | undefined): string | boolean => {
  if (quoted === undefined) return bool?.toLowerCase() === 'true';
  const text = jsonText(quoted);
  if (text === null) throw new ScimProblem(400, 'invalidFilter', 'a string in it is not written as in JSON');
  // An escape may add a character that the request's check has not seen.
  if (!isStorable(text))
    throw new ScimProblem(400, 'invalidFilter', 'a string in it contains a NUL or half of a surrogate pair');
  return text;
};

function jsonText(quoted: string): string | null {
  try {
    return JSON.parse(`"${quoted}"`) as string;
  } catch {
    return null;
  }
}

const unfiltered = (text: string): Error =>
  new ScimProblem(400, 'invalidFilter', `${text.slice(0, 200)}: only eq is accepted, joined by and`);
