/** The age of the page's data and a button to reload it: one line for every page, from what it loaded. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { duration } from './format.js';
import { say } from './language.js';
import { pageStanding } from './loading.js';

const SECOND_MS = 1000;

/** Empty on a page that loads nothing. Screen readers do not announce each change: readers go there for it. */
export function Fresh(): JSX.Element | null {
  const standing = pageStanding();
  const at = standing?.at ?? null;
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (at === null) return undefined;
    setNow(performance.now());
    const ticking = setInterval(() => setNow(performance.now()), SECOND_MS);
    return () => clearInterval(ticking);
  }, [at]);
  if (standing === null || at === null) return null;
  const { isLoading, again } = standing;
  return (
    <span class="fresh note">
      {say('fresh.updated', { ago: duration(Math.max(0, Math.floor((now - at) / SECOND_MS))) })}{' '}
      <button type="button" class="quiet" aria-disabled={isLoading} onClick={() => isLoading || again()}>
        {say('fresh.refresh')}
      </button>
    </span>
  );
}
