/**
 * Whoever is in a part of a page that is taken away goes on nearby: in the table or the list that it was part of, else
 * at the page's heading, and never at the top of the document. Nothing is scrolled, and the focus is taken from nobody
 * who has it.
 */
export function keepFocus(): void {
  let path: EventTarget[] = [];
  document.addEventListener('focusin', (event) => (path = event.composedPath()));
  new MutationObserver(() => {
    const [last] = path;
    if (document.activeElement !== document.body || !(last instanceof Node) || last.isConnected) return;
    const left = path.find((one): one is Element => one instanceof Element && one.isConnected);
    path = [];
    // The list's own button adds to it; the buttons of a table's other rows would act at a second press.
    const near = left?.closest('.scroll') ?? left?.closest('fieldset')?.querySelector(':scope > button:last-child');
    (near instanceof HTMLElement ? near : document.querySelector('h1'))?.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}

/** As a `ref`, on what opens elsewhere than where one is: it takes the focus, once. */
export const focusOn = (opened: HTMLElement | null): void => opened?.focus();
