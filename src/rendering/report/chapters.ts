/**
 * The body of a printed report: what a CFO asks, in that order. What was spent and why, what was saved and how sure,
 * what comes, what to decide.
 *
 * A few rows of each; whole tables are in the document (document.ts), which follows as an appendix. No recommendation
 * stands among the steps whose interval reaches below zero.
 */
import type { Report, ReportAmount, ReportChance } from '../../core/report/report.js';
import { surelySaves } from '../../core/policy/recommendation.js';
import { count, exhausted, money, name, ratio, text, type Cell, type Section, type Table } from './cells.js';
import type { TextKey, Texts } from './texts.js';

const MOST_ROWS = 8;
const MOST_STEPS = 10;

export const chaptersOf = (report: Report, texts: Texts): Section[] => new ChapterWriter(report, texts).chapters();

class ChapterWriter {
  constructor(
    private readonly report: Report,
    private readonly texts: Texts,
  ) {}

  chapters(): Section[] {
    return [this.spent(), this.saved(), this.comes(), this.decide()];
  }

  private section(
    id: string,
    notes: readonly string[],
    tables: readonly (Table | null)[],
    charts: Section['charts'] = [],
  ): Section {
    const shown = tables.filter((table) => table !== null && table.rows.length > 0) as Table[];
    return { id, title: this.texts.text(`section.${id}` as TextKey), notes, charts, tables: shown };
  }

  /** The first rows; the title says where the others are. */
  private table(
    id: string,
    columns: readonly string[],
    heads: number,
    rows: readonly (readonly Cell[])[],
    most = MOST_ROWS,
  ): Table {
    const title = this.texts.text(`table.${id}` as TextKey);
    return {
      id,
      title: rows.length <= most ? title : this.texts.text('first-of', { title, most, count: rows.length }),
      columns: columns.map((column) => ({ id: column, title: this.texts.text(`column.${column}` as TextKey) })),
      heads,
      rows: rows.slice(0, most),
    };
  }

  private spent(): Section {
    const { spend, budgets, bridge, currency, teams, isOver } = this.report;
    const notes = [
      ...(bridge.known === null
        ? [this.texts.code('reason', bridge.reason)]
        : isOver
          ? []
          : [this.texts.text('note.change-open')]),
      ...(budgets.length === 0 ? [this.texts.text('note.no-budget')] : []),
    ];
    const causes = (bridge.known?.cells ?? [])
      .filter(({ before, after }) => before !== after)
      .map((cell) => [
        name(cell.provider),
        cell.category === 'Usage' ? name(cell.sku) : text(this.texts.code('category', cell.category)),
        cell.term === null ? text('') : text(this.texts.code('term', cell.term)),
        money(cell.before, currency),
        money(cell.after, currency),
      ]);
    return this.section(
      'spent',
      notes,
      [
        this.planned(),
        this.table('causes', ['provider', 'sku', 'term', 'before', 'after'], 3, causes),
        teams.length > 1
          ? this.table(
              'by-team',
              ['name', 'amount', 'before', 'share'],
              1,
              spend.byTeam.map((line) => [
                name(line.name),
                money(line.amount, currency),
                money(line.before, currency),
                ratio(line.share),
              ]),
            )
          : null,
      ],
      [
        ...(spend.byDay.length > 0 ? ['spend' as const] : []),
        ...(spend.byGpuModel.some(({ amount }) => amount !== null) ? ['gpu' as const] : []),
      ],
    );
  }

  /** The fullest budgets first. */
  private planned(): Table {
    const rows = this.report.budgets
      .toSorted((a, b) => (b.ratio ?? -1) - (a.ratio ?? -1))
      .map((one) => [
        name(one.budget),
        name(one.team),
        money(one.planned, one.currency),
        money(one.spent, one.currency),
        ratio(one.ratio),
      ]);
    return this.table('budgets', ['budget', 'team', 'planned', 'spent', 'ratio'], 2, rows);
  }

  private saved(): Section {
    const { verified, measured, estimated, unverifiable, actions } = this.report.savings;
    const { currency } = this.report;
    const known = (key: TextKey, amounts: readonly ReportAmount[]): Cell[][] =>
      (amounts.length === 0 ? [{ currency, amount: '0.00' }] : amounts).map((one) => [
        text(this.texts.text(key)),
        money(one.amount, one.currency),
        text(this.texts.text('no-interval')),
        text(this.texts.text('no-interval')),
      ]);
    const end = (of: readonly ReportAmount[] | undefined, named: string): string | null =>
      of?.find((one) => one.currency === named)?.amount ?? null;
    const proofs = [
      ...known('proof.verified', verified),
      ...known('proof.measured', measured),
      ...estimated.monthly.map((one) => [
        text(this.texts.text('proof.estimated')),
        money(one.amount, one.currency),
        money(end(estimated.monthlyLow, one.currency), one.currency),
        money(end(estimated.monthlyHigh, one.currency), one.currency),
      ]),
    ];
    return this.section(
      'saved',
      unverifiable.count === 0 ? [] : [this.texts.text('note.unverifiable', { count: unverifiable.count })],
      [
        this.table('proofs', ['proof', 'amount', 'low', 'high'], 1, proofs),
        this.table(
          'saved-actions',
          ['target', 'effect', 'state', 'measured', 'verified', 'estimated', 'low', 'high'],
          2,
          actions.map((one) => [
            name(one.target),
            text(this.texts.code('act', one.effect)),
            text(this.texts.code('state', one.reason === 'rolled-back' ? one.reason : one.state)),
            money(one.measured, one.currency),
            money(one.verified, one.currency),
            money(one.estimatedMonthlySavings, one.currency),
            money(one.estimatedMonthlySavingsLow ?? null, one.currency),
            money(one.estimatedMonthlySavingsHigh ?? null, one.currency),
          ]),
        ),
      ],
    );
  }

  private comes(): Section {
    const { forecast, budgets, currency } = this.report;
    const { known } = forecast;
    const rows = budgets.flatMap((one) =>
      one.forecast === null
        ? []
        : [
            [
              name(one.budget),
              money(one.planned, one.currency),
              money(one.forecast.mean, one.currency),
              money(one.forecast.low, one.currency),
              money(one.forecast.high, one.currency),
              exhausted(one, this.texts),
            ],
          ],
    );
    return this.section(
      'comes',
      [known === null ? this.texts.code('reason', forecast.reason ?? '') : this.texts.text('note.forecast')],
      [
        known === null
          ? null
          : this.table('next-month', ['period', 'forecast', 'low', 'high', 'history', 'method'], 1, [
              [
                { kind: 'day', day: known.from },
                money(known.mean, currency),
                money(known.low, currency),
                money(known.high, currency),
                count(known.historyDays),
                text(this.texts.code('method', known.method)),
              ],
            ]),
        this.table('period-ends', ['budget', 'planned', 'forecast', 'low', 'high', 'exhaustion'], 1, rows),
      ],
    );
  }

  private decide(): Section {
    const { leftOnTable, nextSteps, decisions } = this.report;
    const open = leftOnTable.chances.filter((one) => one.state === 'open' && surelySaves(one));
    const steps: readonly ReportChance[] = open.length > 0 ? open : nextSteps.filter(surelySaves);
    const others = this.texts.others(decisions?.unsure ?? 0, decisions?.unknown ?? 0);
    return this.section(
      'decide',
      [
        this.texts.text(steps.length === 0 ? 'note.no-steps' : 'note.steps'),
        ...(others.length === 0 ? [] : [[this.texts.text('note.not-steps'), ...others].join(' ')]),
      ],
      [
        this.table(
          'steps',
          ['title', 'team', 'low', 'estimated', 'high', 'effort'],
          2,
          steps.map((one) => [
            name(this.texts.said(one.title)),
            name(one.team),
            money(one.estimatedMonthlySavingsLow, one.currency),
            money(one.estimatedMonthlySavings, one.currency),
            money(one.estimatedMonthlySavingsHigh, one.currency),
            text(this.texts.code('effort', one.effort)),
          ]),
          MOST_STEPS,
        ),
      ],
    );
  }
}
