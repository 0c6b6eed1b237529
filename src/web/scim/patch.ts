/**
 * SCIM's PATCH (RFC 7644, section 3.5.2) on a resource that is plain JSON, as Okta and Microsoft Entra ID send it too:
 * operations in any case, `"True"` for true, names with dots and no path, a list of values to remove beside the path.
 *
 * Never changes the resource that it is given: what does not fit is refused whole. A part of a list that is named by a
 * filter (`emails[type eq "work"].value`) is made where there is none, as Entra expects.
 */
import { parsePath, type PatchPath } from './path.js';
import { ScimProblem } from './problem.js';

export type Resource = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly op: string;
  readonly path?: string | null | undefined;
  readonly value?: unknown;
}

type Open = Record<string, unknown>;

/** Attributes that are read by nobody but the one who wrote them may be anything; these are not one's own to change. */
const READ_ONLY = new Set(['id', 'meta', 'schemas', 'groups']);

/** Attributes and entries that all operations of a request may look through: some tenths of a second. */
const MOST_STEPS = 2_000_000;

/** What the operations of one request have looked through. */
class Steps {
  private left = MOST_STEPS;

  /** @throws ScimProblem where a request looks through too much */
  take(...through: readonly unknown[]): void {
    for (const one of through)
      this.left -= 1 + (Array.isArray(one) ? one.length : isObject(one) ? Object.keys(one).length : 0);
    if (this.left < 0)
      throw new ScimProblem(400, 'tooMany', 'the request changes too much at once: send it in several');
  }
}

/** @throws ScimProblem naming the operation that does not fit */
export function patched(resource: Resource, operations: readonly Operation[]): Resource {
  const copy = structuredClone(resource) as Open;
  const steps = new Steps();
  operations.forEach((operation, at) => {
    try {
      apply(copy, operation, steps);
    } catch (error) {
      if (!(error instanceof ScimProblem)) throw error;
      throw new ScimProblem(error.status, error.scimType, `operation ${at + 1}: ${error.message}`);
    }
  });
  return copy;
}

function apply(resource: Open, { op, path, value }: Operation, steps: Steps): void {
  const verb = op.toLowerCase();
  if (verb !== 'add' && verb !== 'replace' && verb !== 'remove')
    throw new ScimProblem(400, 'invalidSyntax', `${op.slice(0, 50)} is none of add, replace and remove`);
  if ((path ?? '') !== '') {
    const where = parsePath(path ?? '');
    checkWritable(where);
    if (verb === 'remove') return remove(resource, where, value, steps);
    if (value === undefined) throw new ScimProblem(400, 'invalidValue', 'has no value');
    return set(resource, where, value, verb === 'add', steps);
  }
  if (verb === 'remove') throw new ScimProblem(400, 'noTarget', 'remove needs a path');
  if (!isObject(value)) throw new ScimProblem(400, 'invalidValue', 'without a path the value is an object');
  for (const [name, one] of Object.entries(value)) {
    const where = parsePath(name);
    // A whole resource may be sent: what is not one's own to change in it is left as it is.
    if (where.filter === null && READ_ONLY.has(where.attribute)) continue;
    checkWritable(where);
    set(resource, where, one, verb === 'add', steps);
  }
}

function checkWritable({ attribute }: PatchPath): void {
  if (READ_ONLY.has(attribute)) throw new ScimProblem(400, 'mutability', `${attribute} cannot be changed`);
}

/** The object that holds the attribute: the resource, or an extension of it. */
function holderOf(resource: Open, { extension }: PatchPath): Open {
  if (extension === null) return resource;
  if (!isObject(resource[extension])) resource[extension] = {};
  return resource[extension] as Open;
}

function set(resource: Open, where: PatchPath, value: unknown, isAdded: boolean, steps: Steps): void {
  const holder = holderOf(resource, where);
  steps.take(holder);
  const name = nameIn(holder, where.attribute);
  steps.take(holder[name], value);
  if (where.filter !== null) return setFiltered(holder, name, where, value);
  if (where.sub !== null) {
    if (!isObject(holder[name])) holder[name] = {};
    const inner = holder[name] as Open;
    inner[nameIn(inner, where.sub)] = value;
    return;
  }
  const before = holder[name];
  if (isAdded && Array.isArray(before)) holder[name] = joined(before, Array.isArray(value) ? value : [value]);
  else if (isObject(before) && isObject(value)) holder[name] = { ...before, ...value };
  else holder[name] = value;
}

function setFiltered(holder: Open, name: string, { filter, sub }: PatchPath, value: unknown): void {
  const list = Array.isArray(holder[name]) ? (holder[name] as unknown[]) : [];
  let fitting = list.filter((one): one is Open => isObject(one) && fits(one, filter));
  if (fitting.length === 0) {
    const made: Open = { [filter?.attribute ?? '']: filter?.value };
    list.push(made);
    fitting = [made];
  }
  for (const one of fitting) {
    if (sub !== null) one[nameIn(one, sub)] = value;
    else if (isObject(value)) Object.assign(one, value);
    else throw new ScimProblem(400, 'invalidValue', 'the value of a filtered list is an object');
  }
  holder[name] = list;
}

function remove(resource: Open, where: PatchPath, value: unknown, steps: Steps): void {
  const holder = holderOf(resource, where);
  steps.take(holder);
  const name = nameIn(holder, where.attribute);
  const before = holder[name];
  steps.take(before, value);
  if (where.filter !== null) {
    if (!Array.isArray(before)) return;
    const { filter, sub } = where;
    if (sub === null) holder[name] = before.filter((one) => !isObject(one) || !fits(one, filter));
    else for (const one of before) if (isObject(one) && fits(one, filter)) delete one[nameIn(one, sub)];
  } else if (where.sub !== null) {
    if (isObject(before)) delete before[nameIn(before, where.sub)];
  } else if (Array.isArray(before) && value !== undefined && value !== null) {
    const gone = new Set((Array.isArray(value) ? value : [value]).map(valueOf));
    holder[name] = before.filter((one) => !gone.has(valueOf(one)));
  } else delete holder[name];
}

/** Both, each value once. */
const joined = (before: readonly unknown[], more: readonly unknown[]): unknown[] => {
  const known = new Set(before.map(valueOf));
  return [...before, ...more.filter((one) => !known.has(valueOf(one)))];
};

/** What tells two entries of a list apart. */
const valueOf = (one: unknown): string => {
  const value = isObject(one) && 'value' in one ? one['value'] : one;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const fits = (one: Open, filter: PatchPath['filter']): boolean =>
  filter !== null && String(one[nameIn(one, filter.attribute)]).toLowerCase() === String(filter.value).toLowerCase();

/** An attribute's name as the object writes it: names are compared without regard to case (RFC 7643, section 2.1). */
export function nameIn(holder: Resource, name: string): string {
  return Object.keys(holder).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
}

export const isObject = (value: unknown): value is Open =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
