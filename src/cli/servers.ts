/**
 * Servers to which a user has signed in from this machine: a file for each, with its address and the key, which only
 * its owner may read (0600, below $XDG_CONFIG_HOME or ~/.config); and the name of the last one. The environment takes
 * precedence: BURSAR_URL with its key, then this machine's database by DATABASE_URL or BURSAR_DATA_DIR. A key is never
 * printed.
 */
import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { conflict } from '../core/errors.js';

export interface Server {
  readonly url: string;
  readonly apiKey: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const CURRENT = 'current';

export class Servers {
  private readonly folder: string;

  constructor(environment: Environment) {
    this.folder = path.join(environment['XDG_CONFIG_HOME'] || path.join(homedir(), '.config'), 'bursar', 'servers');
  }

  /** The file of a server. */
  fileOf(url: string): string {
    return path.join(this.folder, `${encodeURIComponent(plain(url))}.json`);
  }

  /** Null: there was no sign-in to it from this machine. @throws Failure conflict if others may read the file */
  find(url: string): Server | null {
    const file = this.fileOf(url);
    const text = read(file);
    if (text === null) return null;
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw conflict(`others may read ${file}, which holds a key: chmod 600 it`);
    return serverIn(text);
  }

  /** The server that was last signed in to. */
  current(): Server | null {
    const url = read(path.join(this.folder, CURRENT))?.trim();
    return url === undefined || url === '' ? null : this.find(url);
  }

  /** Keeps a key, and asks this server from now on. */
  save({ url, apiKey }: Server): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const file = this.fileOf(url);
    writeFileSync(file, `${JSON.stringify({ url: plain(url), apiKey })}\n`, { mode: 0o600 });
    // A file that was there keeps its mode otherwise.
    chmodSync(file, 0o600);
    writeFileSync(path.join(this.folder, CURRENT), `${plain(url)}\n`, { mode: 0o600 });
  }

  /** Forgets a key; false: there was none. */
  forget(url: string): boolean {
    const wasThere = read(this.fileOf(url)) !== null;
    rmSync(this.fileOf(url), { force: true });
    if (read(path.join(this.folder, CURRENT))?.trim() === plain(url))
      rmSync(path.join(this.folder, CURRENT), { force: true });
    return wasThere;
  }

  /** Every server that there is a key of. */
  all(): string[] {
    try {
      return readdirSync(this.folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => decodeURIComponent(name.slice(0, -'.json'.length)))
        .sort();
    } catch {
      return [];
    }
  }
}

/** The environment with the key, or the server and its key, that a sign-in has left. */
export function withSignIn(environment: Environment): Environment {
  const isSet = (name: string): boolean => Boolean(environment[name] || environment[`${name}_FILE`]);
  if (isSet('BURSAR_API_KEY')) return environment;
  const servers = new Servers(environment);
  const named = environment['BURSAR_URL'];
  if (named) {
    // Whoever reads the settings reports a value that is no address.
    if (!URL.canParse(named)) return environment;
    const known = servers.find(named);
    return known === null ? environment : { ...environment, BURSAR_API_KEY: known.apiKey };
  }
  if (isSet('BURSAR_URL') || isSet('DATABASE_URL') || isSet('BURSAR_DATA_DIR')) return environment;
  const current = servers.current();
  return current === null ? environment : { ...environment, BURSAR_URL: current.url, BURSAR_API_KEY: current.apiKey };
}

/** One spelling of an address. */
const plain = (url: string): string => new URL(url).href.replace(/\/+$/, '');

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function serverIn(text: string): Server | null {
  try {
    const { url, apiKey } = JSON.parse(text) as Partial<Server>;
    return typeof url === 'string' && typeof apiKey === 'string' ? { url, apiKey } : null;
  } catch {
    return null;
  }
}
