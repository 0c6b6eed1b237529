/** What a change would do before it is saved: the changed values, and for a budget its running period. */
import type { JSX } from 'preact';
import type { BudgetState, BurnDown, CostBreakdown, Page, Standing, Team } from '../answers.js';
import { get } from '../api.js';
import { BurnDrawn, runsOut } from '../budgets.js';
import { named } from '../field-words.js';
import { Differences } from '../differing.js';
import { day, money, percent } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded } from '../loading.js';
import { isSame, isValues } from '../merging.js';
import { Card, Show } from '../ui.js';
import { dayLabel } from '../../../core/time.js';
import { teamsUnder, type Threshold } from '../../../core/budget/budget.js';
import type { ConfigurationChange } from '../answers.js';

type Values = Readonly<Record<string, unknown>>;
export const Plan = ({ changes }: { readonly changes: readonly ConfigurationChange[] }): JSX.Element => (
  <Card title={say('settings.preview-of')}>
    <Differences caption={say('settings.preview-of')} changes={changes} />
  </Card>
);

/** The running period of a budget under another plan; for a new budget the period as it would have been. */
export function BudgetPreview({
  id,
  isNew,
  before,
  body,
}: {
  readonly id: string;
  readonly isNew: boolean;
  readonly before: Values;
  readonly body: Values;
}): JSX.Element {
  return isNew ? <LastMonth body={body} /> : <Burn id={id} before={before} body={body} />;
}

function Burn({
  id,
  before,
  body,
}: {
  readonly id: string;
  readonly before: Values;
  readonly body: Values;
}): JSX.Element {
  const path = `/v1/budgets/${encodeURIComponent(id)}`;
  const loaded = useLoaded(`preview ${id}`, async (halt) => {
    const burn = await get<BurnDown>(`${path}/burn-down`, {}, halt);
    // A budget that was never evaluated has no state; one of another period says nothing of this one.
    const found = await get<Standing>(`${path}/state`, {}, halt).catch(() => null);
    return { burn, state: isSamePeriod(burn, found) ? (found?.state ?? null) : null };
  });
  const counts = COUNTED.filter((field) => !isSame(before[field], body[field]));
  return (
    <Card title={say('settings.burn')}>
      {counts.length === 0 ? null : (
        <p class="warning">{say('settings.burn-counted', { fields: joined(counts.map(named)) })}</p>
      )}
      <Show loaded={loaded}>
        {({ burn, state }) => {
          const planned = isValues(body['planned']) ? body['planned'] : {};
          const own = isValues(planned['periods']) ? planned['periods'][firstDay(burn)] : undefined;
          const amount = own ?? planned['default'] ?? null;
          const under = { ...burn, planned: amount === null ? null : String(amount) };
          return (
            <>
              {under.planned === null ? null : (
                <ul>
                  {consequencesOf(under, state, Number(under.planned), body['thresholds']).map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                </ul>
              )}
              <BurnDrawn burn={under} state={state} />
            </>
          );
        }}
      </Show>
    </Card>
  );
}

const isSamePeriod = (burn: BurnDown, found: Standing | null): boolean =>
  Date.parse(found?.periodStart ?? '') === Date.parse(burn.periodStart);

/** A period's own amount stands under its first day in the budget's zone. */
const firstDay = ({ zone, periodStart }: BurnDown): string => dayLabel(Date.parse(periodStart), zone);

/** The fields that decide what a budget counts: the spend shown is the one under the saved ones. */
const COUNTED = ['team', 'filters', 'basis', 'includeCredits', 'currency', 'period', 'zone'] as const;

/** What another amount would mean: the share that is spent, the forecast's, the day it runs out, and its thresholds. */
function consequencesOf(burn: BurnDown, state: BudgetState | null, planned: number, thresholds: unknown): string[] {
  const forecast = state?.forecast ?? null;
  const [spent, mean] = [Number(burn.days.at(-1)?.total ?? 0), forecast === null ? null : Number(forecast.mean)];
  const share = (amount: number | string): string => percent(planned === 0 ? null : Number(amount) / planned);
  const end = runsOut(burn, state);
  const reached = (Array.isArray(thresholds) ? (thresholds as readonly Threshold[]) : []).filter(({ kind, ratio }) => {
    const amount = kind === 'actual' ? spent : mean;
    return amount !== null && amount >= Number(ratio) * planned;
  });
  return [
    say('settings.under-spent', { share: share(spent) }),
    forecast === null
      ? say('settings.under-unknown')
      : say('settings.under-forecast', {
          mean: share(forecast.mean),
          low: share(forecast.low),
          high: share(forecast.high),
        }),
    ...(end !== null
      ? [say('settings.under-ends', { day: day(end) })]
      : forecast === null
        ? []
        : [say('settings.under-lasts')]),
    reached.length === 0
      ? say('settings.under-quiet')
      : say('settings.under-reached', {
          what: joined(
            reached.map(({ kind, ratio }) => say(`settings.threshold-${kind}`, { share: percent(Number(ratio)) })),
          ),
        }),
  ];
}

/** The cost question's names for a budget's filters. */
const FILTERS: Readonly<Record<string, string>> = { subAccount: 'sub-account' };

function LastMonth({ body }: { readonly body: Values }): JSX.Element {
  const { filters } = body;
  const [team, given] = [String(body['team'] ?? ''), isValues(filters) ? filters : {}];
  const loaded = useLoaded(`last month ${JSON.stringify([team, given])}`, async (halt) => {
    const { items } = await get<Page<Team>>('/v1/teams', { limit: 1000 }, halt);
    const asked = Object.entries(given).filter(([name]) => name !== 'tag');
    return get<CostBreakdown>(
      '/v1/costs/breakdown',
      {
        ...Object.fromEntries(asked.map(([name, values]) => [FILTERS[name] ?? name, values as readonly string[]])),
        team: [...teamsUnder(team, new Map(items.map(({ id, parent }) => [id, parent])))],
        span: 'last-month',
        compare: 'none',
        limit: 1,
      },
      halt,
    );
  });
  return (
    <Card title={say('settings.last-month')}>
      <Show loaded={loaded}>
        {({ now }) => (
          <p>
            {now.totals.length === 0
              ? say('settings.last-month-none')
              : say('settings.last-month-text', {
                  amount: now.totals.map(({ currency, cost }) => money(cost, currency)).join(', '),
                })}{' '}
            {given['tag'] === undefined ? '' : say('settings.no-tags')}
          </p>
        )}
      </Show>
    </Card>
  );
}
