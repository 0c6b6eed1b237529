/**
 * One field that finds pages and settings by their names here, and teams, budgets, targets, actions, recommendations
 * and policy documents at the server, by id or name: `/` goes there, arrows choose, Enter opens. A combobox with a
 * list, by the ARIA Authoring Practices Guide (Combobox Pattern, list autocomplete with manual selection).
 */
import type { JSX, RefObject } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { Found as Answered, With } from './answers.js';
import { get } from './api.js';
import { SETTINGS } from '../../core/pages.js';
import { code, within } from './format.js';
import { say } from './language.js';
import { useAnswer } from './loading.js';
import type { PageName, PageText } from './navigation.js';
import { go, link, place } from './router.js';
import { AsWritten, isWriting, Problems } from './ui.js';

/** What the server found, or a page or a setting of the dashboard. */
type Found = With<Answered['items'][number], { readonly kind: Answered['items'][number]['kind'] | 'page' | 'setting' }>;

/** Kinds whose name says it all. */
const IS_NAMED: ReadonlySet<Found['kind']> = new Set(['budget', 'page', 'setting']);

/** Milliseconds after the last letter: the search waits until a word is written. */
const PAUSE_MS = 120;

/** The page of a found item. */
function addressOf({ kind, id, state }: Found): string {
  switch (kind) {
    case 'page':
      return link(id as PageName);
    case 'setting':
      return link('settings', id);
    case 'team':
      return link('teams', id);
    case 'budget':
      return link('budgets', id);
    case 'target':
      return link('fleet', null, { words: id });
    case 'action':
      return link('actions', id);
    case 'recommendation':
      return link('recommendations', id, { status: state === null || state === 'open' ? '' : state });
    case 'document':
      return link('policies', id);
  }
}

type PageNames = Readonly<Record<PageName, { readonly name: PageText }>>;

/** Pages and settings with the words in their name or their address; what a setting is about counts too. */
function pagesWith(names: PageNames, words: string): Found[] {
  const pages = (Object.keys(names) as PageName[]).map((id) => ({
    id,
    name: say(names[id].name),
    about: id as string,
  }));
  const settings = Object.values(SETTINGS).flatMap((all) =>
    all.map((id) => ({ id, name: say(`settings.${id}`), about: `${id} ${say(`settings.${id}-note`)}` })),
  );
  const found = (kind: 'page' | 'setting', all: readonly { id: string; name: string; about: string }[]): Found[] =>
    all
      .filter(({ name, about }) => within(`${name} ${about}`).includes(within(words)))
      .map(({ id, name }) => ({ kind, id, name, team: null, state: null }));
  return words === '' ? [] : [...found('page', pages), ...found('setting', settings)];
}

/** Wraps around at both ends; starts from none. */
const nextAt = (at: number, isDown: boolean, n: number): number => (isDown ? (at + 1) % n : at <= 0 ? n - 1 : at - 1);

/** The results for words after a pause. Null: nothing was asked, or no answer is there yet. */
function useFound(words: string): { readonly items: readonly Found[] | null; readonly trouble: unknown } {
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const waiting = setTimeout(() => setAsked(words), PAUSE_MS);
    return () => clearTimeout(waiting);
  }, [words]);
  const { data, trouble } = useAnswer(`search ${asked}`, async (halt) =>
    asked === '' ? null : get<Answered>('/v1/search', { words: asked }, halt),
  );
  return { items: asked === words ? (data?.items ?? null) : null, trouble };
}

/** `/` goes to the field, unless something is being written. */
function useSlash(field: RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isWriting(document.activeElement))
        return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

interface Finding {
  readonly text: string;
  readonly items: readonly Found[];
  readonly trouble: unknown;
  /** Index of the chosen item; -1: none is. */
  readonly at: number;
  readonly isShown: boolean;
  write(text: string): void;
  show(isShown: boolean): void;
  open(one: Found): void;
  onKeyDown(event: KeyboardEvent): void;
}

/**
 * The text, the results and the choice.
 *
 * @param names of the pages
 * @param onOpened called when the page of an item is opened
 */
function useFinding(names: PageNames, onOpened: () => void): Finding {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  /** Enter came before the answer: the first result is opened. */
  const isAwaited = useRef(false);
  const words = text.trim();
  const { items: theirs, trouble } = useFound(words);
  const items = useMemo(() => (theirs === null ? null : [...pagesWith(names, words), ...theirs]), [theirs]);
  const { page, id } = place.value;
  // Whoever went to another page is done with these words.
  useEffect(() => setText(''), [page, id]);
  const show = (isShown: boolean): void => {
    setOpen(isShown);
    setAt(-1);
    isAwaited.current = false;
  };
  const open = (one: Found): void => {
    show(false);
    setText('');
    onOpened();
    go(addressOf(one));
  };
  useEffect(() => {
    // The choice among earlier results does not apply to these.
    setAt(-1);
    const [first] = items ?? [];
    if (isAwaited.current && first !== undefined) open(first);
  }, [items]);
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter ends a word of an input method.
    if (event.isComposing) return;
    const { key } = event;
    const all = items ?? [];
    const chosen = all[Math.max(at, 0)];
    if (key === 'Escape') show(false);
    else if (key === 'Enter' && chosen !== undefined) open(chosen);
    else if (key === 'Enter') isAwaited.current = items === null && words !== '';
    else if ((key === 'ArrowDown' || key === 'ArrowUp') && all.length > 0) {
      event.preventDefault();
      setOpen(true);
      setAt(nextAt(at, key === 'ArrowDown', all.length));
    }
  };
  const write = (next: string): void => {
    setText(next);
    show(true);
  };
  const isShown = isOpen && words !== '' && (items !== null || trouble !== null);
  return { text, items: items ?? [], trouble, at, isShown, write, show, open, onKeyDown };
}

export function SearchField({ names }: { readonly names: PageNames }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const own = useId();
  const { text, items, trouble, at, isShown, write, show, open, onKeyDown } = useFinding(names, () =>
    field.current?.blur(),
  );
  useSlash(field);
  return (
    <div class="search" role="search">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={say('search.label')}
        aria-expanded={isShown}
        aria-controls={own}
        aria-autocomplete="list"
        aria-activedescendant={isShown && at >= 0 ? `${own}-${at}` : undefined}
        placeholder={say('search.placeholder')}
        title={say('search.what')}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        value={text}
        onInput={({ currentTarget }) => write(currentTarget.value)}
        onFocus={() => show(true)}
        onBlur={() => show(false)}
        onKeyDown={onKeyDown}
      />
      <Results id={own} isShown={isShown} items={items} trouble={trouble} at={at} onOpen={open} />
    </div>
  );
}

function Results({
  id,
  isShown,
  items,
  trouble,
  at,
  onOpen,
}: {
  readonly id: string;
  readonly isShown: boolean;
  readonly items: readonly Found[];
  readonly trouble: unknown;
  readonly at: number;
  readonly onOpen: (one: Found) => void;
}): JSX.Element {
  const selected = useRef<HTMLLIElement>(null);
  useEffect(() => selected.current?.scrollIntoView({ block: 'nearest' }), [at]);
  return (
    <div class="results" hidden={!isShown}>
      <span class="hidden" role="status">
        {isShown && trouble === null ? say('search.count', { n: items.length }) : ''}
      </span>
      <ul id={id} role="listbox" aria-label={say('search.results')}>
        {items.map((one, n) => (
          <li
            key={`${one.kind} ${one.id} ${n}`}
            id={`${id}-${n}`}
            ref={n === at ? selected : undefined}
            role="option"
            aria-selected={n === at}
            // The field would lose the focus first, and the list close under the pointer.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onOpen(one)}
          >
            <span class="note">{code('found', one.kind)}</span>{' '}
            {one.kind === 'recommendation' ? <AsWritten>{one.name}</AsWritten> : one.name}
            {IS_NAMED.has(one.kind) || one.name === one.id ? null : <code> {one.id}</code>}
            {one.team === null || one.kind === 'team' ? null : <span class="note"> {one.team}</span>}
          </li>
        ))}
      </ul>
      {trouble !== null ? (
        <Problems trouble={trouble} />
      ) : items.length === 0 ? (
        <p class="empty">{say('search.none')}</p>
      ) : null}
      <p class="note">{say('search.what')}</p>
    </div>
  );
}
