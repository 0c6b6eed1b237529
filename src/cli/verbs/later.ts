/** bursar report: what this version has of them, said plainly. A verb that cannot do its work fails. */
import type { Command } from 'commander';
import { missing } from '../../core/errors.js';

export function addLater(program: Command): void {
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
}
