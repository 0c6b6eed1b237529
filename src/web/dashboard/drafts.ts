/**
 * What somebody has typed into a form and not saved. It outlives the form: a way back, another page, and a session that
 * ended. It is kept in memory alone, since forms may hold secrets, and it is asked for before the tab is closed.
 *
 * A draft knows what it began from, so that a save does not undo what somebody else has saved in between.
 */
import { useEffect, useState } from 'preact/hooks';
import { session } from './api.js';
import { isSame, merged } from './merging.js';

interface Kept {
  /** What the server had. */
  readonly base: unknown;
  readonly values: unknown;
}

/** What a form begins from that makes something. */
export const NOTHING = {};

const drafts = new Map<string, Kept>();

window.addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});

export interface Draft<T> {
  /** What the server had when the draft began. */
  readonly base: T;
  readonly values: T;
  /** Whether it was brought back from an earlier visit of the form. */
  readonly isBack: boolean;
  /** What others saved since it began, once that was found. */
  readonly others: { readonly before: T; readonly after: T } | null;
  set(values: T): void;
  drop(): void;
  /** To be asked with the server's values before a save. If others have changed them, the draft takes that over. */
  isOutdated(server: T): boolean;
  /** After a save. */
  settle(server: T): void;
}

/**
 * @param name of the form, one for each thing that it edits
 * @param server the values as the server has them; another object: they were read again
 */
export function useDraft<T>(name: string, server: T): Draft<T> {
  const key = `${session.value?.signedIn?.id ?? ''} ${name}`;
  const [read, setRead] = useState({ server, now: server });
  const [, draw] = useState({});
  const [isBack, setIsBack] = useState(() => drafts.has(key));
  const [others, setOthers] = useState<Draft<T>['others']>(null);
  useEffect(() => setRead({ server, now: server }), [server]);
  const now = read.server === server ? read.now : server;
  const kept = drafts.get(key) as { base: T; values: T } | undefined;
  const { base, values } = kept ?? { base: now, values: now };
  const keep = (next: { base: T; values: T }): void => {
    if (isSame(next.base, next.values)) drafts.delete(key);
    else drafts.set(key, next);
    draw({});
  };
  const settle = (to: T): void => {
    drafts.delete(key);
    setRead({ server, now: to });
    setIsBack(false);
    setOthers(null);
  };
  return {
    base,
    values,
    isBack: isBack && kept !== undefined,
    others,
    set: (next) => keep({ base, values: next }),
    drop: () => settle(now),
    isOutdated: (fresh) => {
      if (isSame(fresh, base)) return false;
      setOthers({ before: base, after: fresh });
      setRead({ server, now: fresh });
      keep({ base: fresh, values: merged(base, values, fresh) as T });
      return true;
    },
    settle,
  };
}
