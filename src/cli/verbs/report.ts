/**
 * bursar report: a team's report of a month, written to a file or to standard output; bursar report-schedule: when the
 * reports are made by themselves.
 */
import { writeFile } from 'node:fs/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { missing } from '../../core/errors.js';
import { LANGUAGES, readerOf, type Language, type ReportFormat } from '../../core/report/reader.js';
import { DEFAULT_REPORT_TIME } from '../../core/report/schedule.js';
import type { ReportSchedule } from '../answers.js';
import type { Session } from '../session.js';
import { WrongUse } from '../usage-error.js';

interface ReportFlags {
  readonly team: string;
  readonly month: string;
  readonly format: ReportFormat;
  readonly lang: Language;
  readonly out?: string;
}

export function register(program: Command, session: Session): void {
  addMake(program, session);
  addSchedule(program, session);
}

function addMake(program: Command, session: Session): void {
  program
    .command('report')
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

function addSchedule(program: Command, session: Session): void {
  const schedule = program.command('report-schedule').addHelpText(
    'after',
    `
The report of a month is made on a day of the following month, at an hour of the team's own zone. Late usage and bills
come in the first days: an earlier report may lack them. It goes where the alert routes of the kind digest say.

Examples:
  bursar report-schedule show
  bursar report-schedule set --day 6 --hour 9`,
  );

  schedule
    .command('show', { isDefault: true })
    .description('Show the day and the hour.')
    .addHelpText('after', '\nExample:\n  bursar report-schedule show')
    .action(async () => {
      const time = await (await session.client()).reports.schedule();
      session.print(time, () => sentenceOf(time));
    });

  schedule
    .command('set')
    .description('Set the day and the hour, for all teams.')
    .requiredOption('--day <day>', 'day of the following month, 1 to 28', whole)
    .option('--hour <hour>', "hour of that day in the team's zone, 0 to 23", whole, DEFAULT_REPORT_TIME.hour)
    .addHelpText('after', '\nExample:\n  bursar report-schedule set --day 6 --hour 9')
    .action(async ({ day, hour }: ReportSchedule) => {
      const time = await (await session.client()).reports.setSchedule({ day, hour });
      session.print(time, () => sentenceOf(time));
    });
}

const sentenceOf = ({ day, hour }: ReportSchedule): string =>
  `The report of a month is made on day ${day} of the next one, at ${String(hour).padStart(2, '0')}:00 in the team's zone.\n`;

function whole(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new InvalidArgumentError('It is not a whole number.');
  return Number(text);
}
