/** Budget held for coming runs: by whom, from which budgets, until when, and its release. */
import type { JSX } from 'preact';
import type { ReservationState } from '../../../core/budget/reservation.js';
import type { Reservation } from '../answers.js';
import { list, refusal, send } from '../api.js';
import { amountColumn, instantColumn, teamColumn } from '../columns.js';
import { code, money } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Sure } from '../sure.js';
import { Table, type Column } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Badge, Empty, Page, Problems, Said, Select, Show, type Tone } from '../ui.js';

const TONES: Readonly<Record<ReservationState, Tone>> = {
  active: 'good',
  used: 'plain',
  expired: 'plain',
  released: 'plain',
};

const holdsOf = ({ holds }: Reservation): string =>
  joined(holds.map(({ budget, remaining, currency }) => `${budget} ${money(remaining, currency)}`));

const columns = (act: (one: Reservation) => JSX.Element | null): readonly Column<Reservation>[] => [
  {
    name: say('column.reservation'),
    text: ({ id }) => id,
    cell: ({ id, reason }) => (
      <>
        {reason === '' ? <span class="quiet">{say('reservations.no-reason')}</span> : reason}
        <div class="note">
          <code>{id}</code>
        </div>
      </>
    ),
  },
  teamColumn(),
  {
    name: say('column.state'),
    text: ({ state }) => state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{code('reservation', state)}</Badge>,
  },
  amountColumn(say('column.held'), ({ amount }) => amount),
  {
    name: say('reservations.of'),
    text: holdsOf,
    cell: ({ holds }) =>
      holds.length === 0 ? (
        <span class="quiet">{say('none')}</span>
      ) : (
        <ul class="plain">
          {holds.map(({ budget, held, remaining, used, currency }) => (
            <li key={budget}>
              <a href={link('budgets', budget)}>{budget}</a>
              <div class="note">
                {say('reservations.left', {
                  held: money(held, currency),
                  used: money(used, currency),
                  remaining: money(remaining, currency),
                })}
              </div>
            </li>
          ))}
        </ul>
      ),
  },
  { name: say('column.holder'), text: ({ createdBy }) => createdBy, isMinor: true },
  instantColumn(say('column.until'), ({ expiresAt }) => expiresAt),
  { name: say('do.Release'), text: () => '', cell: act },
];

export function Reservations(): JSX.Element {
  const { query } = place.value;
  const [team, active] = [query.get('team') ?? '', query.get('active') === 'false' ? 'false' : 'true'];
  const pick = (change: Readonly<Record<string, string>>): void => {
    const next = { team, active, ...change };
    go(link('reservations', null, { team: next.team, active: next.active === 'true' ? '' : next.active }));
  };
  const loaded = useLoaded(`reservations ${team} ${active}`, (halt) =>
    list<Reservation>('/v1/reservations', { team: team === '' ? null : team, active }, halt, 500),
  );
  const task = useTask(async (id: string) => {
    await send('DELETE', `/v1/reservations/${encodeURIComponent(id)}`);
    loaded.again();
    return say('reservations.released', { id });
  });
  const act = ({ id, state }: Reservation): JSX.Element | null =>
    state !== 'active' ? null : (
      <Sure
        name={say('do.Release')}
        of={id}
        sure={say('reservations.sure')}
        refused={refusal('configure')}
        isBusy={task.isBusy}
        onAct={() => task.run(id)}
      />
    );
  return (
    <Page
      title={say('page.reservations')}
      lead={say('reservations.lead')}
      actions={<a href={link('quotes')}>{say('reservations.quote')}</a>}
    >
      <div class="fields">
        <TeamPick value={team} onPick={(next) => pick({ team: next })} />
        <Select
          label={say('column.state')}
          value={active}
          options={[
            ['true', say('reservations.active')],
            ['false', say('all')],
          ]}
          onPick={(next) => pick({ active: next })}
        />
      </div>
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
      <Show loaded={loaded}>{(all) => <Listed all={all} act={act} />}</Show>
    </Page>
  );
}

function Listed({
  all: { items, more },
  act,
}: {
  readonly all: { readonly items: readonly Reservation[]; readonly more: boolean };
  readonly act: (one: Reservation) => JSX.Element | null;
}): JSX.Element {
  if (items.length === 0)
    return (
      <Empty>
        <Rich of="reservations.empty" given={{ a: (inner) => <a href={link('quotes')}>{inner}</a> }} />
      </Empty>
    );
  return (
    <>
      {more ? <p class="warning">{say('newest.500')}</p> : null}
      <Table
        caption={say('page.reservations')}
        file="reservations"
        columns={columns(act)}
        rows={items}
        keyOf={({ id }) => id}
      />
    </>
  );
}
