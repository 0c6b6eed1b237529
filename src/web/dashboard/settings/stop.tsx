/** The kill switch: what is stopped, by whom and why; stopping everything, a team or a provider; and lifting it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, refusal, send } from '../api.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Table, type Column } from '../table.js';
import { Act, Card, Empty, Field, Instant, Problems, Said, Select, Show } from '../ui.js';
import type { Stops } from './answers.js';

type Stop = Stops['stops'][number];
type Scope = Stop['scope'];
const SCOPES: readonly Scope[] = ['all', 'team', 'provider'];

/** The stop's scope as the API takes it. */
const meant = (scope: Scope, name: string): Readonly<Record<string, string>> =>
  scope === 'all' ? {} : { [scope]: name };
const whatOf = ({ scope, name }: Stop): string =>
  scope === 'all' ? say('settings.stop-all') : `${say(`settings.stop-${scope}`)} ${name}`;

const columns = (lift: (one: Stop) => JSX.Element): readonly Column<Stop>[] => [
  { name: say('settings.what'), text: whatOf },
  { name: say('settings.reason'), text: ({ reason }) => reason },
  { name: say('column.since'), text: ({ setAt }) => setAt, cell: ({ setAt }) => <Instant at={setAt} /> },
  { name: say('column.by'), text: ({ setBy }) => setBy },
  { name: say('settings.change-it'), text: () => '', cell: lift },
];

export function KillSwitch(): JSX.Element {
  const loaded = useLoaded('settings stop', (halt) => get<Stops>('/v1/stop', {}, halt));
  const lift = useTask(async (one: Stop) => {
    await send('POST', '/v1/stop/lift', meant(one.scope, one.name));
    loaded.again();
    return say('settings.lifted');
  });
  const liftOf = (one: Stop): JSX.Element => (
    <Act refused={refusal('admin')} isBusy={lift.isBusy} onAct={() => lift.run(one)}>
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
            <Table
              caption={say('settings.stop')}
              columns={columns(liftOf)}
              rows={stops}
              keyOf={whatOf}
              isCaptionHidden
            />
          )
        }
      </Show>
      <Problems trouble={lift.trouble} />
      <Said>{lift.said}</Said>
      <Stopping onStopped={loaded.again} />
    </>
  );
}

function Stopping({ onStopped }: { readonly onStopped: () => void }): JSX.Element {
  const [scope, setScope] = useState<Scope>('all');
  const [name, setName] = useState('');
  const [reason, setReason] = useState('');
  const { isBusy, trouble, said, run } = useTask(async () => {
    await send('POST', '/v1/stop', { ...meant(scope, name), ...(reason === '' ? {} : { reason }) });
    onStopped();
    return say('settings.stopped');
  });
  const lacks = scope !== 'all' && name === '' ? say('settings.needs-name') : null;
  return (
    <Card title={say('settings.stop-now')}>
      <p>{say('settings.stop-note')}</p>
      <Select
        label={say('settings.what')}
        value={scope}
        options={SCOPES.map((one) => [one, say(`settings.stop-${one}`)])}
        onPick={(picked) => setScope(picked as Scope)}
      />
      {scope === 'all' ? null : (
        <Field label={say(`settings.stop-${scope}`)}>
          {(ids) => (
            <input
              {...ids}
              type="text"
              list={scope === 'team' ? 'known-team' : undefined}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label={say('settings.reason')}>
        {(ids) => (
          <input {...ids} type="text" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
        )}
      </Field>
      <Act tone="danger" refused={refusal('approve', scope !== 'team') ?? lacks} isBusy={isBusy} onAct={run}>
        {say('settings.stop-do')}
      </Act>
      <Problems trouble={trouble} />
      <Said>{said}</Said>
    </Card>
  );
}
