/**
 * bursar leases: the right of a holder to GPUs until a date.
 */
import type { Command } from 'commander';
import { formatInstant, parseInstant } from '../../core/time.js';
import type { Lease } from '../answers.js';
import type { Session } from '../session.js';
import { table } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface GiveFlags {
  readonly team: string;
  readonly target: string;
  readonly holder?: string;
  readonly gpus?: string;
  readonly until?: string;
}

export function register(program: Command, session: Session): void {
  const leases = program.command('leases').addHelpText(
    'after',
    `
The policy "lease" tells the holder before the end, and releases what nobody renewed. Ending a lease stops no machine.

Examples:
  bursar leases
  bursar leases give ada-1 --team research --target i-0abc --holder ada --until 2026-12-01
  bursar leases renew ada-1 --until 2027-01-01
  bursar leases end ada-1`,
  );

  leases
    .command('list', { isDefault: true })
    .description('List the leases.')
    .option('--team <team>', 'only of this team')
    .action(async ({ team }: { team?: string }) => {
      const all = await (await session.client()).leases(team ?? null);
      session.print({ leases: all }, () => leasesTable(all, 'There are no leases.\n'));
    });

  addGive(leases, session);

  leases
    .command('renew')
    .description("Move a lease's end.")
    .argument('<id>')
    .requiredOption('--until <time>', 'its new end')
    .addHelpText('after', '\nExample:\n  bursar leases renew ada-1 --until 2027-01-01')
    .action(async (id: string, { until }: { until: string }) => {
      const lease = await (await session.client()).renewLease(id, timeOf(until));
      session.print({ lease }, () => leasesTable([lease]));
    });

  leases
    .command('end')
    .description('End a lease: it no longer holds anything.')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  bursar leases end ada-1')
    .action(async (id: string) => {
      const lease = await (await session.client()).endLease(id);
      session.print({ lease }, () => leasesTable([lease]));
    });
}

function addGive(leases: Command, session: Session): void {
  leases
    .command('give')
    .description('Give a lease, or replace its terms.')
    .argument('<id>')
    .requiredOption('--team <team>', 'who pays')
    .requiredOption('--target <target>', 'a resource or an allocation, as usage and the fleet name it')
    .option('--holder <name>', 'who is told before the end')
    .option('--gpus <n>', 'number of GPUs (default: as in the fleet)')
    .option('--until <time>', 'its end (default: no end)')
    .addHelpText(
      'after',
      '\nExample:\n  bursar leases give ada-1 --team research --target i-0abc --holder ada --until 2026-12-01',
    )
    .action(async (id: string, { team, target, holder, gpus, until }: GiveFlags) => {
      const count = gpus === undefined ? null : Number(gpus);
      if (count !== null && !(count > 0))
        throw new WrongUse('the lease has problems', [{ path: '--gpus', message: 'is not a number above 0' }]);
      const lease = await (await session.client()).giveLease(id, {
        team,
        target,
        holder: holder ?? null,
        gpus: count,
        provider: null,
        sku: null,
        region: null,
        gpuModel: null,
        expiresAt: until === undefined ? null : timeOf(until),
      });
      session.print({ lease }, () => leasesTable([lease]));
    });
}

function timeOf(text: string): string {
  const instant = parseInstant(text);
  if (instant === null)
    throw new WrongUse('the lease has problems', [
      { path: '--until', message: `"${text}" is not a time: write 2026-12-01 or 2026-12-01T12:00:00Z` },
    ]);
  return formatInstant(instant);
}

const leasesTable = (leases: readonly Lease[], none = ''): string =>
  table(
    ['lease', 'team', 'target', 'holder', 'GPUs', 'since', 'until', 'held'],
    leases.map(({ id, team, target, holder, gpus, startedAt, expiresAt, active }) => [
      id,
      team,
      target,
      holder,
      gpus,
      startedAt,
      expiresAt ?? 'without an end',
      active === null ? 'unknown' : active ? 'yes' : 'no',
    ]),
    none,
  );
