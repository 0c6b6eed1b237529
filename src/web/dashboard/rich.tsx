/** A text of the catalogue with links and other elements in it: the language decides their place in the sentence. */
import type { ComponentChildren, JSX } from 'preact';
import { fill, raw, type NamesOf, type TextKey } from './language.js';
import type { ENGLISH } from './texts/english.js';

/** Tags that are drawn as elements of the same name. */
type Plain = 'code' | 'i' | 'strong';
type Tags<T extends string> = T extends `${string}<${infer Tag}>${infer Rest}`
  ? (Tag extends `/${string}` | Plain ? never : Tag) | Tags<Rest>
  : never;
type Filling = ComponentChildren | ((inner: ComponentChildren) => JSX.Element);
type Fillings<K extends TextKey> = Readonly<Record<NamesOf<K>, ComponentChildren>> &
  Readonly<Record<Tags<(typeof ENGLISH)[K]>, (inner: ComponentChildren) => JSX.Element>>;

const PIECE = /<(\w+)>(.*?)<\/\1>|\{\w+\}/g;

/** @param given by name: the value of `{name}`, and what draws `<name>inner</name>` */
export function Rich<K extends TextKey>({ of, given }: { readonly of: K; readonly given: Fillings<K> }): JSX.Element {
  return <>{drawn(raw(of), given as Readonly<Record<string, Filling>>)}</>;
}

function drawn(text: string, given: Readonly<Record<string, Filling>>): ComponentChildren[] {
  const pieces: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(PIECE)) {
    pieces.push(fill(text.slice(from, match.index), given), piece(match, given));
    from = match.index + match[0].length;
  }
  return [...pieces, fill(text.slice(from), given)];
}

function piece(
  [whole, tag, inner = '']: RegExpMatchArray,
  given: Readonly<Record<string, Filling>>,
): ComponentChildren {
  if (tag === undefined) {
    const filling = given[whole.slice(1, -1)];
    return typeof filling === 'number' ? fill(whole, given) : typeof filling === 'function' ? whole : filling;
  }
  const children = drawn(inner, given);
  const draw = given[tag];
  if (typeof draw === 'function') return draw(children);
  return tag === 'code' ? <code>{children}</code> : tag === 'strong' ? <strong>{children}</strong> : <i>{children}</i>;
}
