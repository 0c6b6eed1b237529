/**
 * Decides who may write a source's ids: one transaction at a time, which raises the source's version.
 *
 * An import locks its source before it begins. A small batch runs beside others of its source and locks it once
 * everything but its digests is written. Then it checks whether one of its ids has been written in the meantime; if so,
 * it runs again exclusively (H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency Control", 1981). Nobody
 * waits for a source with its rows locked for longer than some seconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from '../database.js';
import { digestRows, type SeenHours, type SourceVersion } from './seen.js';
import { takesLock } from '../locks.js';

export interface SourceName {
  readonly organisation: string;
  readonly source: string;
}

/** Another process is at work on the source. */
export class SourceTaken extends Error {}

/** What went on beside others of its source has met one of them, or records that may have come before. */
export class MustBeAlone extends Error {}

const MOST_CLAIMS = 500;
const CLAIM_MS = 10;

/** Whether the source is this transaction's until its end; nobody is waited for. */
export const isFree = (tx: Transaction, { organisation, source }: SourceName): Promise<boolean> =>
  takesLock(tx, organisation, source);

/** Raises the version of a source that is this transaction's. */
export async function raisedVersion(tx: Transaction, { organisation, source }: SourceName): Promise<SourceVersion> {
  const [row] = await tx.query<{ version: string; forgot: string }>(
    `insert into source (organisation, name, version) values ($1, $2, 1)
     on conflict (organisation, name) do update set version = source.version + 1 returning version, forgot`,
    [organisation, source],
  );
  return { version: BigInt(row?.version ?? 1), forgot: BigInt(row?.forgot ?? 0) };
}

/** The version that is next unless another one takes it. */
export async function nextVersion(tx: Transaction, { organisation, source }: SourceName): Promise<SourceVersion> {
  const [row] = await tx.query<{ version: string; forgot: string }>(
    `select version, forgot from source where organisation = $1 and name = $2`,
    [organisation, source],
  );
  return { version: BigInt(row?.version ?? 0) + 1n, forgot: BigInt(row?.forgot ?? 0), isLocked: false };
}

/**
 * Takes the source for what is left to write.
 * @param seen what the import would note
 * @throws MustBeAlone where one of its ids was written since, ids were taken back, or the source is not free in time
 */
export async function claimed(
  tx: Transaction,
  name: SourceName,
  expected: SourceVersion,
  seen: SeenHours | null,
): Promise<SourceVersion> {
  for (let tries = 1; !(await isFree(tx, name)); tries++) {
    if (tries === MOST_CLAIMS) throw new MustBeAlone();
    await pause(CLAIM_MS * (0.5 + Math.random()));
  }
  const own = await raisedVersion(tx, name);
  if (own.forgot !== expected.forgot) throw new MustBeAlone();
  if (seen === null) return own;
  const written = digestRows(tx, name.organisation, name.source, expected.version, own.version - 1n);
  if (!(await seen.settle(written, own.version))) throw new MustBeAlone();
  return own;
}
