/**
 * The pages grouped by purpose, each with how much waits there; on a narrow window behind a button. Opening a page
 * closes the menu.
 */
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Waiting } from './answers.js';
import { get } from './api.js';
import { count } from './format.js';
import { say, type TextKey } from './language.js';
import { repeats, useAnswer } from './loading.js';
import { place } from './router.js';
import { link, type RouteName } from './routes.js';

export type PageName = Exclude<RouteName, 'sign-in'>;
export type PageText = TextKey & `page.${string}`;

/** In this order. Sessions are reached by one's name. */
const TASKS: readonly (readonly [task: TextKey & `task.${string}`, pages: readonly PageName[]])[] = [
  ['task.look', ['', 'costs', 'fleet', 'teams', 'budgets', 'anomalies', 'explain']],
  ['task.decide', ['recommendations', 'actions', 'alerts', 'quotes', 'reservations']],
  ['task.set', ['settings', 'policies', 'imports']],
  ['task.prove', ['savings', 'reports', 'reconciliation', 'audit']],
];

/** By page: what waits there. */
const WAITING: Readonly<Partial<Record<PageName, keyof Waiting>>> = {
  recommendations: 'recommendations',
  actions: 'actions',
  alerts: 'alerts',
  reconciliation: 'findings',
};

function waitingAt(waiting: Waiting | null, page: PageName): number {
  const of = WAITING[page];
  return waiting === null || of === undefined ? 0 : waiting[of];
}

/** Loaded with every page, and after every change; the last answer stays until the next is there. */
function useWaiting(page: string, id: string | null): Waiting | null {
  const { data } = useAnswer(`waiting ${page} ${id} ${repeats.value}`, (halt) => get<Waiting>('/v1/waiting', {}, halt));
  const last = useRef<Waiting | null>(null);
  if (data !== null) last.current = data;
  return last.current;
}

export function Navigation({
  names,
}: {
  readonly names: Readonly<Record<PageName, { readonly name: PageText }>>;
}): JSX.Element {
  const { page, id } = place.value;
  const waiting = useWaiting(page, id);
  const [isOpen, setOpen] = useState(false);
  const own = useId();
  useEffect(() => setOpen(false), [page, id]);
  const current = Object.hasOwn(names, page) ? say(names[page as PageName].name) : '';
  return (
    <nav aria-label={say('frame.pages')}>
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen}
        aria-controls={own}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={({ key }) => key === 'Escape' && setOpen(false)}
      >
        <span aria-hidden="true">☰</span> {say('frame.menu')}
        <span class="note"> {current}</span>
      </button>
      <div id={own} class={isOpen ? 'tasks open' : 'tasks'}>
        {TASKS.map(([task, pages]) => (
          <div key={task}>
            <span class="task" id={`${own}-${task}`}>
              {say(task)}
            </span>
            <ul aria-labelledby={`${own}-${task}`}>
              {pages.map((address) => (
                <li key={address}>
                  <a
                    href={link(address)}
                    aria-current={page === address ? 'page' : undefined}
                    onClick={() => setOpen(false)}
                  >
                    {say(names[address].name)}
                    <Waits n={waitingAt(waiting, address)} />
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </nav>
  );
}

const Waits = ({ n }: { readonly n: number }): JSX.Element | null =>
  n === 0 ? null : (
    <span class="waits">
      {' '}
      {count(n)}
      <span class="hidden"> {say('task.waits')}</span>
    </span>
  );
