/**
 * The pictures of a report as ECharts options. Every figure in them is in a table too; geometry alone is floating
 * point.
 *
 * Colours are Okabe and Ito's (rendering/chart.ts). Names in a picture are cut or broken, never written over others.
 */
import type { EChartsOption } from 'echarts';
import { EFFECTS } from '../../core/report/bridge.js';
import type { Report } from '../../core/report/report.js';
import { DAY_MS, formatDay, monthOfLabel } from '../../core/time.js';
import { OKABE_ITO, renderSvg, shortened } from '../chart.js';
import { CHARTS, type ChartName } from './cells.js';
import { printable, type Formatter } from './format.js';
import type { Texts } from './texts.js';

const SIZE = { width: 760, height: 300 };
const FONT_SIZE = 12;
const TITLE_SIZE = 16;
const TITLE_PIXELS = 48;
/** Of the days' labels: each is there. */
const DAY_SIZE = 10;
const LABEL_PIXELS = 150;
const MOST_BARS = 12;

/** For geometry only. */
const number = (amount: string | null): number => (amount === null ? 0 : Number(amount));

/** Every day of the month, also those of which nothing is recorded. */
function daysOf({ month }: Report): string[] {
  const { start, end } = monthOfLabel(month, 'UTC') ?? { start: 0, end: 0 };
  return Array.from({ length: (end - start) / DAY_MS }, (_, at) => formatDay(start / DAY_MS + at));
}

type Made = Pick<EChartsOption, 'series' | 'xAxis' | 'yAxis' | 'legend' | 'grid' | 'title'> & {
  readonly height?: number;
};

/** A bar of a waterfall. */
interface Step {
  readonly label: string;
  /** Where it begins, of either end the lower. */
  readonly low: number;
  readonly size: number;
  readonly colour: string;
  readonly said: string;
}

export class Charts {
  constructor(
    private readonly report: Report,
    private readonly texts: Texts,
    private readonly format: Formatter,
  ) {}

  /** SVG text; null where there is nothing to draw. @param height at most so high, in pixels of a width of 760 */
  svg(name: ChartName, height = Number.POSITIVE_INFINITY): string | null {
    const made = this.made(name);
    if (made === null) return null;
    return this.drawn(name, { ...made, height: Math.floor(Math.min(made.height ?? SIZE.height, height)) });
  }

  /** The picture for messages: the first that there is, under a title, since nothing stands around it there. */
  main(): string | null {
    for (const name of CHARTS) {
      const made = this.made(name);
      if (made !== null) return this.drawn(name, this.titled(name, made));
    }
    return null;
  }

  private drawn(name: ChartName, { height = SIZE.height, ...option }: Made): string {
    const title = this.title(name);
    return renderSvg(
      { textStyle: { fontSize: FONT_SIZE }, ...option },
      { ...SIZE, height, title, description: this.words(name) },
    );
  }

  /** What a picture shows, for those who do not see it. */
  words(name: ChartName): string {
    const { known } = this.report.bridge;
    const steps =
      name !== 'bridge' || known === null
        ? []
        : [
            [this.texts.text('effect.before'), this.money(known.before)],
            ...EFFECTS.filter((effect) => number(known.effects[effect]) !== 0).map((effect) => [
              this.texts.text(`effect.${effect}`),
              this.format.signed(known.effects[effect], this.report.currency),
            ]),
            [this.texts.text('effect.after'), this.money(known.after)],
          ];
    const said = steps.map(([figure = '', value = '']) => this.texts.text('figure-of', { figure, value }));
    return [`${this.title(name)}.`, ...said.map((one) => `${one}.`), this.texts.text('chart.table')].join(' ');
  }

  private money(amount: string): string {
    return this.format.money(amount, this.report.currency);
  }

  /** The same, lower, with the team, the month and what it shows above it. */
  private titled(name: ChartName, { height = SIZE.height, legend, grid, ...made }: Made): Made {
    const lower = <T>(part: T): T => ({ ...part, top: Number((part as { top?: number }).top ?? 0) + TITLE_PIXELS });
    const { teamName, month } = this.report;
    const line = this.texts.text('for', { team: printable(teamName), month: this.format.month(month) });
    return {
      ...made,
      height: height + TITLE_PIXELS,
      ...(legend === undefined ? {} : { legend: lower(legend) }),
      ...(grid === undefined ? {} : { grid: lower(grid) }),
      title: {
        left: 16,
        top: 8,
        itemGap: 4,
        text: shortened(line, SIZE.width - 32, TITLE_SIZE),
        subtext: this.title(name),
        textStyle: { fontSize: TITLE_SIZE },
        subtextStyle: { fontSize: FONT_SIZE },
      },
    };
  }

  title(name: ChartName): string {
    return this.texts.text(name === 'spend' && this.planned() === null ? 'chart.spend-alone' : `chart.${name}`);
  }

  /** Of the team's own budget; null: it has none in the report's currency. */
  private planned(): string | null {
    const { budgets, currency, team } = this.report;
    const own = budgets.find((one) => one.team === team && one.planned !== null && one.currency === currency);
    return own?.planned ?? null;
  }

  private made(name: ChartName): Made | null {
    switch (name) {
      case 'spend':
        return this.spend();
      case 'bridge':
        return this.bridge();
      case 'gpu':
        return this.gpu();
    }
  }

  private axis(): { type: 'value'; axisLabel: { formatter: (value: number) => string }; splitNumber: number } {
    const short = this.short();
    return { type: 'value', axisLabel: { formatter: (value) => short.format(value) }, splitNumber: 4 };
  }

  private short(signDisplay: 'negative' | 'exceptZero' = 'negative'): Intl.NumberFormat {
    return new Intl.NumberFormat(this.format.reader.locale, {
      style: 'currency',
      currency: this.report.currency,
      notation: 'compact',
      maximumSignificantDigits: 3,
      signDisplay,
    });
  }

  private spend(): Made | null {
    const { spend } = this.report;
    if (spend.byDay.length === 0) return null;
    const days = daysOf(this.report);
    const known = new Map(spend.byDay.map(({ day, amount }) => [day, number(amount)]));
    const last = spend.byDay.at(-1)?.day ?? '';
    let sum = 0;
    // A day of which nothing is recorded has no bar; after the last that is, nothing is known yet.
    const cumulative = days.map((day) => (day > last ? null : (sum += known.get(day) ?? 0)));
    const planned = this.planned();
    const names = [
      this.texts.text('chart.cumulative'),
      this.texts.text('chart.daily'),
      ...(planned === null ? [] : [this.texts.text('chart.planned')]),
    ];
    return {
      grid: { left: 80, right: 24, top: 40, bottom: 40 },
      legend: { top: 4, data: names },
      xAxis: {
        type: 'category',
        data: days.map((day) => String(Number(day.slice(8)))),
        axisLabel: { interval: 0, fontSize: DAY_SIZE },
      },
      yAxis: this.axis(),
      series: [
        {
          type: 'line',
          name: names[0] ?? '',
          data: cumulative,
          symbol: 'none',
          lineStyle: { width: 3 },
          itemStyle: { color: OKABE_ITO.blue },
        },
        {
          type: 'bar',
          name: names[1] ?? '',
          data: days.map((day) => known.get(day) ?? null),
          itemStyle: { color: OKABE_ITO.skyBlue },
        },
        ...(planned === null
          ? []
          : [
              {
                type: 'line' as const,
                name: names[2] ?? '',
                data: days.map(() => number(planned)),
                symbol: 'none',
                lineStyle: { type: 'dashed' as const },
                itemStyle: { color: OKABE_ITO.orange },
              },
            ]),
      ],
    };
  }

  /** A waterfall: an invisible bar carries each step, below zero too. */
  private bridge(): Made | null {
    const steps = this.steps();
    if (steps === null) return null;
    return {
      grid: { left: 80, right: 24, top: 24, bottom: 64 },
      xAxis: {
        type: 'category',
        data: steps.map(({ label }) => label),
        axisLabel: { interval: 0, width: (SIZE.width - 104) / steps.length - 6, overflow: 'break' },
      },
      yAxis: this.axis(),
      series: [
        {
          type: 'bar',
          stack: 'step',
          stackStrategy: 'all',
          silent: true,
          itemStyle: { color: 'transparent' },
          data: steps.map(({ low }) => low),
        },
        {
          type: 'bar',
          stack: 'step',
          stackStrategy: 'all',
          label: {
            show: true,
            position: 'top',
            color: '#1b1f24',
            formatter: ({ dataIndex }) => steps[dataIndex]?.said ?? '',
          },
          data: steps.map(({ size, colour }) => ({ value: size, itemStyle: { color: colour } })),
        },
      ],
    };
  }

  /** From the month before, by each part that is not zero, to this month. */
  private steps(): Step[] | null {
    const { known } = this.report.bridge;
    if (known === null) return null;
    const whole = (name: 'before' | 'after'): Step => {
      const value = number(known[name]);
      return {
        label: this.texts.text(`effect.${name}`),
        low: Math.min(0, value),
        size: Math.abs(value),
        colour: OKABE_ITO.blue,
        said: this.short().format(value),
      };
    };
    let level = number(known.before);
    const parts = EFFECTS.flatMap((effect): Step[] => {
      const change = number(known.effects[effect]);
      if (change === 0) return [];
      const from = level;
      level += change;
      return [
        {
          label: this.texts.text(`effect.${effect}`),
          low: Math.min(from, level),
          size: Math.abs(change),
          colour: change > 0 ? OKABE_ITO.orange : OKABE_ITO.bluishGreen,
          said: this.short('exceptZero').format(change),
        },
      ];
    });
    return [whole('before'), ...parts, whole('after')];
  }

  private gpu(): Made | null {
    const { spend } = this.report;
    const lines = spend.byGpuModel.filter(({ amount }) => amount !== null && number(amount) > 0).slice(0, MOST_BARS);
    if (lines.length === 0) return null;
    const label = (name: string | null): string =>
      shortened(name === null ? this.texts.text('unknown') : printable(name), LABEL_PIXELS, FONT_SIZE);
    return {
      height: 70 + 28 * lines.length,
      grid: { left: LABEL_PIXELS + 20, right: 40, top: 16, bottom: 40 },
      xAxis: this.axis(),
      yAxis: {
        type: 'category',
        inverse: true,
        data: lines.map(({ name }) => label(name)),
        axisLabel: { interval: 0 },
      },
      series: [{ type: 'bar', data: lines.map(({ amount }) => number(amount)), itemStyle: { color: OKABE_ITO.blue } }],
    };
  }
}
