/**
 * What a page loads: the answer, or what went wrong, and a way to ask again. An answer that comes too late is dropped.
 */
import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Loaded<T> {
  readonly data: T | null;
  readonly trouble: unknown;
  readonly isLoading: boolean;
  again(): void;
}

/**
 * Loads when `key` changes. Asked again by the same key, the old answer stays until the new one is there; another key's
 * is never shown.
 */
export function useLoaded<T>(key: string, load: (halt: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{
    readonly key: string;
    readonly data: T | null;
    readonly trouble: unknown;
    readonly isLoading: boolean;
  }>({ key, data: null, trouble: null, isLoading: true });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const halt = new AbortController();
    setState((old) =>
      old.key === key
        ? { ...old, trouble: null, isLoading: true }
        : { key, data: null, trouble: null, isLoading: true },
    );
    load(halt.signal).then(
      (data) => halt.signal.aborted || setState({ key, data, trouble: null, isLoading: false }),
      (trouble: unknown) => halt.signal.aborted || setState((old) => ({ ...old, trouble, isLoading: false })),
    );
    return () => halt.abort();
    // `load` is made anew with every drawing; what it depends on is in `key`.
  }, [key, attempt]);
  const again = useCallback(() => setAttempt((old) => old + 1), []);
  return state.key === key ? { ...state, again } : { data: null, trouble: null, isLoading: true, again };
}

/** Something that a button does: one at a time, with its outcome. */
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
