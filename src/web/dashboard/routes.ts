/**
 * The dashboard's addresses: `#/page`, and `#/page/id` for pages with items. Alerts link here (core/alert/message.ts).
 *
 * Pure: it does not use the window, so that a test can check every address made elsewhere.
 */
import { isPage, PAGES, type DashboardPage } from '../../core/pages.js';

export type RouteName = DashboardPage;

export interface Place {
  /** `teams`; empty for the first page. */
  readonly page: string;
  /** `research` in `#/teams/research`; null where there is none. */
  readonly id: string | null;
  readonly query: URLSearchParams;
}

/** Parses an address. @param hash what follows the page's own address, with `#` or without */
export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [page = '', ...rest] = path.split('/');
  const id = rest.join('/');
  return { page, id: id === '' ? null : decoded(id), query: new URLSearchParams(query) };
}

/** A cut or mistyped address is taken literally. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The page for an address; null: there is none. */
export function routeOf({ page, id }: Place): RouteName | null {
  if (!isPage(page)) return null;
  return id === null || PAGES[page] ? page : null;
}

/** Address of a page. Empty parameters are left out; each text of a list is a parameter of its own. */
export function link(
  page: RouteName,
  id: string | null = null,
  query: Readonly<Record<string, string | readonly string[]>> = {},
): string {
  const words = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== '')
      .flatMap(([name, value]) => [value].flat().map((one) => [name, one] as [string, string])),
  );
  return `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}${words.size === 0 ? '' : `?${words.toString()}`}`;
}
