/** The teams with what the month costs each, and one team: its cost over time by a dimension, its budgets, its leases. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { teamsUnder } from '../../../core/budget.js';
import { addDecimal, formatDecimal, parseDecimal, ZERO } from '../../../core/decimal.js';
import type { Costs, Lease, Overview, Standing, Team as TeamAnswer } from '../answers.js';
import { get, list } from '../api.js';
import { Budgets, BurnPicture } from '../budgets.js';
import { count, instant, money, month, several, words } from '../format.js';
import { useLoaded } from '../loading.js';
import { Picture, type Series } from '../picture.js';
import { link } from '../router.js';
import { Table, type Column } from '../table.js';
import { Amount, Badge, Card, Empty, Field, Page, Select, Show, Unpriced } from '../ui.js';

interface Row { readonly team: TeamAnswer | null; readonly id: string; readonly costs: readonly { readonly currency: string; readonly cost: string | null }[]; readonly unpriced: string | null }

async function rowsOf(halt: AbortSignal): Promise<{ readonly rows: readonly Row[]; readonly month: string; readonly more: boolean }> {
  const { month: label } = await get<Overview>('/v1/overview', {}, halt);
  const [teams, costs] = await Promise.all([list<TeamAnswer>('/v1/teams', {}, halt), get<Costs>('/v1/costs', { from: label, 'group-by': 'team' }, halt)]);
  const byTeam = Map.groupBy(costs.rows, (row) => row['team'] ?? '');
  const known = new Map(teams.items.map((team) => [team.id, team]));
  const ids = [...new Set([...known.keys(), ...byTeam.keys()])].sort();
  const rows = ids.map((id): Row => {
    const of = byTeam.get(id) ?? [];
    return { id, team: known.get(id) ?? null, costs: of.filter(({ cost }) => cost !== null), unpriced: of.length === 0 ? null : formatDecimal(of.reduce((sum, row) => addDecimal(sum, parseDecimal(row.unpricedQuantity) ?? ZERO), ZERO)) };
  });
  return { rows, month: label, more: teams.more };
}

const columns: readonly Column<Row>[] = [
  { name: 'Team', text: ({ id }) => id, cell: ({ id, team }) => (team === null ? <span>{id} <Badge>no such team</Badge></span> : <a href={link('teams', id)}>{team.name}</a>) },
  { name: 'Below', text: ({ team }) => team?.parent ?? '' },
  { name: 'Cost this month', text: ({ costs }) => costs.map(({ cost, currency }) => `${cost} ${currency}`).join('; '), number: ({ costs }) => (costs[0] === undefined ? null : Number(costs[0].cost)),
    cell: ({ costs }) => (costs.length === 0 ? <span class="quiet">nothing known</span> : costs.map(({ cost, currency }) => <div key={currency}><Amount amount={cost} currency={currency} /></div>)) },
  { name: 'GPU-hours without a price', text: ({ unpriced }) => unpriced ?? '', number: ({ unpriced }) => (unpriced === null ? null : Number(unpriced)), cell: ({ unpriced }) => (unpriced === null ? <span class="quiet">–</span> : count(Number(unpriced))) },
];

export function Teams(): JSX.Element {
  const loaded = useLoaded('teams', rowsOf);
  const [wanted, setWanted] = useState('');
  return (
    <Page title="Teams" lead={loaded.data === null ? undefined : `What each team itself cost in ${month(loaded.data.month)}, without the teams below it`}>
      <Show loaded={loaded}>{({ rows, more }) => {
        if (rows.length === 0) return <Empty>There is no team yet. Rules make teams of tags and accounts (<code>bursar rules set</code>), or set one by hand: <code>bursar teams set</code>.</Empty>;
        const found = rows.filter(({ id, team }) => `${id} ${team?.name ?? ''}`.toLowerCase().includes(wanted.toLowerCase()));
        return (
          <>
            <Field label="Find a team">{(ids) => <input {...ids} type="search" value={wanted} onInput={({ currentTarget }) => setWanted(currentTarget.value)} />}</Field>
            {more ? <p class="warning">Only the first thousand teams are listed here.</p> : null}
            <Table caption="Teams and their cost this month" file="teams" columns={columns} rows={found} keyOf={({ id }) => id} isCaptionHidden />
          </>
        );
      }}</Show>
    </Page>
  );
}

const DIMENSIONS = ['gpuModel', 'sku', 'provider', 'account', 'region', 'term', 'service', 'category', 'team'] as const;
const SPANS = [['30', '30 days'], ['90', '90 days'], ['365', 'a year']] as const;

export function Team({ id }: { readonly id: string }): JSX.Element {
  const team = useLoaded(`team ${id}`, async (halt) => {
    const [own, all, overview] = await Promise.all([get<TeamAnswer>(`/v1/teams/${encodeURIComponent(id)}`, {}, halt), list<TeamAnswer>('/v1/teams', {}, halt), get<Overview>('/v1/overview', {}, halt)]);
    return { own, below: [...teamsUnder(id, new Map(all.items.map(({ id: one, parent }) => [one, parent])))], asOf: overview.asOf };
  });
  const budgets = useLoaded(`budgets ${id}`, (halt) => list<Standing>('/v1/budget-states', { team: id }, halt));
  const leases = useLoaded(`leases ${id}`, (halt) => get<{ readonly items: readonly Lease[] }>(`/v1/teams/${encodeURIComponent(id)}/leases`, {}, halt));
  return (
    <Page title={team.data?.own.name ?? id} lead={team.data === null ? undefined : leadOf(team.data.own, team.data.below.length - 1)}
      actions={<span class="links"><a href={link('recommendations', null, { team: id })}>Recommendations</a> <a href={link('actions', null, { team: id })}>Actions</a> <a href={link('savings', null, { team: id })}>Savings</a></span>}>
      <Show loaded={team}>{({ below, asOf }) => <CostOverTime below={below} asOf={asOf} />}</Show>
      <Card title="Budgets"><Show loaded={budgets}>{({ items }) => <Budgets items={items} caption={`Budgets of ${id}`} />}</Show></Card>
      <Show loaded={budgets}>{({ items }) => <div class="cards">{items.slice(0, 6).map((item) => <BurnPicture key={item.budget} item={item} />)}</div>}</Show>
      <Card title="Leases"><Show loaded={leases}>{({ items }) => <Leases items={items} />}</Show></Card>
    </Page>
  );
}

function leadOf({ id, parent, zone, currency }: TeamAnswer, below: number): string {
  return [`Team ${id}`, parent === null ? null : `below ${parent}`, `days in ${zone}`, `amounts in ${currency}`, below === 0 ? null : `with ${several(below, 'team')} below it`].filter((one) => one !== null).join(', ');
}

const MOST_SERIES = 7;

/** The largest groups, and the rest as one. A day on which a group has no row cost nothing; one whose rows have no price is unknown. */
function seriesOf(rows: Costs['rows'], key: string, days: readonly string[]): Series[] {
  const groups = Map.groupBy(rows, (row) => row[key] ?? 'not known');
  const bySize = [...groups].map(([name, of]) => ({ name, of, size: of.reduce((sum, { cost }) => sum + Number(cost ?? 0), 0) })).sort((a, b) => b.size - a.size);
  const shown = bySize.length > MOST_SERIES + 1 ? [...bySize.slice(0, MOST_SERIES), { name: `${bySize.length - MOST_SERIES} others`, of: bySize.slice(MOST_SERIES).flatMap(({ of }) => of) }] : bySize;
  return shown.map(({ name, of }) => {
    const byDay = Map.groupBy(of, (row) => row['day'] ?? '');
    return { name: of.every(({ cost }) => cost === null) ? `${name} (no price)` : name, values: days.map((one) => {
      const costs = (byDay.get(one) ?? []).map(({ cost }) => cost);
      if (costs.length > 0 && costs.every((cost) => cost === null)) return null;
      return formatDecimal(costs.reduce((sum, cost) => addDecimal(sum, cost === null ? ZERO : (parseDecimal(cost) ?? ZERO)), ZERO));
    }) };
  });
}

function CostOverTime({ below, asOf }: { readonly below: readonly string[]; readonly asOf: string }): JSX.Element {
  const [key, setKey] = useState<string>('gpuModel');
  const [span, setSpan] = useState<string>('90');
  const last = Math.floor(Date.parse(asOf) / 86_400_000) * 86_400_000;
  const from = new Date(last - (Number(span) - 1) * 86_400_000).toISOString().slice(0, 10);
  const to = new Date(last + 86_400_000).toISOString().slice(0, 10);
  const costs = useLoaded(`costs ${below.join(',')} ${key} ${from}`, (halt) => get<Costs>('/v1/costs', { from, to, 'group-by': `day,${key}`, team: below }, halt));
  const keys = DIMENSIONS.filter((one) => one !== 'team' || below.length > 1);
  return (
    <Card title="Cost over time" actions={<span class="fields">
      <Select label="By" value={key} options={keys.map((one) => [one, one === 'sku' ? 'SKU' : one === 'gpuModel' ? 'GPU model' : words(one)])} onPick={setKey} />
      <Select label="Over" value={span} options={SPANS} onPick={setSpan} /></span>}>
      <Show loaded={costs}>{(data) => <Drawn costs={data} dimension={key} />}</Show>
    </Card>
  );
}

function Drawn({ costs, dimension }: { readonly costs: Costs; readonly dimension: string }): JSX.Element {
  const currencies = useMemo(() => [...new Set(costs.rows.filter(({ cost }) => cost !== null).map(({ currency }) => currency))], [costs]);
  const days = useMemo(() => [...new Set(costs.rows.map((row) => row['day'] ?? ''))].sort(), [costs]);
  const pictures = useMemo(() => currencies.map((currency) => ({ currency, series: seriesOf(costs.rows.filter((row) => row.currency === currency), dimension, days) })), [costs, dimension]);
  if (costs.rows.length === 0) return <Empty>Nothing is known to have run in this time. <a href="#/imports">Import a bill or a file of usage</a>, or take a longer time.</Empty>;
  return (
    <>
      <Unpriced gpuHours={costs.unpricedQuantity} />
      {pictures.map(({ currency, series }) => <Picture key={currency} title={`Actual cost per day in ${currency}`} summary={`${money(costs.totals.find((one) => one.currency === currency)?.cost ?? null, currency)} in all, in ${several(series.length, 'group')}.`}
        days={days} series={series} currency={currency} kind="bars" file={`cost-by-${dimension}-${currency}`} />)}
    </>
  );
}

const leaseColumns: readonly Column<Lease>[] = [
  { name: 'Lease', text: ({ lease }) => lease }, { name: 'Of', text: ({ target }) => target }, { name: 'Holder', text: ({ holder }) => holder ?? 'unknown' },
  { name: 'GPUs', text: ({ gpus }) => (gpus === null ? '' : String(gpus)), cell: ({ gpus }) => count(gpus), number: ({ gpus }) => gpus },
  { name: 'From', text: ({ startedAt }) => startedAt, cell: ({ startedAt }) => instant(startedAt) },
  { name: 'Until', text: ({ expiresAt }) => expiresAt ?? '', cell: ({ expiresAt }) => (expiresAt === null ? 'no end was set' : instant(expiresAt)) },
  { name: 'Held', text: ({ active }) => (active === null ? 'unknown' : active ? 'yes' : 'no') },
];

function Leases({ items }: { readonly items: readonly Lease[] }): JSX.Element {
  if (items.length === 0) return <Empty>No lease is known. Clouds and schedulers that lend GPUs for a time report them; the policy <a href={link('policies')}>lease</a> ends those that nobody renews.</Empty>;
  return <Table caption="Leases" file="leases" columns={leaseColumns} rows={items} keyOf={({ lease }) => lease} isCaptionHidden />;
}
