/**
 * A chart as data, before colours, sizes or formats are chosen. The same data also yields its text.
 *
 * It draws nothing and knows no report. The invariant: a missing value is null, and is neither drawn nor described as
 * zero.
 */
import { fixed } from './figures.js';
import { formatInstant } from './time.js';

export interface Axis {
  /** With its unit. */
  readonly title: string;
  /** share: a fraction, shown in percent. instant: epoch milliseconds, shown in UTC. */
  readonly unit: 'share' | 'number' | 'instant';
  readonly isLogarithmic?: boolean;
  /** A value beyond is drawn at the edge with its number, or cut off if it is part of a line. */
  readonly min?: number;
  readonly max?: number;
}

/** Names down the side, a value of each series for every name. */
export interface RowsPanel {
  readonly kind: 'rows';
  readonly title: string;
  readonly axis: Axis;
  readonly rows: readonly string[];
  /** Bars begin at 0 and so need an axis that has one. */
  readonly marks: 'bars' | 'dots';
  /** `values` are in the order of the rows. */
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  readonly reference: { readonly name: string; readonly at: number } | null;
}

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Where the series' name does not say it all. */
  readonly label?: string;
}

/** Points in a plane, joined to lines or not. */
export interface CurvesPanel {
  readonly kind: 'curves';
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly {
    readonly name: string;
    readonly marks: 'line' | 'points';
    readonly points: readonly PlotPoint[];
  }[];
}

export type Panel = RowsPanel | CurvesPanel;

export interface Plot {
  readonly title: string;
  readonly subtitle: string;
  /** From top to bottom. */
  readonly panels: readonly Panel[];
}

/**
 * The number of a panel's values in its text; the report contains all of them, as JSON or in the dashboard's tables.
 */
const MOST_LISTED = 24;

/** The picture in words, for those who do not see it. */
export function wordsOf({ title, subtitle, panels }: Plot): string {
  return [
    title,
    subtitle,
    ...panels.map((panel) => `${panel.title}: ${panel.kind === 'rows' ? rowsInWords(panel) : curvesInWords(panel)}`),
  ]
    .filter((part) => part !== '')
    .map((part) => `${part}.`)
    .join(' ');
}

function rowsInWords({ axis, rows, series, reference }: RowsPanel): string {
  const listed = Math.max(1, Math.floor(MOST_LISTED / Math.max(1, series.length)));
  const parts = rows
    .slice(0, listed)
    .map(
      (row, at) =>
        `${row}: ${series.map(({ name, values }) => `${name} ${valueText(values[at] ?? null, axis)}`).join(', ')}`,
    );
  const rest = rows.length > listed ? [`and ${rows.length - listed} more`] : [];
  return [
    axis.title,
    ...parts,
    ...rest,
    ...(reference === null ? [] : [`a line marks ${reference.name} at ${valueText(reference.at, axis)}`]),
  ].join('; ');
}

function curvesInWords({ x, y, series }: CurvesPanel): string {
  const ends = series.map(({ name, points }) => {
    const last = points.at(-1);
    return last === undefined
      ? `${name} has no point`
      : `${name} ${points.length > 1 ? 'ends' : 'lies'} at ${valueText(last.x, x)}, ${valueText(last.y, y)}`;
  });
  return [`${y.title} over ${x.title}`, ...ends].join('; ');
}

/** A value as people read it: percent of a share, the day of an instant, four digits of a number. */
export function valueText(value: number | null, { unit }: Pick<Axis, 'unit'>): string {
  if (value === null) return 'unknown';
  if (unit === 'instant') return formatInstant(value).slice(0, 10);
  if (unit === 'number') return compact(value);
  const percent = value * 100;
  const digits = Math.abs(percent) < 10 && Math.abs(percent) >= 0.05 ? 1 : 0;
  return `${fixed(percent, digits)} %`;
}

function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toPrecision(4).replace(/\.?0+$/, '')}M`;
  if (size >= 1e4) return `${(value / 1e3).toPrecision(4).replace(/\.?0+$/, '')}k`;
  return String(Number(value.toPrecision(4)));
}
