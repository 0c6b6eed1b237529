/** What a change would do before it is saved: the changed values, and for a budget its running period. */
import type { JSX } from 'preact';
import type { BudgetState, BurnDown, CostBreakdown, Page, Team } from '../answers.js';
import { get } from '../api.js';
import { BurnDrawn } from '../budgets.js';
import { inWords, namedPath } from '../described.js';
import { money } from '../format.js';
import { say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Table } from '../table.js';
import { Card, Show } from '../ui.js';
import { teamsUnder } from '../../../core/budget/budget.js';
import type { ConfigurationChange } from './answers.js';

type Values = Readonly<Record<string, unknown>>;
const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const shown = (value: unknown): string => inWords(value) || '–';

/** Every value that differs, by its path; a list is one value. */
function differences(before: unknown, after: unknown, path: readonly string[] = []): Difference[] {
  if (isValues(before) || isValues(after)) {
    const [old, now] = [isValues(before) ? before : {}, isValues(after) ? after : {}];
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((name) =>
      differences(old[name], now[name], [...path, name]),
    );
  }
  if (shown(before) === shown(after)) return [];
  return [{ path: namedPath(path), before: shown(before), after: shown(after) }];
}

export function Plan({ changes }: { readonly changes: readonly ConfigurationChange[] }): JSX.Element {
  const rows = changes.flatMap(({ before, after }) => differences(before, after));
  return (
    <Card title={say('settings.preview-of')}>
      {rows.length === 0 ? (
        <p>{say('settings.no-change')}</p>
      ) : (
        <Table
          caption={say('settings.preview-of')}
          columns={[
            { name: say('settings.field'), text: ({ path }) => path },
            { name: say('settings.before'), text: ({ before }) => before },
            { name: say('settings.after'), text: ({ after }) => after },
          ]}
          rows={rows}
          keyOf={({ path }) => path}
          isCaptionHidden
        />
      )}
    </Card>
  );
}

/** The running period of a budget under another plan; for a new budget the period as it would have been. */
export function BudgetPreview({
  id,
  isNew,
  body,
}: {
  readonly id: string;
  readonly isNew: boolean;
  readonly body: Values;
}): JSX.Element {
  return isNew ? <LastMonth body={body} /> : <Burn id={id} body={body} />;
}

function Burn({ id, body }: { readonly id: string; readonly body: Values }): JSX.Element {
  const path = `/v1/budgets/${encodeURIComponent(id)}`;
  const loaded = useLoaded(`preview ${id}`, async (halt) => ({
    burn: await get<BurnDown>(`${path}/burn-down`, {}, halt),
    state: await get<BudgetState>(`${path}/state`, {}, halt).catch(() => null),
  }));
  return (
    <Card title={say('settings.burn')}>
      <Show loaded={loaded}>
        {({ burn, state }) => {
          const planned = isValues(body['planned']) ? body['planned'] : {};
          const own = isValues(planned['periods']) ? planned['periods'][burn.periodStart.slice(0, 10)] : undefined;
          const amount = own ?? planned['default'] ?? null;
          return <BurnDrawn burn={{ ...burn, planned: amount === null ? null : String(amount) }} state={state} />;
        }}
      </Show>
    </Card>
  );
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
