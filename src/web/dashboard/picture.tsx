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
import { Tip, type TipLine, type TipPlace } from './picture-tip.js';
import { Table, type Column } from './table.js';
import { isDark } from './theme.js';

export interface Series {
  readonly name: string;
  /** Decimal strings, one per day; null: unknown. */
  readonly values: readonly (string | null)[];
  /** Drawn in the colour of the text, as what the others are held against. */
  readonly isLimit?: boolean;
  /** Not stacked on the others: a dashed line beside them. */
  readonly isApart?: boolean;
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
  /** By ISO date: what is unusual about the day. */
  readonly marks?: ReadonlyMap<string, string>;
  /** Opens a day: by a click on it, or by Enter. */
  readonly onPick?: (iso: string) => void;
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
  const plain = ({ values }: Series): (number | null)[] => days.map((_, at) => numberOf(values[at]));
  const [parts, apart] = [series.filter((one) => one.isApart !== true), series.filter((one) => one.isApart === true)];
  return [
    times,
    ...(kind === 'bars' ? [...stacked(parts, days.length).reverse(), ...apart.map(plain)] : series.map(plain)),
  ];
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
  readonly mark: string;
  utc(seconds: number): Date;
  /** Where the pointer is. */
  show(place: TipPlace | null): void;
}

/** A small triangle over each unusual day. */
function drawMarks(plot: uPlot, { days, marks }: Props, colour: string): void {
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

const placeIn = (plot: uPlot, at: number): TipPlace => ({
  at,
  left: plot.valToPos(plot.data[0][at] ?? 0, 'x') + plot.bbox.left / devicePixelRatio,
});

/** All days, from the first to the last; a bar stands on its day, and so does a single line. */
function endsOf({ days, kind }: Props): [number, number] {
  const [first = 0, last = 0] = [days[0], days.at(-1)].map((one) => Date.parse(one ?? '') / 1000 || 0);
  const half = kind === 'bars' || first === last ? DAY_SECONDS / 2 : 0;
  return [first - half, last + half];
}

function optionsOf(props: Props, ink: Pen): uPlot.Options {
  const { series, kind, currency } = props;
  let isPointing = false;
  const drawn = series.map((one, at): uPlot.Series => {
    const colour = one.isLimit === true || one.isApart === true ? ink.text : colourAt(series, at);
    return kind === 'bars' && one.isApart !== true
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
          ...(one.isLimit === true || one.isApart === true ? { dash: [6, 4] } : {}),
          points: { show: false },
        };
  });
  const isPart = (_: uPlot.Series, at: number): boolean => series[at]?.isApart !== true;
  const isNotPart = (one: uPlot.Series, at: number): boolean => !isPart(one, at);
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
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [
        (plot) => {
          const { idx: at, left = -1 } = plot.cursor;
          const isInside = at !== null && at !== undefined && left >= 0;
          // A drawing that is made or resized says that nobody points at it: a day that keys went to stays.
          if (isInside) ink.show(placeIn(plot, at));
          else if (isPointing) ink.show(null);
          isPointing = isInside;
        },
      ],
      draw: [(plot) => drawMarks(plot, props, ink.mark)],
    },
    series: [{}, ...(kind === 'bars' ? [...drawn.filter(isPart).reverse(), ...drawn.filter(isNotPart)] : drawn)],
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
      x: { range: () => endsOf(props) },
      y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] },
    },
  };
}

function Canvas(props: Props): JSX.Element {
  const { title, summary, days, series, kind, currency, marks, onPick } = props;
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<uPlot | null>(null);
  const [shown, setShown] = useState<TipPlace | null>(null);
  const dark = isDark();
  useEffect(() => {
    const within = box.current;
    if (within === null) return undefined;
    let isOver = false;
    const fit = new ResizeObserver(() => drawing.current?.setSize({ width: within.clientWidth, height: HEIGHT }));
    const draw = async (): Promise<void> => {
      const { default: Plot } = await import('uplot');
      if (isOver) return;
      const style = getComputedStyle(within);
      const pen: Pen = {
        width: within.clientWidth,
        bars: Plot.paths.bars?.({ size: [0.8, 60], align: 0 }),
        text: style.getPropertyValue('--ink'),
        line: style.getPropertyValue('--line'),
        mark: style.getPropertyValue('--bad'),
        utc: (seconds) => Plot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        show: (place) => setShown((old) => (old?.at === place?.at ? old : place)),
      };
      drawing.current = new Plot(optionsOf(props, pen), dataOf(props), within);
      fit.observe(within);
    };
    void draw();
    setShown(null);
    return () => {
      isOver = true;
      fit.disconnect();
      drawing.current?.destroy();
      drawing.current = null;
    };
  }, [days, series, kind, marks, dark, reader.value]);
  const move = (by: number): void => {
    const plot = drawing.current;
    if (plot === null || days.length === 0) return;
    const at = Math.min(days.length - 1, Math.max(0, (shown?.at ?? (by > 0 ? -1 : days.length)) + by));
    setShown(placeIn(plot, at));
  };
  const picked = shown === null ? undefined : days[shown.at];
  const onKey = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -days.length, End: days.length }[event.key];
    if (by !== undefined) move(by);
    else if (event.key === 'Escape') setShown(null);
    else if (event.key === 'Enter' && picked !== undefined && onPick !== undefined) onPick(picked);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class={onPick === undefined ? 'chart' : 'chart picks'}
      role="group"
      tabIndex={0}
      aria-label={say(onPick === undefined ? 'picture.keys' : 'picture.keys-open', { title })}
      onKeyDown={onKey}
      onClick={() => picked === undefined || onPick?.(picked)}
      onBlur={() => setShown(null)}
    >
      <div ref={box} class="canvas" role="img" aria-label={`${title}. ${summary}`} />
      <div role="status" aria-live="polite">
        {shown === null || picked === undefined ? null : (
          <Tip
            iso={picked}
            lines={series.map(
              (one, at): TipLine => ({
                name: one.name,
                value: one.values[shown.at] ?? null,
                colour: one.isLimit === true || one.isApart === true ? null : colourAt(series, at),
                isApart: one.isApart === true || one.isLimit === true,
              }),
            )}
            currency={currency}
            left={shown.left}
            width={box.current?.clientWidth ?? 0}
            isStacked={kind === 'bars'}
            note={marks?.get(picked) ?? null}
          />
        )}
      </div>
    </div>
  );
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
                  <Swatch
                    colour={one.isLimit === true || one.isApart === true ? null : colourAt(series, at)}
                    isEdge={one.edge !== undefined}
                  />
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
