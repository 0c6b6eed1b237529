/**
 * What becomes of a cloud's own word on machines that it calls running.
 *
 * It is asked for only where a machine runs. The invariant: where it cannot be read the machines stand as they are, and
 * a warning says so; a machine that does not run gets no such word.
 */
import type { FleetTarget } from '../core/fleet/fleet.js';
import { unlessFailed, type Tell } from './rpc.js';

/** Why machines are not well, by their ids at the cloud. */
export type Unwell = ReadonlyMap<string, string>;

/** @param read asks the cloud @param notRead receives why it could not be asked @throws Failure never of `read` */
export async function withUnwell(
  machines: readonly FleetTarget[],
  idOf: (machine: FleetTarget) => string,
  read: () => Promise<Unwell>,
  notRead: Tell,
): Promise<readonly FleetTarget[]> {
  if (!machines.some(({ state }) => state === 'running')) return machines;
  const unwell = await unlessFailed(read, notRead);
  return machines.map((machine) => {
    const why = machine.state === 'running' ? unwell?.get(idOf(machine)) : undefined;
    return why === undefined ? machine : { ...machine, unwell: why };
  });
}
