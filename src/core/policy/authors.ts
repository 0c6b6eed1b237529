/**
 * The authors of a policy document, part by part: its policy, teams, mode, priority and each parameter. A person who
 * changes one part does not become the author of the others, so that a later, smaller change does not hide an earlier
 * author.
 */
import type { PolicyDocument } from './document.js';

/** By part: `teams`, `params.steps`. */
export type Authors = Readonly<Record<string, string>>;

export interface Written {
  readonly document: PolicyDocument;
  readonly authors: Authors;
  /** The author of parts without a recorded author. */
  readonly otherwise: string;
}

/** @param before null: there was none @param by who writes it as `after` */
export function authorsAfter(before: Written | null, after: PolicyDocument, by: string): Authors {
  const was = before === null ? new Map<string, string>() : partsOf(before.document);
  return Object.fromEntries(
    [...partsOf(after)].map(([part, value]) => [
      part,
      before !== null && was.get(part) === value ? (before.authors[part] ?? before.otherwise) : by,
    ]),
  );
}

function partsOf({ policy, teams, mode, priority, params }: PolicyDocument): Map<string, string> {
  const parts = { policy, teams, mode, priority };
  return new Map([
    ...Object.entries(parts).map(([part, value]): [string, string] => [part, canonical(value)]),
    ...Object.entries(params).map(([name, value]): [string, string] => [`params.${name}`, canonical(value)]),
  ]);
}

/** One text for equal values, whatever the order of their keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
