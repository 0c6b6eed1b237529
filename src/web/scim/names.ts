/**
 * Attribute names are compared without regard to case (RFC 7643, section 2.1): incoming names get the schema's spelling
 * here, so that no later code has to care.
 */
const NAMES = `schemas id externalId meta userName displayName active password groups members emails name formatted
  familyName givenName value type primary display $ref`.split(/\s+/);
const SPELLING = new Map(NAMES.map((name) => [name.toLowerCase(), name]));

/** The schema's spelling of a name; an unknown name stays as it is. */
export const spelledName = (name: string): string => SPELLING.get(name.toLowerCase()) ?? name;

/** The same value with the schema's spelling of each name. Of two spellings of one name, the schema's wins. */
export function spelled<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => spelled(one)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    const own = spelledName(name);
    return own !== name && Object.hasOwn(value, own) ? [] : [[own, spelled(one)] as const];
  });
  return Object.fromEntries(entries) as T;
}
