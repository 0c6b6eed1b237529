/** Alerts as a list; and one alert: its facts, its notifications and escalation, its outcome, and acknowledging it. */
import type { JSX } from 'preact';
import { ALERT_KINDS, ALERT_STATES } from '../../../core/alert/alert.js';
import {
  escalationAt,
  lineageOf,
  routeFor,
  type AlertRoutes,
  type EscalationStep,
} from '../../../core/alert/routes.js';
import { AlertLines, SEVERITY_TONES, STATE_TONES } from '../alert-lines.js';
import { driversIn, factsOf, subjectsOf, titleOf } from '../alert-news.js';
import type { Action, Alert, AlertStory, Standing, Team } from '../answers.js';
import { get, list, refusal, send } from '../api.js';
import { instantColumn } from '../columns.js';
import { standing } from '../standing.js';
import { DriverTable } from '../drivers.js';
import { code, count, instant, within } from '../format.js';
import { joined, reader, say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import type { Place } from '../routes.js';
import { Listing, Table, type Column } from '../table.js';
import {
  Act,
  AsWritten,
  Badge,
  Card,
  Empty,
  Facts,
  Filter,
  Instant,
  Page,
  Problems,
  Said,
  Show,
  type Tone,
} from '../ui.js';

const columns = (): readonly Column<Alert>[] => [
  {
    name: say('column.alert'),
    text: ({ news }) => titleOf(news),
    cell: ({ id, news }) => <a href={link('alerts', id)}>{titleOf(news)}</a>,
  },
  {
    name: say('column.severity'),
    text: ({ severity }) => severity,
    cell: ({ severity }) => <Badge tone={SEVERITY_TONES[severity]}>{code('severity', severity)}</Badge>,
  },
  {
    name: say('column.state'),
    text: ({ state }) => state,
    cell: ({ state, silence, answer, level }) => (
      <>
        <Badge tone={STATE_TONES[state]}>{code('alert-state', state)}</Badge>
        <div class="note">
          {silence !== null
            ? code('silence', silence)
            : answer !== null
              ? code('answer', answer.what)
              : level > 0
                ? say('alert.level', { n: level })
                : ''}
        </div>
      </>
    ),
  },
  {
    name: say('column.team'),
    text: ({ team }) => team ?? '',
    cell: ({ team }) =>
      team === null ? <span class="quiet">{within(say('all'))}</span> : <a href={link('teams', team)}>{team}</a>,
  },
  instantColumn(say('column.made'), ({ madeAt }) => madeAt),
];

interface Asked {
  readonly team: string;
  readonly kind: string;
  readonly state: string;
}

function askedIn({ query }: Place): Asked {
  return { team: query.get('team') ?? '', kind: query.get('kind') ?? '', state: query.get('state') ?? '' };
}

export function Alerts(): JSX.Element {
  const asked = askedIn(place.value);
  const { team, kind, state } = asked;
  const loaded = useLoaded(`alerts ${team} ${kind} ${state}`, (halt) =>
    list<Alert>(
      '/v1/alerts',
      { team: team === '' ? null : team, kind: kind === '' ? null : kind, state: state === '' ? null : state },
      halt,
      500,
    ),
  );
  return (
    <Page title={say('page.alerts')} lead={say('alerts.lead')}>
      <Filters asked={asked} />
      <Show loaded={loaded}>
        {({ items, more }) => (
          <Listing
            items={items}
            note={more ? say('newest.500') : null}
            empty={
              team + kind + state === '' ? (
                <Rich of="alerts.empty" given={{ a: (inner) => <a href={link('budgets')}>{inner}</a> }} />
              ) : (
                say('alerts.none')
              )
            }
            caption={say('page.alerts')}
            file="alerts"
            columns={columns()}
            keyOf={({ id }) => id}
          />
        )}
      </Show>
    </Page>
  );
}

/** By team, by subject and by state, kept in the address. */
function Filters({ asked }: { readonly asked: Asked }): JSX.Element {
  const teams = useLoaded('alert teams', (halt) => list<Team>('/v1/teams', {}, halt));
  const known = (teams.data?.items ?? []).map(({ id }) => id);
  const names = [...new Set([...known, ...(asked.team === '' ? [] : [asked.team])])].sort();
  const pick = (change: Partial<Asked>): void => go(link('alerts', null, { ...asked, ...change }));
  return (
    <div class="fields">
      <Filter
        label={say('column.team')}
        value={asked.team}
        options={names.map((id) => [id, id])}
        onPick={(team) => pick({ team })}
      />
      <Filter
        label={say('column.about')}
        value={asked.kind}
        options={ALERT_KINDS.map((one) => [one, code('alert', one)])}
        onPick={(kind) => pick({ kind })}
      />
      <Filter
        label={say('column.state')}
        value={asked.state}
        options={ALERT_STATES.map((one) => [one, code('alert-state', one)])}
        onPick={(state) => pick({ state })}
      />
    </div>
  );
}

export function AlertPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`alert ${id}`, (halt) => get<AlertStory>(`/v1/alerts/${encodeURIComponent(id)}`, {}, halt));
  const alert = loaded.data;
  return (
    <Page
      title={alert === null ? say('alerts.one', { id }) : titleOf(alert.news)}
      lead={alert === null ? undefined : <Lead alert={alert} />}
      actions={<a href={link('alerts')}>{say('alerts.all')}</a>}
    >
      <Show loaded={loaded}>{(story) => <Story story={story} again={loaded.again} />}</Show>
    </Page>
  );
}

function Lead({ alert: { severity, state, kind, team, madeAt } }: { readonly alert: Alert }): JSX.Element {
  return (
    <>
      <Badge tone={SEVERITY_TONES[severity]}>{code('severity', severity)}</Badge>{' '}
      <Badge tone={STATE_TONES[state]}>{code('alert-state', state)}</Badge>{' '}
      <Rich
        of="alerts.line"
        given={{
          kind: code('alert', kind),
          whom:
            team === null ? (
              say('alerts.all-teams')
            ) : (
              <Rich of="alerts.team" given={{ team: <a href={link('teams', team)}>{team}</a> }} />
            ),
          at: <Instant at={madeAt} />,
        }}
      />
    </>
  );
}

function Story({ story, again }: { readonly story: AlertStory; readonly again: () => void }): JSX.Element {
  const { news } = story;
  const drivers = driversIn(news);
  return (
    <>
      <div class="cards">
        <Card title={say('alerts.facts')}>
          <Facts facts={factsOf(news)} />
          <p class="note">{say('alerts.as-then')}</p>
          <ul class="links plain">
            {subjectsOf(news, reader.value.language).map(([name, to]) => (
              <li key={to}>
                <a href={to}>{name}</a>
              </li>
            ))}
          </ul>
        </Card>
        <Card title={say('alerts.became')}>
          <Became story={story} again={again} />
        </Card>
      </div>
      {drivers.length === 0 || !('currency' in news) ? null : (
        <Card title={say('drivers')}>
          <DriverTable drivers={drivers} currency={news.currency} />
        </Card>
      )}
      <Card title={say('alerts.went')}>
        <Deliveries story={story} />
        <Escalation story={story} />
      </Card>
      <Card title={say('alerts.thread')}>
        <Thread story={story} />
      </Card>
    </>
  );
}

/** The answer, the current state of its subject, and the button to acknowledge it. */
function Became({ story, again }: { readonly story: AlertStory; readonly again: () => void }): JSX.Element {
  const { id, kind, state, silence, answer, level, news } = story;
  const task = useTask(async () => {
    await send('POST', `/v1/alerts/${encodeURIComponent(id)}/acknowledge`);
    again();
    return say('alerts.taken');
  });
  return (
    <>
      <p>
        {answer !== null
          ? say('alerts.answered', { what: code('answer', answer.what), by: answer.by, at: instant(answer.at) })
          : silence !== null
            ? say('alerts.silent', { why: within(code('silence', silence)) })
            : say(`alerts.is-${state}`)}
        {answer === null && level > 0 ? ` ${say('alerts.escalated', { n: level })}` : ''}
      </p>
      {news.kind === 'budget' ? (
        <BudgetNow budget={news.budget} team={news.team} />
      ) : news.kind === 'approval' || news.kind === 'result' ? (
        <ActionNow action={news.action} />
      ) : null}
      {state !== 'open' ? null : kind === 'approval' && news.kind === 'approval' ? (
        <p>
          <a class="button primary" href={link('actions', news.action)}>
            {say('alerts.decide')}
          </a>
        </p>
      ) : (
        <Act tone="primary" refused={refusal('approve')} isBusy={task.isBusy} onAct={task.run}>
          {say('alerts.take')}
        </Act>
      )}
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
    </>
  );
}

function BudgetNow({ budget, team }: { readonly budget: string; readonly team: string }): JSX.Element {
  const loaded = useLoaded(`now ${budget}`, (halt) => list<Standing>('/v1/budget-states', { team }, halt));
  return (
    <Show loaded={loaded}>
      {({ items }) => {
        const found = items.find((one) => one.budget === budget);
        if (found === undefined) return <p class="note">{say('alerts.budget-gone')}</p>;
        const [tone, text] = standing(found.state);
        return (
          <p>
            <Rich
              of="alerts.budget-now"
              given={{
                budget: <a href={link('budgets', budget)}>{budget}</a>,
                standing: <Badge tone={tone}>{text}</Badge>,
              }}
            />
          </p>
        );
      }}
    </Show>
  );
}

function ActionNow({ action }: { readonly action: string }): JSX.Element {
  const loaded = useLoaded(`now ${action}`, (halt) =>
    get<Action>(`/v1/actions/${encodeURIComponent(action)}`, {}, halt),
  );
  return (
    <Show loaded={loaded}>
      {({ state }) => (
        <p>
          <Rich
            of="alerts.action-now"
            given={{
              action: <a href={link('actions', action)}>{action}</a>,
              state: <Badge>{code('state', state)}</Badge>,
            }}
          />
        </p>
      )}
    </Show>
  );
}

type Delivery = AlertStory['deliveries'][number];
const DELIVERY_TONES: Readonly<Record<Delivery['state'], Tone>> = {
  waiting: 'warn',
  sent: 'good',
  unknown: 'warn',
  failed: 'bad',
  dropped: 'plain',
};

const deliveryColumns = (): readonly Column<Delivery>[] => [
  { name: say('column.where'), text: ({ channel, address }) => (address === null ? channel : `${channel} ${address}`) },
  {
    name: say('column.what'),
    text: ({ part }) => (part === 'message' ? say('delivery-part.message') : say('delivery-part.picture')),
  },
  {
    name: say('column.step'),
    text: ({ level }) => String(level),
    number: ({ level }) => level,
    cell: ({ level }) => (level === 0 ? say('alerts.first') : count(level)),
  },
  {
    name: say('column.state'),
    text: ({ state }) => state,
    cell: ({ state, problem }) => (
      <>
        <Badge tone={DELIVERY_TONES[state]}>{code('delivery', state)}</Badge>
        {problem === null ? null : (
          <div class="note">
            <AsWritten>{problem}</AsWritten>
          </div>
        )}
      </>
    ),
  },
  instantColumn(say('column.intended'), ({ intendedAt }) => intendedAt),
  {
    name: say('column.sent'),
    text: ({ sentAt }) => sentAt ?? '',
    cell: ({ sentAt }) => (sentAt === null ? <span class="quiet">–</span> : <Instant at={sentAt} />),
  },
];

function Deliveries({ story: { id, deliveries, state } }: { readonly story: AlertStory }): JSX.Element {
  if (deliveries.length === 0) return <Empty>{state === 'new' ? say('alerts.not-yet') : say('alerts.nobody')}</Empty>;
  return (
    <Table
      caption={say('alerts.deliveries')}
      file={`deliveries-${id}`}
      columns={deliveryColumns()}
      rows={deliveries}
      keyOf={({ channel, address, part, level }) => `${channel} ${address} ${part} ${level}`}
    />
  );
}

interface Further {
  readonly at: number;
  readonly step: EscalationStep;
}

/** When and to whom it escalates without an answer; null: it does not. */
async function furtherOf(story: AlertStory, halt: AbortSignal): Promise<Further | null> {
  const [routes, teams] = await Promise.all([
    get<AlertRoutes>('/v1/alert-routes', {}, halt),
    list<Team>('/v1/teams', {}, halt),
  ]);
  const route = routeFor(
    routes,
    story,
    lineageOf(story.team, new Map(teams.items.map(({ id, parent }) => [id, parent]))),
  );
  const at = escalationAt(story, route);
  const step = route?.escalation[story.level];
  return at === null || step === undefined ? null : { at, step };
}

function Escalation({ story }: { readonly story: AlertStory }): JSX.Element | null {
  // The routes concern all teams: readers restricted to some do not see them.
  const mayAsk = story.state === 'open' && refusal('read', true) === null;
  const loaded = useLoaded(`escalation ${story.id} ${story.level} ${mayAsk}`, async (halt) => ({
    further: mayAsk ? await furtherOf(story, halt) : null,
  }));
  if (!mayAsk) return null;
  return (
    <Show loaded={loaded}>
      {({ further }) => (
        <p class="note">
          {further === null
            ? say('alerts.no-further')
            : say('alerts.further', {
                at: instant(new Date(further.at).toISOString()),
                to: joined(
                  further.step.to.map(({ channel, address }) => (address === null ? channel : `${channel} ${address}`)),
                ),
              })}
        </p>
      )}
    </Show>
  );
}

function Thread({ story: { id, thread, kind, team } }: { readonly story: AlertStory }): JSX.Element {
  const loaded = useLoaded(`thread ${id}`, (halt) =>
    list<Alert>('/v1/alerts', { team, kind: kind === 'approval' || kind === 'result' ? null : kind }, halt, 500),
  );
  return (
    <Show loaded={loaded}>
      {({ items }) => (
        <AlertLines items={items.filter((one) => one.thread === thread && one.id !== id)} none={say('alerts.alone')} />
      )}
    </Show>
  );
}
