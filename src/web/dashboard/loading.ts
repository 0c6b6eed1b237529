/**
 * What a page loads: the answer or the error, and a way to ask again. An answer that comes too late is dropped.
 *
 * It knows the page's answers and when each came: the page shows their age, and can reload all of them.
 */
import { signal } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Loaded<T> {
  readonly data: T | null;
  readonly trouble: unknown;
  readonly isLoading: boolean;
  again(): void;
}

/** An answer that is on the page. */
interface Standing {
  /** When it came, in milliseconds of the page's own clock (performance.now); null: not yet. */
  readonly at: number | null;
  readonly isLoading: boolean;
  again(): void;
}

const standing = signal<ReadonlyMap<object, Standing>>(new Map());
/** Counts reloads: by the reader, or because something changed. */
export const repeats = signal(0);

function changeStanding(of: object, to: Standing | null): void {
  const next = new Map(standing.peek());
  if (to === null) next.delete(of);
  else next.set(of, to);
  standing.value = next;
}

/** The page's age: that of its oldest answer. Null: nothing was loaded. */
export function pageStanding(): Standing | null {
  const all = [...standing.value.values()].filter(({ at, isLoading }) => at !== null || isLoading);
  const times = all.flatMap(({ at }) => at ?? []);
  if (times.length === 0) return null;
  return {
    at: Math.min(...times),
    isLoading: all.some(({ isLoading }) => isLoading),
    again: () => [...standing.peek().values()].forEach(({ again }) => again()),
  };
}

/**
 * Loads when `key` changes, as a part of the page. With the same key, the old answer stays until the new one is there;
 * the answer of another key is never shown.
 */
export function useLoaded<T>(key: string, load: (halt: AbortSignal) => Promise<T>): Loaded<T> {
  const { at, ...loaded } = useAnswer(key, load);
  const { isLoading, again } = loaded;
  const own = useRef({}).current;
  useEffect(() => changeStanding(own, { at, isLoading, again }), [at, isLoading, again]);
  useEffect(() => () => changeStanding(own, null), []);
  return loaded;
}

/** The same outside the page, such as in the header: it is not reloaded with the page. */
export function useAnswer<T>(
  key: string,
  load: (halt: AbortSignal) => Promise<T>,
): Loaded<T> & { readonly at: number | null } {
  const [state, setState] = useState<{
    readonly key: string;
    readonly data: T | null;
    readonly trouble: unknown;
    readonly isLoading: boolean;
    readonly at: number | null;
  }>({ key, data: null, trouble: null, isLoading: true, at: null });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const halt = new AbortController();
    setState((old) =>
      old.key === key
        ? { ...old, trouble: null, isLoading: true }
        : { key, data: null, trouble: null, isLoading: true, at: null },
    );
    load(halt.signal).then(
      (data) => halt.signal.aborted || setState({ key, data, trouble: null, isLoading: false, at: performance.now() }),
      (trouble: unknown) => halt.signal.aborted || setState((old) => ({ ...old, trouble, isLoading: false })),
    );
    return () => halt.abort();
    // `load` is made again with every drawing; `key` has what it depends on.
  }, [key, attempt]);
  const again = useCallback(() => {
    setAttempt((old) => old + 1);
    repeats.value += 1;
  }, []);
  return state.key === key ? { ...state, again } : { data: null, trouble: null, isLoading: true, at: null, again };
}

/** The work of a button: one at a time, with its outcome. */
export function useTask<A extends readonly unknown[]>(
  work: (...given: A) => Promise<string | void>,
): { readonly isBusy: boolean; readonly trouble: unknown; readonly said: string; run(...given: A): void } {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly trouble: unknown; readonly said: string }>({
    isBusy: false,
    trouble: null,
    said: '',
  });
  const run = (...given: A): void => {
    if (state.isBusy) return;
    setState({ isBusy: true, trouble: null, said: '' });
    work(...given).then(
      (said) => setState({ isBusy: false, trouble: null, said: said ?? '' }),
      (trouble: unknown) => setState({ isBusy: false, trouble, said: '' }),
    );
  };
  return { ...state, run };
}
