/**
 * Lists in pages: `?limit=&cursor=` and `{ items, nextCursor }`. A cursor is only the end of the last page: items added
 * or removed meanwhile never repeat an item and never hide one that stays.
 */
import { z } from 'zod';
import { invalid } from '../core/errors.js';
import { isStorable } from '../core/text.js';

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(1000).default(100).describe('Items on a page'),
  cursor: z.string().max(1000).optional().describe('nextCursor of the previous page'),
};

export const pageQuerySchema = z.strictObject(pageQuery);

export type PageQuery = z.infer<typeof pageQuerySchema>;

export interface Page<T> {
  readonly items: readonly T[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export const pageSchema = <T extends z.ZodType>(
  item: T,
): z.ZodObject<{ items: z.ZodArray<T>; nextCursor: z.ZodNullable<z.ZodString> }> =>
  z.strictObject({ items: z.array(item), nextCursor: z.string().nullable().describe('Null on the last page') });

/** A page of what `list` gives after a place, in its order. `list` is asked for one item more than the page holds. */
export async function pageOf<T>(
  { limit, cursor }: PageQuery,
  placeOf: (item: T) => string,
  list: (after: string | null, limit: number) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const items = await list(cursor === undefined ? null : readCursor(cursor), limit + 1);
  const last = items[limit - 1];
  return items.length > limit && last !== undefined
    ? { items: items.slice(0, limit), nextCursor: Buffer.from(JSON.stringify(placeOf(last))).toString('base64url') }
    : { items, nextCursor: null };
}

/** A page of a small list that is all there, in the order of its places. */
export const pageOfAll = <T>(query: PageQuery, all: readonly T[], placeOf: (item: T) => string): Promise<Page<T>> =>
  pageOf(query, placeOf, async (after, limit) =>
    all
      .filter((item) => after === null || placeOf(item) > after)
      .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
      .slice(0, limit),
  );

/** A cursor whose place is a number: a row's id. */
export function rowId(place: string | null): string | null {
  if (place !== null && !/^\d{1,18}$/.test(place)) throw notACursor();
  return place;
}

function readCursor(cursor: string): string {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (typeof place === 'string' && isStorable(place)) return place;
  } catch {
    // Falls through: this text is not one of our cursors.
  }
  throw notACursor();
}

export const notACursor = (): Error =>
  invalid('the request has 1 problem(s)', [{ path: 'cursor', message: 'is not a cursor of this list' }]);
