/**
 * A picture over time that can always be read as a table and saved as CSV.
 *
 * The picture uses floats, which is good enough for a pixel; the table and the CSV have the exact amounts. Unknown
 * values are gaps, never zeros. The drawing library is loaded with the first picture.
 */
import type { JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { day, money } from './format.js';
import { reader, say } from './language.js';
import {
  colourAt,
  dataOf,
  HEIGHT,
  numberOf,
  optionsOf,
  placeIn,
  type Drawn,
  type Pen,
  type Series,
} from './picture-plot.js';
import { Tip, type TipLine, type TipPlace } from './picture-tip.js';
import { Table, type Column } from './table.js';
import { isDark } from './theme.js';

interface Props extends Drawn {
  readonly title: string;
  /** The picture's content in a sentence, for screen readers. */
  readonly summary: string;
  readonly file: string;
  /** Opens a day: by a click on it, or by Enter. */
  readonly onPick?: (iso: string) => void;
}

/** Draws on the element of its ref, and draws again when the data, the colours or the language change. */
function useDrawing(
  drawn: Drawn,
  setShown: (next: (old: TipPlace | null) => TipPlace | null) => void,
): { readonly box: RefObject<HTMLDivElement | null>; readonly plot: RefObject<uPlot | null> } {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { days, series, kind, marks } = drawn;
  useEffect(() => {
    const within = box.current;
    if (within === null) return undefined;
    let isOver = false;
    const fit = new ResizeObserver(() => plot.current?.setSize({ width: within.clientWidth, height: HEIGHT }));
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
      plot.current = new Plot(optionsOf(drawn, pen), dataOf(drawn), within);
      fit.observe(within);
    };
    void draw();
    setShown(() => null);
    return () => {
      isOver = true;
      fit.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [days, series, kind, marks, isDark(), reader.value]);
  return { box, plot };
}

/** The drawing, with pointer and arrow keys to move by day. */
function Canvas(props: Props): JSX.Element {
  const { title, summary, days, series, kind, currency, marks, onPick } = props;
  const [shown, setShown] = useState<TipPlace | null>(null);
  const { box, plot } = useDrawing(props, setShown);
  const move = (by: number): void => {
    if (plot.current === null || days.length === 0) return;
    const at = Math.min(days.length - 1, Math.max(0, (shown?.at ?? (by > 0 ? -1 : days.length)) + by));
    setShown(placeIn(plot.current, at));
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
            lines={tipLines(series, shown.at)}
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

const tipLines = (series: readonly Series[], dayAt: number): TipLine[] =>
  series.map((one, at) => ({
    name: one.name,
    value: one.values[dayAt] ?? null,
    colour: colourAt(series, at),
    isApart: one.isApart === true || one.isLimit === true,
  }));

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
        />
      ) : (
        <>
          <Canvas {...props} />
          {series.length < 2 ? null : (
            <ul class="legend">
              {series.map((one, at) => (
                <li key={one.name}>
                  <Swatch colour={colourAt(series, at)} isEdge={one.edge !== undefined} />
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
