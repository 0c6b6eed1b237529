/** Proposed, approved and finished actions, newest first, and what the kill switch holds back. */
import type { JSX } from 'preact';
import { ACTION_STATES } from '../../../core/action/action.js';
import { effectText } from '../alert-news.js';
import type { Action, Stops } from '../answers.js';
import { get, list } from '../api.js';
import { instantColumn, teamColumn } from '../columns.js';
import { Deciding } from '../deciding.js';
import { Expected } from '../expected.js';
import { code, instant, within } from '../format.js';
import { say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import type { Column } from '../table.js';
import { Filter, Page, Show } from '../ui.js';
import { State } from './action.js';

const columns = (): readonly Column<Action>[] => [
  {
    name: say('column.action'),
    text: ({ effect }) => effectText(effect),
    cell: ({ id, effect }) => <a href={link('actions', id)}>{effectText(effect)}</a>,
  },
  { name: say('column.state'), text: ({ state }) => state, cell: (one) => <State of={one} /> },
  teamColumn(),
  {
    name: say('column.saves'),
    text: ({ saves }) => saves?.estimatedMonthlySavings ?? '',
    number: ({ saves }) => {
      const mean = saves?.estimatedMonthlySavings ?? null;
      return mean === null ? null : Number(mean);
    },
    cell: ({ saves }) => <Expected saves={saves} />,
  },
  { name: say('column.by'), text: ({ policy, proposedBy }) => policy ?? proposedBy, isMinor: true },
  { name: say('column.cloud'), text: ({ connection }) => connection, isMinor: true },
  { ...instantColumn(say('column.proposed'), ({ proposedAt }) => proposedAt), isMinor: true },
];

export function Actions(): JSX.Element {
  const { query } = place.value;
  const [team, state] = [query.get('team') ?? '', query.get('state') ?? ''];
  const loaded = useLoaded(`actions ${team} ${state}`, (halt) =>
    list<Action>('/v1/actions', { team: team === '' ? null : team, state: state === '' ? null : state }, halt, 500),
  );
  return (
    <Page
      title={say('page.actions')}
      lead={team === '' ? say('newest') : say('newest.team', { team })}
      actions={
        <Filter
          label={say('column.state')}
          value={state}
          options={ACTION_STATES.map((one) => [one, code('state', one)])}
          onPick={(next) => go(link('actions', null, { team, state: next }))}
        />
      }
    >
      <StopNotes />
      <Deciding
        loaded={loaded}
        nameOf={({ effect, team: whose }) => `${effectText(effect)} (${whose})`}
        path="/v1/actions"
        summary={null}
        columns={columns()}
        many={say('newest.500')}
        empty={
          state === '' ? (
            <Rich of="actions.empty" given={{ a: (inner) => <a href={link('policies')}>{inner}</a> }} />
          ) : (
            say('actions.none', { state: within(code('state', state)) })
          )
        }
        caption={say('page.actions')}
        file="actions"
      />
    </Page>
  );
}

/** The kill switch, where it holds something back. */
function StopNotes(): JSX.Element {
  const loaded = useLoaded('stops', (halt) => get<Stops>('/v1/stop', {}, halt));
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
