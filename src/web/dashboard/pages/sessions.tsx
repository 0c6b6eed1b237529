/** Who is signed in: one's own sessions, everybody's for administrators, and ending them. */
import type { JSX } from 'preact';
import type { StandingSession } from '../answers.js';
import { list, refusal, send, session } from '../api.js';
import { instantColumn } from '../columns.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Listing, type Column } from '../table.js';
import { Act, Card, Page, Problems, Show } from '../ui.js';

const columns = (end: (one: StandingSession) => JSX.Element): readonly Column<StandingSession>[] => [
  {
    name: say('column.who'),
    text: ({ name, principal }) => `${name} ${principal}`,
    cell: ({ name, principal, isCurrent }) => (
      <>
        {name} <span class="note">{principal}</span> {isCurrent ? <strong>{say('sessions.current')}</strong> : null}
      </>
    ),
  },
  instantColumn(say('column.since'), ({ startedAt }) => startedAt),
  instantColumn(say('column.last-used'), ({ lastUsedAt }) => lastUsedAt),
  instantColumn(say('column.ends'), ({ endsAt }) => endsAt),
  { name: say('column.address'), text: ({ address }) => address ?? say('unknown') },
  { name: say('column.browser'), text: ({ agent }) => agent ?? say('unknown'), isMinor: true },
  { name: say('sessions.end'), text: () => '', cell: end },
];

export function Sessions(): JSX.Element {
  const isAdmin = refusal('admin') === null;
  const base = isAdmin ? '/v1/sessions' : '/v1/me/sessions';
  const loaded = useLoaded(base, (halt) => list<StandingSession>(base, {}, halt, 1000));
  const { isBusy, trouble, run } = useTask(async (path: string, isOwn: boolean) => {
    await send(path.endsWith('/end') ? 'POST' : 'DELETE', path);
    if (isOwn && session.value !== null) session.value = { ...session.value, signedIn: null };
    else loaded.again();
  });
  const end = ({ id, isCurrent }: StandingSession): JSX.Element => (
    <Act isBusy={isBusy} tone="danger" onAct={() => run(`${base}/${id}`, isCurrent)}>
      {say('sessions.end')}
    </Act>
  );
  return (
    <Page title={say('page.sessions')} lead={say(isAdmin ? 'sessions.lead-all' : 'sessions.lead')}>
      <Card title={say('page.sessions')}>
        <Show loaded={loaded}>
          {({ items, more }) => (
            <Listing
              items={items}
              note={more ? say('sessions.more') : null}
              empty={say('sessions.none')}
              caption={say('page.sessions')}
              file="sessions"
              columns={columns(end)}
              keyOf={({ id }) => id}
            />
          )}
        </Show>
        <p>
          <Act isBusy={isBusy} onAct={() => run('/v1/me/sessions/end', false)}>
            {say('sessions.end-others')}
          </Act>
        </p>
        <Problems trouble={trouble} />
      </Card>
    </Page>
  );
}
