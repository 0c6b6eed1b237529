/**
 * The teams with their costs of the month, and one team: its cost over time by a dimension, its budgets, its leases.
 */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { teamsUnder } from '../../../core/budget/budget.js';
import type { Costs, Lease, Overview, Standing, Team as TeamAnswer } from '../answers.js';
import { get, list, unseen } from '../api.js';
import { Budgets, BurnPicture } from '../budgets.js';
import { instantColumn, numberColumn } from '../columns.js';
import { code, count, money, month, unknown, within } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Picture } from '../picture.js';
import type { Series } from '../picture-plot.js';
import { Rich } from '../rich.js';
import { link } from '../router.js';
import { sumOf } from '../sums.js';
import { Listing, Table, type Column } from '../table.js';
import {
  Amount,
  Badge,
  Card,
  Empty,
  Field,
  Instant,
  Page,
  Select,
  SetAside,
  Show,
  Unpriced,
  Unseen,
  UnpricedUses,
  Warnings,
} from '../ui.js';
import { formatDay, localDays } from '../../../core/time.js';

interface Row {
  readonly team: TeamAnswer | null;
  readonly id: string;
  readonly costs: readonly { readonly currency: string; readonly cost: string | null }[];
  readonly unpriced: string | null;
}

async function rowsOf(
  halt: AbortSignal,
): Promise<{ readonly rows: readonly Row[]; readonly month: string; readonly more: boolean }> {
  const { month: label } = await get<Overview>('/v1/overview', {}, halt);
  const [teams, costs] = await Promise.all([
    list<TeamAnswer>('/v1/teams', {}, halt),
    get<Costs>('/v1/costs', { from: label, 'group-by': 'team' }, halt),
  ]);
  const byTeam = Map.groupBy(costs.rows, (row) => row['team'] ?? '');
  const known = new Map(teams.items.map((team) => [team.id, team]));
  const ids = [...new Set([...known.keys(), ...byTeam.keys()])].sort();
  const rows = ids.map((id): Row => {
    const of = byTeam.get(id) ?? [];
    return {
      id,
      team: known.get(id) ?? null,
      costs: of.filter(({ cost }) => cost !== null),
      unpriced: of.length === 0 ? null : sumOf(of.map(({ unpricedQuantity }) => unpricedQuantity)),
    };
  });
  return { rows, month: label, more: teams.more };
}

const columns = (): readonly Column<Row>[] => [
  {
    name: say('column.team'),
    text: ({ id }) => id,
    cell: ({ id, team }) =>
      team === null ? (
        <span>
          {id} <Badge>{say('teams.no-such')}</Badge>
        </span>
      ) : (
        <a href={link('teams', id)}>{team.name}</a>
      ),
  },
  { name: say('teams.below'), text: ({ team }) => team?.parent ?? '' },
  {
    name: say('teams.cost'),
    text: ({ costs }) => costs.map(({ cost, currency }) => `${cost} ${currency}`).join('; '),
    number: ({ costs }) => (costs[0] === undefined ? null : Number(costs[0].cost)),
    cell: ({ costs }) =>
      costs.length === 0 ? (
        <span class="quiet">{say('teams.nothing-known')}</span>
      ) : (
        costs.map(({ cost, currency }) => (
          <div key={currency}>
            <Amount amount={cost} currency={currency} />
          </div>
        ))
      ),
  },
  numberColumn(
    say('teams.unpriced'),
    ({ unpriced }) => unpriced,
    (unpriced) => (unpriced === null ? <span class="quiet">–</span> : count(Number(unpriced))),
  ),
];

export function Teams(): JSX.Element {
  const loaded = useLoaded('teams', rowsOf);
  const [wanted, setWanted] = useState('');
  return (
    <Page
      title={say('page.teams')}
      lead={loaded.data === null ? undefined : say('teams.lead', { month: month(loaded.data.month) })}
    >
      <Show loaded={loaded}>
        {({ rows, more }) => {
          if (rows.length === 0)
            return (
              <Empty>
                <Rich
                  of="teams.empty"
                  given={{
                    rules: (inner) => <a href={link('settings', 'rules')}>{inner}</a>,
                    a: (inner) => <a href={link('settings', 'teams', { new: '1' })}>{inner}</a>,
                  }}
                />
              </Empty>
            );
          const found = rows.filter(({ id, team }) =>
            `${id} ${team?.name ?? ''}`.toLowerCase().includes(wanted.toLowerCase()),
          );
          return (
            <>
              <Field label={say('teams.find')}>
                {(ids) => (
                  <input
                    {...ids}
                    type="search"
                    value={wanted}
                    onInput={({ currentTarget }) => setWanted(currentTarget.value)}
                  />
                )}
              </Field>
              {more ? <p class="warning">{say('teams.many')}</p> : null}
              <Listing
                items={found}
                note={null}
                empty={say('teams.none-found')}
                caption={say('teams.caption')}
                file="teams"
                columns={columns()}
                keyOf={({ id }) => id}
              />
            </>
          );
        }}
      </Show>
    </Page>
  );
}

const DIMENSIONS = ['gpuModel', 'sku', 'provider', 'account', 'region', 'term', 'service', 'category', 'team'] as const;
const SPANS = ['30', '90', '365'] as const;

export function Team({ id }: { readonly id: string }): JSX.Element {
  const why = unseen(id);
  return why === null ? (
    <OneTeam id={id} />
  ) : (
    <Page title={id}>
      <Unseen why={why} />
    </Page>
  );
}

function OneTeam({ id }: { readonly id: string }): JSX.Element {
  const team = useLoaded(`team ${id}`, async (halt) => {
    const [own, all, overview] = await Promise.all([
      get<TeamAnswer>(`/v1/teams/${encodeURIComponent(id)}`, {}, halt),
      list<TeamAnswer>('/v1/teams', {}, halt),
      get<Overview>('/v1/overview', {}, halt),
    ]);
    return {
      own,
      below: [...teamsUnder(id, new Map(all.items.map(({ id: one, parent }) => [one, parent])))],
      asOf: overview.asOf,
    };
  });
  const budgets = useLoaded(`budgets ${id}`, (halt) => list<Standing>('/v1/budget-states', { team: id }, halt));
  const leases = useLoaded(`leases ${id}`, (halt) =>
    get<{ readonly items: readonly Lease[] }>(`/v1/teams/${encodeURIComponent(id)}/leases`, {}, halt),
  );
  if (team.trouble !== null && team.data === null)
    return (
      <Page title={id} actions={<a href={link('teams')}>{say('page.teams')}</a>}>
        <Show loaded={team}>{() => null}</Show>
      </Page>
    );
  return (
    <Page
      title={team.data?.own.name ?? id}
      lead={team.data === null ? undefined : leadOf(team.data.own, team.data.below.length - 1)}
      actions={
        <span class="links">
          <a href={link('recommendations', null, { team: id })}>{say('page.recommendations')}</a>{' '}
          <a href={link('actions', null, { team: id })}>{say('page.actions')}</a>{' '}
          <a href={link('savings', null, { team: id })}>{say('page.savings')}</a>{' '}
          <a href={link('alerts', null, { team: id })}>{say('page.alerts')}</a>{' '}
          <a href={link('explain', id)}>{say('explain.why')}</a>
        </span>
      }
    >
      <Show loaded={team}>{({ own, below, asOf }) => <CostOverTime below={below} zone={own.zone} asOf={asOf} />}</Show>
      <Card title={say('page.budgets')}>
        <Show loaded={budgets}>{({ items }) => <Budgets items={items} caption={say('teams.budgets', { id })} />}</Show>
      </Card>
      <Show loaded={budgets}>
        {({ items }) => (
          <div class="cards">
            {items.slice(0, 6).map((item) => (
              <BurnPicture key={item.budget} item={item} />
            ))}
          </div>
        )}
      </Show>
      <Card title={say('leases')}>
        <Show loaded={leases}>{({ items }) => <Leases items={items} />}</Show>
      </Card>
    </Page>
  );
}

function leadOf({ id, parent, zone, currency }: TeamAnswer, below: number): string {
  return joined([
    say('team.id', { id }),
    parent === null ? null : say('team.parent', { parent }),
    say('team.zone', { zone }),
    say('team.currency', { currency }),
    below === 0 ? null : say('team.below', { n: below }),
  ]);
}

const MOST_SERIES = 7;

/** A term has a word of ours; any other group has the provider's or the team's name. */
const nameOf = (key: string, name: string): string => (key === 'term' ? within(code('term', name)) : name);

/**
 * The largest groups, and the rest as one. A day without a row of a group cost nothing; a day whose rows have no price
 * is unknown.
 */
function seriesOf(rows: Costs['rows'], key: string, days: readonly string[]): Series[] {
  const groups = Map.groupBy(rows, (row) => row[key] ?? say('not-known'));
  const bySize = [...groups]
    .map(([name, of]) => ({ name, of, size: of.reduce((sum, { cost }) => sum + Number(cost ?? 0), 0) }))
    .sort((a, b) => b.size - a.size);
  const shown =
    bySize.length > MOST_SERIES + 1
      ? [
          ...bySize.slice(0, MOST_SERIES),
          {
            name: say('cost.others', { n: bySize.length - MOST_SERIES }),
            of: bySize.slice(MOST_SERIES).flatMap(({ of }) => of),
          },
        ]
      : bySize;
  return shown.map(({ name, of }) => {
    const byDay = Map.groupBy(of, (row) => row['day'] ?? '');
    return {
      name: of.every(({ cost }) => cost === null)
        ? say('cost.no-price', { name: nameOf(key, name) })
        : nameOf(key, name),
      values: days.map((one) => {
        const costs = (byDay.get(one) ?? []).map(({ cost }) => cost);
        if (costs.length > 0 && costs.every((cost) => cost === null)) return null;
        return sumOf(costs);
      }),
    };
  });
}

function CostOverTime({
  below,
  zone,
  asOf,
}: {
  readonly below: readonly string[];
  readonly zone: string;
  readonly asOf: string;
}): JSX.Element {
  const [key, setKey] = useState<string>('gpuModel');
  const [span, setSpan] = useState<string>('90');
  const after = localDays(zone, Date.parse(asOf)) + 1;
  const from = formatDay(after - Number(span));
  const costs = useLoaded(`costs ${below.join(',')} ${key} ${from} ${zone}`, (halt) =>
    get<Costs>('/v1/costs', { from, to: formatDay(after), zone, 'group-by': `day,${key}`, team: below }, halt),
  );
  const keys = DIMENSIONS.filter((one) => one !== 'team' || below.length > 1);
  return (
    <Card
      title={say('cost.over-time')}
      actions={
        <span class="fields">
          <Select
            label={say('cost.by')}
            value={key}
            options={keys.map((one) => [one, code('dimension', one)])}
            onPick={setKey}
          />
          <Select
            label={say('cost.over')}
            value={span}
            options={SPANS.map((one) => [one, say(`cost.${one}`)])}
            onPick={setSpan}
          />
        </span>
      }
    >
      <Show loaded={costs}>{(data) => <Drawn costs={data} dimension={key} />}</Show>
    </Card>
  );
}

function Drawn({ costs, dimension }: { readonly costs: Costs; readonly dimension: string }): JSX.Element {
  const currencies = useMemo(
    () => [...new Set(costs.rows.filter(({ cost }) => cost !== null).map(({ currency }) => currency))],
    [costs],
  );
  const days = useMemo(() => [...new Set(costs.rows.map((row) => row['day'] ?? ''))].sort(), [costs]);
  const pictures = useMemo(
    () =>
      currencies.map((currency) => ({
        currency,
        series: seriesOf(
          costs.rows.filter((row) => row.currency === currency),
          dimension,
          days,
        ),
      })),
    [costs, dimension, reader.value],
  );
  if (costs.rows.length === 0)
    return (
      <Empty>
        <Rich of="cost.empty" given={{ a: (inner) => <a href={link('imports')}>{inner}</a> }} />
      </Empty>
    );
  return (
    <>
      <Unpriced gpuHours={costs.unpricedQuantity} />
      <SetAside amounts={costs.lacking.setAside.map(({ currency, cost }) => ({ currency, amount: cost }))} />
      <UnpricedUses usage={costs.lacking.unpriced} />
      <Warnings lines={costs.warnings} />
      {pictures.map(({ currency, series }) => (
        <Picture
          key={currency}
          title={say('cost.daily', { currency })}
          summary={say('cost.summary', {
            amount: money(costs.totals.find((one) => one.currency === currency)?.cost ?? null, currency),
            n: series.length,
          })}
          days={days}
          series={series}
          currency={currency}
          kind="bars"
          file={`cost-by-${dimension}-${currency}`}
        />
      ))}
    </>
  );
}

const leaseColumns = (): readonly Column<Lease>[] => [
  { name: say('column.lease'), text: ({ lease }) => lease },
  { name: say('column.of'), text: ({ target }) => target },
  { name: say('column.holder'), text: ({ holder }) => holder ?? unknown() },
  {
    name: say('column.gpus'),
    text: ({ gpus }) => (gpus === null ? '' : String(gpus)),
    cell: ({ gpus }) => count(gpus),
    number: ({ gpus }) => gpus,
  },
  instantColumn(say('from'), ({ startedAt }) => startedAt),
  {
    name: say('column.until'),
    text: ({ expiresAt }) => expiresAt ?? '',
    cell: ({ expiresAt }) => (expiresAt === null ? say('leases.no-end') : <Instant at={expiresAt} />),
  },
  { name: say('column.held'), text: ({ active }) => (active === null ? unknown() : active ? say('yes') : say('no')) },
];

function Leases({ items }: { readonly items: readonly Lease[] }): JSX.Element {
  if (items.length === 0)
    return (
      <Empty>
        <Rich of="leases.empty" given={{ a: (inner) => <a href={link('policies')}>{inner}</a> }} />
      </Empty>
    );
  return (
    <Table caption={say('leases')} file="leases" columns={leaseColumns()} rows={items} keyOf={({ lease }) => lease} />
  );
}
