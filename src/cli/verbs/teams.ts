/**
 * bursar teams: the teams that spend. A team may lie below another; its budgets and costs then count there too.
 */
import type { Command } from 'commander';
import { isZone } from '../../core/time.js';
import type { Session } from '../session.js';
import { table } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface TeamFlags {
  readonly name?: string;
  readonly parent?: string;
  readonly zone?: string;
  readonly currency?: string;
}

export function register(program: Command, session: Session): void {
  const teams = program
    .command('teams')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar teams\n  bursar teams set vision --parent research --zone Europe/Berlin --currency EUR\n  bursar teams remove vision',
    );

  teams
    .command('list', { isDefault: true })
    .description('List the teams.')
    .action(async () => {
      const all = await (await session.client()).teams();
      session.print({ teams: all }, () =>
        table(
          ['team', 'name', 'parent', 'zone', 'currency', 'assigned by'],
          all.map((t) => [t.id, t.name, t.parent, t.zone, t.currency, t.assignedBy]),
        ),
      );
    });

  teams
    .command('set')
    .description('Add a team, or change the settings that the options name.')
    .argument('<id>', 'as the allocation rules name it')
    .option('--name <name>', 'name for people (default of a new team: its id)')
    .option('--parent <team>', 'the team above it (default of a new team: none)')
    .option('--zone <zone>', "IANA time zone of the team's periods (default of a new team: UTC)")
    .option('--currency <code>', "ISO 4217 code of the team's accruals (default of a new team: USD)")
    .addHelpText('after', '\nExample:\n  bursar teams set vision --parent research')
    .action(async (id: string, { name, parent, zone, currency }: TeamFlags) => {
      const problems = [
        ...(id.trim() === '' ? [{ path: 'id', message: 'is empty' }] : []),
        ...(zone === undefined || isZone(zone) ? [] : [{ path: '--zone', message: 'is not an IANA time zone' }]),
        ...(currency === undefined || /^[A-Z]{3}$/.test(currency)
          ? []
          : [{ path: '--currency', message: 'is not an ISO 4217 code' }]),
      ];
      if (problems.length > 0) throw new WrongUse('the team has problems', problems);
      const team = await (await session.client()).saveTeam({ id, name, parent, zone, currency });
      session.print({ team }, () => `Team ${id} is set.\n`);
    });

  teams
    .command('remove')
    .description('Remove a team. Its spend stays, under its id.')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  bursar teams remove vision')
    .action(async (id: string) => {
      await (await session.client()).removeTeam(id);
      session.print({ removed: id }, () => `Team ${id} is removed.\n`);
    });
}
