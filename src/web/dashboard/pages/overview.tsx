/** The first page: the month's cost and forecast, the burning budgets, the proven savings, and the open decisions. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { effectText } from '../alert-news.js';
import type { Action, Overview as Answer, Page as List, Saving, SavingTotals } from '../answers.js';
import { get } from '../api.js';
import { Bills } from '../bills.js';
import { Budgets } from '../budgets.js';
import { moved } from '../cost-question.js';
import { EstimatedFigure, Expected } from '../expected.js';
import { day, instant, money, month } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Picture } from '../picture.js';
import { Rich } from '../rich.js';
import { link } from '../router.js';
import { Amount, Amounts, Card, Empty, Figure, Page, Select, SetAside, Show, Unpriced, UnpricedUses } from '../ui.js';

const WAITING = 5;

export function Overview(): JSX.Element {
  const overview = useLoaded('overview', (halt) => get<Answer>('/v1/overview', {}, halt));
  const savings = useLoaded('savings', (halt) =>
    get<List<Saving> & { readonly totals: SavingTotals }>('/v1/savings', { limit: 1 }, halt),
  );
  const waiting = useLoaded('waiting', (halt) =>
    get<List<Action>>('/v1/actions', { state: 'proposed', limit: WAITING + 1 }, halt),
  );
  return (
    <Page
      title={say('page.overview')}
      lead={
        overview.data === null
          ? undefined
          : say('overview.lead', { month: month(overview.data.month), at: instant(overview.data.asOf) })
      }
    >
      <Show loaded={overview}>{(data) => <Spend data={data} />}</Show>
      <div class="cards">
        <Card title={say('page.savings')}>
          <Show loaded={savings}>{({ totals }) => <Saved totals={totals} />}</Show>
        </Card>
        <Card title={say('overview.waiting')}>
          <Show loaded={waiting}>{({ items }) => <Waiting items={items} />}</Show>
        </Card>
      </div>
      <Card title={say('overview.budgets')} actions={<a href={link('budgets')}>{say('budgets.all')}</a>}>
        <Show loaded={overview}>
          {(data) => (
            <>
              <BudgetCounts data={data} />
              <Budgets items={data.budgets.items} caption={say('page.budgets')} />
            </>
          )}
        </Show>
      </Card>
    </Page>
  );
}

function Spend({ data }: { readonly data: Answer }): JSX.Element {
  const [picked, setPicked] = useState<string | null>(null);
  const shown = data.spend.find(({ currency }) => currency === picked) ?? data.spend[0];
  if (shown === undefined) return <NoSpend data={data} />;
  const { currency, month: spent, monthBefore, forecast, days } = shown;
  const currencies = data.spend.map((one) => [one.currency, one.currency] as const);
  return (
    <Card
      title={say('spend')}
      actions={
        currencies.length < 2 ? null : (
          <Select label={say('currency')} value={currency} options={currencies} onPick={setPicked} />
        )
      }
    >
      <dl class="figures">
        <Figure name={say('spend.month')} value={<Amount amount={spent} currency={currency} />} />
        <Figure
          name={say('spend.forecast', { day: day(moved(data.monthEnd, -1)) })}
          value={<Amount amount={forecast?.mean ?? null} currency={currency} />}
          note={
            forecast === null
              ? say('forecast.none')
              : say('interval', {
                  low: money(forecast.low, currency, true),
                  high: money(forecast.high, currency, true),
                })
          }
        />
        <Figure name={say('spend.before')} value={<Amount amount={monthBefore} currency={currency} />} />
      </dl>
      <Unpriced gpuHours={data.unpricedGpuHours} />
      <SetAside amounts={data.setAside.map(({ currency: of, cost }) => ({ currency: of, amount: cost }))} />
      <UnpricedUses usage={data.unpriced} />
      <Bills bills={data.bills} />
      {days.length === 0 ? null : (
        <Picture
          title={say('spend.daily')}
          summary={say('spend.summary', { n: days.length, amount: money(spent, currency), month: month(data.month) })}
          days={days.map((one) => one.day)}
          series={[{ name: say('spend.cost', { currency }), values: days.map(({ cost }) => cost) }]}
          currency={currency}
          kind="bars"
          file="spend-per-day"
        />
      )}
    </Card>
  );
}

/** Nothing has a price: where to begin, or what lacks one. */
const NoSpend = ({ data: { unpricedGpuHours } }: { readonly data: Answer }): JSX.Element => (
  <Card title={say('spend')}>
    <Unpriced gpuHours={unpricedGpuHours} />
    {Number(unpricedGpuHours) > 0 ? null : (
      <Empty>
        <Rich
          of="overview.empty"
          given={{ a: (inner) => <a href={link('imports')}>{inner}</a>, api: (inner) => <a href="/docs">{inner}</a> }}
        />
      </Empty>
    )}
  </Card>
);

function BudgetCounts({ data: { budgets } }: { readonly data: Answer }): JSX.Element | null {
  if (budgets.count === 0) return null;
  const { count: n, over, forecastOver, notPlanned, notWeighed } = budgets;
  return (
    <p class="note">
      {joined([
        say('count.budgets', { n }),
        over === 0 ? say('budgets.none-over') : say('budgets.over', { n: over }),
        forecastOver === 0 ? null : say('budgets.will-end', { n: forecastOver }),
        notPlanned === 0 ? null : say('budgets.not-planned', { n: notPlanned }),
        notWeighed === 0 ? null : say('budgets.not-evaluated', { n: notWeighed }),
      ])}
    </p>
  );
}

function Saved({ totals }: { readonly totals: SavingTotals }): JSX.Element {
  const { verified, measured, estimated, unverifiable } = totals;
  const isEmpty = verified.count + measured.count + estimated.count + unverifiable.count === 0;
  return (
    <>
      <dl class="figures">
        <Figure
          name={say('state.verified')}
          value={<Amounts amounts={verified.saved} />}
          note={say('saved.verified-short')}
        />
        <Figure
          name={say('state.measured')}
          value={<Amounts amounts={measured.saved} />}
          note={say('saved.measured-short')}
        />
        <EstimatedFigure of={estimated} />
      </dl>
      {isEmpty ? (
        <Empty>
          <Rich of="saved.nothing" given={{ a: (inner) => <a href={link('recommendations')}>{inner}</a> }} />
        </Empty>
      ) : (
        <p>
          <a href={link('savings')}>{say('saved.ledger')}</a>
        </p>
      )}
    </>
  );
}

function Waiting({ items }: { readonly items: readonly Action[] }): JSX.Element {
  if (items.length === 0)
    return (
      <Empty>
        <Rich of="overview.no-action" given={{ a: (inner) => <a href={link('policies')}>{inner}</a> }} />
      </Empty>
    );
  return (
    <>
      <ul class="plain">
        {items.slice(0, WAITING).map(({ id, effect, team, saves }) => (
          <li key={id}>
            <a href={link('actions', id)}>{effectText(effect)}</a> <span class="note">{team}</span>
            <div>
              <Expected saves={saves} />
            </div>
          </li>
        ))}
      </ul>
      {items.length > WAITING ? (
        <p>
          <a href={link('actions', null, { state: 'proposed' })}>{say('overview.all-waiting')}</a>
        </p>
      ) : null}
    </>
  );
}
