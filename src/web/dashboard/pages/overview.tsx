/** The first page: what the month costs and will cost, which budgets burn down, what is proven to be saved, what waits for a decision. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Action, Overview as Answer, Page as List, Saving, SavingTotals } from '../answers.js';
import { get } from '../api.js';
import { Budgets } from '../budgets.js';
import { count, day, instant, money, month, several, words } from '../format.js';
import { useLoaded } from '../loading.js';
import { Picture } from '../picture.js';
import { link } from '../router.js';
import { Amount, Amounts, Card, Empty, Figure, Page, Select, Show, Unpriced } from '../ui.js';

const WAITING = 5;

export function Overview(): JSX.Element {
  const overview = useLoaded('overview', (halt) => get<Answer>('/v1/overview', {}, halt));
  const savings = useLoaded('savings', (halt) => get<List<Saving> & { readonly totals: SavingTotals }>('/v1/savings', { limit: 1 }, halt));
  const waiting = useLoaded('waiting', (halt) => get<List<Action>>('/v1/actions', { state: 'proposed', limit: WAITING + 1 }, halt));
  return (
    <Page title="Overview" lead={overview.data === null ? undefined : `${month(overview.data.month)}, as of ${instant(overview.data.asOf)}`}>
      <Show loaded={overview}>{(data) => <Spend data={data} />}</Show>
      <div class="cards">
        <Card title="Savings"><Show loaded={savings}>{({ totals }) => <Saved totals={totals} />}</Show></Card>
        <Card title="Waiting for approval"><Show loaded={waiting}>{({ items }) => <Waiting items={items} />}</Show></Card>
      </div>
      <Card title="Budgets, the nearest to their end first"><Show loaded={overview}>{(data) => <><BudgetCounts data={data} /><Budgets items={data.budgets.items} caption="Budgets" /></>}</Show></Card>
    </Page>
  );
}

function Spend({ data }: { readonly data: Answer }): JSX.Element {
  const [picked, setPicked] = useState<string | null>(null);
  const shown = data.spend.find(({ currency }) => currency === picked) ?? data.spend[0];
  if (shown === undefined) {
    return <Card title="Spend"><Unpriced gpuHours={data.unpricedGpuHours} />{Number(data.unpricedGpuHours) > 0 ? null : <Empty>Nothing is metered or billed yet. <a href="#/imports">Import a bill or a file of usage</a>, or connect a cloud (see <a href="/docs">the API</a>).</Empty>}</Card>;
  }
  const { currency, month: spent, monthBefore, forecast, days } = shown;
  return (
    <Card title="Spend" actions={data.spend.length < 2 ? null : <Select label="Currency" value={currency} options={data.spend.map((one) => [one.currency, one.currency])} onPick={setPicked} />}>
      <dl class="figures">
        <Figure name="This month so far" value={<Amount amount={spent} currency={currency} />} />
        <Figure name={`Forecast for ${day(data.monthEnd)}`} value={<Amount amount={forecast?.mean ?? null} currency={currency} />} note={forecast === null ? 'no history to forecast from' : `80 % between ${money(forecast.low, currency, true)} and ${money(forecast.high, currency, true)}`} />
        <Figure name="The month before" value={<Amount amount={monthBefore} currency={currency} />} />
      </dl>
      <Unpriced gpuHours={data.unpricedGpuHours} />
      {days.length === 0 ? null : <Picture title="Actual cost per day" summary={`${days.length} days; ${money(spent, currency)} in ${month(data.month)}.`} days={days.map((one) => one.day)} series={[{ name: `Cost in ${currency}`, values: days.map(({ cost }) => cost) }]} currency={currency} kind="bars" file="spend-per-day" />}
    </Card>
  );
}

function BudgetCounts({ data: { budgets } }: { readonly data: Answer }): JSX.Element | null {
  if (budgets.count === 0) return null;
  const parts = [
    several(budgets.count, 'budget'), budgets.over === 0 ? 'none is over' : `${count(budgets.over)} over`, budgets.forecastOver === 0 ? null : `${count(budgets.forecastOver)} will run out`,
    budgets.notPlanned === 0 ? null : `${count(budgets.notPlanned)} not planned`, budgets.notWeighed === 0 ? null : `${count(budgets.notWeighed)} not weighed yet`,
  ];
  return <p class="note">{parts.filter((one) => one !== null).join(', ')}</p>;
}

function Saved({ totals }: { readonly totals: SavingTotals }): JSX.Element {
  const { verified, measured, estimated, unverifiable } = totals;
  const isEmpty = verified.count + measured.count + estimated.count + unverifiable.count === 0;
  return (
    <>
      <dl class="figures">
        <Figure name="Verified" value={<Amounts amounts={verified.saved} />} note="agrees with a closed bill" />
        <Figure name="Measured" value={<Amounts amounts={measured.saved} />} note="against what would have happened" />
        <Figure name="Estimated per month" value={<Amounts amounts={estimated.monthly} />} note={`${several(estimated.count, 'action')}, not measured yet`} />
      </dl>
      {isEmpty ? <Empty>Nothing was done yet that could save. <a href={link('recommendations')}>Look at what is recommended</a>.</Empty> : <p><a href={link('savings')}>The whole ledger</a></p>}
    </>
  );
}

function Waiting({ items }: { readonly items: readonly Action[] }): JSX.Element {
  if (items.length === 0) return <Empty>No action waits. Policies in the mode <i>approve</i> propose actions here; <a href={link('policies')}>see the policies</a>.</Empty>;
  return (
    <>
      <ul class="plain">{items.slice(0, WAITING).map(({ id, effect, target, team }) => <li key={id}><a href={link('actions', id)}>{words(effect.kind)} {target}</a> <span class="note">{team}</span></li>)}</ul>
      {items.length > WAITING ? <p><a href={link('actions', null, { state: 'proposed' })}>All that wait</a></p> : null}
    </>
  );
}
