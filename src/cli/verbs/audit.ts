/**
 * bursar audit: the entries, their verification, and the stream to a collector.
 */
import { InvalidArgumentError, type Command } from 'commander';
import type { AuditCheck, AuditFilter } from '../answers.js';
import { formatInstant } from '../../core/time.js';
import { count, instant } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

const MOST_LISTED = 100;
const PAGE = 1000;

function head(text: string): NonNullable<AuditCheck['head']> {
  const [, seq, hash] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined)
    throw new InvalidArgumentError('It is not <seq>:<hash>, as an earlier check printed it.');
  return { seq, hash };
}

function seqOf(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It is not the seq of an entry.');
  return text;
}

const moment = (text: string): string => formatInstant(instant(text));

export function register(program: Command, session: Session): void {
  const audit = program
    .command('audit')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar audit --limit 20\n  bursar audit verify\n  bursar audit export --after 4711',
    );

  audit
    .command('list', { isDefault: true })
    .description('List who did what, newest first.')
    .option('--limit <n>', 'at most this many', count, MOST_LISTED)
    .option('--actor <who>', 'only of this actor: key:0a1b2c3d4e5f, user:ada, cli:root')
    .option('--verb <verb>', 'only this verb: key.create')
    .option('--target <target>', 'only on this target')
    .option('--from <time>', 'from this time on', moment)
    .option('--to <time>', 'before this time', moment)
    .addHelpText('after', '\nExample:\n  bursar audit --verb key.create --from 2026-11-01')
    .action(async ({ limit, ...filter }: AuditFilter & { limit: number }) => {
      const entries = await (await session.client()).audit(limit, filter);
      session.print({ audit: entries }, () =>
        table(
          ['at', 'who', 'what', 'target', 'detail'],
          entries.map((a) => [
            a.at,
            a.actor,
            a.verb,
            a.target,
            Object.keys(a.detail).length === 0 ? null : JSON.stringify(a.detail),
          ]),
        ),
      );
    });

  audit
    .command('verify')
    .description(
      'Recompute the hash chain, from where entries were dropped by age. It fails if an entry was changed or removed.',
    )
    .option('--head <seq:hash>', 'the end of the chain as an earlier check printed it: it must still be there', head)
    .addHelpText('after', '\nExample:\n  bursar audit verify')
    .action(async ({ head: known }: { head?: AuditCheck['head'] }) => {
      const check = await (await session.client()).access.verifyAudit(known ?? null);
      session.print({ check }, () => {
        const end = check.head === null ? '' : ` The chain ends with ${check.head.seq}:${check.head.hash}`;
        const from =
          check.since === null
            ? ''
            : ` Verified from ${check.since.seq}:${check.since.hash} on: earlier entries were dropped by age, the last time at ${check.since.droppedAt}.`;
        const problems = check.problems.map(
          ({ seq, entry, message }) => `${seq === null ? '' : `${seq}: `}entry ${entry}: ${message}\n`,
        );
        return `${check.entries} entries; ${check.holds ? 'all as they were written.' : 'NOT as they were written.'}${from}${end}\n${problems.join('')}`;
      });
      if (!check.holds) session.reportFinding();
    });

  addExport(audit, session);
}

function addExport(audit: Command, session: Session): void {
  audit
    .command('export')
    .description('Print the entries in the order of their chain, one JSON object per line.')
    .option('--after <seq>', 'only those after this one', seqOf, '0')
    .addHelpText('after', '\nExample:\n  bursar audit export --after 4711 >> audit.ndjson')
    .action(async ({ after }: { after: string }) => {
      const client = await session.client();
      const all: object[] = [];
      for (let last = after; ; ) {
        const page = await client.access.exportAudit(last, PAGE);
        last = page.at(-1)?.seq ?? last;
        if (session.json) all.push(...page);
        else for (const entry of page) session.context.stdout.write(`${JSON.stringify(entry)}\n`);
        if (page.length < PAGE) break;
      }
      if (session.json) session.print({ entries: all }, () => '');
    });
}
