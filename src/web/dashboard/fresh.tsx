/** How old what the page shows is, and asking for it again: one line for every page, from what it loaded. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { duration } from './format.js';
import { say } from './language.js';
import { pageStanding } from './loading.js';

const SECOND_MS = 1000;

/** Nothing on a page that loads nothing. It is not read out as it counts: whoever wants to know goes there. */
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
