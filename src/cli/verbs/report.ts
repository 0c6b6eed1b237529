/** bursar report: a team's report of a month, written to a file or to standard output. */
import { writeFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { missing } from '../../core/errors.js';
import { LANGUAGES, readerOf, type Language, type ReportFormat } from '../../core/report/reader.js';
import type { Session } from '../session.js';
import { WrongUse } from '../usage-error.js';

interface ReportFlags {
  readonly team: string;
  readonly month: string;
  readonly format: ReportFormat;
  readonly lang: Language;
  readonly out?: string;
}

export function addReport(program: Command, session: Session): void {
  program
    .command('report')
    .description(
      "Make a team's report of a month: spend against budget, why it changed, savings proven and left, what is next.",
    )
    .requiredOption('--team <team>', 'team of the report; the teams below it count too')
    .requiredOption('--month <month>', 'such as 2026-10')
    .addOption(
      new Option('--format <format>', 'format of the report')
        .choices(['html', 'pdf', 'csv', 'xlsx', 'json'])
        .default('html'),
    )
    .addOption(new Option('--lang <language>', 'English or Chinese').choices(LANGUAGES).default('en'))
    .option('--out <file>', 'file to write (default: standard output)')
    .addHelpText(
      'after',
      `
A month that is not over is reported up to now. Every format holds the same figures; json is the model itself.

Examples:
  bursar report --team research --month 2026-10 --out research.html
  bursar report --team research --month 2026-10 --format pdf --lang zh --out research.pdf`,
    )
    .action(async ({ team, month, format, lang, out }: ReportFlags) => {
      if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw new WrongUse(`"${month}" is not a month: write 2026-10`);
      if ((format === 'pdf' || format === 'xlsx') && out === undefined && !session.json)
        throw new WrongUse(`a ${format.toUpperCase()} is not text: use --out FILE`);
      const report = await (await session.client()).reports.make(team, month);
      if (out === undefined && session.json) {
        session.print(report, () => '');
        return;
      }
      const renderer = (await session.context.reports?.())?.get(format);
      if (renderer === undefined) throw missing('this program writes no reports');
      const bytes = await renderer.render(report, readerOf(lang));
      if (out === undefined) {
        session.print(report, () => new TextDecoder().decode(bytes));
        return;
      }
      await writeFile(out, bytes);
      session.print(
        { team, month, format, file: out, bytes: bytes.length },
        () => `${out}: the report of ${team} for ${month} (${format}, ${bytes.length} bytes)\n`,
      );
    });
}
