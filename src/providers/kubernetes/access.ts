/**
 * The credentials that the settings make: one set for reading, another for acting.
 *
 * Reads the kubeconfig file and calls nobody. The invariant: the credentials for reading are never used to act.
 */
import { KubeConfig, type User } from '@kubernetes/client-node';
import { readFileSync } from 'node:fs';
import { invalid, type Problem } from '../../core/errors.js';
import { providerName } from '../../core/price/price.js';
import { DEFAULT_TIMEOUT_SECONDS, PREFIX, SETTINGS } from './settings.js';

const LOCAL = new Set(['127.0.0.1', '[::1]', 'localhost']);

export interface Access {
  readonly read: KubeConfig;
  /** Null: read-only. */
  readonly act: KubeConfig | null;
  readonly cluster: string | null;
  /** FOCUS ProviderName; null: the nodes say it. */
  readonly provider: string | null;
  readonly account: string | null;
  readonly timeoutMilliseconds: number;
}

class Given {
  readonly problems: Problem[] = [];

  constructor(private readonly settings: Readonly<Record<string, string | undefined>>) {}

  text(name: string): string | null {
    const value = this.settings[PREFIX + name]?.trim() ?? '';
    return value === '' ? null : value;
  }

  wrong(name: string, message: string): null {
    this.problems.push({ path: PREFIX + name, message });
    return null;
  }
}

/** Null if none of the settings is there. @throws Failure invalid naming every wrong setting, never a value. */
export function accessOf(settings: Readonly<Record<string, string | undefined>>): Access | null {
  if (SETTINGS.every(({ name }) => (settings[name]?.trim() ?? '') === '')) return null;
  const given = new Given(settings);
  const ways = ['KUBECONFIG', 'SERVER', 'IN_CLUSTER'].filter((name) => given.text(name) !== null);
  if (ways.length !== 1)
    given.wrong('SERVER', 'exactly one of KUBECONFIG, SERVER and IN_CLUSTER says where the cluster is');
  const seconds = Number(given.text('TIMEOUT_SECONDS') ?? DEFAULT_TIMEOUT_SECONDS);
  if (!(seconds >= 0.1 && seconds <= 300)) given.wrong('TIMEOUT_SECONDS', 'is not a number of seconds from 0.1 to 300');
  const configs =
    ways.length !== 1 ? null : ways[0] === 'KUBECONFIG' ? fromFile(given) : fromServer(given, ways[0] === 'IN_CLUSTER');
  const { problems } = given;
  if (problems.length > 0 || configs === null) {
    throw invalid(
      `the kubernetes provider's settings are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
      problems,
    );
  }
  const provider = given.text('PROVIDER');
  return {
    ...configs,
    cluster: given.text('CLUSTER'),
    provider: provider === null ? null : providerName(provider),
    account: given.text('ACCOUNT'),
    timeoutMilliseconds: Math.round(seconds * 1000),
  };
}

type Configs = Pick<Access, 'read' | 'act'>;

function fromFile(given: Given): Configs | null {
  for (const name of ['TOKEN', 'TOKEN_FILE', 'ACT_TOKEN', 'ACT_TOKEN_FILE', 'CA_FILE']) {
    if (given.text(name) !== null)
      given.wrong(name, 'is not taken beside KUBECONFIG: the contexts hold the credentials');
  }
  const withContext = (name: string): KubeConfig | null => {
    const config = new KubeConfig();
    try {
      config.loadFromFile(given.text('KUBECONFIG') ?? '');
    } catch {
      return given.wrong('KUBECONFIG', 'cannot be read as a kubeconfig file');
    }
    const context = given.text(name);
    if (context !== null) config.setCurrentContext(context);
    if (config.getCurrentCluster() === null || config.getCurrentUser() === null)
      return given.wrong(context === null ? 'KUBECONFIG' : name, 'names no context with a cluster and a user');
    return config;
  };
  const read = withContext('CONTEXT');
  const act = read === null || given.text('ACT_CONTEXT') === null ? null : withContext('ACT_CONTEXT');
  if (read === null) return null;
  if (act !== null && act.getCurrentUser()?.name === read.getCurrentUser()?.name)
    given.wrong('ACT_CONTEXT', 'has the same user as the context that reads: acting needs credentials of its own');
  return { read, act };
}

function fromServer(given: Given, inCluster: boolean): Configs | null {
  for (const name of ['CONTEXT', 'ACT_CONTEXT'])
    if (given.text(name) !== null) given.wrong(name, 'is taken with KUBECONFIG only');
  const base = new KubeConfig();
  if (inCluster) {
    if (given.text('IN_CLUSTER') !== 'yes') given.wrong('IN_CLUSTER', 'is not yes');
    base.loadFromCluster();
    // The pod's own environment says where the cluster is (Kubernetes, "Accessing the Kubernetes API from a Pod").
    if (base.getCurrentCluster()?.server.includes('undefined') !== false)
      return given.wrong('IN_CLUSTER', 'is set, and this is no pod of a cluster');
  } else {
    const server = given.text('SERVER') ?? '';
    const problem = addressProblem(server);
    if (problem !== null) return given.wrong('SERVER', problem);
    const caFile = given.text('CA_FILE');
    if (caFile !== null) checkFile(given, 'CA_FILE', caFile);
    // The client accepts http only where TLS is not checked.
    base.loadFromClusterAndUser(
      { name: 'cluster', server, skipTLSVerify: server.startsWith('http:'), ...(caFile === null ? {} : { caFile }) },
      { name: 'none' },
    );
  }
  const reader = userOf(given, 'TOKEN');
  if (reader === null && !inCluster) given.wrong('TOKEN', 'is missing (or TOKEN_FILE)');
  const actor = userOf(given, 'ACT_TOKEN');
  if (reader?.token !== undefined && reader.token === actor?.token)
    given.wrong('ACT_TOKEN', 'is that of TOKEN: acting needs credentials of its own');
  return { read: reader === null ? base : withUser(base, reader), act: actor === null ? null : withUser(base, actor) };
}

function withUser(base: KubeConfig, user: User): KubeConfig {
  const cluster = base.getCurrentCluster();
  if (cluster === null) throw new Error('broken invariant: the configuration has its cluster');
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, user);
  return config;
}

/** A user by token or by a file that is read again when it has been replaced, as service account tokens are. */
function userOf(given: Given, name: 'TOKEN' | 'ACT_TOKEN'): User | null {
  const [token, tokenFile] = [given.text(name), given.text(`${name}_FILE`)];
  if (token !== null && tokenFile !== null) given.wrong(name, `is there beside ${PREFIX}${name}_FILE`);
  if (token !== null && !/^[\x21-\x7e]+$/.test(token))
    given.wrong(name, 'is no token: it holds blanks or other characters that no header takes');
  if (tokenFile !== null) checkFile(given, `${name}_FILE`, tokenFile);
  if (token !== null) return { name, token };
  return tokenFile === null ? null : { name, authProvider: { name: 'tokenFile', config: { tokenFile } } };
}

function checkFile(given: Given, name: string, path: string): void {
  try {
    readFileSync(path);
  } catch {
    given.wrong(name, 'cannot be read');
  }
}

function addressProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'is not an http:// or https:// URL';
  if (url.username !== '' || url.password !== '' || url.search !== '') return 'holds credentials or a query';
  return url.protocol === 'http:' && !LOCAL.has(url.hostname)
    ? 'is http: a token would be open to all (http is for this machine only)'
    : null;
}
