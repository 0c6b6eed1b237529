/**
 * The difference between two states of a configuration, as a plan: additions, changes and removals.
 *
 * Pure, on plain JSON: it knows the sections but not their content. The invariant: a section that the wanted state
 * lacks is left alone, and an object that is missing within a section is removed only on request.
 */

/** Things by name, in the order in which they are set. */
export const NAMED_SECTIONS = ['teams', 'limits', 'budgets', 'policies'] as const;
/** Lists in which the order counts: each is one thing. */
export const LISTED_SECTIONS = ['rules', 'peak', 'routes'] as const;
/** A team stands before what names it; a policy comes when the limits hold. */
export const SECTIONS = ['teams', 'rules', 'peak', 'limits', 'budgets', 'policies', 'routes'] as const;
export type Section = (typeof SECTIONS)[number];

type Named = Readonly<Record<string, unknown>>;

/** Plain JSON. A section that is absent is not spoken of. */
export type Sections = { readonly [Name in (typeof NAMED_SECTIONS)[number]]?: Named } & {
  readonly [Name in (typeof LISTED_SECTIONS)[number]]?: readonly unknown[];
};

export interface Change {
  readonly section: Section;
  /** Null: the section as a whole. */
  readonly id: string | null;
  readonly kind: 'add' | 'change' | 'remove';
  /** Null if there is none. */
  readonly before: unknown;
  readonly after: unknown;
}

/** @param prune whether what the wanted sections do not name is removed */
export function changesBetween(now: Sections, wanted: Sections, prune: boolean): Change[] {
  return SECTIONS.flatMap((section): Change[] => {
    if (isNamed(section)) {
      const after = wanted[section];
      return after === undefined ? [] : namedChanges(section, now[section] ?? {}, after, prune);
    }
    const [before, after] = [now[section] ?? [], wanted[section]];
    if (after === undefined || canonical(before) === canonical(after)) return [];
    return [{ section, id: null, kind: 'change', before, after }];
  });
}

const isNamed = (section: Section): section is (typeof NAMED_SECTIONS)[number] =>
  (NAMED_SECTIONS as readonly string[]).includes(section);

function namedChanges(section: Section, now: Named, wanted: Named, prune: boolean): Change[] {
  const set = Object.entries(wanted).flatMap(([id, after]): Change[] => {
    if (!Object.hasOwn(now, id)) return [{ section, id, kind: 'add', before: null, after }];
    const before = now[id];
    return canonical(before) === canonical(after) ? [] : [{ section, id, kind: 'change', before, after }];
  });
  const removed = Object.entries(now)
    .filter(([id]) => prune && !Object.hasOwn(wanted, id))
    .map(([id, before]): Change => ({ section, id, kind: 'remove', before, after: null }));
  return [...set, ...removed];
}

/** JSON with the names of each object in order: equal where two values mean the same. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
