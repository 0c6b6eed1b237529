/**
 * The process' environment with what stands in files, and the server that it names. Help and the verbs of a remote API
 * need no more; every other setting is read by config.ts, whose schema takes longer to load than they to run.
 */
import { readFileSync } from 'node:fs';
import { invalid, type Failure, type Problem } from './core/errors.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that are files by themselves: what they name is read again and again. */
const FILES = /^BURSAR_KUBERNETES_\w+_FILE$|_FEDERATED_TOKEN_FILE$/;

/**
 * The environment with what stands in files: `X_FILE` names the file that holds X, for every setting of ours, as
 * containers are given their secrets.
 * @throws Failure invalid naming every variable whose file cannot be read or is empty, or that is set twice
 */
export function withFiles(environment: Environment): Environment {
  const problems: Problem[] = [];
  const read: Record<string, string | undefined> = { ...environment };
  for (const [path, file] of Object.entries(environment)) {
    const name = /^((?:BURSAR|DATABASE|REDIS)_\w+)_FILE$/.exec(path)?.[1];
    if (name === undefined || FILES.test(path) || file === undefined || file === '') continue;
    if ((environment[name] ?? '') !== '') problems.push({ path, message: `cannot be combined with ${name}` });
    try {
      read[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      // A secret that is not there yet would have the default in its stead: another database, no key.
      if (read[name] === '') problems.push({ path, message: 'names an empty file' });
    } catch {
      problems.push({ path, message: 'names a file that cannot be read' });
    }
    delete read[path];
  }
  if (problems.length > 0) throw wrongSettings(problems);
  return read;
}

/** The API that the command line goes through; null: none is named, or not rightly, which config.ts says. */
export function remoteOf({ BURSAR_URL: url, BURSAR_API_KEY: apiKey }: Environment): Remote | null {
  return url && apiKey && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? { url, apiKey } : null;
}

export interface Remote {
  readonly url: string;
  readonly apiKey: string;
}

export const wrongSettings = (problems: readonly Problem[]): Failure =>
  invalid(
    `the configuration is wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
    problems,
  );
