/**
 * All budgets; and one: its state, its burn-down, its thresholds, the drivers of the spend, the holds, and where to
 * begin to save.
 */
import type { ComponentChildren, JSX } from 'preact';
import { driversOf, nextStepOf } from '../../../core/alert/numbers.js';
import type { Driver, NextStep } from '../../../core/alert/alert.js';
import { BUDGET_FILTERS, teamsUnder } from '../../../core/budget/budget.js';
import { isEndKnown } from '../../../core/budget/exhaustion.js';
import { compareDecimal, formatDecimal, type Decimal } from '../../../core/decimal.js';
import { dayLabel } from '../../../core/time.js';
import { AlertLines } from '../alert-lines.js';
import type {
  Alert,
  BudgetSettings,
  BurnDown,
  Costs,
  Reservation,
  Standing,
  StoredRecommendation,
  Team,
  EvaluatedBudget,
} from '../answers.js';
import { get, list, Trouble } from '../api.js';
import { Periods } from '../budget-periods.js';
import { Budgets, BurnDrawn, daysOf } from '../budgets.js';
import { amountColumnIn, instantColumn } from '../columns.js';
import { endOf, standing } from '../standing.js';
import { DriverTable } from '../drivers.js';
import { interval } from '../expected.js';
import { code, day, instant, money, percent, within } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Rich } from '../rich.js';
import { link } from '../router.js';
import { amount, less } from '../sums.js';
import { Table, type Column } from '../table.js';
import {
  Amount,
  Badge,
  Card,
  Empty,
  Facts,
  Figure,
  Instant,
  Page,
  SetAside,
  Show,
  Unpriced,
  UnpricedUses,
  AsWritten,
  Warnings,
} from '../ui.js';

const MOST_STEPS = 3;

export function BudgetsPage(): JSX.Element {
  const loaded = useLoaded('budgets', (halt) => list<Standing>('/v1/budget-states', {}, halt));
  return (
    <Page title={say('page.budgets')} lead={say('budgets.lead')}>
      <Show loaded={loaded}>
        {({ items, more }) => (
          <>
            {more ? <p class="warning">{say('budgets.many')}</p> : null}
            <Budgets items={items} caption={say('page.budgets')} />
          </>
        )}
      </Show>
    </Page>
  );
}

interface Answer {
  readonly budget: BudgetSettings;
  /** Null: the line has not evaluated it yet. */
  readonly evaluated: EvaluatedBudget | null;
  readonly burn: BurnDown;
  /** The team and those below it. */
  readonly teams: readonly string[];
}

async function answerOf(id: string, halt: AbortSignal): Promise<Answer> {
  const path = `/v1/budgets/${encodeURIComponent(id)}`;
  const evaluated = get<EvaluatedBudget>(`${path}/state`, {}, halt).catch((trouble: unknown) => {
    if (trouble instanceof Trouble && trouble.status === 404) return null;
    throw trouble;
  });
  const [budget, state, burn, teams] = await Promise.all([
    get<BudgetSettings>(path, {}, halt),
    evaluated,
    get<BurnDown>(`${path}/burn-down`, {}, halt),
    list<Team>('/v1/teams', {}, halt),
  ]);
  return {
    budget,
    evaluated: state,
    burn,
    teams: [...teamsUnder(budget.team, new Map(teams.items.map(({ id: one, parent }) => [one, parent])))],
  };
}

export function BudgetPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`budget ${id}`, (halt) => answerOf(id, halt));
  const { data } = loaded;
  return (
    <Page
      title={say('budget.one', { id })}
      lead={data === null ? undefined : <Lead answer={data} />}
      actions={<a href={link('budgets')}>{say('budgets.all')}</a>}
    >
      <Show loaded={loaded}>{(answer) => <Whole answer={answer} />}</Show>
    </Page>
  );
}

function Lead({ answer: { budget, evaluated, burn } }: { readonly answer: Answer }): JSX.Element {
  const [tone, text] = standing(evaluated?.state ?? null);
  const days = daysOf(burn);
  return (
    <>
      <Badge tone={tone}>{text}</Badge>{' '}
      <Rich
        of="budget.lead"
        given={{
          team: <a href={link('teams', budget.team)}>{budget.team}</a>,
          from: day(days[0] ?? null),
          to: day(days.at(-1) ?? null),
          zone: burn.zone,
        }}
      />
    </>
  );
}

function Whole({ answer }: { readonly answer: Answer }): JSX.Element {
  const { budget, evaluated, burn, teams } = answer;
  return (
    <>
      <Card title={say('column.standing')}>
        <Figures answer={answer} />
      </Card>
      <Card title={say('budget.burn')} terms={['interval', 'actual']}>
        <BurnDrawn burn={burn} state={evaluated?.state ?? null} />
      </Card>
      <div class="cards">
        <Card title={say('budget.thresholds')} terms={['threshold']}>
          <Thresholds answer={answer} />
        </Card>
        <Card title={say('budget.alerts')}>
          <Alerts budget={budget} />
        </Card>
        <Card title={say('drivers')}>
          <Drivers budget={budget} burn={burn} teams={teams} />
        </Card>
        <Card title={say('budget.steps')}>
          <Steps currency={budget.currency} teams={teams} />
        </Card>
      </div>
      <Card title={say('budget.periods')}>
        <Periods budget={budget} />
      </Card>
      <Card title={say('budget.held')}>
        <Held budget={budget} evaluated={evaluated} />
      </Card>
      <Card title={say('budget.settings')}>
        <Settings budget={budget} teams={teams} />
      </Card>
    </>
  );
}

const product = (a: Decimal, b: Decimal): Decimal => ({ unscaled: a.unscaled * b.unscaled, scale: a.scale + b.scale });

function Figures({ answer: { budget, evaluated } }: { readonly answer: Answer }): JSX.Element {
  if (evaluated === null) return <Empty>{say('budget.not-evaluated')}</Empty>;
  const { planned, spent, forecast, ratio, burnRatePerDay } = evaluated.state;
  const { currency } = budget;
  const shown = (text: string | null): JSX.Element => <Amount amount={text} currency={currency} />;
  return (
    <>
      <dl class="figures">
        <Figure
          name={say('column.spent')}
          value={shown(spent)}
          note={ratio === null ? undefined : say('budget.share', { share: percent(ratio) })}
        />
        <Figure name={say('column.planned')} value={planned === null ? say('standing.not-planned') : shown(planned)} />
        {planned === null ? null : <Figure name={say('budget.left')} value={shown(less(planned, spent))} />}
        <Figure
          name={say('budget.forecast')}
          value={shown(forecast?.mean ?? null)}
          note={
            forecast === null
              ? say(isEndKnown(evaluated.state) ? 'forecast.none' : 'standing.unpriced')
              : say('interval', {
                  low: money(forecast.low, currency, true),
                  high: money(forecast.high, currency, true),
                })
          }
        />
        <Figure name={say('budget.rate')} value={shown(burnRatePerDay)} />
        {planned === null ? null : (
          <Figure
            name={say(Number(spent) > Number(planned) ? 'budget.ended' : 'budget.end')}
            value={endOf(evaluated.state)}
          />
        )}
      </dl>
      <Lacking state={evaluated.state} />
      <Warnings lines={evaluated.warnings} />
      <p class="note">{say('budget.evaluated', { at: instant(evaluated.weighedAt) })}</p>
    </>
  );
}

/** What no figure includes. */
function Lacking({ state }: { readonly state: EvaluatedBudget['state'] }): JSX.Element {
  const { unpricedGpuHours, unconverted, unstated, setAside, unnamed, unpriced } = state;
  return (
    <>
      <Unpriced gpuHours={unpricedGpuHours} />
      {unconverted.length === 0 ? null : (
        <p class="warning">{say('budget.unconverted', { currencies: joined(unconverted) })}</p>
      )}
      {(unstated ?? []).map((one) => (
        <p class="warning">
          {say('budget.unstated', { amount: money(one.amount, one.currency), lines: String(one.lines ?? '?') })}
        </p>
      ))}
      <SetAside amounts={setAside ?? []} />
      <UnpricedUses usage={unpriced ?? []} />
      {(unnamed ?? []).map((one) => (
        <p class="warning">
          {say('budget.unnamed', {
            amount: one.amount === null ? say('unknown') : money(one.amount, one.currency),
            fields: joined(one.fields),
          })}
        </p>
      ))}
    </>
  );
}

interface ThresholdRow {
  readonly kind: string;
  readonly ratio: string;
  /** The amount at the threshold; null: there is no plan, or the threshold was removed and its amount is not known. */
  readonly amount: string | null;
  readonly crossedAt: string | null;
  /** A change of the budget took the crossing away: the threshold is no longer in it, or not reached any more. */
  readonly isPast: boolean;
}

/** A threshold removed after its crossing stays: people were notified of it. */
function thresholdsOf({ budget, evaluated }: Answer): ThresholdRow[] {
  const planned = evaluated?.state.planned ?? null;
  const crossings = (evaluated?.crossings ?? []).filter(({ periodStart }) => periodStart === evaluated?.periodStart);
  const isSame = (
    one: { readonly kind: string; readonly ratio: string },
    other: { readonly kind: string; readonly ratio: string },
  ): boolean => one.kind === other.kind && compareDecimal(amount(one.ratio), amount(other.ratio)) === 0;
  const removed = crossings.filter((crossing) => !budget.thresholds.some((one) => isSame(one, crossing)));
  return [
    ...budget.thresholds.map(({ kind, ratio }): ThresholdRow => {
      const crossed = crossings.findLast((one) => isSame(one, { kind, ratio }));
      return {
        kind,
        ratio,
        amount: planned === null ? null : formatDecimal(product(amount(planned), amount(ratio))),
        crossedAt: crossed?.crossedAt ?? null,
        isPast: crossed?.holds === false,
      };
    }),
    ...removed.map(
      ({ kind, ratio, crossedAt }): ThresholdRow => ({ kind, ratio, amount: null, crossedAt, isPast: true }),
    ),
  ].sort((a, b) => a.kind.localeCompare(b.kind) || Number(a.ratio) - Number(b.ratio));
}

const thresholdColumns = (currency: string): readonly Column<ThresholdRow>[] => [
  {
    name: say('column.threshold'),
    text: ({ kind, ratio }) =>
      say('threshold.of', { share: percent(Number(ratio)), kind: within(code('threshold', kind)) }),
  },
  amountColumnIn(currency, say('column.amount'), (row) => row.amount, true),
  {
    name: say('column.crossed'),
    text: ({ crossedAt }) => crossedAt ?? '',
    cell: ({ crossedAt, isPast }) =>
      crossedAt === null ? (
        <span class="quiet">{say('threshold.not-crossed')}</span>
      ) : (
        <>
          {isPast ? say('threshold.past') : <Badge tone="warn">{say('threshold.crossed')}</Badge>}{' '}
          <Instant at={crossedAt} />
        </>
      ),
  },
];

function Thresholds({ answer }: { readonly answer: Answer }): JSX.Element {
  const rows = thresholdsOf(answer);
  const before = new Set(
    (answer.evaluated?.crossings ?? [])
      .map(({ periodStart }) => periodStart)
      .filter((start) => start !== answer.evaluated?.periodStart),
  ).size;
  return (
    <>
      {rows.length === 0 ? (
        <Empty>{say('threshold.none')}</Empty>
      ) : (
        <Table
          caption={say('budget.thresholds')}
          file={`thresholds-${answer.budget.id}`}
          columns={thresholdColumns(answer.budget.currency)}
          rows={rows}
          keyOf={({ kind, ratio }) => `${kind} ${ratio}`}
        />
      )}
      {before === 0 ? null : <p class="note">{say('threshold.before', { n: before })}</p>}
    </>
  );
}

function Alerts({ budget: { id, team } }: { readonly budget: BudgetSettings }): JSX.Element {
  const loaded = useLoaded(`budget alerts ${id}`, (halt) =>
    list<Alert>('/v1/alerts', { kind: 'budget', team }, halt, 200),
  );
  return (
    <Show loaded={loaded}>
      {({ items }) => (
        <AlertLines
          items={items.filter(({ news }) => news.kind === 'budget' && news.budget === id)}
          none={say('budget.no-alert')}
        />
      )}
    </Show>
  );
}

function Drivers({
  budget,
  burn,
  teams,
}: {
  readonly budget: BudgetSettings;
  readonly burn: BurnDown;
  readonly teams: readonly string[];
}): JSX.Element {
  const { id, currency, filters, team } = budget;
  const { zone, basis } = budget;
  const groups = [
    'provider',
    'sku',
    'gpuModel',
    ...BUDGET_FILTERS.filter((one) => one !== 'tag' && filters[one] !== undefined),
  ];
  const loaded = useLoaded(`drivers ${id}`, async (halt): Promise<readonly Driver[]> => {
    const { rows } = await get<Costs>(
      '/v1/costs',
      {
        from: dayLabel(Date.parse(burn.periodStart), zone),
        to: dayLabel(Date.parse(burn.periodEnd), zone),
        zone,
        basis: basis === 'accrued' ? basis : 'actual',
        'group-by': [...new Set(groups)].join(','),
        currency,
        team: teams,
      },
      halt,
    );
    return driversOf(rows, currency, filters);
  });
  if (filters.tag !== undefined) return <Empty>{say('drivers.tag')}</Empty>;
  return (
    <>
      <Show loaded={loaded}>{(drivers) => <DriverTable drivers={drivers} currency={currency} />}</Show>
      <p>
        <a href={link('teams', team)}>{say('drivers.more')}</a>
      </p>
    </>
  );
}

/** The surest saving first, as an alert names the first of them. */
function stepsOf(open: readonly StoredRecommendation[], currency: string): NextStep[] {
  const steps: NextStep[] = [];
  for (let left = open; steps.length < MOST_STEPS; ) {
    const step = nextStepOf(left, currency);
    if (step === null) break;
    steps.push(step);
    left = left.filter(({ id }) => id !== step.recommendation);
  }
  return steps;
}

function stepText({ monthlySavings, monthlySavingsLow = null, monthlySavingsHigh = null, currency }: NextStep): string {
  const text = say('budget.step', { amount: money(monthlySavings, currency) });
  return monthlySavingsLow === null || monthlySavingsHigh === null
    ? text
    : joined([text, interval(monthlySavingsLow, monthlySavingsHigh, currency)]);
}

function Steps({ currency, teams }: { readonly currency: string; readonly teams: readonly string[] }): JSX.Element {
  const one = teams.length === 1 ? (teams[0] ?? null) : null;
  const loaded = useLoaded(`steps ${teams.join(',')}`, (halt) =>
    list<StoredRecommendation>('/v1/recommendations', { status: 'open', team: one }, halt),
  );
  return (
    <Show loaded={loaded}>
      {({ items }) => {
        const steps = stepsOf(
          items.filter(({ team }) => teams.includes(team)),
          currency,
        );
        if (steps.length === 0)
          return (
            <Empty>
              <Rich of="budget.no-step" given={{ a: (inner) => <a href={link('recommendations')}>{inner}</a> }} />
            </Empty>
          );
        return (
          <ol class="plain">
            {steps.map((step) => (
              <li key={step.recommendation}>
                <a href={link('recommendations', step.recommendation)}>
                  <AsWritten>{step.title}</AsWritten>
                </a>
                <div class="note">{stepText(step)}</div>
              </li>
            ))}
          </ol>
        );
      }}
    </Show>
  );
}

interface Hold {
  readonly reservation: Reservation;
  readonly held: string;
  readonly used: string;
  readonly remaining: string;
}

const holdColumns = (currency: string): readonly Column<Hold>[] => [
  {
    name: say('column.reservation'),
    text: ({ reservation }) => reservation.id,
    cell: ({ reservation: { id, reason } }) => (
      <>
        {reason === '' ? id : reason}
        <div class="note">{id}</div>
      </>
    ),
  },
  { name: say('column.team'), text: ({ reservation }) => reservation.team },
  { name: say('column.by'), text: ({ reservation }) => reservation.createdBy, isMinor: true },
  ...(['held', 'used', 'remaining'] as const).map(
    (name): Column<Hold> => amountColumnIn(currency, say(`column.${name}`), (hold) => hold[name]),
  ),
  instantColumn(say('column.until'), ({ reservation }) => reservation.expiresAt),
];

function Held({
  budget,
  evaluated,
}: {
  readonly budget: BudgetSettings;
  readonly evaluated: EvaluatedBudget | null;
}): JSX.Element {
  const { id, currency } = budget;
  const loaded = useLoaded(`holds ${id}`, (halt) => list<Reservation>('/v1/reservations', {}, halt));
  const { committed = null, reserved = null } = evaluated?.state ?? {};
  return (
    <>
      <dl class="figures">
        <Figure
          name={say('budget.committed')}
          value={<Amount amount={committed} currency={currency} />}
          note={say('budget.committed-note')}
        />
        <Figure
          name={say('budget.reserved')}
          value={<Amount amount={reserved ?? (committed === null ? null : '0')} currency={currency} />}
          note={say('budget.reserved-note')}
        />
      </dl>
      <Show loaded={loaded}>
        {({ items }) => {
          const holds = items.flatMap((reservation) =>
            reservation.holds.filter((hold) => hold.budget === id).map((hold): Hold => ({ reservation, ...hold })),
          );
          return holds.length === 0 ? (
            <Empty>{say('budget.no-hold')}</Empty>
          ) : (
            <Table
              caption={say('budget.holds')}
              file={`reservations-${id}`}
              columns={holdColumns(currency)}
              rows={holds}
              keyOf={({ reservation }) => reservation.id}
            />
          );
        }}
      </Show>
    </>
  );
}

function Settings({
  budget,
  teams,
}: {
  readonly budget: BudgetSettings;
  readonly teams: readonly string[];
}): JSX.Element {
  const { period, zone, filters, includeCredits } = budget;
  const filtered: readonly (readonly [string, ComponentChildren])[] = [
    ...BUDGET_FILTERS.flatMap((name) => {
      const wanted = name === 'tag' ? undefined : filters[name];
      if (wanted === undefined) return [];
      const words = name === 'term' ? wanted.map((term) => within(code('term', term))) : wanted;
      return [[code('dimension', name), joined(words)] as const];
    }),
    ...(filters.tag === undefined
      ? []
      : [[say('budget.tags'), joined(filters.tag.map(({ key, value }) => `${key}=${value}`))] as const]),
  ];
  return (
    <Facts
      facts={[
        [
          say('budget.period'),
          typeof period === 'string' ? say(`period.${period}`) : say('period.days', { n: period.lengthDays }),
        ],
        [say('budget.zone'), zone],
        [say('budget.counts'), say('count.teams', { n: teams.length })],
        [say('explorer.basis'), say(`budget.basis-${budget.basis ?? 'actual'}`)],
        [say('bridge.credits'), includeCredits ? say('budget.credits-in') : say('budget.credits-out')],
        ...(filtered.length === 0 ? [[say('explorer.filters'), say('none')] as const] : filtered),
      ]}
    />
  );
}
