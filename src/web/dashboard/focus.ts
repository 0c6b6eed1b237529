/**
 * Whoever is in a part of a page that is taken away goes on at the page's heading, and not at the top of the document.
 * Nothing is scrolled, and the focus is taken from nobody who has it.
 */
export function keepFocus(): void {
  let last: EventTarget | null = null;
  document.addEventListener('focusin', ({ target }) => (last = target));
  new MutationObserver(() => {
    if (document.activeElement !== document.body || !(last instanceof Node) || last.isConnected) return;
    last = null;
    document.querySelector('h1')?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}
