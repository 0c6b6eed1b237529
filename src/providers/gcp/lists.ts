/**
 * Aggregated lists of a project over all its zones and regions, read page by page.
 *
 * The invariant: a zone that does not answer, an unreadable entry and a list without an end hide nothing else, and each
 * is reported. Sources: Compute Engine, "Requesting aggregated lists" (partial success, `unreachables` and the warnings
 * of a scope); AIP-158 "Pagination".
 */
import type { z } from 'zod';
import type { GoogleClient } from './client.js';
import { OPERATIONS, type Listed, type Operation } from './operations.js';
import { lastOf, regionOf } from './targets.js';

const PAGE = 500;
/** A hundred thousand entries. */
const MOST_PAGES = 200;
/** The warning of a scope without entries on this page. */
const NOTHING_HERE = 'NO_RESULTS_ON_PAGE';

const LISTS = {
  instances: OPERATIONS.instances,
  instanceGroupManagers: OPERATIONS.groups,
  commitments: OPERATIONS.commitments,
  machineTypes: OPERATIONS.machineTypes,
} as const;

/** The common fields of all pages. */
interface Page {
  readonly nextPageToken?: string | null;
  readonly unreachables?: readonly string[] | null;
  readonly items?: Readonly<Record<string, Scope>> | null;
}
type Scope = Readonly<Partial<Record<Listed, readonly unknown[] | null>>> & {
  readonly warning?: { readonly code?: string | null } | null;
};

/** Told what could not be read, as a sentence: the rest stands. */
export type Lacks = (what: string) => void;

interface Wanted<Entry extends z.ZodType> {
  readonly project: string;
  readonly name: Listed;
  readonly entry: Entry;
  readonly filter?: string;
}

/** Everything of a kind in the configured regions. @throws Failure if there is no first page */
export async function listed<Entry extends z.ZodType>(
  client: GoogleClient,
  { project, name, entry, filter }: Wanted<Entry>,
  lacks: Lacks,
): Promise<z.output<Entry>[]> {
  const found: z.output<Entry>[] = [];
  const missing = new Set<string>();
  const isOurs = (scope: string): boolean => client.settings.regions.includes(regionOf(lastOf(scope)));
  let pageToken: string | null = null;
  for (let page = 1; ; page += 1) {
    const reply: Page = await client.read(LISTS[name] as Operation<z.ZodType<Page>>, {
      path: { project },
      query: {
        maxResults: PAGE,
        returnPartialSuccess: true,
        ...(filter === undefined ? {} : { filter }),
        ...(pageToken === null ? {} : { pageToken }),
      },
    });
    for (const scope of reply.unreachables ?? []) if (isOurs(scope)) missing.add(lastOf(scope));
    for (const [scope, inside] of Object.entries(reply.items ?? {})) {
      if (!isOurs(scope)) continue;
      const all = inside[name] ?? [];
      const code = inside.warning?.code ?? NOTHING_HERE;
      if (all.length === 0 && code !== NOTHING_HERE) missing.add(`${lastOf(scope)} (${code})`);
      found.push(...understood(all, entry, lastOf(scope), lacks));
    }
    const next = reply.nextPageToken ?? '';
    if (next === '' || next === pageToken) break;
    if (page >= MOST_PAGES) {
      lacks(`there are more than ${PAGE * MOST_PAGES}, and the rest was not read`);
      break;
    }
    pageToken = next;
  }
  for (const scope of missing) lacks(`${scope} did not answer`);
  return found;
}

/** The entries of a list that match the schema. */
export function understood<Entry extends z.ZodType>(
  all: readonly unknown[],
  entry: Entry,
  where: string,
  lacks: Lacks,
): z.output<Entry>[] {
  const found: z.output<Entry>[] = [];
  let unread = 0;
  for (const one of all) {
    const parsed = entry.safeParse(one);
    if (parsed.success) found.push(parsed.data);
    else unread += 1;
  }
  if (unread > 0) lacks(`${where}: ${unread} of ${all.length} entries are in a shape that is not documented`);
  return found;
}
