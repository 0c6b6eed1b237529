/**
 * bursar open: opens the dashboard's page of an object in the browser.
 */
import { spawn } from 'node:child_process';
import { Argument, Option, type Command } from 'commander';
import { PAGES, SETTINGS, isPage, type DashboardPage } from '../../core/pages.js';
import { Failure } from '../../core/errors.js';
import { at } from '../client/api.js';
import { completedBy, isListed, type Words } from '../completing.js';
import type { CliContext } from '../context.js';
import type { Session } from '../session.js';
import { printable } from '../table.js';
import { WrongUse } from '../usage-error.js';

/** What an id says by how it begins. */
const BY_PREFIX: readonly (readonly [prefix: string, page: DashboardPage])[] = [
  ['act-', 'actions'],
  ['rec-', 'recommendations'],
  ['alr-', 'alerts'],
];

/** What a page is called in a command: the first page has no name of its own there. */
const NAMES = (Object.keys(PAGES) as DashboardPage[]).filter((page) => page !== '').sort();

const SECTIONS: readonly string[] = Object.values(SETTINGS).flat();

/** Where the API has the thing of a page with this id. Absent: it has nothing of one id there. */
const PLACES: Readonly<Partial<Record<DashboardPage, (id: string) => string>>> = {
  teams: (id) => at('teams', id),
  budgets: (id) => at('budgets', id),
  recommendations: (id) => at('recommendations', id),
  actions: (id) => at('actions', id),
  alerts: (id) => at('alerts', id),
  savings: (id) => at('savings', id),
  policies: (id) => at('policies', id),
  imports: (id) => `${at('imports', id)}/rejects?limit=1`,
  explain: (id) => `/v1/explain?target=${encodeURIComponent(id)}`,
};

export function register(program: Command, session: Session): void {
  program
    .command('open')
    .addArgument(
      completedBy(
        new Argument(
          '[thing]',
          'a page, or the id of an action, a recommendation or an alert (default: the first page)',
        ),
        { words: NAMES },
      ),
    )
    .addArgument(completedBy(new Argument('[id]', 'id of a thing on that page'), ([page = '']) => idsOn(page)))
    .addOption(new Option('--print', 'print the address and open nothing'))
    .addHelpText(
      'after',
      `
Pages: ${NAMES.filter((page) => !PAGES[page]).join(', ')}.
Pages that take an id: ${NAMES.filter((page) => PAGES[page]).join(', ')}.
Pages of settings: ${SECTIONS.join(', ')}.
Without BURSAR_URL or a sign-in the address is BURSAR_PUBLIC_URL, else that of a server on this machine.
A server that is named is asked whether it has the thing.

Examples:
  bursar open
  bursar open costs
  bursar open budgets vision-monthly
  bursar open settings routes
  bursar open act-0123456789abcdef`,
    )
    .action(async (thing: string | undefined, id: string | undefined, { print = false }: { print?: boolean }) => {
      const place = placeOf(thing, id);
      await checkKnown(session, place);
      const url = `${originOf(session.context)}/${addressOf(place)}`;
      if (!print && !(await (session.context.openBrowser ?? openBrowser)(url)))
        session.note('No browser could be started here.');
      session.print({ url }, () => `${url}\n`);
    });
}

const idsOn = (page: string): Words =>
  page === 'settings'
    ? { words: SECTIONS }
    : { words: [], ...(isListed(page) && isPage(page) && PAGES[page] ? { list: page } : {}) };

interface Place {
  readonly page: DashboardPage;
  readonly id: string | null;
}

/**
 * Refuses an id that the server does not know. What a server that is away or refuses to answer knows is left to the
 * page. @throws Failure missing, with the server's sentence
 */
async function checkKnown(session: Session, { page, id }: Place): Promise<void> {
  const path = id === null || session.context.remote === null ? undefined : PLACES[page]?.(id);
  if (path === undefined) return;
  const { api } = await session.client();
  try {
    await api.text('GET', path);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'missing') throw error;
    if (!(error instanceof Failure)) throw error;
    session.note(`Not known whether ${page} has ${printable(id ?? '')}: ${error.message}`);
  }
}

function originOf({ environment, remote }: CliContext): string {
  if (remote !== null) return remote.url.replace(/\/+$/, '');
  const named = environment['BURSAR_PUBLIC_URL'];
  return named ? named.replace(/\/+$/, '') : `http://127.0.0.1:${environment['PORT'] || '8080'}`;
}

/** The page that was asked for. @throws WrongUse if there is none, or none with an id */
function placeOf(thing: string | undefined, id: string | undefined): Place {
  if (thing === undefined) return { page: '', id: null };
  const page = BY_PREFIX.find(([prefix]) => thing.startsWith(prefix))?.[1];
  if (page !== undefined && id === undefined) return { page, id: thing };
  if (thing === '' || !isPage(thing))
    throw new WrongUse(
      `${thing} is neither a page (${NAMES.join(', ')}) nor the id of an action, a recommendation or an alert`,
    );
  if (id === undefined) return { page: thing, id: null };
  if (!PAGES[thing]) throw new WrongUse(`the page ${thing} takes no id`);
  if (thing === 'settings' && !SECTIONS.includes(id))
    throw new WrongUse(`settings has no page ${id}: it has ${SECTIONS.join(', ')}`);
  return { page: thing, id };
}

/** `#/actions/act-1`, as the dashboard reads it (web/dashboard/routes.ts). */
const addressOf = ({ page, id }: Place): string => `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}`;

/** False: there is none. The address is an argument of its own and no shell reads it. */
function openBrowser(url: string): Promise<boolean> {
  const [command, ...before] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(command ?? '', [...before, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
