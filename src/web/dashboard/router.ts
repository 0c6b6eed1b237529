/** The address after `#`: the open page and its parameters. Never asks the server. */
import { computed, signal } from '@preact/signals';
import { placeOf } from './routes.js';

export { link } from './routes.js';

const hash = signal(window.location.hash);
window.addEventListener('hashchange', () => (hash.value = window.location.hash));

export const place = computed(() => placeOf(hash.value));

export const go = (to: string): void => void (window.location.hash = to);

const KEY = 'bursar-place';

/** Keeps the open page during a visit to the identity provider, which brings people back to the first one. */
export function keepPlace(): void {
  try {
    if (placeOf(window.location.hash).page !== 'sign-in') sessionStorage.setItem(KEY, window.location.hash);
  } catch {
    // A browser that keeps nothing begins at the first page.
  }
}

/** Returns to the kept page, once; an address that names a page wins. */
export function returnToPlace(): void {
  try {
    const kept = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (kept !== null && placeOf(window.location.hash).page === '') go(kept);
  } catch {
    // As above.
  }
}
