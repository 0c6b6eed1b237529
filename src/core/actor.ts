/**
 * The author of an act, as stored with it: a stable principal with its kind and its id, and the name at that time.
 * `key:0f3a… (night meter)`, `user:auth0%7C42 (Ann)`, `cli:ann`.
 *
 * Only the principal decides whether two authors are the same, because their owners choose and change the names. An id
 * is written so that no part of it, and no part of a name, can be taken for another part.
 */

import { foldedName, isStorable } from './text.js';

export interface Actor {
  readonly kind: 'key' | 'user' | 'cli';
  /** The id of the key, the identity provider's subject, or the name of the operating system's user. */
  readonly id: string;
  readonly name: string;
}

/** Kind and id, without the name. */
export const principalText = ({ kind, id }: Pick<Actor, 'kind' | 'id'>): string =>
  `${kind}:${encodeURIComponent(id.toWellFormed()).replaceAll('(', '%28').replaceAll(')', '%29')}`;

export const actorText = (actor: Actor): string =>
  actor.kind === 'cli' ? principalText(actor) : `${principalText(actor)} (${actor.name})`;

/** The principal of a text that was kept; for one without a name the whole text. */
export const principalIn = (text: string): string => text.split(' (', 1)[0] ?? text;

/** The author as people call one: the name behind the principal, or what the principal is called. */
export function calledIn(text: string): string {
  const [, name] = /^(?:key|user):\S+ \((.+)\)$/.exec(text) ?? [];
  const [, document] = /^policy:(.+)$/.exec(text) ?? [];
  return name ?? (document === undefined ? (principalFrom(text)?.id ?? text) : `the policy ${document}`);
}

/** The kind and id of a principal's text, with or without a name behind it; null for another text. */
export function principalFrom(text: string): Pick<Actor, 'kind' | 'id'> | null {
  const [, kind, id = ''] = /^(key|user|cli):(\S+)$/.exec(principalIn(text)) ?? [];
  if (kind === undefined) return null;
  try {
    const known = decodeURIComponent(id);
    // A NUL can be written with percent signs: no principal has one.
    return isStorable(known) ? { kind: kind as Actor['kind'], id: known } : null;
  } catch {
    return null;
  }
}

/** The name of a key's owner, folded: a principal's text (`user:ada%40example.com`, in any case) counts as its id. */
export function ownerName(owner: string): string {
  const bare = owner.trim();
  const principal = principalFrom(bare.replace(/^[a-z]+:/i, (kind) => kind.toLowerCase()));
  return foldedName(principal?.id ?? bare);
}
