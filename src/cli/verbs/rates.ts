/**
 * bursar fx, bursar peak, bursar credits: the data, other than price lists, that metered usage is priced with.
 */
import path from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { CreditView, PeakRule } from '../answers.js';
import { readCreditsFile } from '../credits-file.js';
import { readFx } from '../fx-file.js';
import { readPeak } from '../peak-file.js';
import type { Session } from '../session.js';
import { grouped, table } from '../table.js';

export function register(program: Command, session: Session): void {
  addFx(program, session);
  addPeak(program, session);
  addCredits(program, session);
}

function addFx(program: Command, session: Session): void {
  const fx = program.command('fx').addHelpText(
    'after',
    `
A rate says how many units of a currency one USD was on a day (UTC); it holds until the next one of its currency. A file is
CSV, or a JSON list of the same:
  day,currency,per_usd
  2026-10-01,EUR,0.92
  2026-10-01,CNY,7.12

Examples:
  bursar fx list --currency EUR
  bursar fx set rates.csv`,
  );

  fx.command('list', { isDefault: true })
    .description('List the exchange rates by day.')
    .option('--currency <code>', 'only this one', code)
    .addHelpText('after', '\nExample:\n  bursar fx list --currency EUR')
    .action(async ({ currency }: { currency?: string }) => {
      const rates = await (await session.client()).fx(currency ?? null);
      session.print({ base: 'USD', rates }, () =>
        table(
          ['day', 'currency', 'for one USD', 'source'],
          rates.map((rate) => [rate.day, rate.currency, rate.perUsd, rate.source]),
          'There are no exchange rates: costs in another currency than that of their team are unpriced.\n',
        ),
      );
    });

  fx.command('set')
    .description(
      'Add or correct rates. From the earliest changed day on, usage is priced and budgets are evaluated again.',
    )
    .argument('<file>', 'CSV or JSON')
    .addHelpText('after', '\nExample:\n  bursar fx set rates.csv')
    .action(async (file: string) => {
      const rates = await readFx(file);
      const change = await (await session.client()).saveFx(rates, path.basename(file));
      session.print(change, () =>
        change.from === null
          ? `Nothing changed: all ${grouped(change.rows)} rates were already there.\n`
          : `${grouped(change.changed)} of ${grouped(change.rows)} rates are new or changed, from ${change.from} on.\n`,
      );
    });
}

function addPeak(program: Command, session: Session): void {
  const peak = program.command('peak').addHelpText(
    'after',
    `
The factor multiplies what Bursar itself prices (GPUs, storage, network), hour by hour; it never changes what a bill
states. The first rule that matches applies; if none does, the factor is 1. A file holds a list of rules in YAML or
JSON; [] removes the schedule:
  - { from: "09:00", to: "18:00", days: [mon, tue, wed, thu, fri], zone: Europe/Berlin, factor: "1.15" }
  - { zone: UTC, fromDate: "2026-12-24", untilDate: "2027-01-02", factor: "0.9" }

Examples:
  bursar peak show
  bursar peak set peak.yaml`,
  );

  peak
    .command('show', { isDefault: true })
    .description('Show the rules, in their order.')
    .addHelpText('after', '\nExample:\n  bursar peak show')
    .action(async () => {
      const rules = await (await session.client()).peak();
      session.print({ rules }, () => rulesTable(rules, 'There is no peak schedule: the factor is 1 at every hour.\n'));
    });

  peak
    .command('set')
    .description('Set the schedule from a file of rules, and price all metered usage again.')
    .argument('<file>', 'YAML or JSON')
    .addHelpText('after', '\nExample:\n  bursar peak set peak.yaml')
    .action(async (file: string) => {
      const wanted = await readPeak(file, session.context.parseYaml);
      const rules = await (await session.client()).savePeak(wanted);
      session.print({ rules }, () =>
        rules.length === 0 ? 'The peak schedule is removed.\n' : `The peak schedule is set.\n${rulesTable(rules)}`,
      );
    });
}

function addCredits(program: Command, session: Session): void {
  const credits = program.command('credits').addHelpText(
    'after',
    `
Promotional grants and free tiers reduce what Bursar itself prices, day by day, as separate negative cost lines. A
budget counts them only if it says includeCredits: true. A bill's own credits come with the bill and do not belong
here. A file holds a list in YAML or JSON; [] removes them all:
  - { id: startup-grant, kind: promotional, provider: AWS, amount: "25000", currency: USD, from: "2026-01-01", until: "2027-01-01" }
  - { id: free-tier, kind: free-tier, team: research, amount: "300", currency: USD, from: "2026-11-01", until: "2026-12-01" }

Examples:
  bursar credits show
  bursar credits set credits.yaml`,
  );

  credits
    .command('show', { isDefault: true })
    .description('Show the credits, and how much of each is used.')
    .addHelpText('after', '\nExample:\n  bursar credits show')
    .action(async () => {
      const views = await (await session.client()).credits();
      session.print({ credits: views }, () => creditsTable(views, 'There are no credits.\n'));
    });

  credits
    .command('set')
    .description('Set the credits from a file, and apply them again.')
    .argument('<file>', 'YAML or JSON')
    .addHelpText('after', '\nExample:\n  bursar credits set credits.yaml')
    .action(async (file: string) => {
      const wanted = await readCreditsFile(file, session.context.parseYaml);
      const views = await (await session.client()).saveCredits(wanted);
      session.print({ credits: views }, () => creditsTable(views, 'All credits are removed.\n'));
    });
}

const creditsTable = (credits: readonly CreditView[], none = ''): string =>
  table(
    ['credit', 'kind', 'provider', 'team', 'first day', 'until', 'amount', 'taken', 'left', 'currency'],
    credits.map(({ id, kind, provider, team, from, until, amount, taken, left, currency }) => [
      id,
      kind,
      provider ?? 'any',
      team ?? 'any',
      from,
      until,
      amount,
      taken,
      left,
      currency,
    ]),
    none,
  );

const rulesTable = (rules: readonly PeakRule[], none = ''): string =>
  table(
    ['rule', 'from', 'to', 'days', 'zone', 'first day', 'until', 'factor'],
    rules.map((rule, at) => [
      at,
      rule.from ?? '00:00',
      rule.to ?? '24:00',
      rule.days?.join(' ') ?? 'every day',
      rule.zone,
      rule.fromDate,
      rule.untilDate,
      rule.factor,
    ]),
    none,
  );

function code(text: string): string {
  if (!/^[A-Z]{3}$/.test(text)) throw new InvalidArgumentError('It is not an ISO 4217 code, such as EUR.');
  return text;
}
