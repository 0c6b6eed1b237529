/** Budgets as rows and as pictures: what is planned, spent and to come. Shared by the pages that show them. */
import type { JSX } from 'preact';
import type { BudgetState, BurnDown, Standing } from './answers.js';
import { get } from './api.js';
import { day, money, percent, UNKNOWN } from './format.js';
import { useLoaded } from './loading.js';
import { Picture, type Series } from './picture.js';
import { link } from './router.js';
import { Table, type Column } from './table.js';
import { Amount, Badge, Burn, Card, Empty, Show, Unpriced, type Tone } from './ui.js';

const isOver = ({ planned, spent }: BudgetState): boolean => planned !== null && Number(spent) > Number(planned);

function standing(state: BudgetState | null): readonly [tone: Tone, text: string] {
  if (state === null) return ['plain', 'not weighed yet'];
  if (state.planned === null) return ['plain', 'not planned'];
  if (isOver(state)) return ['bad', state.exhaustionAt === null ? 'over' : `ran out ${day(state.exhaustionAt)}`];
  if (state.exhaustionAt !== null) return ['warn', `runs out ${day(state.exhaustionAt)}`];
  return state.forecast === null ? ['plain', 'no forecast yet'] : ['good', 'will last'];
}

function BurnCell({ state }: { readonly state: BudgetState | null }): JSX.Element {
  if (state === null || state.planned === null) return <span class="quiet">–</span>;
  const share = Number(state.planned) === 0 ? null : Number(state.spent) / Number(state.planned);
  const ahead = state.forecast === null ? '' : `, forecast ${money(state.forecast.mean, state.currency, true)}`;
  return <Burn spent={Number(state.spent)} forecast={state.forecast === null ? null : Number(state.forecast.mean)} planned={Number(state.planned)} label={`${percent(share)} spent of ${money(state.planned, state.currency, true)}${ahead}`} />;
}

const numberOf = (text: string | null | undefined): number | null => (text === null || text === undefined ? null : Number(text));

const columns: readonly Column<Standing>[] = [
  { name: 'Budget', text: ({ budget }) => budget },
  { name: 'Team', text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: 'Burned', text: ({ state }) => (state === null ? '' : String(state.ratio ?? '')), cell: ({ state }) => <BurnCell state={state} />, number: ({ state }) => state?.ratio ?? null, isLeft: true },
  { name: 'Standing', text: ({ state }) => standing(state)[1], cell: ({ state }) => <Badge tone={standing(state)[0]}>{standing(state)[1]}</Badge> },
  { name: 'Planned', text: ({ state }) => state?.planned ?? '', cell: ({ state }) => (state === null ? UNKNOWN : state.planned === null ? 'not planned' : <Amount amount={state.planned} currency={state.currency} whole />), number: ({ state }) => numberOf(state?.planned) },
  { name: 'Spent', text: ({ state }) => state?.spent ?? '', cell: ({ state }) => <Amount amount={state?.spent ?? null} currency={state?.currency ?? 'USD'} whole />, number: ({ state }) => numberOf(state?.spent) },
  { name: 'Forecast', text: ({ state }) => state?.forecast?.mean ?? '', cell: ({ state }) => <Amount amount={state?.forecast?.mean ?? null} currency={state?.currency ?? 'USD'} whole />, number: ({ state }) => numberOf(state?.forecast?.mean) },
];

export function Budgets({ items, caption }: { readonly items: readonly Standing[]; readonly caption: string }): JSX.Element {
  if (items.length === 0) return <Empty>No budget is set. An operator sets one with <code>bursar budgets set</code>, or <a href="/docs#tag-budgets">by the API</a>; the line weighs it at once.</Empty>;
  return <Table caption={caption} file="budgets" columns={columns} rows={items} keyOf={({ budget }) => budget} isCaptionHidden />;
}

/** Every day of the period, those to come too. */
function daysOf({ periodStart, periodEnd, days }: BurnDown): string[] {
  const first = days[0]?.day ?? periodStart.slice(0, 10);
  const start = Math.min(Date.parse(first), Date.parse(periodStart.slice(0, 10)));
  const all: string[] = [];
  for (let at = start; at < Date.parse(periodEnd); at += 86_400_000) all.push(new Date(at).toISOString().slice(0, 10));
  return all;
}

function seriesOf(burn: BurnDown, state: BudgetState | null, days: readonly string[]): Series[] {
  const totals = new Map(burn.days.map(({ day: one, total }) => [one, total]));
  const last = burn.days.at(-1)?.day ?? null;
  let known: string | null = null;
  const spent = days.map((one) => (last === null || one > last ? null : (known = totals.get(one) ?? known ?? '0')));
  const ahead = state?.forecast?.mean ?? null;
  const from = last === null ? -1 : days.indexOf(last);
  const end = days.length - 1;
  const onTheWay = (at: number): string => String(Number(known) + ((Number(ahead) - Number(known)) * (at - from)) / Math.max(1, end - from));
  return [
    { name: 'Spent so far', values: spent },
    ...(ahead === null || from < 0 || from >= end ? [] : [{ name: 'Forecast', values: days.map((_, at) => (at < from ? null : at === end ? ahead : at === from ? known : onTheWay(at))) }]),
    ...(burn.planned === null ? [] : [{ name: 'Planned', values: days.map(() => burn.planned), isLimit: true }]),
  ];
}

/** How one budget burns down over its period. */
export function BurnPicture({ item }: { readonly item: Standing }): JSX.Element {
  const loaded = useLoaded(`burn ${item.budget}`, (halt) => get<BurnDown>(`/v1/budgets/${encodeURIComponent(item.budget)}/burn-down`, {}, halt));
  return (
    <Card title={`Budget ${item.budget}`}>
      <Show loaded={loaded}>{(burn) => <Drawn burn={burn} state={item.state} />}</Show>
    </Card>
  );
}

function Drawn({ burn, state }: { readonly burn: BurnDown; readonly state: BudgetState | null }): JSX.Element {
  const days = daysOf(burn);
  if (burn.days.length === 0) return <Empty>Nothing is spent in this period yet.</Empty>;
  const unpriced = burn.days.reduce((sum, one) => sum + Number(one.unpricedGpuHours), 0);
  const spent = burn.days.at(-1)?.total ?? null;
  const summary = `${money(spent, burn.currency)} spent ${burn.planned === null ? 'without a plan' : `of ${money(burn.planned, burn.currency)} planned`}${state?.forecast ? `; forecast ${money(state.forecast.mean, burn.currency)} (80 % between ${money(state.forecast.low, burn.currency)} and ${money(state.forecast.high, burn.currency)})` : ''}.`;
  return (
    <>
      <Picture title={`${day(burn.periodStart)} to ${day(burn.periodEnd)}`} summary={summary} days={days} series={seriesOf(burn, state, days)} currency={burn.currency} kind="lines" file={`budget-${burn.budget}`} />
      <Unpriced gpuHours={String(unpriced)} />
    </>
  );
}
