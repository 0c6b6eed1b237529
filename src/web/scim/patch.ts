/**
 * SCIM's PATCH (RFC 7644, section 3.5.2) on a resource that is plain JSON, in the forms of Okta and Microsoft Entra ID
 * too: operations in any case, `"True"` for true, names with dots and no path, a list of values to remove beside the
 * path.
 *
 * Never changes the given resource: a request that does not fit is refused whole. A missing part of a list that a
 * filter names (`emails[type eq "work"].value`) is created, as Entra expects.
 */
import { spelled } from './names.js';
import { parsePath, type Equal, type PatchPath } from './path.js';
import { ScimProblem } from './problem.js';

export type Resource = Readonly<Record<string, unknown>>;

export interface Operation {
  readonly op: string;
  readonly path?: string | null | undefined;
  readonly value?: unknown;
}

type Open = Record<string, unknown>;

/** Attributes that only their writer reads may be anything; clients may not change these. */
const READ_ONLY = new Set(['id', 'meta', 'schemas', 'groups']);

/**
 * Attributes, entries and values that all operations of a request may look through or write: some tenths of a second.
 */
const MOST_STEPS = 2_000_000;
const CHARACTERS_PER_STEP = 64;

/** How much the operations of one request have looked through: each walk counts its steps. */
class Steps {
  private left = MOST_STEPS;

  /** @throws ScimProblem where a request looks through too much */
  take(count: number): void {
    this.left -= count;
    if (this.left < 0)
      throw new ScimProblem(400, 'tooMany', 'the request changes too much at once: send it in several');
  }

  /** An attribute's name in the object's spelling. */
  nameIn(holder: Resource, name: string): string {
    if (!Object.hasOwn(holder, name)) this.take(Object.keys(holder).length);
    return nameIn(holder, name);
  }

  /** Distinguishes two entries of a list. */
  valueOf(one: unknown): string {
    const value = isObject(one) && 'value' in one ? one['value'] : one;
    this.take(sizeOf(value));
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /** Whether the object's attribute equals the filter's text, in lower case. */
  fits(one: Open, attribute: string, wanted: string): boolean {
    const value = one[this.nameIn(one, attribute)];
    if (typeof value === 'object') return false;
    const text = String(value);
    this.take(text.length / CHARACTERS_PER_STEP);
    return text.toLowerCase() === wanted;
  }
}

/** How many values it holds at all depths; a long text counts as several. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / CHARACTERS_PER_STEP;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const [name, one] of Object.entries(value)) size += name.length / CHARACTERS_PER_STEP + sizeOf(one);
  return size;
}

/** @throws ScimProblem naming the operation that does not fit */
export function patched(resource: Resource, operations: readonly Operation[]): Resource {
  const copy = structuredClone(resource) as Open;
  const steps = new Steps();
  operations.forEach((operation, at) => {
    try {
      apply(copy, { ...operation, value: spelled(operation.value) }, steps);
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
    // A client may send a whole resource: its read-only attributes are ignored.
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
  const name = steps.nameIn(holder, where.attribute);
  if (where.filter !== null) return setFiltered(holder, name, where.filter, where.sub, value, steps);
  if (where.sub !== null) {
    if (!isObject(holder[name])) holder[name] = {};
    const inner = holder[name] as Open;
    inner[steps.nameIn(inner, where.sub)] = value;
    return;
  }
  const before = holder[name];
  if (isAdded && Array.isArray(before)) holder[name] = joined(before, Array.isArray(value) ? value : [value], steps);
  else if (isObject(before) && isObject(value)) {
    steps.take(Object.keys(before).length + Object.keys(value).length);
    holder[name] = { ...before, ...value };
  } else holder[name] = value;
}

function setFiltered(
  holder: Open,
  name: string,
  filter: Equal,
  sub: string | null,
  value: unknown,
  steps: Steps,
): void {
  const list = Array.isArray(holder[name]) ? (holder[name] as unknown[]) : [];
  let fitting = fittingIn(list, filter, steps);
  if (fitting.length === 0) {
    const made: Open = { [filter.attribute]: filter.value };
    list.push(made);
    fitting = [made];
  }
  // The value is copied into each of them.
  steps.take(fitting.length * sizeOf(value));
  for (const one of fitting) {
    if (sub !== null) one[steps.nameIn(one, sub)] = value;
    else if (isObject(value)) Object.assign(one, value);
    else throw new ScimProblem(400, 'invalidValue', 'the value of a filtered list is an object');
  }
  holder[name] = list;
}

function remove(resource: Open, where: PatchPath, value: unknown, steps: Steps): void {
  const holder = holderOf(resource, where);
  const name = steps.nameIn(holder, where.attribute);
  const before = holder[name];
  if (where.filter !== null) {
    if (!Array.isArray(before)) return;
    const { filter, sub } = where;
    const fitting = new Set<unknown>(fittingIn(before, filter, steps));
    if (sub === null) holder[name] = before.filter((one) => !fitting.has(one));
    else for (const one of fitting) if (isObject(one)) delete one[steps.nameIn(one, sub)];
  } else if (where.sub !== null) {
    if (isObject(before)) delete before[steps.nameIn(before, where.sub)];
  } else if (Array.isArray(before) && value !== undefined && value !== null) {
    const gone = new Set((Array.isArray(value) ? value : [value]).map((one) => steps.valueOf(one)));
    holder[name] = before.filter((one) => !gone.has(steps.valueOf(one)));
  } else delete holder[name];
}

/** The entries of a list that its filter selects. */
function fittingIn(list: readonly unknown[], { attribute, value }: Equal, steps: Steps): Open[] {
  const wanted = String(value).toLowerCase();
  steps.take(list.length);
  return list.filter((one): one is Open => isObject(one) && steps.fits(one, attribute, wanted));
}

/** Both lists, each value once. */
const joined = (before: readonly unknown[], more: readonly unknown[], steps: Steps): unknown[] => {
  const known = new Set(before.map((one) => steps.valueOf(one)));
  return [...before, ...more.filter((one) => !known.has(steps.valueOf(one)))];
};

/** An attribute's name in the object's spelling: case does not matter (RFC 7643, section 2.1). */
function nameIn(holder: Resource, name: string): string {
  if (Object.hasOwn(holder, name)) return name;
  return Object.keys(holder).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
}

export const isObject = (value: unknown): value is Open =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
