/**
 * Names of attributes, which are compared without regard to case (RFC 7643, section 2.1): whatever comes in gets the
 * spelling of the schema here, so that nothing behind has to ask how a name was written.
 */
const NAMES = `schemas id externalId meta userName displayName active password groups members emails name formatted
  familyName givenName value type primary display $ref`.split(/\s+/);
const SPELLING = new Map(NAMES.map((name) => [name.toLowerCase(), name]));

/** A name as the schema spells it; one that is in no schema here stays as it is. */
export const spelledName = (name: string): string => SPELLING.get(name.toLowerCase()) ?? name;

/** The same value with every name in it as the schema spells it. Of two spellings of one name the schema's stays. */
export function spelled<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => spelled(one)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    const own = spelledName(name);
    return own !== name && Object.hasOwn(value, own) ? [] : [[own, spelled(one)] as const];
  });
  return Object.fromEntries(entries) as T;
}
