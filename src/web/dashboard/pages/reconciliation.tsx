/**
 * Bills compared with metered and priced usage: the findings, the differences by team and SKU, the rates learned from
 * bills, and the settings.
 */
import type { JSX } from 'preact';
import type { ReconciliationSettings, Variance, VarianceFinding, VarianceTotals } from '../answers.js';
import { amountColumn, numberColumn, teamColumn } from '../columns.js';
import { decimalOf, sumsOf, type Difference } from '../differences.js';
import { get, list } from '../api.js';
import { code, decimal, month } from '../format.js';
import { joined, say } from '../language.js';
import { LearnedRates } from '../learned-rates.js';
import { useLoaded } from '../loading.js';
import { go, link, place } from '../router.js';
import { Listing, Table, type Column } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Amount, Badge, Card, Empty, Facts, Field, Figure, Instant, Page, Select, Show } from '../ui.js';

/** How many rows of days are summed. */
const PAGE = 1000;
const MOST_PAGES = 10;
const STATES = ['open', 'resolved', ''] as const;

interface Wanted {
  readonly team: string;
  readonly month: string;
  readonly state: string;
}

function wantedOf(): Wanted {
  const { query } = place.value;
  const state = query.get('state') ?? 'open';
  const of = query.get('month') ?? '';
  return {
    team: query.get('team') ?? '',
    month: /^\d{4}-(0[1-9]|1[0-2])$/.test(of) ? of : '',
    state: STATES.some((one) => one === state) ? state : 'open',
  };
}

const filterOf = ({ team, month: of }: Wanted): { readonly team: string | null; readonly month: string | null } => ({
  team: team === '' ? null : team,
  month: of === '' ? null : of,
});

const reasonsOf = ({ reasons }: { readonly reasons: readonly string[] }): string =>
  joined(reasons.map((reason) => code('variance', reason)));

/** A share of the accrual, from the API: a decimal of any size. */
const shareText = (ratio: string | null): string =>
  ratio === null ? say('unknown') : say('percent', { n: decimal(decimalOf(ratio, 2), 1) });

const shared = (): readonly Column<Difference>[] => [
  { ...amountColumn(say('reconciliation.accrued'), ({ accrued }) => accrued), isMinor: true },
  amountColumn(say('alert.billed'), ({ compared }) => compared),
  amountColumn(say('alert.difference'), ({ variance }) => variance),
  {
    ...numberColumn(
      say('column.share'),
      ({ ratio }) => ratio,
      (ratio) => shareText(ratio),
    ),
    isMinor: true,
  },
  { name: say('column.why'), text: reasonsOf },
];

const whatOf = ({ provider, sku }: { readonly provider: string; readonly sku: string | null }): string =>
  `${provider} ${sku ?? say('not-known')}`;

const differenceColumns = (): readonly Column<Difference>[] => [
  teamColumn(),
  { name: say('column.what'), text: whatOf },
  ...shared(),
];

const findingColumns = (): readonly Column<VarianceFinding>[] => [
  teamColumn(),
  {
    name: say('column.what'),
    text: (one) => joined([whatOf(one), one.region, one.component]),
    cell: (one) => (
      <>
        {whatOf(one)}
        <div class="note">{joined([one.region, one.component, say('duration.days', { n: one.days })])}</div>
      </>
    ),
  },
  {
    name: say('reports.month'),
    isMinor: true,
    text: (one) => one.month,
    cell: (one) => (
      <>
        {month(one.month)}
        <div class="note">{one.source}</div>
      </>
    ),
  },
  ...shared(),
  {
    name: say('column.state'),
    text: ({ resolvedAt }) => (resolvedAt === null ? 'open' : 'resolved'),
    cell: ({ foundAt, resolvedAt }) => (
      <>
        <Badge tone={resolvedAt === null ? 'warn' : 'good'}>
          {code('finding', resolvedAt === null ? 'open' : 'resolved')}
        </Badge>
        <div class="note">
          <Instant at={resolvedAt ?? foundAt} />
        </div>
      </>
    ),
  },
];

export function Reconciliation(): JSX.Element {
  const wanted = wantedOf();
  const ask = (change: Partial<Wanted>): void => go(link('reconciliation', null, { ...wanted, ...change }));
  return (
    <Page title={say('page.reconciliation')} lead={say('reconciliation.lead')}>
      <div class="fields">
        <TeamPick value={wanted.team} onPick={(team) => ask({ team })} />
        <Field label={say('reconciliation.month')}>
          {(ids) => (
            <input
              {...ids}
              type="month"
              placeholder="2026-10"
              value={wanted.month}
              onChange={({ currentTarget }) => ask({ month: currentTarget.value })}
            />
          )}
        </Field>
      </div>
      <Card title={say('reconciliation.findings')} actions={<StatePick wanted={wanted} onPick={ask} />}>
        <Findings wanted={wanted} />
      </Card>
      <Card title={say('reconciliation.differences')}>
        <Differences wanted={wanted} />
      </Card>
      <LearnedRates />
      <SettingsCard />
    </Page>
  );
}

const StatePick = ({
  wanted,
  onPick,
}: {
  readonly wanted: Wanted;
  readonly onPick: (change: Partial<Wanted>) => void;
}): JSX.Element => (
  <Select
    label={say('column.state')}
    value={wanted.state}
    options={STATES.map((one) => [one, one === '' ? say('all') : code('finding', one)] as const)}
    onPick={(state) => onPick({ state })}
  />
);

function Findings({ wanted }: { readonly wanted: Wanted }): JSX.Element {
  const { state } = wanted;
  const loaded = useLoaded(`findings ${JSON.stringify(wanted)}`, (halt) =>
    list<VarianceFinding>(
      '/v1/reconciliation/findings',
      { ...filterOf(wanted), state: state === '' ? null : state },
      halt,
      500,
    ),
  );
  return (
    <Show loaded={loaded}>
      {({ items, more }) => (
        <Listing
          items={items}
          note={more ? say('newest.500') : null}
          empty={say('reconciliation.no-finding')}
          caption={say('reconciliation.findings')}
          file="variance-findings"
          columns={findingColumns()}
          keyOf={({ team, source, month: of, id }) => `${team} ${source} ${of} ${id}`}
        />
      )}
    </Show>
  );
}

interface Days {
  readonly items: readonly Variance[];
  readonly nextCursor: string | null;
  readonly totals: VarianceTotals;
}

/** Page by page, up to a maximum; `more`: the sums lack some days. */
async function allDays(wanted: Wanted, halt: AbortSignal): Promise<Days> {
  const items: Variance[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const days: Days = await get<Days>('/v1/reconciliation', { ...filterOf(wanted), limit: PAGE, cursor }, halt);
    items.push(...days.items);
    cursor = days.nextCursor;
    if (cursor === null || page === MOST_PAGES - 1) return { items, nextCursor: cursor, totals: days.totals };
  }
  return { items, nextCursor: cursor, totals: [] };
}

function Differences({ wanted }: { readonly wanted: Wanted }): JSX.Element {
  const loaded = useLoaded(`differences ${wanted.team} ${wanted.month}`, (halt) => allDays(wanted, halt));
  return (
    <Show loaded={loaded}>
      {({ items, nextCursor, totals }) =>
        items.length === 0 ? (
          <Empty>{say('reconciliation.empty')}</Empty>
        ) : (
          <>
            <Totals totals={totals} />
            {nextCursor === null ? null : <p class="warning">{say('reconciliation.many', { n: items.length })}</p>}
            <Table
              caption={say('reconciliation.differences')}
              file="variances"
              columns={differenceColumns()}
              rows={sumsOf(items)}
              keyOf={({ team, provider, sku, currency }) => JSON.stringify([team, provider, sku, currency])}
            />
            <p class="note">{say('reconciliation.apart-note')}</p>
          </>
        )
      }
    </Show>
  );
}

const Totals = ({ totals }: { readonly totals: VarianceTotals }): JSX.Element => (
  <>
    {totals.map(({ currency, accrued, compared, variance, apart, unpricedGpuHours }) => (
      <dl class="figures" key={currency}>
        <Figure name={say('reconciliation.accrued')} value={<Amount amount={accrued} currency={currency} />} />
        <Figure name={say('alert.billed')} value={<Amount amount={compared} currency={currency} />} />
        <Figure
          name={say('alert.difference')}
          value={<Amount amount={variance} currency={currency} />}
          note={
            Number(unpricedGpuHours) === 0
              ? undefined
              : say('reconciliation.unpriced', { hours: decimal(unpricedGpuHours) })
          }
        />
        <Figure name={say('reconciliation.apart')} value={<Amount amount={apart} currency={currency} />} />
      </dl>
    ))}
  </>
);

function SettingsCard(): JSX.Element {
  const loaded = useLoaded('reconciliation settings', (halt) =>
    get<ReconciliationSettings>('/v1/reconciliation/settings', {}, halt),
  );
  return (
    <Card title={say('page.settings')}>
      <Show loaded={loaded}>
        {({ learnRates, threshold, settling }) => (
          <Facts
            facts={[
              [say('rates.title'), say(learnRates ? 'reconciliation.are' : 'reconciliation.are-not')],
              [
                say('reconciliation.threshold'),
                say('reconciliation.beyond', { share: shareText(threshold.ratio), amount: decimal(threshold.amount) }),
              ],
              [
                say('reconciliation.settling'),
                joined([
                  say('duration.days', { n: settling.days }),
                  ...Object.entries(settling.providers).map(
                    ([provider, n]) => `${provider} ${say('duration.days', { n })}`,
                  ),
                ]),
              ],
            ]}
          />
        )}
      </Show>
    </Card>
  );
}
