/**
 * A recommendation's evidence as a picture: by day the GPUs that a purchase would serve, or by hour how busy the target
 * was. Missing records are gaps; a table shows all of it.
 */
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { RecommendationEvidence } from './answers.js';
import { get } from './api.js';
import { count, decimal, instant, percent, shortDay } from './format.js';
import { say } from './language.js';
import { useLoaded } from './loading.js';
import { Table, type Column } from './table.js';
import { Empty, Show } from './ui.js';

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [600, 170, 48, 10, 22];

export function EvidencePicture({ recommendation }: { readonly recommendation: string }): JSX.Element {
  const loaded = useLoaded(`evidence ${recommendation}`, (halt) =>
    get<RecommendationEvidence>(`/v1/recommendations/${encodeURIComponent(recommendation)}/evidence`, {}, halt),
  );
  return (
    <Show loaded={loaded}>
      {({ measure, ...evidence }) =>
        measure === null ? <Empty>{say('evidence.none')}</Empty> : <Shown {...evidence} measure={measure} />
      }
    </Show>
  );
}

type Known = RecommendationEvidence & { readonly measure: 'gpus' | 'utilisation' };

const shownOf = ({ measure }: Known, value: number | null): string =>
  measure === 'gpus' ? decimal(value === null ? null : value.toFixed(2)) : percent(value);

function summaryOf(evidence: Known): string {
  const { measure, points, threshold } = evidence;
  const values = points.flatMap(({ value }) => value ?? []);
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const given = { n: values.length, mean: shownOf(evidence, mean), gaps: points.length - values.length };
  if (measure === 'utilisation') return say('evidence.busy', given);
  if (threshold === null) return say('evidence.gpus', given);
  const share = values.filter((value) => value >= threshold).length / Math.max(1, values.length);
  return `${say('evidence.gpus', given)} ${say('evidence.units', { n: threshold, share: percent(share) })}`;
}

function Shown(evidence: Known): JSX.Element {
  const { measure, points } = evidence;
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const title = say(`evidence.title-${measure}`);
  const columns: readonly Column<RecommendationEvidence['points'][number]>[] = [
    { name: say('evidence.when'), text: ({ at }) => at, cell: ({ at }) => instant(at) },
    {
      name: title,
      text: ({ value }) => (value === null ? '' : String(value)),
      number: ({ value }) => value,
      cell: ({ value }) => shownOf(evidence, value),
    },
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
      <p class="note">{summaryOf(evidence)}</p>
      {asTable ? (
        <Table caption={title} file="evidence" columns={columns} rows={points} keyOf={({ at }) => at} />
      ) : (
        <Bars evidence={evidence} title={title} />
      )}
    </figure>
  );
}

function Bars({ evidence, title }: { readonly evidence: Known; readonly title: string }): JSX.Element {
  const { measure, points, threshold } = evidence;
  const most =
    measure === 'utilisation' ? 1 : Math.max(threshold ?? 0, ...points.map(({ value }) => value ?? 0), 1e-9) * 1.1;
  const [wide, high] = [(WIDTH - LEFT) / Math.max(1, points.length), HEIGHT - TOP - BOTTOM];
  const heightOf = (value: number): number => (high * Math.min(most, value)) / most;
  const floor = HEIGHT - BOTTOM;
  const [first, last] = [points[0], points.at(-1)];
  return (
    <svg class="evidence" role="img" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-label={`${title}. ${summaryOf(evidence)}`}>
      {points.map(({ at, value }, n) =>
        value === null ? null : (
          <rect
            key={at}
            class="bar"
            x={LEFT + n * wide}
            width={Math.max(0.5, wide * 0.85)}
            y={floor - heightOf(value)}
            height={heightOf(value)}
          />
        ),
      )}
      <line class="axis" x1={LEFT} x2={WIDTH} y1={floor} y2={floor} />
      {threshold === null ? null : (
        <line class="limit" x1={LEFT} x2={WIDTH} y1={floor - heightOf(threshold)} y2={floor - heightOf(threshold)} />
      )}
      <text x={LEFT - 6} y={floor} text-anchor="end">
        {measure === 'gpus' ? count(0) : percent(0)}
      </text>
      <text x={LEFT - 6} y={TOP + 8} text-anchor="end">
        {shownOf(evidence, most)}
      </text>
      <text x={LEFT} y={HEIGHT - 5}>
        {first === undefined ? '' : shortDay(Date.parse(first.at))}
      </text>
      <text x={WIDTH} y={HEIGHT - 5} text-anchor="end">
        {last === undefined ? '' : shortDay(Date.parse(last.at))}
      </text>
    </svg>
  );
}
