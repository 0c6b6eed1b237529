/**
 * A report as a document: sections of tables whose cells are typed values. Every format is made from this, so that a
 * figure that one shows is in all.
 *
 * Chooses what is shown and in what order; never formats a number, never adds one. A value that is not known stays a
 * null with its reason.
 */
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import { EFFECTS, type EffectName } from '../../core/report/bridge.js';
import type {
  Report,
  ReportAmount,
  ReportBridge,
  ReportChance,
  ReportRefusal,
  ReportSaving,
  SpendLine,
  Stated,
} from '../../core/report/report.js';
import {
  NONE,
  count,
  exhausted,
  hours,
  instant,
  money,
  name,
  ratio,
  text,
  type Cell,
  type Section,
  type Table,
} from './cells.js';
import type { TextKey, Texts } from './texts.js';

/** What the total lacks, beside it; the tables of the spend say more. */
const lackingFigures = ({ unconverted, setAside = [], unpriced = [] }: Report['spend']): [string, Cell][] => [
  ...unconverted.map((one): [string, Cell] => ['unconverted', money(one.amount, one.currency)]),
  ...setAside.map((one): [string, Cell] => ['set-aside', money(one.amount, one.currency)]),
  ...(unpriced.length === 0 ? [] : [['unpriced-usage', count(unpriced.length)] satisfies [string, Cell]]),
];

/** A name, a value, and the ends of its interval where it has one. */
type Figure = readonly [key: string, value: Cell, ends?: readonly [low: Cell, high: Cell]];

interface Estimates {
  readonly monthly: readonly ReportAmount[];
  readonly monthlyLow?: readonly ReportAmount[];
  readonly monthlyHigh?: readonly ReportAmount[];
}

const amountIn = (amounts: readonly ReportAmount[], named: string): string | null =>
  amounts.find(({ currency }) => currency === named)?.amount ?? null;

export function documentOf(report: Report, texts: Texts): Section[] {
  return new Writer(report, texts).sections();
}

class Writer {
  constructor(
    private readonly report: Report,
    private readonly texts: Texts,
  ) {}

  sections(): Section[] {
    return [
      this.summary(),
      this.budgets(),
      this.spend(),
      this.change(),
      this.variance(),
      this.utilisation(),
      this.savings(),
      this.refused(),
      this.optimum(),
      this.forecast(),
      this.steps(),
      this.left(),
    ];
  }

  private section(id: string, tables: readonly Table[], over: Partial<Section> = {}): Section {
    const shown = tables.filter(({ rows }) => rows.length > 0);
    const nothing = shown.length === 0 && (over.notes ?? []).length === 0 ? [this.texts.text('nothing')] : [];
    return {
      id,
      title: this.texts.text(`section.${id}` as TextKey),
      notes: [...(over.notes ?? []), ...nothing],
      charts: over.charts ?? [],
      tables: shown,
    };
  }

  private table(id: string, columns: readonly string[], heads: number, rows: readonly (readonly Cell[])[]): Table {
    return {
      id,
      title: this.texts.text(`table.${id}` as TextKey),
      columns: columns.map((column) => ({ id: column, title: this.texts.text(`column.${column}` as TextKey) })),
      heads,
      rows,
    };
  }

  /** A table of figures, one a row; if one of them has an interval, with its ends. */
  private figures(id: string, rows: readonly Figure[]): Table {
    const hasEnds = rows.some((row) => row.length > 2);
    return this.table(
      id,
      ['figure', 'value', ...(hasEnds ? ['low', 'high'] : [])],
      1,
      rows.map(([key, cell, ends = [NONE, NONE]]) => [
        text(this.texts.text(`figure.${key}` as TextKey)),
        cell,
        ...(hasEnds ? ends : []),
      ]),
    );
  }

  private unless<T>(
    stated: Stated<T>,
    known: (value: T) => readonly Table[],
    id: string,
    over: Partial<Section> = {},
  ): Section {
    return stated.reason !== null
      ? this.section(id, [], { notes: [this.texts.code('reason', stated.reason)] })
      : this.section(id, known(stated.known), over);
  }

  /** One figure per currency; the report's own currency with nothing in it where there is none. */
  private perCurrency(key: string, amounts: readonly ReportAmount[], none: string | null): Figure[] {
    return amounts.length === 0
      ? [[key, money(none, this.report.currency)]]
      : amounts.map(({ currency, amount }) => [key, money(amount, currency)]);
  }

  /** The same with the ends of their intervals. */
  private estimates(key: string, { monthly, monthlyLow = [], monthlyHigh = [] }: Estimates, of: number): Figure[] {
    if (monthly.length === 0) return this.perCurrency(key, [], of === 0 ? '0.00' : null);
    return monthly.map(({ currency, amount }) => [
      key,
      money(amount, currency),
      [money(amountIn(monthlyLow, currency), currency), money(amountIn(monthlyHigh, currency), currency)],
    ]);
  }

  private summary(): Section {
    const { spend, bridge, savings, leftOnTable, forecast, currency } = this.report;
    const open = leftOnTable.byState.find(({ state }) => state === 'open');
    return this.section('summary', [
      this.figures('summary', [
        ['total', money(spend.total, currency)],
        ['before', money(spend.before, currency)],
        ['change', money(bridge.known?.change ?? null, currency)],
        ['credits', money(spend.credits, currency)],
        ['gpu-hours', hours(spend.gpuHours)],
        ['unpriced', hours(spend.unpricedGpuHours)],
        ...lackingFigures(spend),
        ...this.perCurrency('verified', savings.verified, '0.00'),
        ...this.perCurrency('measured', savings.measured, '0.00'),
        ...this.estimates('left', open ?? { monthly: [] }, open?.count ?? 0),
        [
          'forecast',
          money(forecast.known?.mean ?? null, currency),
          [money(forecast.known?.low ?? null, currency), money(forecast.known?.high ?? null, currency)],
        ],
      ]),
    ]);
  }

  private budgets(): Section {
    const rows = this.report.budgets.map((one) => [
      name(one.budget),
      name(one.team),
      one.period === undefined ? instant(one.periodStart) : text(one.period),
      money(one.planned, one.currency),
      money(one.spent, one.currency),
      money(one.committed, one.currency),
      ratio(one.ratio),
      money(one.forecast?.mean ?? null, one.currency),
      money(one.forecast?.low ?? null, one.currency),
      money(one.forecast?.high ?? null, one.currency),
      exhausted(one, this.texts),
      hours(one.unpricedGpuHours),
    ]);
    const columns = 'budget team period planned spent committed ratio forecast low high exhaustion unpriced'.split(' ');
    const lacking = this.report.budgets.flatMap(({ budget, team, lacking: all = [] }) =>
      all.map((one) => [name(budget), name(team), name(one.currency), money(one.amount, one.currency)]),
    );
    const notIncluded = this.table('budgets-lacking', ['budget', 'team', 'currency', 'lacking'], 3, lacking);
    return this.section('budgets', [this.table('budgets', columns, 2, rows), notIncluded], {
      notes: rows.length === 0 ? [this.texts.text('note.no-budget')] : [],
    });
  }

  private lines(
    id: string,
    lines: readonly SpendLine[],
    nameOf: (line: SpendLine) => Cell = (line) => name(line.name),
  ): Table {
    const { currency } = this.report;
    return this.table(
      id,
      ['name', 'amount', 'before', 'share', 'gpu-hours', 'unpriced'],
      1,
      lines.map((line) => [
        nameOf(line),
        money(line.amount, currency),
        money(line.before, currency),
        ratio(line.share),
        hours(line.gpuHours),
        hours(line.unpricedGpuHours),
      ]),
    );
  }

  private spend(): Section {
    const { spend, currency, teams } = this.report;
    return this.section(
      'spend',
      [
        this.lines('by-provider', spend.byProvider),
        this.lines('by-gpu', spend.byGpuModel),
        this.lines('by-term', spend.byTerm, ({ name: term }) =>
          term === null ? name(null) : text(this.texts.code('term', term)),
        ),
        ...(teams.length > 1 ? [this.lines('by-team', spend.byTeam)] : []),
        this.table(
          'by-day',
          ['day', 'amount'],
          1,
          spend.byDay.map(({ day, amount }) => [{ kind: 'day', day }, money(amount, currency)]),
        ),
        this.table(
          'unconverted',
          ['currency', 'amount'],
          1,
          spend.unconverted.map((one) => [name(one.currency), money(one.amount, one.currency)]),
        ),
        this.table(
          'set-aside',
          ['currency', 'amount'],
          1,
          (spend.setAside ?? []).map((one) => [name(one.currency), money(one.amount, one.currency)]),
        ),
        this.table(
          'unpriced',
          ['provider', 'sku', 'used'],
          2,
          (spend.unpriced ?? []).map((one) => [name(one.provider), name(one.sku), this.used(one)]),
        ),
      ],
      {
        charts: [
          ...(spend.byDay.length > 0 ? ['spend' as const] : []),
          ...(spend.byGpuModel.some(({ amount }) => amount !== null) ? ['gpu' as const] : []),
        ],
      },
    );
  }

  /** Of usage without a price how much it is, in its own unit. */
  private used({ component, quantity, hours: inHours }: UnpricedUsage): Cell {
    const unit = quantity === null ? 'hours' : component === 'network' ? 'gib' : 'gib-hours';
    return text(
      this.texts.text(`used.${unit}`, { n: quantity === null ? String(inHours) : Number(quantity).toFixed(1) }),
    );
  }

  private change(): Section {
    const { bridge, currency, isOver } = this.report;
    const steps = (known: ReportBridge): (readonly Cell[])[] => [
      [text(this.texts.text('effect.before')), money(known.before, currency)],
      ...EFFECTS.map((effect) => [text(this.texts.text(`effect.${effect}`)), money(known.effects[effect], currency)]),
      [text(this.texts.text('effect.after')), money(known.after, currency)],
    ];
    const effects = (of: Readonly<Record<EffectName, string>>): Cell[] =>
      EFFECTS.map((effect) => money(of[effect], currency));
    return this.unless(
      bridge,
      (known) => [
        this.table('bridge', ['name', 'amount'], 1, steps(known)),
        {
          ...this.table('bridge-cells', ['provider', 'sku', 'gpu', 'term', 'before', 'after'], 4, []),
          columns: [
            ...['provider', 'sku', 'gpu', 'term', 'before', 'after'].map((id) => ({
              id,
              title: this.texts.text(`column.${id}` as TextKey),
            })),
            ...EFFECTS.map((effect) => ({ id: effect, title: this.texts.text(`effect.${effect}`) })),
          ],
          rows: [
            ...known.cells.map((cell) => [
              name(cell.provider),
              name(cell.sku),
              name(cell.gpuModel),
              this.termOf(cell),
              money(cell.before, currency),
              money(cell.after, currency),
              ...effects(cell.effects),
            ]),
            ...(known.rest === null
              ? []
              : [
                  [
                    text(this.texts.text('others', { count: known.rest.cells })),
                    text(''),
                    text(''),
                    text(''),
                    money(known.rest.before, currency),
                    money(known.rest.after, currency),
                    ...effects(known.rest.effects),
                  ],
                ]),
          ],
        },
      ],
      'change',
      {
        charts: ['bridge'],
        notes: [...(isOver ? [] : [this.texts.text('note.change-open')]), this.texts.text('note.change')],
      },
    );
  }

  private termOf({ term, category }: ReportBridge['cells'][number]): Cell {
    if (category !== 'Usage') return text(this.texts.code('category', category));
    return term === null ? name(null) : text(this.texts.code('term', term));
  }

  /** An estimate of a month and the ends of its interval. */
  private estimate({
    estimatedMonthlySavings,
    estimatedMonthlySavingsLow = null,
    estimatedMonthlySavingsHigh = null,
    currency,
  }: ReportSaving | ReportRefusal | ReportChance): Cell[] {
    return [estimatedMonthlySavings, estimatedMonthlySavingsLow, estimatedMonthlySavingsHigh].map((amount) =>
      money(amount, currency),
    );
  }

  private savings(): Section {
    const { savings, teams } = this.report;
    const { estimated, unverifiable, actions } = savings;
    const totals: Figure[] = [
      ...this.perCurrency('verified', savings.verified, '0.00'),
      ...this.perCurrency('measured', savings.measured, '0.00'),
      ...this.estimates('estimated', estimated, estimated.count),
      ['unverifiable', count(unverifiable.count)],
    ];
    return this.section(
      'savings',
      [
        this.figures('savings-totals', totals),
        this.table(
          'savings-actions',
          [
            'action',
            ...(teams.length > 1 ? ['team'] : []),
            'target',
            'effect',
            'state',
            'counterfactual',
            'counterfactual-cost',
            'actual-cost',
            'measured',
            'verified',
            'to-date',
            'estimated',
            'low',
            'high',
            'why',
          ],
          teams.length > 1 ? 3 : 2,
          actions.map((one) => [
            name(one.action),
            ...(teams.length > 1 ? [name(one.team)] : []),
            name(one.target),
            text(this.texts.code('act', one.effect)),
            text(this.texts.code('state', one.state)),
            text(this.texts.code('world', one.counterfactual)),
            money(one.counterfactualCost, one.currency),
            money(one.actualCost, one.currency),
            money(one.measured, one.currency),
            money(one.verified, one.currency),
            money(one.savedToDate, one.currency),
            ...this.estimate(one),
            one.reason === null ? text('') : name(one.reason),
          ]),
        ),
      ],
      { notes: [this.texts.text('note.savings')] },
    );
  }

  private refused(): Section {
    const { refused } = this.report;
    return this.section(
      'refused',
      [
        this.figures('refused-reasons', [
          ['refused', count(refused.total)],
          [
            'launches',
            refused.launches.known === null
              ? text(this.texts.code('reason', refused.launches.reason))
              : count(refused.launches.known),
          ],
        ]),
        this.table(
          'refused-actions',
          ['action', 'target', 'effect', 'state', 'at', 'why', 'estimated', 'low', 'high'],
          2,
          refused.actions.map((one) => [
            name(one.action),
            name(one.target),
            text(this.texts.code('act', one.effect)),
            text(this.texts.code('state', one.state)),
            instant(one.at),
            name(one.reasons.map(({ message }) => this.texts.said(message)).join('; ')),
            ...this.estimate(one),
          ]),
        ),
      ],
      { notes: [this.texts.text('note.refused')] },
    );
  }

  private chances(id: string, all: readonly ReportChance[]): Table {
    return this.table(
      id,
      ['title', 'team', 'state', 'estimated', 'low', 'high', 'costs-now', 'effort', 'why'],
      2,
      all.map((one) => [
        name(this.texts.said(one.title)),
        name(one.team),
        text(this.texts.code('state', one.state)),
        ...this.estimate(one),
        money(one.estimatedMonthlyCost ?? null, one.currency),
        text(this.texts.code('effort', one.effort)),
        one.obstacle === null ? text('') : name(this.texts.said(one.obstacle)),
      ]),
    );
  }

  private left(): Section {
    const { leftOnTable, currency } = this.report;
    const states = leftOnTable.byState.flatMap(({ state, count: all, unknown, monthly, monthlyLow, monthlyHigh }) =>
      (monthly.length === 0 ? [{ currency, amount: all === 0 ? '0.00' : null }] : monthly).map((one) => [
        text(this.texts.code('state', state)),
        count(all),
        money(one.amount, one.currency),
        ...[monthlyLow, monthlyHigh].map((ends) =>
          money(all === 0 ? '0.00' : amountIn(ends ?? [], one.currency), one.currency),
        ),
        count(unknown),
      ]),
    );
    return this.section(
      'left',
      [
        this.table('left-states', ['state', 'count', 'estimated', 'low', 'high', 'unknown'], 1, states),
        this.chances('left-chances', leftOnTable.chances),
      ],
      { notes: [this.texts.text('note.left')] },
    );
  }

  private optimum(): Section {
    const { currency, optimum } = this.report;
    return this.unless(
      optimum,
      ({ share, saved, possible, places, leftOutGpuHours }) => [
        this.figures('optimum', [
          ['optimum', ratio(share)],
          ['saved', money(saved, currency)],
          ['possible', money(possible, currency)],
          ['left-out', hours(leftOutGpuHours)],
        ]),
        this.table(
          'optimum-places',
          ['provider', 'region', 'sku', 'gpu', 'term', 'gpu-hours', 'on-demand-cost', 'bought', 'optimum', 'captured'],
          4,
          places.map((one) => [
            name(one.provider),
            name(one.region),
            name(one.sku),
            name(one.gpuModel),
            text(this.texts.code('term', one.term)),
            hours(one.gpuHours),
            money(one.onDemandCost, currency),
            money(one.actualCost, currency),
            money(one.optimumCost, currency),
            ratio(one.share),
          ]),
        ),
      ],
      'optimum',
      { notes: [this.texts.text('note.optimum')] },
    );
  }

  private utilisation(): Section {
    const { currency, utilisation } = this.report;
    const threshold = utilisation.known?.threshold ?? 0;
    return this.unless(
      utilisation,
      ({ coverage, lowGpuHours, lowCost, lines }) => [
        this.table(
          'utilisation',
          ['gpu', 'sampled', 'measured', 'low-hours', 'mean', 'coverage', 'low-cost'],
          1,
          lines.map((one) => [
            name(one.gpuModel),
            hours(one.sampledGpuHours),
            hours(one.measuredGpuHours),
            hours(one.lowGpuHours),
            ratio(one.meanUtilisation),
            ratio(one.coverage),
            money(one.lowCost, currency),
          ]),
        ),
        this.figures('utilisation-totals', [
          ['coverage', ratio(coverage)],
          ['low-hours', hours(lowGpuHours)],
          ['low-cost', money(lowCost, currency)],
        ]),
      ],
      'utilisation',
      { notes: [this.texts.text('note.utilisation', { threshold: Math.round(threshold * 100) })] },
    );
  }

  private variance(): Section {
    return this.unless(
      this.report.billVariance,
      (lines) => [
        this.table(
          'variance',
          ['provider', 'accrued', 'billed', 'difference', 'ratio', 'findings'],
          1,
          lines.map((one) => [
            name(one.provider),
            money(one.accrued, one.currency),
            money(one.billed, one.currency),
            money(one.amount, one.currency),
            ratio(one.ratio),
            count(one.openFindings),
          ]),
        ),
      ],
      'variance',
    );
  }

  private forecast(): Section {
    const { currency, forecast } = this.report;
    return this.unless(
      forecast,
      ({ from, mean, low, high, method, historyDays }) => [
        this.table('forecast', ['figure', 'value'], 1, [
          [text(this.texts.text('column.period')), { kind: 'day', day: from }],
          [text(this.texts.text('figure.mean')), money(mean, currency)],
          [text(this.texts.text('figure.low')), money(low, currency)],
          [text(this.texts.text('figure.high')), money(high, currency)],
          ...this.soFarRow(),
          [text(this.texts.text('figure.history')), count(historyDays)],
          [text(this.texts.text('figure.method')), text(this.texts.code('method', method))],
        ]),
      ],
      'forecast',
      { notes: [this.texts.text('note.forecast')] },
    );
  }

  private soFarRow(): Cell[][] {
    const { nextMonthSoFar: soFar = null, currency } = this.report;
    return soFar === null
      ? []
      : [[text(this.texts.text('figure.so-far', { days: soFar.days })), money(soFar.total, currency)]];
  }

  private steps(): Section {
    return this.section('steps', [this.chances('steps', this.report.nextSteps)]);
  }
}
