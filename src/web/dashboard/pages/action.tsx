/** One action: the open decisions, its timeline, what it changes, and its proof. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isFinal, waitOf, type ActionState } from '../../../core/action/action.js';
import { effectText } from '../alert-news.js';
import type { Action, ActionStory, StoredRecommendation } from '../answers.js';
import { get, send } from '../api.js';
import { Ask } from '../ask.js';
import { reasonOf } from '../deciding.js';
import { EvidencePicture } from '../evidence-picture.js';
import { code, count, figureOf, shownCode, within } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { link } from '../router.js';
import { Bar, Figures } from '../saves.js';
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
  Show,
  type Tone,
} from '../ui.js';

/** How often an unfinished action is read again. */
const FOLLOW_MS = 3000;

const currencyOf = (of: object): string => ('currency' in of && typeof of.currency === 'string' ? of.currency : 'USD');

const TONES: Readonly<Partial<Record<ActionState, Tone>>> = {
  proposed: 'warn',
  confirmed: 'good',
  measured: 'good',
  failed: 'bad',
  refused: 'bad',
};

/** Where it continues, with what it waits for. */
export function State({ of }: { readonly of: Pick<Action, 'state' | 'reasons'> }): JSX.Element {
  const wait = waitOf(of);
  return (
    <>
      <Badge tone={wait === null ? (TONES[of.state] ?? 'plain') : 'warn'}>{code('state', of.state)}</Badge>
      {wait === null ? null : <span class="note"> {code('event', wait)}</span>}
    </>
  );
}

/** Reads an action again until it has ended: each step appears as it happens. @param state null: not read yet */
function useFollowed(state: ActionState | null, again: () => void): void {
  useEffect(() => {
    if (state === null || isFinal(state)) return undefined;
    const timer = setInterval(() => document.hidden || again(), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [state, again]);
}

export function ActionPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`action ${id}`, (halt) =>
    get<ActionStory>(`/v1/actions/${encodeURIComponent(id)}`, {}, halt),
  );
  const state = loaded.data?.state ?? null;
  useFollowed(state, loaded.again);
  const title = loaded.data === null ? say('actions.one', { id }) : effectText(loaded.data.effect);
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
  return (
    <>
      <Card title={say('decide')} terms={['guard', 'canary']}>
        <Decisions story={story} again={again} />
        <Reasons of={story} />
        <LastRollback story={story} again={again} />
      </Card>
      {story.recommendation === null ? null : <Recommended id={story.recommendation} />}
      <Card title={say('timeline')}>
        <ol class="timeline">
          {story.events.map((event) => (
            <Step key={event.no} event={event} />
          ))}
        </ol>
      </Card>
      <div class="cards">
        <Card title={say('actions.what')}>
          <Facts
            facts={Object.entries(story.effect).map(([name, value]) =>
              name === 'kind'
                ? ([code('field', name), code('act', String(value))] as const)
                : figureOf('field', name, value, currencyOf(story.effect)),
            )}
          />
          <Related story={story} />
        </Card>
        <Card title={say('proof')}>
          <Proof story={story} />
        </Card>
      </div>
    </>
  );
}

function Reasons({ of }: { readonly of: Pick<Action, 'reasons'> }): JSX.Element {
  return (
    <>
      {of.reasons.map((reason) => (
        <p key={reason.code} class="warning">
          {code('event', reason.code)}: <AsWritten>{reason.message}</AsWritten>
        </p>
      ))}
    </>
  );
}

/** The newest rollback of an action: where it stands, what it waits for, why it was refused. Nothing: there is none. */
function LastRollback({
  story,
  again,
}: {
  readonly story: ActionStory;
  readonly again: () => void;
}): JSX.Element | null {
  const begun = story.events.findLast((event) => event.code === 'rollback-begun')?.detail['by'];
  return typeof begun === 'string' ? <Rollback key={begun} id={begun} onEnd={again} /> : null;
}

function Rollback({ id, onEnd }: { readonly id: string; readonly onEnd: () => void }): JSX.Element {
  const loaded = useLoaded(`action ${id}`, (halt) =>
    get<ActionStory>(`/v1/actions/${encodeURIComponent(id)}`, {}, halt),
  );
  const state = loaded.data?.state ?? null;
  useFollowed(state, loaded.again);
  const hasEnded = state !== null && isFinal(state);
  // The action that it rolls back has another state then.
  useEffect(() => {
    if (hasEnded) onEnd();
  }, [hasEnded]);
  return (
    <Show loaded={loaded}>
      {(rollback) => (
        <div role="status">
          <p>
            <Rich of="actions.rollback" given={{ action: <a href={link('actions', id)}>{id}</a> }} />{' '}
            <State of={rollback} />
          </p>
          <Reasons of={rollback} />
        </div>
      )}
    </Show>
  );
}

/** Its expected saving and the evidence, from its recommendation. */
function Recommended({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`recommendation ${id}`, (halt) =>
    get<StoredRecommendation>(`/v1/recommendations/${encodeURIComponent(id)}`, {}, halt),
  );
  return (
    <Card title={say('recommendations.saves')} terms={['interval', 'break-even', 'commitment']}>
      <Show loaded={loaded}>
        {(one) => (
          <>
            <Figures one={one} />
            <Bar one={one} />
            <EvidencePicture recommendation={id} />
          </>
        )}
      </Show>
    </Card>
  );
}

/** One step of the timeline, with its details folded. */
function Step({ event }: { readonly event: ActionStory['events'][number] }): JSX.Element {
  const state = code('state', event.to);
  const details = Object.entries(event.detail);
  return (
    <li>
      <Badge tone={TONES[event.to] ?? 'plain'}>{state}</Badge> <Instant at={event.at} />
      <div>
        {event.code === event.to ? null : <>{code('event', event.code)} </>}
        <span class="note">{say('by', { who: event.actor })}</span>
      </div>
      {details.length === 0 ? null : (
        <details>
          <summary>
            {say('details')}
            <span class="hidden"> {say('table.of', { caption: state })}</span>
          </summary>
          <Facts facts={details.map(([name, value]) => figureOf('field', name, value, currencyOf(event.detail)))} />
        </details>
      )}
    </li>
  );
}

/** Its recommendation, its rollback and successor, and what it saved. */
function Related({ story }: { readonly story: ActionStory }): JSX.Element {
  const { id, state, recommendation, rollbackOf, takenBackBy, next, follows } = story;
  return (
    <ul class="plain">
      {recommendation === null ? null : (
        <li>
          <a href={link('recommendations', recommendation, { status: 'approved' })}>{say('actions.recommendation')}</a>
        </li>
      )}
      <Other of="actions.takes-back" action={rollbackOf} />
      <Other of="actions.taken-back" action={takenBackBy} />
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
      <Other of="actions.follows" action={follows} />
      {['measured', 'confirmed', 'rolled-back'].includes(state) ? (
        <li>
          <a href={link('savings', id)}>{say('actions.saved')}</a>
        </li>
      ) : null}
    </ul>
  );
}

/** Another action related to it; null: there is none. */
function Other({
  of,
  action,
}: {
  readonly of: 'actions.takes-back' | 'actions.taken-back' | 'actions.follows';
  readonly action: string | null;
}): JSX.Element | null {
  if (action === null) return null;
  return (
    <li>
      <Rich of={of} given={{ action: <a href={link('actions', action)}>{action}</a> }} />
    </li>
  );
}

/**
 * A possible decision: the button's tone, the question before it is sent (a rejection asks for a reason), and the
 * answer.
 */
const VERBS = {
  approve: { tone: 'primary', asks: 'approve.asks', answer: 'approve.do' },
  reject: { tone: null, asks: null, answer: 'reject.do' },
  rollback: { tone: 'danger', asks: 'rollback.asks', answer: 'rollback.do' },
} as const;
type Verb = keyof typeof VERBS;

function Decisions({ story, again }: { readonly story: ActionStory; readonly again: () => void }): JSX.Element {
  const [asked, setAsked] = useState<Verb | null>(null);
  const task = useTask(async (verb: Verb, body?: Readonly<Record<string, string>>) => {
    const made = await send<Action>('POST', `/v1/actions/${story.id}/${verb}`, body);
    setAsked(null);
    again();
    return verb === 'rollback'
      ? say('decided.rollback', { id: made.id })
      : say(`decided.${verb}`, { state: within(code('state', made.state)) });
  });
  return (
    <>
      <div class="buttons">
        {(Object.keys(VERBS) as Verb[]).map((verb) => {
          const { tone } = VERBS[verb];
          return (
            <Act
              key={verb}
              {...(tone === null ? {} : { tone })}
              refused={reasonOf(story.may[verb])}
              isBusy={task.isBusy}
              onAct={() => setAsked(verb)}
            >
              {say(verb)}
            </Act>
          );
        })}
      </div>
      {asked === null ? null : (
        <Question
          verb={asked}
          story={story}
          isBusy={task.isBusy}
          onDecide={(body) => task.run(asked, body)}
          onLeave={() => setAsked(null)}
        />
      )}
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
    </>
  );
}

/** Asks once more before anything is sent; a rejection may give a reason. */
function Question({
  verb,
  story,
  isBusy,
  onDecide,
  onLeave,
}: {
  readonly verb: Verb;
  readonly story: ActionStory;
  readonly isBusy: boolean;
  readonly onDecide: (body?: Readonly<Record<string, string>>) => void;
  readonly onLeave: () => void;
}): JSX.Element {
  const [reason, setReason] = useState('');
  const { asks, answer } = VERBS[verb];
  return (
    <Ask
      name={say(verb)}
      yes={say(answer)}
      tone={verb === 'rollback' ? 'danger' : 'primary'}
      isBusy={isBusy}
      onYes={() => onDecide({ approve: undefined, reject: { reason }, rollback: {} }[verb])}
      onLeave={onLeave}
    >
      {asks === null ? (
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
            of={asks}
            given={{ cloud: story.connection, target: story.target, act: code('act', story.effect.kind) }}
          />
        </p>
      )}
    </Ask>
  );
}

const SEEN = ['state', 'billing', 'replicas', 'sku', 'term', 'spotRatio'] as const;

/** A field of a reading, for people: for replicas the wanted and the ready number. */
function seen(target: NonNullable<ActionStory['before']>, name: (typeof SEEN)[number]): string {
  const { replicas } = target;
  if (name !== 'replicas' || replicas === null) return shownCode(target[name]);
  const { desired, ready } = replicas;
  return ready === null ? count(desired) : say('proof.replicas', { desired: count(desired), ready: count(ready) });
}

function Proof({ story: { before, after } }: { readonly story: ActionStory }): JSX.Element {
  if (before === null && after === null) return <Empty>{say('proof.empty')}</Empty>;
  const rows = SEEN.filter((name) => (before?.[name] ?? null) !== null || (after?.[name] ?? null) !== null);
  const columnsOf: readonly Column<(typeof SEEN)[number]>[] = [
    { name: say('proof.target'), text: (name) => code('field', name) },
    { name: say('proof.before'), text: (name) => (before === null ? say('proof.not-there') : seen(before, name)) },
    { name: say('proof.after'), text: (name) => (after === null ? say('proof.gone') : seen(after, name)) },
  ];
  return (
    <Table
      caption={say('proof.caption')}
      file="proof"
      columns={columnsOf}
      rows={rows}
      keyOf={(name) => name}
      showsCaption
    />
  );
}
