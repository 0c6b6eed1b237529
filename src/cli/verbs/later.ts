/** bursar policies, report, stop-all: what this version has of them, said plainly. A verb that cannot do its work fails. */
import type { Command } from 'commander';
import { missing } from '../../core/errors.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

export function addLater(program: Command, session: Session): void {
  program.command('policies')
    .description('List the policies that make recommendations.')
    .addHelpText('after', '\nExample:\n  bursar policies')
    .action(async () => {
      const policies = ((await session.local()).policies ?? []).map(({ name, version, description }) => ({ name, version, description }));
      session.print({ policies }, () => table(['policy', 'version', 'what it does'], policies.map((p) => [p.name, p.version, p.description])));
    });

  program.command('report')
    .description("Make a team's report of a month. Not in this version.")
    .option('--team <team>', 'whose')
    .option('--month <month>', 'such as 2026-10')
    .option('--format <format>', 'html, pdf, csv or json', 'html')
    .option('--out <file>', 'where to write it')
    .addHelpText('after', '\nExample:\n  bursar report --team research --month 2026-10 --format html --out research.html')
    .action(() => {
      throw missing('this version makes no reports: bursar costs and bursar budgets have the numbers');
    });

  program.command('stop-all')
    .description('The kill switch of every action. Not in this version.')
    .addHelpText('after', '\nExample:\n  bursar stop-all')
    .action(() => {
      throw missing('this version carries no action out: there is nothing to stop');
    });
}
