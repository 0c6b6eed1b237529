/**
 * Who uses a data folder: one short mutex, one long lock of `serve`, and one small file per process that uses the
 * embedded server.
 *
 * It never reads the wall clock and never trusts a process id alone: a holder is a process id together with the
 * moment that process started, so a reused id is seen as a stale holder.
 * Invariant: a lock file appears whole or not at all (it is linked into place), and only a stale one is removed.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { conflict, unavailable } from '../../core/errors.js';

/** A process, told apart from a later one with the same id by the moment it started (null if it cannot be read). */
interface Holder {
  readonly pid: number;
  readonly started: string | null;
}

/** The information that `serve` publishes: its address, once known. */
export interface ServeInfo {
  readonly url: string | null;
}

export interface ServeHolder extends ServeInfo {
  readonly pid: number;
}

export interface ServeLock {
  /** Writes the address at which this `serve` answers. */
  setUrl(url: string): Promise<void>;
  release(): Promise<void>;
}

const serveFile = (dataDir: string): string => path.join(dataDir, 'serve.lock');
const usersFolder = (dataDir: string): string => path.join(dataDir, 'users');

/**
 * Takes the lock that one `serve` at a time holds on a data folder.
 * @throws Failure `conflict`, naming the process and its address, while another live `serve` holds it.
 */
export async function acquireServeLock(dataDir: string, info: ServeInfo = { url: null }): Promise<ServeLock> {
  const file = serveFile(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const me = await holderOf(process.pid);
  const other = await take(file, { ...me, url: info.url });
  if (other) {
    const at = typeof other.url === 'string' ? `, at ${other.url}` : '';
    throw conflict(
      `Bursar is already running on ${dataDir} (process ${other.pid}${at}). Use that one, stop it first, or name another folder in BURSAR_DATA_DIR.`,
    );
  }
  return {
    async setUrl(url) {
      const draft = await writeDraft(file, { ...me, url });
      await rename(draft, file);
    },
    release: () => rm(file, { force: true }),
  };
}

/** The live `serve` of a data folder, or null. A lock whose process is gone does not count. */
export async function readServeLock(dataDir: string): Promise<ServeHolder | null> {
  const held = parse(await readText(serveFile(dataDir)));
  if (!held || !(await isAlive(held))) return null;
  return { pid: held.pid, url: typeof held.url === 'string' ? held.url : null };
}

/**
 * Runs `work` while no other process runs it on the same folder; starting, attaching and stopping pass through here.
 * @throws Failure `unavailable` when a live process holds the mutex for longer than `patienceSeconds`.
 */
export async function withMutex<T>(dataDir: string, patienceSeconds: number, work: () => Promise<T>): Promise<T> {
  const file = path.join(dataDir, 'mutex.lock');
  const me = await holderOf(process.pid);
  // The pause is counted, not timed: no clock is read here.
  const pauseMilliseconds = 25;
  let pauses = (patienceSeconds * 1000) / pauseMilliseconds;
  for (let other = await take(file, { ...me }); other; other = await take(file, { ...me })) {
    if (pauses-- <= 0)
      throw unavailable(
        `Process ${other.pid} has been starting or stopping the database in ${dataDir} for more than ${patienceSeconds} s. Stop that process and try again.`,
      );
    await sleep(pauseMilliseconds);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

/** Notes that this process uses the server of the folder; returns the note, for `dropUse`. */
export async function addUse(dataDir: string): Promise<string> {
  const note = path.join(usersFolder(dataDir), `${process.pid}.${randomBytes(4).toString('hex')}`);
  await writeFile(note, JSON.stringify(await holderOf(process.pid)));
  return note;
}

export const dropUse = (note: string): Promise<void> => rm(note, { force: true });

/** How many live uses a folder has; notes of processes that are gone are removed on the way. */
export async function countUses(dataDir: string): Promise<number> {
  let live = 0;
  for (const name of await readdir(usersFolder(dataDir))) {
    const note = path.join(usersFolder(dataDir), name);
    const holder = parse(await readText(note));
    if (holder && (await isAlive(holder))) live += 1;
    else await dropUse(note);
  }
  return live;
}

/** The command line of a process: '' when it is gone or has none, null if the system does not tell. */
export async function commandLine(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform === 'linux') return (await readText(`/proc/${pid}/cmdline`))?.replaceAll('\0', ' ') ?? '';
  return promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).then(
    (ps) => ps.stdout,
    () => '',
  );
}

/**
 * Whether some process has this id now, be it another user's. A zombie, which only waits for its parent, does not
 * count.
 */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return process.platform !== 'linux' || (await statOf(pid))?.[0] !== 'Z';
}

/** Links a whole file into place. Returns null on success, otherwise the live holder that was there first. */
async function take(
  file: string,
  content: Holder & Record<string, unknown>,
): Promise<(Holder & Record<string, unknown>) | null> {
  const draft = await writeDraft(file, content);
  try {
    for (;;) {
      try {
        await link(draft, file);
        return null;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const seen = await readText(file);
      const held = parse(seen);
      if (held && (await isAlive(held))) return held;
      if (seen !== null) await removeStale(file, seen);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Two processes may find the same stale lock: the file is moved away first, and put back if it is no longer the one
 * seen.
 */
async function removeStale(file: string, seen: string): Promise<void> {
  const aside = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if ((await readText(aside)) !== seen) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

async function writeDraft(file: string, content: Holder & Record<string, unknown>): Promise<string> {
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, JSON.stringify(content));
    return draft;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function holderOf(pid: number): Promise<Holder> {
  return { pid, started: await startOf(pid) };
}

async function isAlive(holder: Holder): Promise<boolean> {
  if (!(await isRunning(holder.pid))) return false;
  const started = await startOf(holder.pid);
  return started === null || holder.started === null || started === holder.started;
}

/**
 * A text that differs between two processes which had the same id. On Linux it is the boot's id with field 22 of
 * /proc/PID/stat (start time in ticks since boot, proc_pid_stat(5)); elsewhere `ps` tells the start time.
 */
async function startOf(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform !== 'linux') {
    return promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { LC_ALL: 'C', PATH: process.env['PATH'] ?? '' },
    }).then(
      (ps) => ps.stdout.trim() || null,
      () => null,
    );
  }
  const boot = await readText('/proc/sys/kernel/random/boot_id');
  const ticks = (await statOf(pid))?.[19];
  return ticks === undefined ? null : `${boot?.trim() ?? ''}/${ticks}`;
}

/** The fields of /proc/PID/stat from the third on (the state). The second, a name in brackets, may hold spaces. */
async function statOf(pid: number): Promise<string[] | undefined> {
  const stat = await readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function readText(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  });
}

function parse(text: string | null): (Holder & Record<string, unknown>) | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' &&
      value !== null &&
      'pid' in value &&
      typeof value.pid === 'number' &&
      'started' in value
      ? { ...value, pid: value.pid, started: typeof value.started === 'string' ? value.started : null }
      : null;
  } catch {
    return null;
  }
}
