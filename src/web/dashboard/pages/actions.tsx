/** What was proposed, approved and done; and one action with its timeline, its proof, and the decisions that are open. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ACTION_STATES, effectFromJson, isFinal, type ActionState } from '../../../core/action.js';
import { inverseOf } from '../../../core/fleet.js';
import type { Action, ActionStory } from '../answers.js';
import { get, list, refusal, send } from '../api.js';
import { instant, shown, words } from '../format.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, Badge, Card, Empty, Facts, Field, Instant, Page, Problems, Said, Select, Show, type Tone } from '../ui.js';

const TONES: Readonly<Partial<Record<ActionState, Tone>>> = { proposed: 'warn', confirmed: 'good', measured: 'good', failed: 'bad', refused: 'bad' };

const columns: readonly Column<Action>[] = [
  { name: 'Action', text: ({ effect, target }) => `${words(effect.kind)} ${target}`, cell: ({ id, effect, target }) => <a href={link('actions', id)}>{words(effect.kind)} {target}</a> },
  { name: 'State', text: ({ state }) => state, cell: ({ state }) => <Badge tone={TONES[state] ?? 'plain'}>{words(state)}</Badge> },
  { name: 'Team', text: ({ team }) => team, cell: ({ team }) => <a href={link('teams', team)}>{team}</a> },
  { name: 'By', text: ({ policy, proposedBy }) => policy ?? proposedBy },
  { name: 'Cloud', text: ({ connection }) => connection },
  { name: 'Proposed', text: ({ proposedAt }) => proposedAt, cell: ({ proposedAt }) => <Instant at={proposedAt} /> },
];

export function Actions(): JSX.Element {
  const { query } = place.value;
  const [team, state] = [query.get('team') ?? '', query.get('state') ?? ''];
  const loaded = useLoaded(`actions ${team} ${state}`, (halt) => list<Action>('/v1/actions', { team: team === '' ? null : team, state: state === '' ? null : state }, halt, 500));
  return (
    <Page title="Actions" lead={team === '' ? 'Newest first' : `Of the team ${team}, newest first`}
      actions={<Select label="State" value={state} options={[['', 'All'], ...ACTION_STATES.map((one) => [one, words(one)] as const)]} onPick={(next) => go(link('actions', null, { team, state: next }))} />}>
      <Stops />
      <Show loaded={loaded}>{({ items, more }) => items.length === 0
        ? <Empty>{state === '' ? <>No action was proposed yet. Where a policy's mode is <i>approve</i> or <i>enforce</i> and a cloud is connected, its recommendations become actions: <a href={link('policies')}>see the policies</a>.</> : `No action is ${words(state).toLowerCase()}.`}</Empty>
        : <>{more ? <p class="warning">Only the newest 500 are listed.</p> : null}<Table caption="Actions" file="actions" columns={columns} rows={items} keyOf={({ id }) => id} isCaptionHidden /></>}
      </Show>
    </Page>
  );
}

interface Stop { readonly scope: string; readonly name: string; readonly reason: string; readonly setAt: string; readonly setBy: string }

/** The kill switch, where it holds something back. */
function Stops(): JSX.Element {
  const loaded = useLoaded('stops', (halt) => get<{ readonly stops: readonly Stop[] }>('/v1/stop', {}, halt));
  return <Show loaded={loaded}>{({ stops }) => (stops.length === 0 ? null : <div class="problems"><p><strong>The kill switch is on.</strong></p><ul>{stops.map((one) => <li key={`${one.scope} ${one.name}`}>{one.scope === 'all' ? 'Everything' : `The ${one.scope} ${one.name}`}, since {instant(one.setAt)}, by {one.setBy}{one.reason === '' ? '' : `: ${one.reason}`}</li>)}</ul></div>)}</Show>;
}

export function ActionPage({ id }: { readonly id: string }): JSX.Element {
  const loaded = useLoaded(`action ${id}`, (halt) => get<ActionStory>(`/v1/actions/${encodeURIComponent(id)}`, {}, halt));
  const title = loaded.data === null ? `Action ${id}` : `${words(loaded.data.effect.kind)} ${loaded.data.target}`;
  return (
    <Page title={title} lead={loaded.data === null ? undefined : <><Badge tone={TONES[loaded.data.state] ?? 'plain'}>{words(loaded.data.state)}</Badge> for the team <a href={link('teams', loaded.data.team)}>{loaded.data.team}</a> at {loaded.data.connection}</>} actions={<a href={link('actions')}>All actions</a>}>
      <Show loaded={loaded}>{(story) => <Story story={story} again={loaded.again} />}</Show>
    </Page>
  );
}

/** Why an action cannot be decided so now; null: it can. The server has the last word. */
function hindrance(verb: 'approve' | 'reject' | 'rollback', { state, askedAt, rollbackOf, takenBackBy, effect, before }: Action): string | null {
  if (verb === 'approve') return state === 'proposed' ? null : `it is ${words(state).toLowerCase()}`;
  if (verb === 'reject') return isFinal(state) ? `it is ${words(state).toLowerCase()}` : ['proposed', 'approved', 'intended'].includes(state) && askedAt === null ? null : 'the provider was asked for it';
  if (!['applied', 'confirmed', 'measured'].includes(state)) return 'there is nothing to take back';
  if (rollbackOf !== null) return 'it is a rollback itself';
  if (takenBackBy !== null) return 'it is being taken back';
  return before === null || inverseOf(effectFromJson(effect), before) === null ? 'nothing takes it back' : null;
}

function Story({ story, again }: { readonly story: ActionStory; readonly again: () => void }): JSX.Element {
  const { id, reasons, recommendation, rollbackOf, takenBackBy, events } = story;
  return (
    <>
      <Card title="Decide"><Decisions story={story} again={again} />{reasons.map((reason) => <p key={reason.code} class="warning">{words(reason.code)}: {reason.message}</p>)}</Card>
      <Card title="Timeline">
        <ol class="timeline">{events.map((event) => (
          <li key={event.no}><Badge tone={TONES[event.to] ?? 'plain'}>{words(event.to)}</Badge> <Instant at={event.at} /><div>{words(event.code)} <span class="note">by {event.actor}</span></div>
            {Object.keys(event.detail).length === 0 ? null : <details><summary>Details<span class="hidden"> of {words(event.to)}</span></summary><Facts facts={Object.entries(event.detail).map(([name, value]) => [words(name), shown(value)])} /></details>}</li>
        ))}</ol>
      </Card>
      <div class="cards">
        <Card title="What it does"><Facts facts={Object.entries(story.effect).map(([name, value]) => [words(name), shown(value)])} />
          <ul class="plain">
            {recommendation === null ? null : <li><a href={link('recommendations', recommendation, { status: 'approved' })}>The recommendation</a></li>}
            {rollbackOf === null ? null : <li>Takes back <a href={link('actions', rollbackOf)}>{rollbackOf}</a></li>}
            {takenBackBy === null ? null : <li>Taken back by <a href={link('actions', takenBackBy)}>{takenBackBy}</a></li>}
            {['measured', 'confirmed', 'rolled-back'].includes(story.state) ? <li><a href={link('savings', id)}>What it saved</a></li> : null}
          </ul>
        </Card>
        <Card title="Proof"><Proof story={story} /></Card>
      </div>
    </>
  );
}

function Decisions({ story, again }: { readonly story: ActionStory; readonly again: () => void }): JSX.Element {
  const [asked, setAsked] = useState<'reject' | 'rollback' | null>(null);
  const [reason, setReason] = useState('');
  const task = useTask(async (verb: 'approve' | 'reject' | 'rollback') => {
    const made = await send<Action>('POST', `/v1/actions/${story.id}/${verb}`, verb === 'reject' ? { reason } : verb === 'rollback' ? {} : undefined);
    setAsked(null);
    again();
    return verb === 'rollback' ? `The rollback ${made.id} is approved and goes its way.` : `${words(verb)}: it is ${words(made.state).toLowerCase()} now.`;
  });
  const role = refusal('operator');
  const why = (verb: 'approve' | 'reject' | 'rollback'): string | null => role ?? hindrance(verb, story);
  return (
    <>
      <div class="buttons">
        <Act tone="primary" refused={why('approve')} isBusy={task.isBusy} onAct={() => task.run('approve')}>Approve</Act>
        <Act refused={why('reject')} isBusy={task.isBusy} onAct={() => setAsked('reject')}>Reject</Act>
        <Act tone="danger" refused={why('rollback')} isBusy={task.isBusy} onAct={() => setAsked('rollback')}>Roll back</Act>
      </div>
      {asked === null ? null : (
        <form class="ask" onSubmit={(event) => { event.preventDefault(); task.run(asked); }}>
          {asked === 'reject' ? <Field label="Why (it goes into the record)">{(ids) => <input {...ids} type="text" maxLength={1000} value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />}</Field>
            : <p>This asks {story.connection} to put <code>{story.target}</code> back as it was before.</p>}
          <div class="buttons"><button class={asked === 'rollback' ? 'danger' : 'primary'} aria-disabled={task.isBusy}>{asked === 'reject' ? 'Reject it' : 'Roll it back'}</button><button type="button" onClick={() => setAsked(null)}>Leave it</button></div>
        </form>
      )}
      <Problems trouble={task.trouble} /><Said>{task.said}</Said>
    </>
  );
}

const SEEN = ['state', 'billing', 'replicas', 'sku', 'term', 'spotRatio'] as const;

function Proof({ story: { before, after } }: { readonly story: ActionStory }): JSX.Element {
  if (before === null && after === null) return <Empty>The target is read just before the effect and again when it is confirmed. Neither has happened.</Empty>;
  const rows = SEEN.filter((name) => (before?.[name] ?? null) !== null || (after?.[name] ?? null) !== null);
  const columnsOf: readonly Column<(typeof SEEN)[number]>[] = [
    { name: 'Of the target', text: (name) => words(name) }, { name: 'Before', text: (name) => (before === null ? 'not there' : shown(before[name])) },
    { name: 'After', text: (name) => (after === null ? 'not confirmed, or gone' : shown(after[name])) },
  ];
  return <Table caption="The target as the provider reported it" file="proof" columns={columnsOf} rows={rows} keyOf={(name) => name} />;
}
