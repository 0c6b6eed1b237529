/**
 * Lays a picture (core/plot.ts) out for ECharts: panels from top to bottom, one legend below, room for every name.
 *
 * It changes no value. The invariant: a series has one colour and one form in all panels, and no two series have both
 * alike, so that the picture is read without telling colours apart.
 */
import type {
  BarSeriesOption,
  EChartsOption,
  ScatterSeriesOption,
  SeriesOption,
  XAXisComponentOption,
  YAXisComponentOption,
} from 'echarts';
import {
  valueText,
  wordsOf,
  type Axis,
  type CurvesPanel,
  type Panel,
  type Plot,
  type RowsPanel,
} from '../core/plot.js';
import { OKABE_ITO, renderSvg, shortened, textWidth, wrapped } from './chart.js';

const WIDTH = 960;
const [MARGIN, GAP, TITLE_SIZE, TEXT_SIZE, PANEL_TITLE_SIZE] = [24, 16, 18, 12, 14];
const [MOST_NAME_WIDTH, CURVES_HEIGHT, AXIS_HEIGHT, PANEL_TITLE_HEIGHT] = [300, 300, 52, 30];
const LEGEND = { itemWidth: 22, itemHeight: 12, itemGap: 12, rowHeight: 30, slack: 10 } as const;
const INK = '#222222';
const FAINT = '#d9d9d9';
/** Room for a value that is written at the end of its bar. */
const VALUE_WIDTH = 56;

/** The form of a series; what is named here always looks the same. */
interface Style {
  readonly color: string;
  readonly symbol: string;
  readonly dash: 'solid' | 'dashed' | 'dotted';
}

const { black, vermillion, ...rest } = OKABE_ITO;
const KNOWN: Readonly<Record<string, string>> = { bursar: vermillion, clairvoyant: black, none: '#767676' };
/** Yellow last: on white it is faint. */
const COLOURS: readonly string[] = [
  rest.blue,
  rest.orange,
  rest.bluishGreen,
  rest.skyBlue,
  rest.reddishPurple,
  rest.yellow,
];
/**
 * Centred, and as paths: those keep their shape in the legend. One more than the colours, so that a colour comes back
 * with another form.
 */
const DIAMOND = 'path://M0,-10L8,0L0,10L-8,0Z';
const SYMBOLS: readonly string[] = [
  'path://M-9,0A9,9,0,1,1,9,0A9,9,0,1,1,-9,0Z',
  'path://M-8,-8H8V8H-8Z',
  'path://M0,-9L10,8H-10Z',
  'path://M0,9L-10,-8H10Z',
  'path://M-3,-9H3V-3H9V3H3V9H-3V3H-9V-3H-3Z',
  'path://M-9,-4H9V4H-9Z',
  'path://M-4,-9H4V9H-4Z',
];
const DASHES: readonly Style['dash'][] = ['solid', 'dashed', 'dotted'];

function stylesOf(names: readonly string[]): Map<string, Style> {
  const styles = new Map<string, Style>();
  let others = 0;
  for (const name of names) {
    const known = KNOWN[name] ?? (name.startsWith('bursar@') ? vermillion : undefined);
    if (known !== undefined)
      styles.set(name, { color: known, symbol: DIAMOND, dash: name === 'clairvoyant' ? 'dashed' : 'solid' });
    else {
      const round = Math.floor(others / COLOURS.length);
      styles.set(name, {
        color: COLOURS[others % COLOURS.length] ?? black,
        symbol: SYMBOLS[others % SYMBOLS.length] ?? DIAMOND,
        dash: DASHES[round % DASHES.length] ?? 'solid',
      });
      others++;
    }
  }
  return styles;
}

interface Placed {
  readonly grid: { readonly left: number; readonly right: number; readonly top: number; readonly height: number };
  readonly xAxis: XAXisComponentOption;
  readonly yAxis: YAXisComponentOption;
  readonly series: readonly SeriesOption[];
}

/** SVG text of a picture, as high as its content asks for. */
export function drawPlot(plot: Plot): string {
  const names = [...new Set(plot.panels.flatMap(({ series }) => series.map(({ name }) => name)))];
  const styles = stylesOf(names);
  const subtitle = wrapped(plot.subtitle, WIDTH - 2 * MARGIN, TEXT_SIZE);
  const titles: object[] = [
    {
      text: shortened(plot.title, WIDTH - 2 * MARGIN, TITLE_SIZE),
      subtext: subtitle.join('\n'),
      left: MARGIN,
      top: MARGIN,
      padding: 0,
      itemGap: 6,
      textStyle: { fontSize: TITLE_SIZE, color: INK },
      subtextStyle: { fontSize: TEXT_SIZE, lineHeight: 16, color: INK },
    },
  ];
  let top = MARGIN + TITLE_SIZE + 20 + subtitle.length * 16;
  const placed = plot.panels.map((panel, index) => {
    titles.push({
      text: shortened(panel.title, WIDTH - 2 * MARGIN, PANEL_TITLE_SIZE),
      left: MARGIN,
      top,
      padding: 0,
      textStyle: { fontSize: PANEL_TITLE_SIZE, color: INK },
    });
    const one = place(panel, index, top + PANEL_TITLE_HEIGHT, styles);
    top += PANEL_TITLE_HEIGHT + one.grid.height + AXIS_HEIGHT + GAP;
    return one;
  });
  const isLegendNeeded = names.length > 1;
  const legend = isLegendNeeded ? legendOf(names, styles, top, plot.panels) : { height: 0, option: [] };
  const option: EChartsOption = {
    title: titles,
    legend: legend.option,
    grid: placed.map(({ grid }) => ({ ...grid, outerBoundsMode: 'none' })),
    xAxis: placed.map(({ xAxis }) => xAxis),
    yAxis: placed.map(({ yAxis }) => yAxis),
    series: placed.flatMap(({ series }) => series),
  };
  return renderSvg(option, {
    width: WIDTH,
    height: top + legend.height + MARGIN / 2,
    title: plot.title,
    description: wordsOf(plot),
  });
}

/** All names, in as many rows as they take. */
function legendOf(
  names: readonly string[],
  styles: ReadonlyMap<string, Style>,
  top: number,
  panels: readonly Panel[],
): { readonly height: number; readonly option: EChartsOption['legend'] } {
  const width = WIDTH - 2 * MARGIN;
  let [lines, used] = [1, 0];
  for (const name of names) {
    const item = LEGEND.itemWidth + LEGEND.itemGap + LEGEND.slack + textWidth(name, TEXT_SIZE);
    if (used > 0 && used + item > width) [lines, used] = [lines + 1, 0];
    used += item;
  }
  const hasBars = panels.some((panel) => panel.kind === 'rows' && panel.marks === 'bars');
  const data = names.map((name) => ({
    name,
    icon: hasBars ? 'rect' : isLine(name, panels) ? undefined : styles.get(name)?.symbol,
  }));
  const { itemWidth, itemHeight, itemGap, rowHeight } = LEGEND;
  return {
    height: lines * rowHeight,
    option: {
      type: 'plain',
      data,
      left: MARGIN,
      width,
      top,
      padding: 0,
      itemWidth,
      itemHeight,
      itemGap,
      textStyle: { color: INK, fontSize: TEXT_SIZE },
    },
  };
}

const isLine = (name: string, panels: readonly Panel[]): boolean =>
  panels.some(
    (panel) => panel.kind === 'curves' && panel.series.some((one) => one.name === name && one.marks === 'line'),
  );

const place = (panel: Panel, index: number, top: number, styles: ReadonlyMap<string, Style>): Placed =>
  panel.kind === 'rows' ? placeRows(panel, index, top, styles) : placeCurves(panel, index, top, styles);

const axisName = ({ title }: Axis): object => ({
  name: title,
  nameLocation: 'middle',
  nameGap: 30,
  nameTextStyle: { color: INK, fontSize: TEXT_SIZE },
});

function valueAxis(axis: Axis): object {
  return {
    ...axisName(axis),
    type: axis.isLogarithmic === true ? 'log' : 'value',
    min: axis.min,
    max: axis.max,
    splitLine: { lineStyle: { color: FAINT } },
    axisLabel: { color: INK, hideOverlap: true, formatter: (value: number) => valueText(value, axis) },
  };
}

const BAR = 12;

function placeRows(panel: RowsPanel, index: number, top: number, styles: ReadonlyMap<string, Style>): Placed {
  const { rows, series, marks, reference } = panel;
  const rowHeight = marks === 'bars' ? Math.max(20, series.length * BAR + 8) : 26;
  const left = MARGIN + 8 + Math.min(MOST_NAME_WIDTH, Math.max(0, ...rows.map((row) => textWidth(row, TEXT_SIZE))));
  const line =
    reference === null
      ? {}
      : {
          markLine: {
            silent: true,
            symbol: 'none',
            data: [{ xAxis: reference.at }],
            lineStyle: { color: black, type: 'dashed', width: 1.5 },
            label: { formatter: reference.name, color: INK, position: 'start', fontSize: TEXT_SIZE, distance: 4 },
          },
        };
  return {
    grid: { left, right: MARGIN + VALUE_WIDTH, top: top + 4, height: rows.length * rowHeight },
    xAxis: { ...valueAxis(withReference(panel)), gridIndex: index } as XAXisComponentOption,
    yAxis: {
      type: 'category',
      gridIndex: index,
      inverse: true,
      data: rows.map((row) => shortened(row, MOST_NAME_WIDTH, TEXT_SIZE)),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: INK } },
      axisLabel: { color: INK, interval: 0, fontSize: TEXT_SIZE },
      splitLine: { show: marks === 'dots', lineStyle: { color: FAINT, type: 'dotted' } },
    } as YAXisComponentOption,
    series: series.map(({ name, values }, n): SeriesOption => {
      const own = { name, xAxisIndex: index, yAxisIndex: index, ...(n === 0 ? line : {}) };
      const data = values.map((value, row) => datumOf(value, row, panel));
      return marks === 'bars' ? bars(own, data, panel, styles) : dots(own, data, n, panel, styles);
    }),
  };
}

interface Own {
  readonly name: string;
  readonly xAxisIndex: number;
  readonly yAxisIndex: number;
}

/** A single series has a name down the side for every bar: what is known by its colour keeps it. */
function bars(
  own: Own,
  data: readonly Datum[],
  { rows, series }: RowsPanel,
  styles: ReadonlyMap<string, Style>,
): BarSeriesOption {
  const color = styles.get(own.name)?.color ?? black;
  const coloured = data.map((datum, row) =>
    series.length > 1 ? datum : { ...datum, itemStyle: { color: KNOWN[rows[row] ?? ''] ?? color } },
  );
  return {
    ...own,
    type: 'bar',
    data: coloured as NonNullable<BarSeriesOption['data']>,
    barCategoryGap: '20%',
    barGap: '10%',
    barMaxWidth: 16,
    itemStyle: { color, borderColor: INK, borderWidth: 0.5 },
  };
}

/** Pixels by which the series of a row stand apart, so that equal values are all seen. */
const DODGE = 14;

function dots(
  own: Own,
  data: readonly Datum[],
  n: number,
  { series }: RowsPanel,
  styles: ReadonlyMap<string, Style>,
): ScatterSeriesOption {
  const { color = black, symbol = DIAMOND } = styles.get(own.name) ?? {};
  const offset = series.length < 2 ? 0 : DODGE * (n / (series.length - 1) - 0.5);
  return {
    ...own,
    type: 'scatter',
    data: data.filter(({ value }) => value !== '-') as NonNullable<ScatterSeriesOption['data']>,
    symbol,
    symbolKeepAspect: true,
    symbolSize: 9,
    symbolOffset: [0, offset],
    z: own.name === 'bursar' ? 5 : 3,
    itemStyle: { color, opacity: 1, borderColor: INK, borderWidth: 0.7 },
  };
}

/** An axis on which the reference and its name have a place. */
function withReference({ axis, reference, series }: RowsPanel): Axis {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const least = Math.min(...values, 0);
  // Without losses the axis begins at 0; with few of them where they end.
  const min =
    axis.min === undefined || axis.isLogarithmic === true
      ? axis.min
      : Math.max(axis.min, least < 0 ? Math.floor(least * 5) / 5 : Math.max(axis.min, 0));
  return reference === null || axis.max !== undefined
    ? { ...axis, min }
    : { ...axis, min, max: Math.max(reference.at, Math.ceil(Math.max(...values, 0) * 5 - 1e-9) / 5) };
}

interface Datum {
  /** `-` is nothing, as ECharts writes it. */
  readonly value: number | '-' | [number, number];
  readonly label?: BarSeriesOption['label'];
}

/** A value at its place; beyond the frame it stands at the edge, and what it is stands beside it. */
function datumOf(value: number | null, row: number, { axis, marks }: RowsPanel): Datum {
  if (value === null) return { value: '-' };
  const held = Math.min(axis.max ?? Infinity, Math.max(axis.min ?? -Infinity, value));
  const at: Datum['value'] = marks === 'bars' ? held : [held, row];
  if (marks === 'dots' && held === value) return { value: at };
  const label = valueText(value, axis);
  // At the left edge the name of the row has the place beyond the bar.
  const isBelow = held > value;
  const text = isBelow ? `◀ ${label}` : held < value ? `▶ ${label}` : label;
  const position = !isBelow ? 'right' : marks === 'bars' ? 'insideLeft' : 'right';
  return {
    value: at,
    label: {
      show: true,
      position,
      formatter: text,
      color: INK,
      fontSize: 10,
      ...(isBelow ? { textBorderColor: '#ffffff', textBorderWidth: 3 } : {}),
    },
  };
}

function placeCurves(
  { x, y, series }: CurvesPanel,
  index: number,
  top: number,
  styles: ReadonlyMap<string, Style>,
): Placed {
  const left = MARGIN + 76;
  const time = x.unit === 'instant';
  return {
    grid: { left, right: MARGIN + 24, top: top + 4, height: CURVES_HEIGHT },
    xAxis: {
      ...valueAxis(x),
      ...(time
        ? {
            type: 'time',
            axisLabel: { color: INK, hideOverlap: true, formatter: (value: number) => valueText(value, x) },
          }
        : {}),
      gridIndex: index,
    } as XAXisComponentOption,
    yAxis: { ...valueAxis(y), nameGap: 62, gridIndex: index } as YAXisComponentOption,
    series: series.map(({ name, marks, points }): SeriesOption => {
      const { color = black, symbol = DIAMOND, dash = 'solid' } = styles.get(name) ?? {};
      const data = points.map((point) => [point.x, point.y]);
      const own = { name, xAxisIndex: index, yAxisIndex: index, data, clip: true };
      if (marks === 'points')
        return {
          ...own,
          type: 'scatter',
          symbol,
          symbolKeepAspect: true,
          symbolSize: name === 'bursar' ? 16 : 12,
          z: name === 'bursar' ? 5 : 3,
          itemStyle: { color, borderColor: INK, borderWidth: 0.7, opacity: 1 },
        };
      return {
        ...own,
        type: 'line',
        showSymbol: points.length <= 40 && !time,
        symbol,
        symbolSize: 5,
        lineStyle: { color, type: dash, width: name === 'bursar' ? 3 : 2 },
        itemStyle: { color },
      };
    }),
  };
}
