/**
 * What was proposed, approved and done; and one action with its timeline, its proof, and the decisions that are open.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ACTION_STATES, isFinal, waitOf, type ActionState } from '../../../core/action/action.js';
import type { Action, ActionStory } from '../answers.js';
import { get, list, send } from '../api.js';
import { ApproveChosen, choosing, reasonOf, type Decidable } from '../deciding.js';
import { code, figureOf, instant, shownCode, within } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import {
  Act,
  AsWritten,
  Badge,
  Card,
  Empty,
  Facts,
  Field,
  Instant,
  Page,
  Problems,
  Said,
  Select,
  Show,
  type Tone,
} from '../ui.js';

/** How often an action that goes on is read again. */
const FOLLOW_MS = 3000;

const currencyOf = (of: object): string => ('currency' in of && typeof of.currency === 'string' ? of.currency : 'USD');

const TONES: Readonly<Partial<Record<ActionState, Tone>>> = {
  proposed: 'warn',
  confirmed: 'good',
  measured: 'good',
  failed: 'bad',
  refused: 'bad',
};

/** Where it goes on, with what it waits for. */
function State({ of }: { readonly of: Pick<Action, 'state' | 'reasons'> }): JSX.Element {
  const wait = waitOf(of);
  return (
    <>
      <Badge tone={wait === null ? (TONES[of.state] ?? 'plain') : 'warn'}>{code('state', of.state)}</Badge>
      {wait === null ? null : <span class="note"> {code('event', wait)}</span>}
    </>
  );
}

const columns = (): readonly Column<Action>[] => [
  {
    name: say('column.action'),
    text: ({ effect, target }) => `${code('act', effect.kind)} ${target}`,
    cell: ({ id, effect, target }) => (
      <a href={link('actions', id)}>
        {code('act', effect.kind)} {target}
      </a>
    ),
  },
  { name: say('column.state'), text: ({ state }) => state, cell: (one) => <State of={one} /> },
  { name: say('column.team'), text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: say('column.by'), text: ({ policy, proposedBy }) => policy ?? proposedBy },
  { name: say('column.cloud'), text: ({ connection }) => connection },
  {
    name: say('column.proposed'),
    text: ({ proposedAt }) => proposedAt,
    cell: ({ proposedAt }) => <Instant at={proposedAt} />,
  },
];

const decidableOf = ({ id, effect, target, team, may }: Action): Decidable => ({
  id,
  name: `${code('act', effect.kind)} ${target} (${team})`,
  refused: reasonOf(may.approve),
});

export function Actions(): JSX.Element {
  const { query } = place.value;
  const [team, state] = [query.get('team') ?? '', query.get('state') ?? ''];
  const loaded = useLoaded(`actions ${team} ${state}`, (halt) =>
    list<Action>('/v1/actions', { team: team === '' ? null : team, state: state === '' ? null : state }, halt, 500),
  );
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const decidables = (loaded.data?.items ?? []).map(decidableOf).filter(({ id }) => chosen.has(id));
  return (
    <Page
      title={say('page.actions')}
      lead={team === '' ? say('newest') : say('newest.team', { team })}
      actions={
        <Select
          label={say('column.state')}
          value={state}
          options={[['', say('all')], ...ACTION_STATES.map((one) => [one, code('state', one)] as const)]}
          onPick={(next) => go(link('actions', null, { team, state: next }))}
        />
      }
    >
      <Stops />
      <Show loaded={loaded}>
        {({ items, more }) =>
          items.length === 0 ? (
            <Empty>
              {state === '' ? (
                <Rich of="actions.empty" given={{ a: (inner) => <a href={link('policies')}>{inner}</a> }} />
              ) : (
                say('actions.none', { state: within(code('state', state)) })
              )}
            </Empty>
          ) : (
            <>
              {more ? <p class="warning">{say('newest.500')}</p> : null}
              <Table
                caption={say('page.actions')}
                file="actions"
                columns={
                  items.some(({ may }) => may.approve === null)
                    ? [choosing<Action>(chosen, choose, decidableOf), ...columns()]
                    : columns()
                }
                rows={items}
                keyOf={({ id }) => id}
                isCaptionHidden
              />
            </>
          )
        }
      </Show>
      <ApproveChosen
        chosen={decidables}
        path="/v1/actions"
        summary={null}
        onDecided={() => {
          choose(new Set());
          loaded.again();
        }}
      />
    </Page>
  );
}

interface Stop {
  readonly scope: string;
  readonly name: string;
  readonly reason: string;
  readonly setAt: string;
  readonly setBy: string;
}

/** The kill switch, where it holds something back. */
function Stops(): JSX.Element {
  const loaded = useLoaded('stops', (halt) => get<{ readonly stops: readonly Stop[] }>('/v1/stop', {}, halt));
  return (
    <Show loaded={loaded}>
      {({ stops }) =>
        stops.length === 0 ? null : (
          <div class="problems">
            <p>
              <strong>{say('stop.on')}</strong>
            </p>
            <ul>
              {stops.map((one) => (
                <li key={`${one.scope} ${one.name}`}>
                  {say('stop.line', {
                    what:
                      one.scope === 'team'
                        ? say('stop.team', { name: one.name })
                        : one.scope === 'all'
                          ? say('stop.all')
                          : say('stop.provider', { name: one.name }),
                    at: instant(one.setAt),
                    by: one.setBy,
                  })}
                  {one.reason === '' ? null : <> ({one.reason})</>}
                </li>
              ))}
            </ul>
          </div>
        )
      }
    </Show>
  );
}

export function ActionPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`action ${id}`, (halt) =>
    get<ActionStory>(`/v1/actions/${encodeURIComponent(id)}`, {}, halt),
  );
  const state = loaded.data?.state ?? null;
  const { again } = loaded;
  // Until it has ended it is followed: each step appears as it happens.
  useEffect(() => {
    if (state === null || isFinal(state)) return undefined;
    const timer = setInterval(() => document.hidden || again(), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [state, again]);
  const title =
    loaded.data === null ? say('actions.one', { id }) : `${code('act', loaded.data.effect.kind)} ${loaded.data.target}`;
  return (
    <Page
      title={title}
      lead={
        loaded.data === null ? undefined : (
          <>
            <State of={loaded.data} />{' '}
            <Rich
              of="actions.for"
              given={{
                team: <a href={link('teams', loaded.data.team)}>{loaded.data.team}</a>,
                cloud: loaded.data.connection,
              }}
            />
          </>
        )
      }
      actions={<a href={link('actions')}>{say('actions.all')}</a>}
    >
      <Show loaded={loaded}>{(story) => <Story story={story} again={loaded.again} />}</Show>
    </Page>
  );
}

function Story({ story, again }: { readonly story: ActionStory; readonly again: () => void }): JSX.Element {
  const { id, reasons, recommendation, rollbackOf, takenBackBy, next, follows, events } = story;
  return (
    <>
      <Card title={say('decide')}>
        <Decisions story={story} again={again} />
        {reasons.map((reason) => (
          <p key={reason.code} class="warning">
            {code('event', reason.code)}: <AsWritten>{reason.message}</AsWritten>
          </p>
        ))}
      </Card>
      <Card title={say('timeline')}>
        <ol class="timeline">
          {events.map((event) => (
            <li key={event.no}>
              <Badge tone={TONES[event.to] ?? 'plain'}>{code('state', event.to)}</Badge> <Instant at={event.at} />
              <div>
                {event.code === event.to ? null : <>{code('event', event.code)} </>}
                <span class="note">{say('by', { who: event.actor })}</span>
              </div>
              {Object.keys(event.detail).length === 0 ? null : (
                <details>
                  <summary>
                    {say('details')}
                    <span class="hidden"> {say('table.of', { caption: code('state', event.to) })}</span>
                  </summary>
                  <Facts
                    facts={Object.entries(event.detail).map(([name, value]) =>
                      figureOf('field', name, value, currencyOf(event.detail)),
                    )}
                  />
                </details>
              )}
            </li>
          ))}
        </ol>
      </Card>
      <div class="cards">
        <Card title={say('actions.what')}>
          <Facts
            facts={Object.entries(story.effect).map(([name, value]) => [
              ...(name === 'kind'
                ? ([code('field', name), code('act', String(value))] as const)
                : figureOf('field', name, value, currencyOf(story.effect))),
            ])}
          />
          <ul class="plain">
            {recommendation === null ? null : (
              <li>
                <a href={link('recommendations', recommendation, { status: 'approved' })}>
                  {say('actions.recommendation')}
                </a>
              </li>
            )}
            {rollbackOf === null ? null : (
              <li>
                <Rich
                  of="actions.takes-back"
                  given={{ action: <a href={link('actions', rollbackOf)}>{rollbackOf}</a> }}
                />
              </li>
            )}
            {takenBackBy === null ? null : (
              <li>
                <Rich
                  of="actions.taken-back"
                  given={{ action: <a href={link('actions', takenBackBy)}>{takenBackBy}</a> }}
                />
              </li>
            )}
            {next === null ? null : (
              <li>
                <Rich
                  of="actions.next"
                  given={{
                    act: code('act', next.effect.kind),
                    target: next.effect.target,
                    at: <Instant at={next.notBefore} />,
                  }}
                />
              </li>
            )}
            {follows === null ? null : (
              <li>
                <Rich of="actions.follows" given={{ action: <a href={link('actions', follows)}>{follows}</a> }} />
              </li>
            )}
            {['measured', 'confirmed', 'rolled-back'].includes(story.state) ? (
              <li>
                <a href={link('savings', id)}>{say('actions.saved')}</a>
              </li>
            ) : null}
          </ul>
        </Card>
        <Card title={say('proof')}>
          <Proof story={story} />
        </Card>
      </div>
    </>
  );
}

function Decisions({ story, again }: { readonly story: ActionStory; readonly again: () => void }): JSX.Element {
  const [asked, setAsked] = useState<'approve' | 'reject' | 'rollback' | null>(null);
  const [reason, setReason] = useState('');
  const task = useTask(async (verb: 'approve' | 'reject' | 'rollback') => {
    const made = await send<Action>(
      'POST',
      `/v1/actions/${story.id}/${verb}`,
      verb === 'reject' ? { reason } : verb === 'rollback' ? {} : undefined,
    );
    setAsked(null);
    again();
    return verb === 'rollback'
      ? say('decided.rollback', { id: made.id })
      : say(`decided.${verb}`, { state: within(code('state', made.state)) });
  });
  const why = (verb: 'approve' | 'reject' | 'rollback'): string | null => reasonOf(story.may[verb]);
  return (
    <>
      <div class="buttons">
        <Act tone="primary" refused={why('approve')} isBusy={task.isBusy} onAct={() => setAsked('approve')}>
          {say('approve')}
        </Act>
        <Act refused={why('reject')} isBusy={task.isBusy} onAct={() => setAsked('reject')}>
          {say('reject')}
        </Act>
        <Act tone="danger" refused={why('rollback')} isBusy={task.isBusy} onAct={() => setAsked('rollback')}>
          {say('rollback')}
        </Act>
      </div>
      {asked === null ? null : (
        <form
          class="ask"
          onSubmit={(event) => {
            event.preventDefault();
            task.run(asked);
          }}
        >
          {asked === 'reject' ? (
            <Field label={say('reject.why')}>
              {(ids) => (
                <input
                  {...ids}
                  type="text"
                  maxLength={1000}
                  value={reason}
                  onInput={({ currentTarget }) => setReason(currentTarget.value)}
                />
              )}
            </Field>
          ) : (
            <p>
              <Rich
                of={asked === 'approve' ? 'approve.asks' : 'rollback.asks'}
                given={{ cloud: story.connection, target: story.target, act: code('act', story.effect.kind) }}
              />
            </p>
          )}
          <div class="buttons">
            <button class={asked === 'rollback' ? 'danger' : 'primary'} aria-disabled={task.isBusy}>
              {asked === 'approve' ? say('approve.do') : asked === 'reject' ? say('reject.do') : say('rollback.do')}
            </button>
            <button type="button" onClick={() => setAsked(null)}>
              {say('leave')}
            </button>
          </div>
        </form>
      )}
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
    </>
  );
}

const SEEN = ['state', 'billing', 'replicas', 'sku', 'term', 'spotRatio'] as const;

function Proof({ story: { before, after } }: { readonly story: ActionStory }): JSX.Element {
  if (before === null && after === null) return <Empty>{say('proof.empty')}</Empty>;
  const rows = SEEN.filter((name) => (before?.[name] ?? null) !== null || (after?.[name] ?? null) !== null);
  const columnsOf: readonly Column<(typeof SEEN)[number]>[] = [
    { name: say('proof.target'), text: (name) => code('field', name) },
    { name: say('proof.before'), text: (name) => (before === null ? say('proof.not-there') : shownCode(before[name])) },
    { name: say('proof.after'), text: (name) => (after === null ? say('proof.gone') : shownCode(after[name])) },
  ];
  return <Table caption={say('proof.caption')} file="proof" columns={columnsOf} rows={rows} keyOf={(name) => name} />;
}
