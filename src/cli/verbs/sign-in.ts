/**
 * bursar login, logout and whoami: the server that the verbs use, without a key in the environment. A key is checked
 * before it is stored, is stored in a separate file that nobody else may read, and is never printed.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { denied } from '../../core/errors.js';
import type { SignedIn } from '../answers.js';
import { Api } from '../client/api.js';
import { HttpTransport } from '../client/http.js';
import { SignInClient } from '../client/sign-in.js';
import { userName, type Session } from '../session.js';
import { Servers } from '../servers.js';
import { printable } from '../table.js';
import { WrongUse } from '../usage-error.js';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function register(program: Command, session: Session): void {
  program
    .command('login')
    .argument('<url>', 'of the server: https://bursar.example.com', address)
    .addHelpText(
      'after',
      `
The verb asks for the key and does not show it; a program passes it on standard input. The key is checked, and kept in
a file per server that only you may read (below $XDG_CONFIG_HOME/bursar or ~/.config/bursar). An administrator makes
keys: bursar keys create. You cannot sign in here through the dashboard's identity provider: such a session belongs to the browser.
BURSAR_URL, and DATABASE_URL or BURSAR_DATA_DIR for this machine's database, take precedence over the server signed in to.

Examples:
  bursar login https://bursar.example.com
  pass show bursar | bursar login https://bursar.example.com`,
    )
    .action(async (url: string) => login(session, url));

  program
    .command('logout')
    .argument('[url]', 'of the server (default: the one that the verbs go to)', address)
    .addHelpText('after', '\nExample:\n  bursar logout')
    .action((given: string | undefined) => {
      const servers = new Servers(session.context.environment);
      const url = given ?? servers.current()?.url;
      if (url === undefined) throw new WrongUse('nobody is signed in to a server here: bursar login URL');
      const known = servers.forget(url);
      session.print({ url, forgotten: known }, () =>
        known ? `The key of ${url} is forgotten here.\n` : `There is no key of ${url} here.\n`,
      );
    });

  program
    .command('whoami')
    .addHelpText('after', '\nExample:\n  bursar whoami')
    .action(async () => {
      const { remote, environment } = session.context;
      // A server without its key is a wrong configuration, which the client says.
      if (remote === null && !environment['BURSAR_URL']) throw denied(whyNobody(environment));
      const signedIn = await (await session.client()).signIn.whoAmI();
      const server = remote?.url ?? null;
      if (signedIn === null) throw denied(`${server ?? 'the API'} does not know the key`);
      session.print({ server, signedIn }, () => whoText(server, signedIn));
    });
}

/** A setting that names this machine's database comes before every sign-in. */
function whyNobody(environment: Readonly<Record<string, string | undefined>>): string {
  const setting = ['DATABASE_URL', 'BURSAR_DATA_DIR'].find((name) => environment[name]);
  const here = `the verbs work on this machine's database, as its administrator (${userName()})`;
  return setting === undefined
    ? `nobody is signed in to a server: ${here}. bursar login URL signs in`
    : `${setting} is set and takes precedence over any sign-in: ${here}. Unset it to use a server`;
}

async function login(session: Session, url: string): Promise<void> {
  const { context } = session;
  if (context.readSecret === undefined) throw new WrongUse('there is no terminal to ask for a key on');
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !LOOPBACK.test(hostname))
    session.note(`Warning: ${url} is not https: anyone on the network path can read the key.`);
  const apiKey = await context.readSecret(`Key of ${url} (not shown): `);
  if (apiKey === '') throw new WrongUse('no key was given');
  const api = new Api(new HttpTransport({ url, apiKey }));
  const signedIn = await new SignInClient(api).whoAmI();
  if (signedIn === null) throw denied(`${url} does not know the key: it was not stored`);
  const servers = new Servers(context.environment);
  servers.save({ url, apiKey });
  const setting = ['BURSAR_URL', 'DATABASE_URL', 'BURSAR_DATA_DIR'].find((name) => context.environment[name]);
  if (setting !== undefined) session.note(`${setting} is set and takes precedence.`);
  session.print({ server: url, file: servers.fileOf(url), signedIn }, () => whoText(url, signedIn));
}

function whoText(server: string | null, { kind, name, role, scopes, teams }: SignedIn): string {
  const who = `${kind} ${name}, ${role ?? `may ${scopes.join(', ')}`}`;
  const of = teams === null ? 'all teams' : `teams ${teams.join(', ')}`;
  return printable(`${server ?? "This machine's database"}: ${who}, ${of}`) + '\n';
}

function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It is not an address such as https://bursar.example.com.');
  return url.href.replace(/\/+$/, '');
}
