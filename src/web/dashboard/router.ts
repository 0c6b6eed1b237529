/** The address after `#`: which page is open, and with which words. Never asks the server. */
import { computed, signal } from '@preact/signals';

const hash = signal(window.location.hash);
window.addEventListener('hashchange', () => (hash.value = window.location.hash));

export interface Place {
  /** `teams`; empty for the first page. */
  readonly page: string;
  /** `research` in `#/teams/research`; null where there is none. */
  readonly id: string | null;
  readonly query: URLSearchParams;
}

export const place = computed((): Place => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...rest] = path.split('/');
  const id = rest.join('/');
  return { page, id: id === '' ? null : decodeURIComponent(id), query: new URLSearchParams(query) };
});

/** Address of a page. Empty words are left out. */
export function link(page: string, id: string | null = null, query: Readonly<Record<string, string>> = {}): string {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}${words.size === 0 ? '' : `?${words.toString()}`}`;
}

export const go = (to: string): void => void (window.location.hash = to);
