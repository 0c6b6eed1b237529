/**
 * The cost explorer: the spend of any period, by any two keys, against the period before, and why it changed. The
 * question is the address; a day, a team, a SKU and finally each resource is one click further in.
 */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { UNALLOCATED } from '../../../core/cost/allocation.js';
import type { BreakdownRow } from '../../../core/report/breakdown.js';
import type { CostBreakdown, CostResources } from '../answers.js';
import { get } from '../api.js';
import { amountColumn, numberColumn } from '../columns.js';
import { ask, Asking } from '../cost-asking.js';
import { Bridge } from '../cost-bridge.js';
import { Gaps, nameIn } from '../cost-gaps.js';
import {
  moved,
  queryOf,
  questionOf,
  stepInto,
  unreadIn,
  wordsOf,
  type CostKey,
  type CostQuestion,
} from '../cost-question.js';
import { Views } from '../cost-views.js';
import { code, day, decimal, instant, money, percent, spanOf, unknown } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Picture } from '../picture.js';
import type { Series } from '../picture-plot.js';
import { Rich } from '../rich.js';
import { link, place } from '../router.js';
import { less } from '../sums.js';
import { Table, type Column } from '../table.js';
import { Amount, Card, Empty, Figure, Page, Show, Warnings } from '../ui.js';
import { runningDay } from '../../../core/time.js';

export function Costs(): JSX.Element {
  const question = questionOf(place.value.query);
  const query = queryOf(question);
  const loaded = useLoaded(`costs ${JSON.stringify(query)}`, (halt) =>
    get<CostBreakdown>('/v1/costs/breakdown', query, halt),
  );
  const { data } = loaded;
  return (
    <Page
      title={say('page.costs')}
      lead={
        data === null
          ? say('explorer.lead')
          : joined([
              spanText(data.now),
              say(`explorer.basis-${question.basis as 'actual'}`),
              question.zone,
              data.before === null ? null : say('explorer.against', { span: spanText(data.before) }),
            ])
      }
    >
      <Card
        title={say('explorer.question')}
        terms={['actual', 'accrued', 'billed', 'effective', 'list']}
        actions={<Views question={question} />}
      >
        {unreadIn(place.value.query).map((words) => (
          <p class="warning" key={words}>
            {say('explorer.unread', { words })}
          </p>
        ))}
        <Asking question={question} shown={data?.now ?? null} />
      </Card>
      <Card title={say('page.costs')} terms={['unpriced', 'set-aside']}>
        <Show loaded={loaded}>{(answer) => <Answer answer={answer} question={question} />}</Show>
      </Card>
      {question.compares ? <Bridge question={question} /> : null}
      {(question.filters.sku ?? []).length === 1 ? <Resources question={question} /> : null}
    </Page>
  );
}

/** Its last day is the one before its end. */
const spanText = ({ from, to }: { readonly from: string; readonly to: string }): string => spanOf(from, moved(to, -1));

function Answer({
  answer,
  question,
}: {
  readonly answer: CostBreakdown;
  readonly question: CostQuestion;
}): JSX.Element {
  const currencies = [
    ...new Set(answer.rows.filter(({ cost, before }) => cost !== null || before !== null).map((row) => row.currency)),
  ];
  return (
    <>
      {answer.rows.length === 0 ? <Nothing question={question} /> : null}
      {currencies.map((currency) => (
        <InCurrency key={currency} answer={answer} question={question} currency={currency} />
      ))}
      {answer.rows.length === 0 ? null : <Rows answer={answer} question={question} />}
      {answer.asOf === undefined ? null : (
        <div class="warning">{say('gaps.as-of', { time: instant(answer.asOf) })}</div>
      )}
      <Warnings lines={answer.warnings} />
      <Gaps span={answer.now} name={say('gaps.now')} />
      {answer.before === null ? null : <Gaps span={answer.before} name={say('gaps.before')} />}
    </>
  );
}

/** Why there is nothing: what to change, the likeliest first. */
function Nothing({ question }: { readonly question: CostQuestion }): JSX.Element {
  const filtered = Object.keys(question.filters).length > 0;
  return (
    <Empty>
      {filtered ? (
        <Rich
          of="explorer.nothing-filtered"
          given={{ a: (inner) => <a href={link('costs', null, wordsOf({ ...question, filters: {} }))}>{inner}</a> }}
        />
      ) : (
        <Rich
          of={
            question.basis === 'actual' || question.basis === 'accrued' ? 'explorer.nothing' : 'explorer.nothing-billed'
          }
          given={{ a: (inner) => <a href={link('imports')}>{inner}</a> }}
        />
      )}
    </Empty>
  );
}

interface Part {
  readonly answer: CostBreakdown;
  readonly question: CostQuestion;
  readonly currency: string;
}

const changeText = (change: string | null, currency: string, before: string | null): string => {
  if (change === null) return unknown();
  const sign = Number(change) > 0 ? '+' : '';
  const share = before === null || Number(before) <= 0 ? '' : ` (${sign}${percent(Number(change) / Number(before))})`;
  return `${sign}${money(change, currency)}${share}`;
};

function InCurrency({ answer, question, currency }: Part): JSX.Element {
  const totalOf = (span: CostBreakdown['now'] | null): string | null =>
    span === null ? null : (span.totals.find((one) => one.currency === currency)?.cost ?? '0');
  const [now, before] = [totalOf(answer.now), totalOf(answer.before)];
  const change = now === null || before === null ? null : less(now, before);
  const runs = runningDay(answer.now, answer.zone, performance.timeOrigin + performance.now());
  const [key = 'team'] = answer.groupBy;
  const [series, marks] = useMemo(
    () => [seriesIn(answer, currency, key), marksIn(answer, currency)],
    [answer, currency, reader.value],
  );
  return (
    <>
      <dl class="figures">
        <Figure name={say('explorer.total', { currency })} value={<Amount amount={now} currency={currency} />} />
        {answer.before === null ? null : (
          <>
            <Figure name={say('bridge.before')} value={<Amount amount={before} currency={currency} />} />
            <Figure
              name={say('explorer.change')}
              value={<span class={tone(change)}>{changeText(change, currency, before)}</span>}
              note={runs === null ? undefined : say('explorer.runs', { day: day(runs) })}
            />
          </>
        )}
      </dl>
      <Picture
        title={say('explorer.daily', { currency, by: code('dimension', key) })}
        summary={say('cost.summary', {
          amount: money(now, currency),
          n: series.filter(({ isApart }) => isApart !== true).length,
        })}
        days={answer.days}
        series={series}
        currency={currency}
        kind="bars"
        file={`costs-per-day-${currency}`}
        marks={marks}
        onPick={(iso) => ask({ ...question, from: iso, to: moved(iso, 1) })}
      />
      {marks.size === 0 ? null : (
        <ul class="plain">
          {[...marks].map(([iso, text]) => (
            <li key={iso}>
              <span class="delta more" aria-hidden="true">
                ▼
              </span>{' '}
              <strong>{day(iso)}</strong> {text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const tone = (change: string | null): string =>
  change === null || Number(change) === 0 ? 'delta' : Number(change) > 0 ? 'delta more' : 'delta less';

function seriesIn(answer: CostBreakdown, currency: string, key: string): Series[] {
  const parts = answer.series
    .filter((one) => one.currency === currency)
    .map(
      ({ name, values }): Series => ({
        name: name === null ? say('explorer.others') : nameIn(key, name.value),
        values,
      }),
    );
  const before = answer.daysBefore.find((one) => one.currency === currency);
  if (before === undefined) return parts;
  // A period before of another length (February before March) is compared from its first day.
  const values = answer.days.map((_, at) => before.values[at] ?? null);
  return [...parts, { name: say('bridge.before'), values, isApart: true }];
}

/** Unusual spend by day, in words. */
function marksIn({ anomalies }: CostBreakdown, currency: string): Map<string, string> {
  const marks = new Map<string, string>();
  for (const { day: iso, team, what, observed, expected, currency: own } of anomalies) {
    if (own !== currency) continue;
    const text = say('explorer.unusual', {
      team,
      what: code('unusual', what),
      observed: money(observed, own),
      low: money(expected.low, own),
      high: money(expected.high, own),
    });
    marks.set(iso, marks.has(iso) ? `${marks.get(iso) ?? ''} ${text}` : text);
  }
  return marks;
}

const shareColumn = (): Column<BreakdownRow> => ({
  name: say('column.share'),
  isMinor: true,
  text: ({ share }) => (share === null ? '' : String(share)),
  number: ({ share }) => share,
  cell: ({ share }) => (
    <span class="share">
      <svg class="part" width="100%" height="6" aria-hidden="true">
        <rect class="track" width="100%" height="6" rx="3" />
        <rect class="spent" width={`${100 * Math.min(1, Math.max(0, share ?? 0))}%`} height="6" rx="3" />
      </svg>
      <span>{percent(share)}</span>
    </span>
  ),
});

function columnsOf({ groupBy, before }: CostBreakdown, question: CostQuestion): readonly Column<BreakdownRow>[] {
  return [
    ...groupBy.map(
      (key, at): Column<BreakdownRow> => ({
        name: code('dimension', key),
        text: ({ names }) => nameIn(key, names[at] ?? null),
        cell: ({ names }) => (
          <a href={link('costs', null, wordsOf(stepInto(question, key as CostKey, names[at] ?? '')))}>
            {nameIn(key, names[at] ?? null)}
          </a>
        ),
      }),
    ),
    amountColumn(say('column.cost'), ({ cost }) => cost),
    shareColumn(),
    ...(before === null
      ? []
      : [
          { ...amountColumn<BreakdownRow>(say('bridge.before'), (row) => row.before), isMinor: true },
          {
            ...amountColumn(say('explorer.change'), ({ change }) => change),
            cell: ({ change, currency, before: old }) => (
              <span class={tone(change)}>{changeText(change, currency, old)}</span>
            ),
          } satisfies Column<BreakdownRow>,
        ]),
    {
      name: say('explorer.gpu-hours'),
      isMinor: true,
      text: ({ gpuHours }) => gpuHours ?? '',
      number: ({ gpuHours }) => (gpuHours === null ? null : Number(gpuHours)),
      cell: ({ gpuHours, unpricedGpuHours }) => (
        <>
          {gpuHours === null ? <span class="quiet">–</span> : decimal(gpuHours, 0)}
          {Number(unpricedGpuHours) === 0 ? null : (
            <div class="note">{say('explorer.of-it-unpriced', { hours: decimal(unpricedGpuHours, 1) })}</div>
          )}
        </>
      ),
    },
  ];
}

/** Whether some cost of this period has no team. */
const hasUnallocated = ({ groupBy, rows }: CostBreakdown): boolean =>
  rows.some(({ names, cost }) => cost !== null && Number(cost) !== 0 && names[groupBy.indexOf('team')] === UNALLOCATED);

function Rows({ answer, question }: { readonly answer: CostBreakdown; readonly question: CostQuestion }): JSX.Element {
  return (
    <>
      <Table
        caption={say('explorer.rows')}
        file={`costs-by-${answer.groupBy.join('-')}`}
        columns={columnsOf(answer, question)}
        rows={answer.rows}
        keyOf={({ names, currency }) => JSON.stringify([names, currency])}
      />
      {answer.rest.map(({ currency, groups, cost }) => (
        <p key={currency} class="note">
          {say('explorer.rest', { n: groups, amount: money(cost, currency) })}
        </p>
      ))}
      {hasUnallocated(answer) ? (
        <p class="note">
          <Rich of="explorer.unallocated" given={{ a: (inner) => <a href={link('settings', 'rules')}>{inner}</a> }} />
        </p>
      ) : null}
    </>
  );
}

const resourceColumns = (): readonly Column<CostResources['rows'][number]>[] => [
  {
    name: say('explorer.resource'),
    text: ({ resource }) => resource ?? say('explorer.no-resource'),
    cell: ({ resource }) =>
      resource === null ? (
        <span class="quiet">{say('explorer.no-resource')}</span>
      ) : (
        <a href={link('explain', resource)}>{resource}</a>
      ),
  },
  { name: say('column.team'), text: ({ team }) => team },
  amountColumn(say('column.cost'), ({ cost }) => cost),
  {
    name: say('column.share'),
    text: ({ share }) => (share === null ? '' : String(share)),
    number: ({ share }) => share,
    cell: ({ share }) => percent(share),
  },
  numberColumn(
    say('explorer.gpu-hours'),
    ({ gpuHours }) => gpuHours,
    (gpuHours) => decimal(gpuHours, 1),
  ),
];

/** The last step: the cost of each machine or pod of a SKU. */
function Resources({ question }: { readonly question: CostQuestion }): JSX.Element {
  const { compare: _compare, 'group-by': _keys, ...query } = queryOf(question);
  const loaded = useLoaded(`resources ${JSON.stringify(query)}`, (halt) =>
    get<CostResources>('/v1/costs/resources', query, halt),
  );
  return (
    <Card title={say('explorer.resources')}>
      <p class="note">{say('explorer.resources-note')}</p>
      <Show loaded={loaded}>
        {({ rows, more }) =>
          rows.length === 0 ? (
            <Empty>{say('explorer.no-resources')}</Empty>
          ) : (
            <>
              <Table
                caption={say('explorer.resources')}
                file="costs-by-resource"
                columns={resourceColumns()}
                rows={rows}
                keyOf={({ resource, team, currency }) => JSON.stringify([resource, team, currency])}
              />
              {more === 0 ? null : <p class="note">{say('explorer.more-resources', { n: more })}</p>}
            </>
          )
        }
      </Show>
    </Card>
  );
}
