/**
 * A picture over time that can always be read as a table and saved as CSV.
 *
 * The picture is drawn of floats, which is good enough for a pixel; the table and the CSV have the amounts as they
 * came. What is unknown is a gap, never a zero. The drawing library is loaded with the first picture.
 */
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { day, money, shortDay } from './format.js';
import { reader, say } from './language.js';
import { Table, type Column } from './table.js';
import { isDark } from './theme.js';

export interface Series {
  readonly name: string;
  /** Decimal strings, one per day; null: unknown. */
  readonly values: readonly (string | null)[];
  /** Drawn in the colour of the text, as what the others are held against. */
  readonly isLimit?: boolean;
  /** An end of the interval around the series before it: what lies between the two ends is tinted. */
  readonly edge?: 'low' | 'high';
}

interface Props {
  readonly title: string;
  /** What one sees, in a sentence: read instead of the picture. */
  readonly summary: string;
  /** ISO dates. */
  readonly days: readonly string[];
  readonly series: readonly Series[];
  readonly currency: string;
  readonly kind: 'bars' | 'lines';
  readonly file: string;
}

/**
 * Okabe and Ito, "Color Universal Design" (2008), without black, which is the limit's; yellow is last, since it is
 * faint on white.
 */
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#999999', '#f0e442'] as const;
const colourOf = (at: number): string => COLOURS[at % COLOURS.length] ?? '#999999';
/** Both ends of an interval have the colour of what they are around. */
const colourAt = (series: readonly Series[], at: number): string =>
  colourOf(series.slice(0, at + 1).filter(({ edge }) => edge === undefined).length - 1);
const HEIGHT = 240;
/** Of the tint, beside the colour's own: two hexadecimal digits. */
const TINT = '26';
/** Room for the amounts beside the axis, pixels: currencies and languages write them in more or fewer letters. */
const AXIS_EDGE = 18;
const AXIS_LETTER = 8;

const numberOf = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : Number(text);

/**
 * Bars stand on each other: each series is drawn as the sum of those up to it, the highest first, so that the lower
 * ones lie before it.
 */
function stacked(series: readonly Series[], length: number): (number | null)[][] {
  const sums = new Array<number>(length).fill(0);
  return series.map(({ values }) => sums.map((_, at) => (sums[at] = (sums[at] ?? 0) + (numberOf(values[at]) ?? 0))));
}

function dataOf({ days, series, kind }: Props): uPlot.AlignedData {
  const times = days.map((one) => Date.parse(one) / 1000);
  const drawn =
    kind === 'bars'
      ? stacked(series, days.length).reverse()
      : series.map(({ values }) => days.map((_, at) => numberOf(values[at])));
  return [times, ...drawn];
}

const DAY_SECONDS = 86_400;

/** What lies between the ends of the interval; the first series of the drawing are the days. */
function bandsOf(series: readonly Series[]): uPlot.Band[] {
  const [bottom, top] = [
    series.findIndex(({ edge }) => edge === 'low'),
    series.findIndex(({ edge }) => edge === 'high'),
  ];
  return bottom < 0 || top < 0 ? [] : [{ series: [top + 1, bottom + 1], fill: `${colourAt(series, bottom)}${TINT}` }];
}

interface Pen {
  readonly width: number;
  readonly bars: uPlot.Series.PathBuilder | undefined;
  readonly text: string;
  readonly line: string;
  utc(seconds: number): Date;
}

function optionsOf({ series, kind, currency }: Props, ink: Pen): uPlot.Options {
  const drawn = series.map((one, at): uPlot.Series => {
    const colour = one.isLimit === true ? ink.text : colourAt(series, at);
    return kind === 'bars'
      ? {
          label: one.name,
          fill: colour,
          stroke: colour,
          width: 0,
          ...(ink.bars === undefined ? {} : { paths: ink.bars }),
          points: { show: false },
        }
      : {
          label: one.name,
          stroke: colour,
          width: one.edge === undefined ? 2 : 1,
          ...(one.isLimit === true ? { dash: [6, 4] } : {}),
          points: { show: false },
        };
  });
  const axis = {
    stroke: ink.text,
    grid: { stroke: ink.line, width: 1 },
    ticks: { stroke: ink.line, width: 1 },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: ink.width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    series: [{}, ...(kind === 'bars' ? drawn.reverse() : drawn)],
    tzDate: ink.utc,
    bands: bandsOf(series),
    axes: [
      { ...axis, space: 70, size: 32, values: (_, splits) => splits.map((at) => shortDay(at * 1000)) },
      {
        ...axis,
        size: (_, labels: readonly string[] | null) =>
          AXIS_EDGE + AXIS_LETTER * Math.max(0, ...(labels ?? []).map(({ length }) => length)),
        values: (_, splits) => splits.map((value) => money(String(value), currency, true)),
      },
    ],
    // A bar stands on its day: half of the first and of the last one would be cut off.
    scales: {
      x: { range: (_, low, high) => (kind === 'bars' ? [low - DAY_SECONDS / 2, high + DAY_SECONDS / 2] : [low, high]) },
      y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] },
    },
  };
}

function Canvas(props: Props): JSX.Element {
  const { title, summary } = props;
  const box = useRef<HTMLDivElement>(null);
  const dark = isDark();
  useEffect(() => {
    const within = box.current;
    if (within === null) return undefined;
    let plot: uPlot | null = null;
    let isOver = false;
    const fit = new ResizeObserver(() => plot?.setSize({ width: within.clientWidth, height: HEIGHT }));
    const draw = async (): Promise<void> => {
      const { default: Plot } = await import('uplot');
      if (isOver) return;
      const style = getComputedStyle(within);
      const pen: Pen = {
        width: within.clientWidth,
        bars: Plot.paths.bars?.({ size: [0.8, 60], align: 0 }),
        text: style.getPropertyValue('--ink'),
        line: style.getPropertyValue('--line'),
        utc: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      };
      plot = new Plot(optionsOf(props, pen), dataOf(props), within);
      fit.observe(within);
    };
    void draw();
    return () => {
      isOver = true;
      fit.disconnect();
      plot?.destroy();
    };
  }, [props.days, props.series, props.kind, dark, reader.value]);
  return <div ref={box} class="canvas" role="img" aria-label={`${title}. ${summary}`} />;
}

export function Picture(props: Props): JSX.Element {
  const { title, summary, days, series, currency, file } = props;
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const columns: Column<number>[] = [
    { name: say('column.day'), text: (at) => days[at] ?? '', cell: (at) => day(days[at] ?? null) },
    ...series.map(
      (one): Column<number> => ({
        name: one.name,
        text: (at) => one.values[at] ?? '',
        cell: (at) => money(one.values[at] ?? null, currency),
        number: (at) => numberOf(one.values[at]),
      }),
    ),
  ];
  return (
    <figure class="picture" aria-labelledby={id}>
      <figcaption class="head">
        <span id={id}>{title}</span>
        <button type="button" class="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? say('picture.picture') : say('picture.table')}
          <span class="hidden"> {say('table.of', { caption: title })}</span>
        </button>
      </figcaption>
      <p class="note">{summary}</p>
      {asTable ? (
        <Table
          caption={say('picture.daily', { title })}
          file={file}
          columns={columns}
          rows={days.map((_, at) => at)}
          keyOf={(at) => days[at] ?? String(at)}
          isCaptionHidden
        />
      ) : (
        <>
          <Canvas {...props} />
          {series.length < 2 ? null : (
            <ul class="legend">
              {series.map((one, at) => (
                <li key={one.name}>
                  <Swatch colour={one.isLimit === true ? null : colourAt(series, at)} isEdge={one.edge !== undefined} />
                  {one.name}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </figure>
  );
}

/** Null: the limit's dashes, in the colour of the text. */
function Swatch({ colour, isEdge }: { readonly colour: string | null; readonly isEdge: boolean }): JSX.Element {
  return (
    <svg width="14" height="10" aria-hidden="true">
      {colour === null ? (
        <line class="plan" x1="0" x2="14" y1="5" y2="5" stroke-dasharray="4 2" />
      ) : (
        <rect width="12" height={isEdge ? 3 : 10} y={isEdge ? 4 : 0} fill={colour} />
      )}
    </svg>
  );
}
