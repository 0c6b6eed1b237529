/**
 * The product as users run it: processes of dist/src/main.js, each on a data folder of its own, with nothing of the
 * tests' environment that would lead it elsewhere. What a file starts is stopped after it, by process id.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { isRunning } from '../../src/store/embedded/lock.js';
import { ROOT } from './source.js';

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class BursarProcess {
  out = '';
  err = '';
  readonly ended: Promise<Ended>;
  private readonly watchers = new Set<() => void>();
  private over = false;

  constructor(private readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.heard(() => (this.out += text)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.heard(() => (this.err += text)));
    // 'close', not 'exit': the last words may still be on their way.
    this.ended = new Promise((resolve) =>
      child.once('close', (code) => {
        this.heard(() => (this.over = true));
        resolve({ code, out: this.out, err: this.err });
      }),
    );
  }

  /** What standard error matched. @throws Error where the process ends without it. */
  async said(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.err);
      if (found !== null) return found[1] ?? found[0];
      if (this.over) throw new Error(`it ended and never said ${String(pattern)}:\n${this.err}`);
      await new Promise<void>((resolve) => this.watchers.add(resolve));
    }
  }

  /** Sends a signal and waits for the end. */
  async end(signal: 'SIGTERM' | 'SIGKILL' | 'SIGHUP'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  private heard(note: () => void): void {
    note();
    for (const watcher of this.watchers) watcher();
    this.watchers.clear();
  }
}

export interface Home {
  /** BURSAR_DATA_DIR; not there before the first start. */
  readonly dataDir: string;
  /** A file beside the data. */
  file(name: string): string;
  start(argv: readonly string[], environment?: Readonly<Record<string, string>>): BursarProcess;
  /** The same of another build: the path of its main.js. */
  startFile(main: string, argv: readonly string[], environment?: Readonly<Record<string, string>>): BursarProcess;
  /** `npm start`, of what is built already. */
  npmStart(environment?: Readonly<Record<string, string>>): BursarProcess;
  run(argv: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>;
  /** The process id of the folder's PostgreSQL. @throws Error where none has said that it runs. */
  postmaster(): Promise<number>;
}

/** A folder in which the product runs. What is still there after the file or block is ended and removed. */
export async function home(): Promise<Home> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-home-'));
  const dataDir = path.join(folder, 'data');
  const started = new Set<BursarProcess>();
  const begin = (
    command: string,
    argv: readonly string[],
    cwd: string,
    environment?: Readonly<Record<string, string>>,
  ): BursarProcess => {
    const given = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(BURSAR_|DATABASE_URL$|REDIS_URL$|HOST$|PORT$)/.test(name)),
    );
    const child = spawn(command, [...argv], {
      cwd,
      env: { ...given, BURSAR_DATA_DIR: dataDir, PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const made = new BursarProcess(child);
    started.add(made);
    void made.ended.then(() => started.delete(made));
    return made;
  };
  const startFile: Home['startFile'] = (main, argv, environment) =>
    begin(process.execPath, [main, ...argv], folder, environment);
  const start: Home['start'] = (argv, environment) => startFile(path.join(ROOT, 'dist/src/main.js'), argv, environment);
  const npmStart: Home['npmStart'] = (environment) =>
    begin('npm', ['start', '--ignore-scripts', '--no-update-notifier'], ROOT, environment);
  const postmaster = async (): Promise<number> => {
    const pid = Number((await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
    if (!(pid > 0)) throw new Error('postmaster.pid names no process');
    return pid;
  };
  afterAll(async () => {
    for (const one of started) await one.end('SIGKILL');
    const left = await postmaster().catch(() => null);
    if (left !== null && (await isRunning(left))) {
      // PostgreSQL's immediate shutdown.
      process.kill(left, 'SIGQUIT');
      await isGone(left);
    }
    await rm(folder, { recursive: true, force: true });
  });
  return {
    dataDir,
    file: (name) => path.join(folder, name),
    start,
    startFile,
    npmStart,
    run: (argv, environment) => start(argv, environment).ended,
    postmaster,
  };
}

/** Whether a process ends, if not at once then soon. */
export async function isGone(pid: number): Promise<boolean> {
  for (let looks = 0; looks < 1000; looks += 1) {
    if (!(await isRunning(pid))) return true;
    await pause(10);
  }
  return false;
}
