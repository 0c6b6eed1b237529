/**
 * What uPlot draws of a picture: data, colours, axes and marks. Uses floats, which is good enough for a pixel; does not
 * use the page.
 */
import type uPlot from 'uplot';
import { money, shortDay } from './format.js';
import { standAlone } from './picture-points.js';
import type { TipPlace } from './picture-tip.js';

export interface Series {
  readonly name: string;
  /** Decimal strings, one per day; null: unknown. */
  readonly values: readonly (string | null)[];
  /** Drawn in the colour of the text, as the limit for the others. */
  readonly isLimit?: boolean;
  /** Not stacked on the others: a dashed line beside them. */
  readonly isApart?: boolean;
  /** An end of the interval around the series before it: the area between the two ends is tinted. */
  readonly edge?: 'low' | 'high';
}

export interface Drawn {
  /** ISO dates. */
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly currency: string;
  readonly kind: 'bars' | 'lines';
  /** By ISO date: what is unusual about the day. */
  readonly marks?: ReadonlyMap<string, string>;
}

/**
 * Okabe and Ito, "Color Universal Design" (2008), without black, which is the limit's; yellow is last, since it is
 * faint on white.
 */
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#999999', '#f0e442'] as const;
const colourOf = (at: number): string => COLOURS[at % COLOURS.length] ?? '#999999';
/** Both ends of an interval have the colour of their series. Null: that of the text. */
export function colourAt(series: readonly Series[], at: number): string | null {
  const one = series[at];
  return one === undefined || one.isLimit === true || one.isApart === true
    ? null
    : colourOf(series.slice(0, at + 1).filter(({ edge }) => edge === undefined).length - 1);
}
export const HEIGHT = 240;
/** The tint's opacity: two hexadecimal digits after the colour. */
const TINT = '26';
/** Room for the amounts on the axis, pixels: their length differs between currencies and languages. */
const AXIS_EDGE = 18;
const AXIS_LETTER = 8;

export const numberOf = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : Number(text);

/**
 * Stacked bars: each series is drawn as the sum of those up to it, the highest first, so that the lower ones lie in
 * front.
 */
function stacked(series: readonly Series[], length: number): (number | null)[][] {
  const sums = new Array<number>(length).fill(0);
  return series.map(({ values }) => sums.map((_, at) => (sums[at] = (sums[at] ?? 0) + (numberOf(values[at]) ?? 0))));
}

export function dataOf({ days, series, kind }: Drawn): uPlot.AlignedData {
  const times = days.map((one) => Date.parse(one) / 1000);
  const plain = ({ values }: Series): (number | null)[] => days.map((_, at) => numberOf(values[at]));
  const [parts, apart] = [series.filter((one) => one.isApart !== true), series.filter((one) => one.isApart === true)];
  return [
    times,
    ...(kind === 'bars' ? [...stacked(parts, days.length).reverse(), ...apart.map(plain)] : series.map(plain)),
  ];
}

const DAY_SECONDS = 86_400;
/** Between two days on the axis: whole days; 30 and 365 are months and years. */
const STEPS = [1, 2, 3, 5, 7, 10, 15, 30, 60, 90, 180, 365, 730, 3650].map((days) => days * DAY_SECONDS);

/** The areas between the ends of intervals; the first series of the drawing are the days. */
function bandsOf(series: readonly Series[]): uPlot.Band[] {
  const [bottom, top] = [
    series.findIndex(({ edge }) => edge === 'low'),
    series.findIndex(({ edge }) => edge === 'high'),
  ];
  const colour = colourAt(series, bottom);
  return colour === null || top < 0 ? [] : [{ series: [top + 1, bottom + 1], fill: `${colour}${TINT}` }];
}

export interface Pen {
  readonly width: number;
  readonly bars: uPlot.Series.PathBuilder | undefined;
  readonly text: string;
  readonly line: string;
  readonly mark: string;
  utc(seconds: number): Date;
  /** Shows the place of the pointer. */
  show(place: TipPlace | null): void;
}

/** A small triangle over each unusual day. */
function drawMarks(plot: uPlot, { days, marks }: Drawn, colour: string): void {
  if (marks === undefined) return;
  const { ctx, bbox } = plot;
  const size = 6 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colour;
  for (const iso of days.filter((one) => marks.has(one))) {
    const x = plot.valToPos(Date.parse(iso) / 1000, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top);
    ctx.lineTo(x + size, bbox.top);
    ctx.lineTo(x, bbox.top + 1.5 * size);
    ctx.fill();
  }
  ctx.restore();
}

export const placeIn = (plot: uPlot, at: number): TipPlace => ({
  at,
  left: plot.valToPos(plot.data[0][at] ?? 0, 'x') + plot.bbox.left / devicePixelRatio,
});

/** All days, from the first to the last; a bar stands on its day, and so does a single line. */
function endsOf({ days, kind }: Drawn): [number, number] {
  const [first = 0, last = 0] = [days[0], days.at(-1)].map((one) => Date.parse(one ?? '') / 1000 || 0);
  const half = kind === 'bars' || first === last ? DAY_SECONDS / 2 : 0;
  return [first - half, last + half];
}

/** A filled bar, or a line: an end of an interval is thinner, a limit is dashed. */
function lineOf({ series, kind }: Drawn, at: number, ink: Pen): uPlot.Series {
  const one = series[at];
  if (one === undefined) return {};
  const colour = colourAt(series, at) ?? ink.text;
  const shared = { label: one.name, stroke: colour, points: { show: false } };
  const alone = standAlone(one.values);
  if (kind === 'bars' && one.isApart !== true)
    return { ...shared, fill: colour, width: 0, ...(ink.bars === undefined ? {} : { paths: ink.bars }) };
  return {
    ...shared,
    width: one.edge === undefined ? 2 : 1,
    ...(alone.length === 0 ? {} : { points: { show: true, filter: alone, size: 7, fill: colour } }),
    ...(one.isLimit === true || one.isApart === true ? { dash: [6, 4] } : {}),
  };
}

/** In the order of `dataOf`. */
function linesOf(drawn: Drawn, ink: Pen): uPlot.Series[] {
  const lines = drawn.series.map((one, at) => ({ line: lineOf(drawn, at, ink), isApart: one.isApart === true }));
  const inOrder =
    drawn.kind === 'bars'
      ? [...lines.filter(({ isApart }) => !isApart).reverse(), ...lines.filter(({ isApart }) => isApart)]
      : lines;
  return inOrder.map(({ line }) => line);
}

function axesOf({ currency }: Drawn, ink: Pen): uPlot.Axis[] {
  const axis = {
    stroke: ink.text,
    grid: { stroke: ink.line, width: 1 },
    ticks: { stroke: ink.line, width: 1 },
    font: '12px system-ui, sans-serif',
  };
  return [
    { ...axis, space: 70, size: 32, incrs: STEPS, values: (_, splits) => splits.map((at) => shortDay(at * 1000)) },
    {
      ...axis,
      size: (_, labels: readonly string[] | null) =>
        AXIS_EDGE + AXIS_LETTER * Math.max(0, ...(labels ?? []).map(({ length }) => length)),
      values: (_, splits) => splits.map((value) => money(String(value), currency, true)),
    },
  ];
}

/** Reports where the pointer is. A new or resized drawing reports no pointer: a day reached by keys stays. */
function followPointer(show: Pen['show']): (plot: uPlot) => void {
  let isPointing = false;
  return (plot) => {
    const { idx: at, left = -1 } = plot.cursor;
    const isInside = at !== null && at !== undefined && left >= 0;
    if (isInside) show(placeIn(plot, at));
    else if (isPointing) show(null);
    isPointing = isInside;
  };
}

export function optionsOf(drawn: Drawn, ink: Pen): uPlot.Options {
  return {
    width: ink.width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [followPointer(ink.show)], draw: [(plot) => drawMarks(plot, drawn, ink.mark)] },
    series: [{}, ...linesOf(drawn, ink)],
    tzDate: ink.utc,
    bands: bandsOf(drawn.series),
    axes: axesOf(drawn, ink),
    // A bar is centred on its day: half of the first and of the last one would be cut off.
    scales: {
      x: { range: () => endsOf(drawn) },
      y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] },
    },
  };
}
