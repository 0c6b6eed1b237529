/**
 * What becomes of a part of a target that cannot be read: it is unknown, and never said to be absent.
 *
 * In a listing nothing of the target but that part is missing, whatever the failure is. Before acting only a permission
 * that is missing for good leaves it open: what may be read a moment later is asked for again.
 */
import { unlessDenied, unlessFailed } from './rpc.js';

export type Reading = 'listing' | 'acting';

/** Null if it could not be read. @throws Failure before acting, unless the permission is missing */
export const orUnknown = <T>(reading: Reading, read: () => Promise<T>): Promise<T | null> =>
  reading === 'acting' ? unlessDenied(read) : unlessFailed(read, () => undefined);
