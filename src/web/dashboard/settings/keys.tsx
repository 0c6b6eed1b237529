/** Keys: who has which, making one (its secret is shown once), replacing its secret, and revoking one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Schema } from '../answers.js';
import { list, refusal, send } from '../api.js';
import { Ask } from '../ask.js';
import { inWords } from '../field-words.js';
import { NOTHING, useDraft } from '../drafts.js';
import { focusOn } from '../focus.js';
import { Fields, tidy } from '../form.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { Table, type Column } from '../table.js';
import { Act, Badge, Card, Empty, Form, Instant, Problems, Show } from '../ui.js';
import { schemaNamed } from './schemas.js';
import type { StoredKey } from '../answers.js';

type Values = Readonly<Record<string, unknown>>;
type Made = StoredKey & { readonly text: string };

const columns = (act: (one: StoredKey) => JSX.Element): readonly Column<StoredKey>[] => [
  { name: say('form.name'), text: ({ name }) => name },
  { name: say('settings.id'), text: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  {
    name: say('settings.rights'),
    text: ({ role, scopes }) => inWords(role ?? scopes, role === null ? 'scopes' : 'role'),
  },
  { name: say('page.teams'), text: ({ teams }) => (teams === null ? say('all') : teams.join(', ')) },
  { name: say('settings.owner'), text: ({ owner }) => owner ?? '' },
  {
    name: say('column.last-used'),
    text: ({ lastUsedAt }) => lastUsedAt ?? '',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? '–' : <Instant at={lastUsedAt} />),
  },
  {
    name: say('column.ends'),
    text: ({ expiresAt }) => expiresAt ?? '',
    cell: ({ expiresAt }) => (expiresAt === null ? '–' : <Instant at={expiresAt} />),
  },
  { name: say('settings.change-it'), text: () => '', cell: act },
];

export function Keys(): JSX.Element {
  const loaded = useLoaded('settings keys', async (halt) => ({
    ...(await list<StoredKey>('/v1/keys', {}, halt)),
    schema: await schemaNamed('KeyRequest'),
  }));
  const [made, setMade] = useState<Made | null>(null);
  const [doubted, setDoubted] = useState<StoredKey | null>(null);
  const show = (key: Made): void => {
    setMade(key);
    loaded.again();
  };
  const rotate = useTask(async (id: string) => show(await send<Made>('POST', `/v1/keys/${id}/rotate`, {})));
  const actsOn = (one: StoredKey): JSX.Element =>
    one.revokedAt !== null ? (
      <Badge tone="bad">{say('settings.revoked')}</Badge>
    ) : (
      <>
        <Act isBusy={rotate.isBusy} onAct={() => rotate.run(one.id)}>
          {say('settings.rotate')}
          <span class="hidden"> {one.name}</span>
        </Act>{' '}
        <Act tone="danger" onAct={() => setDoubted(one)}>
          {say('settings.revoke')}
          <span class="hidden"> {one.name}</span>
        </Act>
      </>
    );
  const revoked = (isDone: boolean): void => {
    setDoubted(null);
    if (isDone) loaded.again();
  };
  const refused = refusal('admin');
  if (refused !== null) return <Empty>{refused}</Empty>;
  return (
    <>
      {made === null ? null : <Secret key={made.text} made={made} />}
      {doubted === null ? null : <Revoking of={doubted} onEnd={revoked} />}
      <Problems trouble={rotate.trouble} />
      <Show loaded={loaded}>
        {({ items, schema }) => (
          <>
            <Table
              caption={say('settings.keys')}
              file="keys"
              columns={columns(actsOn)}
              rows={items}
              keyOf={({ id }) => id}
            />
            <NewKey schema={schema} onMade={show} />
          </>
        )}
      </Show>
    </>
  );
}

function Revoking({
  of: { id, name },
  onEnd,
}: {
  readonly of: StoredKey;
  readonly onEnd: (isDone: boolean) => void;
}): JSX.Element {
  const { isBusy, trouble, run } = useTask(async () => {
    await send('DELETE', `/v1/keys/${id}`);
    onEnd(true);
  });
  return (
    <Ask
      name={say('settings.revoke-sure', { name })}
      yes={say('settings.revoke')}
      isBusy={isBusy}
      onYes={run}
      onLeave={() => onEnd(false)}
    >
      <p>{say('settings.revoke-sure', { name })}</p>
      <Problems trouble={trouble} />
    </Ask>
  );
}

function NewKey({ schema, onMade }: { readonly schema: Schema; readonly onMade: (key: Made) => void }): JSX.Element {
  const draft = useDraft<Values>('key', NOTHING);
  const { isBusy, trouble, run } = useTask(async () => {
    onMade(await send<Made>('POST', '/v1/keys', tidy(draft.values)));
    draft.drop();
  });
  return (
    <Card title={say('settings.new-key')}>
      <Form onSend={run}>
        <Fields schema={schema} value={draft.values} onSet={(next) => draft.set((next ?? {}) as Values)} />
        <Act tone="primary" isBusy={isBusy}>
          {say('settings.make-key')}
        </Act>
      </Form>
      <Problems trouble={trouble} />
    </Card>
  );
}

/** Its secret is shown only here, above the form or the button that made it: there one goes on. */
function Secret({ made: { name, text } }: { readonly made: Made }): JSX.Element {
  const copy = useTask(async () => {
    await navigator.clipboard.writeText(text);
    return say('settings.copied');
  });
  return (
    <div ref={focusOn} class="ask" role="group" aria-label={say('settings.secret', { name })} tabIndex={-1}>
      <p>{say('settings.secret', { name })}</p>
      <p>
        <code class="secret">{text}</code>
      </p>
      <Act onAct={copy.run}>{say('settings.copy')}</Act> {copy.said}
    </div>
  );
}
