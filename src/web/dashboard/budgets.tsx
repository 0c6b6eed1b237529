/** Budgets as rows and as pictures: plan, spend and forecast. Shared by the pages that show them. */
import type { JSX } from 'preact';
import type { BudgetState, BurnDown, Standing } from './answers.js';
import { formatDay, localDays } from '../../core/time.js';
import { get } from './api.js';
import { teamColumn } from './columns.js';
import { money, percent, spanOf, unknown } from './format.js';
import { say } from './language.js';
import { useLoaded } from './loading.js';
import { Picture } from './picture.js';
import { numberOf, type Series } from './picture-plot.js';
import { Rich } from './rich.js';
import { link } from './router.js';
import { standing } from './standing.js';
import { Table, type Column } from './table.js';
import { Amount, Badge, Burn, Card, Empty, Show, Unpriced, Warnings } from './ui.js';

function BurnCell({ state }: { readonly state: BudgetState | null }): JSX.Element {
  if (state === null || state.planned === null) return <span class="quiet">–</span>;
  const { planned, spent, forecast, currency } = state;
  const filled = {
    share: percent(Number(planned) === 0 ? null : Number(spent) / Number(planned)),
    planned: money(planned, currency, true),
  };
  const label =
    forecast === null
      ? say('burn.label', filled)
      : say('burn.label-forecast', { ...filled, forecast: money(forecast.mean, currency, true) });
  return (
    <Burn
      spent={Number(spent)}
      forecast={forecast === null ? null : Number(forecast.mean)}
      planned={Number(planned)}
      label={label}
    />
  );
}

const columns = (): readonly Column<Standing>[] => [
  {
    name: say('column.budget'),
    text: ({ budget }) => budget,
    cell: ({ budget }) => <a href={link('budgets', budget)}>{budget}</a>,
  },
  { ...teamColumn(), isMinor: true },
  {
    name: say('column.burned'),
    text: ({ state }) => (state === null ? '' : String(state.ratio ?? '')),
    cell: ({ state }) => <BurnCell state={state} />,
    number: ({ state }) => state?.ratio ?? null,
    isLeft: true,
  },
  {
    name: say('column.standing'),
    text: ({ state }) => standing(state)[1],
    cell: ({ state }) => <Badge tone={standing(state)[0]}>{standing(state)[1]}</Badge>,
  },
  {
    name: say('column.planned'),
    text: ({ state }) => state?.planned ?? '',
    cell: ({ state }) =>
      state === null ? (
        unknown()
      ) : state.planned === null ? (
        say('standing.not-planned')
      ) : (
        <Amount amount={state.planned} currency={state.currency} whole />
      ),
    number: ({ state }) => numberOf(state?.planned),
  },
  {
    name: say('column.spent'),
    text: ({ state }) => state?.spent ?? '',
    cell: ({ state }) => <Amount amount={state?.spent ?? null} currency={state?.currency ?? 'USD'} whole />,
    number: ({ state }) => numberOf(state?.spent),
  },
  {
    name: say('column.forecast'),
    text: ({ state }) => state?.forecast?.mean ?? '',
    cell: ({ state }) => <Amount amount={state?.forecast?.mean ?? null} currency={state?.currency ?? 'USD'} whole />,
    number: ({ state }) => numberOf(state?.forecast?.mean),
  },
];

export function Budgets({
  items,
  caption,
}: {
  readonly items: readonly Standing[];
  readonly caption: string;
}): JSX.Element {
  if (items.length === 0)
    return (
      <Empty>
        <Rich
          of="budgets.empty"
          given={{ a: (inner) => <a href={link('settings', 'budgets', { new: '1' })}>{inner}</a> }}
        />
      </Empty>
    );
  return (
    <>
      <Table caption={caption} file="budgets" columns={columns()} rows={items} keyOf={({ budget }) => budget} />
      <Warnings lines={[...new Set(items.flatMap(({ warnings }) => warnings))]} />
    </>
  );
}

/** Every day of the period in its zone, future days too. */
export function daysOf({ periodStart, periodEnd, zone }: BurnDown): string[] {
  const [first, after] = [periodStart, periodEnd].map((at) => localDays(zone, Date.parse(at)));
  return Array.from({ length: (after ?? 0) - (first ?? 0) }, (_, at) => formatDay((first ?? 0) + at));
}

/** A straight line from the known spend to the forecast of the period's end: the API gives only the end. */
function aheadOf(end: string, known: string, from: number, length: number): (string | null)[] {
  const last = length - 1;
  return Array.from({ length }, (_, at) =>
    at < from
      ? null
      : at === from
        ? known
        : at === last
          ? end
          : String(Number(known) + ((Number(end) - Number(known)) * (at - from)) / Math.max(1, last - from)),
  );
}

/**
 * The day on which the plan is reached, on the straight line to the forecast where it lies ahead. Null: the plan lasts,
 * or no forecast says more.
 */
export function runsOut(burn: BurnDown, state: BudgetState | null): string | null {
  const planned = Number(burn.planned);
  const past = burn.days.find(({ total }) => Number(total) >= planned);
  if (past !== undefined) return past.day;
  const forecast = state?.forecast ?? null;
  const last = burn.days.at(-1);
  if (forecast === null || last === undefined || Number(forecast.mean) <= planned) return null;
  const days = daysOf(burn);
  const ahead = aheadOf(forecast.mean, last.total, days.indexOf(last.day), days.length);
  return days.find((_, at) => Number(ahead[at] ?? 0) >= planned) ?? null;
}

function seriesOf(burn: BurnDown, state: BudgetState | null, days: readonly string[]): Series[] {
  const totals = new Map(burn.days.map(({ day: one, total }) => [one, total]));
  const last = burn.days.at(-1)?.day ?? null;
  let known = '0';
  const spent = days.map((one) => (last === null || one > last ? null : (known = totals.get(one) ?? known)));
  const forecast = state?.forecast ?? null;
  const from = last === null ? -1 : days.indexOf(last);
  const ahead = (end: string): (string | null)[] => aheadOf(end, known, from, days.length);
  return [
    { name: say('burn.spent'), values: spent },
    ...(forecast === null || from < 0 || from >= days.length - 1
      ? []
      : [
          { name: say('column.forecast'), values: ahead(forecast.mean) },
          { name: say('burn.low'), values: ahead(forecast.low), edge: 'low' as const },
          { name: say('burn.high'), values: ahead(forecast.high), edge: 'high' as const },
        ]),
    ...(burn.planned === null
      ? []
      : [{ name: say('column.planned'), values: days.map(() => burn.planned), isLimit: true }]),
  ];
}

/** How one budget burns down over its period, on its team's page. */
export function BurnPicture({ item }: { readonly item: Standing }): JSX.Element {
  const loaded = useLoaded(`burn ${item.budget}`, (halt) =>
    get<BurnDown>(`/v1/budgets/${encodeURIComponent(item.budget)}/burn-down`, {}, halt),
  );
  return (
    <Card
      title={say('budget.one', { id: item.budget })}
      actions={
        <a href={link('budgets', item.budget)}>
          {say('budget.open')}
          <span class="hidden"> {item.budget}</span>
        </a>
      }
    >
      <Show loaded={loaded}>
        {(burn) => (
          <>
            <BurnDrawn burn={burn} state={item.state} />
            <Unpriced gpuHours={String(burn.days.reduce((sum, one) => sum + Number(one.unpricedGpuHours), 0))} />
          </>
        )}
      </Show>
    </Card>
  );
}

export function BurnDrawn({
  burn,
  state,
}: {
  readonly burn: BurnDown;
  readonly state: BudgetState | null;
}): JSX.Element {
  const days = daysOf(burn);
  if (burn.days.length === 0) return <Empty>{say('burn.empty')}</Empty>;
  const { currency, planned } = burn;
  const spent = money(burn.days.at(-1)?.total ?? null, currency);
  const first =
    planned === null ? say('burn.unplanned', { spent }) : say('burn.of', { spent, planned: money(planned, currency) });
  const ahead = state?.forecast ?? null;
  const summary =
    ahead === null
      ? first
      : say('burn.ahead', {
          first,
          mean: money(ahead.mean, currency),
          low: money(ahead.low, currency),
          high: money(ahead.high, currency),
        });
  return (
    <Picture
      title={spanOf(days[0] ?? '', days.at(-1) ?? '')}
      summary={say('sentence', { text: summary })}
      days={days}
      series={seriesOf(burn, state, days)}
      currency={currency}
      kind="lines"
      file={`budget-${burn.budget}`}
    />
  );
}
