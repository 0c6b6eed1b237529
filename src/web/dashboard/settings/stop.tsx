/**
 * The kill switch: what is stopped, by whom and why; stopping everything, a team or a provider; and lifting it. Both
 * ask once before anything is sent. The form needs a reason, which everybody then reads; the API takes a stop without
 * one.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, refusal, send } from '../api.js';
import { Ask } from '../ask.js';
import { instantColumn } from '../columns.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Table, type Column } from '../table.js';
import { Act, Card, Empty, Field, Problems, Said, Select, Show } from '../ui.js';
import type { Stops } from '../answers.js';

type Stop = Stops['stops'][number];
type Scope = Stop['scope'];
const SCOPES: readonly Scope[] = ['all', 'team', 'provider'];

/** The stop's scope as the API takes it. */
const meant = (scope: Scope, name: string): Readonly<Record<string, string>> =>
  scope === 'all' ? {} : { [scope]: name };
const whatOf = ({ scope, name }: Pick<Stop, 'scope' | 'name'>): string =>
  scope === 'all' ? say('settings.stop-all') : `${say(`settings.stop-${scope}`)} ${name}`;

const columns = (lift: (one: Stop) => JSX.Element): readonly Column<Stop>[] => [
  { name: say('column.what'), text: whatOf },
  { name: say('field.reason'), text: ({ reason }) => reason },
  instantColumn(say('column.since'), ({ setAt }) => setAt),
  { name: say('column.by'), text: ({ setBy }) => setBy },
  { name: say('settings.change-it'), text: () => '', cell: lift },
];

export function KillSwitch(): JSX.Element {
  const loaded = useLoaded('settings stop', (halt) => get<Stops>('/v1/stop', {}, halt));
  const lift = useTask(async (one: Stop) => {
    await send('POST', '/v1/stop/lift', meant(one.scope, one.name));
    setLifting(null);
    loaded.again();
    return say('settings.lifted');
  });
  const [lifting, setLifting] = useState<Stop | null>(null);
  const liftOf = (one: Stop): JSX.Element => (
    <Act refused={refusal('admin')} isBusy={lift.isBusy} onAct={() => setLifting(one)}>
      {say('settings.lift')}
    </Act>
  );
  return (
    <>
      <Show loaded={loaded}>
        {({ stops }) =>
          stops.length === 0 ? (
            <Empty>{say('settings.no-stops')}</Empty>
          ) : (
            <Table caption={say('settings.stop')} columns={columns(liftOf)} rows={stops} keyOf={whatOf} />
          )
        }
      </Show>
      {lifting === null ? null : (
        <Ask
          name={say('settings.lift-sure', { what: whatOf(lifting) })}
          yes={say('settings.lift-yes')}
          isBusy={lift.isBusy}
          onYes={() => lift.run(lifting)}
          onLeave={() => setLifting(null)}
        >
          <p>
            <strong>{say('settings.lift-sure', { what: whatOf(lifting) })}</strong> {say('settings.lift-does')}
          </p>
        </Ask>
      )}
      <Problems trouble={lift.trouble} />
      <Said>{lift.said}</Said>
      <Stopping onStopped={loaded.again} />
    </>
  );
}

interface Wanted {
  readonly scope: Scope;
  readonly name: string;
  readonly reason: string;
}

const NOTHING: Wanted = { scope: 'all', name: '', reason: '' };

/** What the form lacks; null: nothing. */
const lackOf = ({ scope, name, reason }: Wanted): string | null =>
  scope !== 'all' && name.trim() === ''
    ? say('settings.needs-name')
    : reason.trim() === ''
      ? say('settings.needs-reason')
      : null;

function Stopping({ onStopped }: { readonly onStopped: () => void }): JSX.Element {
  const [wanted, setWanted] = useState(NOTHING);
  const [asks, setAsks] = useState(false);
  const { isBusy, trouble, said, run } = useTask(async () => {
    await send('POST', '/v1/stop', { ...meant(wanted.scope, wanted.name.trim()), reason: wanted.reason.trim() });
    setAsks(false);
    setWanted(NOTHING);
    onStopped();
    return say('settings.stopped');
  });
  const what = whatOf(wanted);
  return (
    <Card title={say('act.stop')}>
      <p>{say('settings.stop-note')}</p>
      <StopFields
        wanted={wanted}
        onChange={(change) => {
          setAsks(false);
          setWanted({ ...wanted, ...change });
        }}
      />
      <Act
        tone="danger"
        refused={refusal('approve', wanted.scope !== 'team') ?? lackOf(wanted)}
        isBusy={isBusy}
        onAct={() => setAsks(true)}
      >
        {say('act.stop')}
      </Act>
      {asks ? (
        <Ask
          name={say('settings.stop-sure', { what })}
          yes={say('settings.stop-yes')}
          isBusy={isBusy}
          onYes={run}
          onLeave={() => setAsks(false)}
        >
          <p>
            <strong>{say('settings.stop-sure', { what })}</strong> {say('settings.stop-does')}
          </p>
        </Ask>
      ) : null}
      <Problems trouble={trouble} />
      <Said>{said}</Said>
    </Card>
  );
}

function StopFields({
  wanted: { scope, name, reason },
  onChange,
}: {
  readonly wanted: Wanted;
  readonly onChange: (change: Partial<Wanted>) => void;
}): JSX.Element {
  return (
    <>
      <Select
        label={say('column.what')}
        value={scope}
        options={SCOPES.map((one) => [one, say(`settings.stop-${one}`)])}
        onPick={(picked) => onChange({ scope: picked as Scope })}
      />
      {scope === 'all' ? null : (
        <Field label={say(`settings.stop-${scope}`)}>
          {(ids) => (
            <input
              {...ids}
              type="text"
              list={scope === 'team' ? 'known-team' : undefined}
              value={name}
              onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
            />
          )}
        </Field>
      )}
      <Field label={say('field.reason')}>
        {(ids) => (
          <input
            {...ids}
            type="text"
            required
            value={reason}
            onInput={({ currentTarget }) => onChange({ reason: currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}
