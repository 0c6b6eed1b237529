/**
 * What a record says of a name that comes from outside: a machine may be called `constructor`, which every object has
 * from its prototype.
 */
export const own = <T>(record: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined =>
  record !== null && record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
