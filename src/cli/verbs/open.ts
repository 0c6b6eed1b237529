/**
 * bursar open: opens the dashboard's page of an object in the browser.
 */
import { spawn } from 'node:child_process';
import { Option, type Command } from 'commander';
import type { CliContext } from '../context.js';
import type { Session } from '../session.js';
import { WrongUse } from '../usage-error.js';

/** Pages that have one of each thing, and those that have not. */
export const PAGES = [
  'teams',
  'budgets',
  'recommendations',
  'actions',
  'alerts',
  'savings',
  'policies',
  'explain',
  'imports',
];

/** What an id says by how it begins. */
const BY_PREFIX: readonly (readonly [prefix: string, page: string])[] = [
  ['act-', 'actions'],
  ['rec-', 'recommendations'],
  ['alr-', 'alerts'],
];

export function addOpen(program: Command, session: Session): void {
  program
    .command('open')
    .description('Open the page of a thing in the browser.')
    .argument('[thing]', 'a page, or the id of an action, a recommendation or an alert (default: the first page)')
    .argument('[id]', 'id of a thing on that page')
    .addOption(new Option('--print', 'print the address and open nothing'))
    .addHelpText(
      'after',
      `
Pages: ${PAGES.join(', ')}.
Without BURSAR_URL or a sign-in the address is BURSAR_PUBLIC_URL, else that of a server on this machine.

Examples:
  bursar open
  bursar open budgets vision-monthly
  bursar open act-0123456789abcdef`,
    )
    .action(async (thing: string | undefined, id: string | undefined, { print = false }: { print?: boolean }) => {
      const url = `${originOf(session.context)}/${pageOf(thing, id)}`;
      if (!print && !(await (session.context.openBrowser ?? openBrowser)(url)))
        session.note('No browser could be started here.');
      session.print({ url }, () => `${url}\n`);
    });
}

function originOf({ environment, remote }: CliContext): string {
  if (remote !== null) return remote.url.replace(/\/+$/, '');
  const named = environment['BURSAR_PUBLIC_URL'];
  return named ? named.replace(/\/+$/, '') : `http://127.0.0.1:${environment['PORT'] || '8080'}`;
}

/** `#/actions/act-1`, as the dashboard reads it (web/dashboard/routes.ts). */
export function pageOf(thing: string | undefined, id: string | undefined): string {
  if (thing === undefined) return '#/';
  const page = BY_PREFIX.find(([prefix]) => thing.startsWith(prefix))?.[1];
  if (page !== undefined && id === undefined) return `#/${page}/${encodeURIComponent(thing)}`;
  if (!PAGES.includes(thing))
    throw new WrongUse(
      `${thing} is neither a page (${PAGES.join(', ')}) nor the id of an action, a recommendation or an alert`,
    );
  return id === undefined ? `#/${thing}` : `#/${thing}/${encodeURIComponent(id)}`;
}

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
