/** Two people change the same settings: what each of them left alone is taken from the other. Pure. */

type Values = Readonly<Record<string, unknown>>;

export const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** By their JSON: a field that is undefined is the same as none. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The values with what others changed in every field that was left as it was; a list is one field. */
export function merged(base: unknown, values: unknown, others: unknown): unknown {
  if (isSame(base, others)) return values;
  if (isSame(base, values)) return others;
  if (!isValues(base) || !isValues(values) || !isValues(others)) return values;
  const names = new Set([...Object.keys(others), ...Object.keys(values)]);
  return Object.fromEntries([...names].map((name) => [name, merged(base[name], values[name], others[name])]));
}
