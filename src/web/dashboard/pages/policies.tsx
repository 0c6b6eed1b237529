/**
 * The policies and the documents that say for whom they hold; and one document with its form, made of the policy's own
 * schema, and its backtest.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { POLICY_MODES } from '../../../core/policy/document.js';
import type { Page as List, PolicyDocument, PolicyKind } from '../answers.js';
import { get, refusal, send, session, type Detail } from '../api.js';
import { BacktestButton } from '../backtest.js';
import { Described } from '../described.js';
import { code, instant, unknown, within } from '../format.js';
import { isKey, joined, raw, say } from '../language.js';
import { Fields, tidy } from '../form.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, AsWritten, Badge, Card, Empty, Field, Page, Problems, Said, Select, Show } from '../ui.js';

type Answer = List<PolicyDocument> & { readonly catalogue: readonly PolicyKind[] };

function modeNote(mode: string): string | undefined {
  const key = `mode-note.${mode}`;
  return isKey(key) ? raw(key) : undefined;
}

const columns = (): readonly Column<PolicyDocument>[] => [
  {
    name: say('column.document'),
    text: ({ name }) => name,
    cell: ({ name }) => <a href={link('policies', name)}>{name}</a>,
  },
  { name: say('column.policy'), text: ({ policy }) => policy },
  { name: say('page.teams'), text: ({ teams }) => (teams === '*' ? within(say('all')) : teams.join(', ')) },
  {
    name: say('column.mode'),
    text: ({ mode }) => mode,
    cell: ({ mode, paused }) => (
      <>
        {code('mode', mode)} {paused ? <Badge tone="warn">{say('paused')}</Badge> : null}
      </>
    ),
  },
  {
    name: say('column.set'),
    text: ({ updatedAt }) => updatedAt ?? '',
    cell: ({ isDefault, updatedAt, updatedBy }) =>
      isDefault ? say('policies.default') : say('policies.set', { at: instant(updatedAt), by: updatedBy ?? unknown() }),
  },
];

const NEW = 'new';

export function Policies(): JSX.Element {
  const loaded = useLoaded('policies', (halt) => get<Answer>('/v1/policies', { limit: 1000 }, halt));
  const { id, query } = place.value;
  const title = id === null ? say('page.policies') : id === NEW ? say('policies.new') : say('policies.one', { id });
  return (
    <Page
      title={title}
      lead={id === null ? say('policies.lead') : undefined}
      actions={id === null ? undefined : <a href={link('policies')}>{say('policies.all')}</a>}
    >
      <Show loaded={loaded}>
        {({ items, catalogue }) => {
          if (id === null) return <Both items={items} catalogue={catalogue} />;
          const found = items.find(({ name }) => name === id) ?? null;
          const kind =
            catalogue.find(({ name }) => name === (found?.policy ?? query.get('policy'))) ??
            (id === NEW ? catalogue[0] : undefined);
          if (kind === undefined)
            return (
              <Empty>
                {say('policies.missing')} <a href={link('policies')}>{say('policies.all')}</a>
              </Empty>
            );
          return (
            <Document
              key={`${found?.name ?? NEW} ${kind.name} ${found?.version ?? 0} ${found?.paused ?? false}`}
              found={found}
              kind={kind}
              catalogue={catalogue}
              again={loaded.again}
            />
          );
        }}
      </Show>
    </Page>
  );
}

function Both({
  items,
  catalogue,
}: {
  readonly items: readonly PolicyDocument[];
  readonly catalogue: readonly PolicyKind[];
}): JSX.Element {
  return (
    <>
      <Card title={say('policies.documents')}>
        {items.length === 0 ? (
          <Empty>{say('policies.empty')}</Empty>
        ) : (
          <Table
            caption={say('policies.caption')}
            file="policies"
            columns={columns()}
            rows={items}
            keyOf={({ name }) => name}
            isCaptionHidden
          />
        )}
      </Card>
      <Card title={say('policies.choice')}>
        <ul class="plain">
          {catalogue.map(({ name, description, version }) => (
            <li key={name}>
              <a href={link('policies', NEW, { policy: name })}>{name}</a>{' '}
              <span class="note">{say('policies.version', { version })}</span>
              <div>
                <Described text={description} />
              </div>
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}

interface Written {
  readonly name: string;
  readonly teams: string;
  readonly mode: string;
  readonly priority: string;
  readonly override: string;
  readonly params: unknown;
}

function writtenOf(found: PolicyDocument | null, kind: PolicyKind): Written {
  return {
    name: found?.name ?? kind.name,
    teams: found === null || found.teams === '*' ? '' : found.teams.join('\n'),
    mode: found?.mode ?? 'recommend',
    priority: found === null || found.priority === 0 ? '' : String(found.priority),
    override: '',
    params: found?.params,
  };
}

function documentOf(
  { name, teams, mode, priority, params }: Written,
  policy: string,
): Readonly<Record<string, unknown>> {
  const list = teams
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return {
    name,
    policy,
    teams: list.length === 0 ? '*' : list,
    mode,
    ...(priority === '' ? {} : { priority: Number(priority) }),
    params: tidy(params) ?? {},
  };
}

interface Check {
  readonly valid: boolean;
  readonly problems: readonly Detail[];
}

function Document({
  found,
  kind,
  catalogue,
  again,
}: {
  readonly found: PolicyDocument | null;
  readonly kind: PolicyKind;
  readonly catalogue: readonly PolicyKind[];
  readonly again: () => void;
}): JSX.Element {
  const [written, setWritten] = useState(() => writtenOf(found, kind));
  const set = (change: Partial<Written>): void => setWritten({ ...written, ...change });
  const document = documentOf(written, kind.name);
  const check = useTask(async () => {
    const { valid, problems } = await send<Check>('POST', '/v1/policies/validate', document);
    return valid
      ? say('policies.fine')
      : say('policies.problems', {
          problems: problems.map(({ path, message }) => `${path ?? ''} ${message}`.trim()).join('; '),
        });
  });
  const apply = useTask(async () => {
    const { name, ...settings } = document;
    const saved = await send<PolicyDocument>('PUT', `/v1/policies/${encodeURIComponent(String(name))}`, {
      ...settings,
      ...(written.override === '' ? {} : { override: written.override }),
    });
    if (found === null) go(link('policies', saved.name));
    again();
    return say('policies.holds', { version: saved.version });
  });
  const caller = session.value?.signedIn;
  const refused =
    refusal('configure') ?? (caller?.teams !== null && document['teams'] === '*' ? say('policies.restricted') : null);
  return (
    <>
      <p>
        <Described text={kind.description} />{' '}
        <span class="note">{say('policies.kind', { name: kind.name, version: kind.version })}</span>
      </p>
      {found === null ? (
        <Select
          label={say('column.policy')}
          value={kind.name}
          options={catalogue.map(({ name }) => [name, name])}
          onPick={(name) => go(link('policies', NEW, { policy: name }))}
        />
      ) : (
        <Pausing found={found} again={again} />
      )}
      <form
        class="columns"
        onSubmit={(event) => {
          event.preventDefault();
          if (refused === null) apply.run();
        }}
      >
        <Card title={say('policies.whom')}>
          {found === null ? (
            <Field label={say('policies.name')} note={say('policies.name-note')}>
              {(ids) => (
                <input
                  {...ids}
                  type="text"
                  required
                  pattern="[\w.\-]{1,100}"
                  value={written.name}
                  onInput={({ currentTarget }) => set({ name: currentTarget.value })}
                />
              )}
            </Field>
          ) : null}
          <Field label={say('page.teams')} note={say('policies.teams-note')}>
            {(ids) => (
              <textarea
                {...ids}
                rows={3}
                value={written.teams}
                onInput={({ currentTarget }) => set({ teams: currentTarget.value })}
              />
            )}
          </Field>
          <Field label={say('column.mode')} note={modeNote(written.mode)}>
            {(ids) => (
              <select
                {...ids}
                value={written.mode}
                onChange={({ currentTarget }) => set({ mode: currentTarget.value })}
              >
                {POLICY_MODES.map((mode) => (
                  <option key={mode} value={mode}>
                    {code('mode', mode)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={say('policies.priority')} note={say('policies.priority-note')}>
            {(ids) => (
              <input
                {...ids}
                type="number"
                step={1}
                value={written.priority}
                onInput={({ currentTarget }) => set({ priority: currentTarget.value })}
              />
            )}
          </Field>
          {written.mode === 'enforce' && refusal('admin') === null ? (
            <Field label={say('policies.override')} note={say('policies.override-note')}>
              {(ids) => (
                <input
                  {...ids}
                  type="text"
                  value={written.override}
                  onInput={({ currentTarget }) => set({ override: currentTarget.value })}
                />
              )}
            </Field>
          ) : null}
        </Card>
        <Card title={say('policies.parameters')}>
          <Fields schema={kind.parameters} value={written.params} onSet={(params) => set({ params })} />
        </Card>
        <div class="buttons wide">
          <Act tone="primary" refused={refused} isBusy={apply.isBusy} onAct={apply.run}>
            {found === null || found.isDefault ? say('policies.apply') : say('policies.change')}
          </Act>
          <Act isBusy={check.isBusy} onAct={check.run}>
            {say('policies.check')}
          </Act>
        </div>
      </form>
      <Problems trouble={apply.trouble ?? check.trouble} />
      <Said>{apply.said || check.said}</Said>
      <Card title={say('backtest')}>
        <p>{say('policies.backtest')}</p>
        <BacktestButton document={document} />
      </Card>
      <Card title={say('policies.examples')}>
        <ul class="plain">
          {kind.examples.map(({ title, params, proposes }) => (
            <li key={title}>
              <AsWritten>{title}</AsWritten>: <code>{JSON.stringify(params)}</code>{' '}
              {proposes.length === 0
                ? say('policies.proposes-nothing')
                : say('policies.proposes', {
                    what: joined(proposes.map(({ action, target }) => `${within(code('do', action))} ${target}`)),
                  })}
            </li>
          ))}
        </ul>
      </Card>
    </>
  );
}

function Pausing({ found, again }: { readonly found: PolicyDocument; readonly again: () => void }): JSX.Element {
  const { name, paused, isDefault } = found;
  const { isBusy, trouble, said, run } = useTask(async () => {
    await send('POST', `/v1/policies/${encodeURIComponent(name)}/${paused ? 'resume' : 'pause'}`);
    again();
    return paused ? say('policies.resumed') : say('policies.paused');
  });
  return (
    <>
      <p>
        {paused ? <Badge tone="warn">{say('paused')}</Badge> : null}{' '}
        <Act
          refused={refusal('configure') ?? (isDefault ? say('policies.none-yet') : null)}
          isBusy={isBusy}
          onAct={run}
        >
          {paused ? say('resume') : say('pause')}
        </Act>
      </p>
      <Problems trouble={trouble} />
      <Said>{said}</Said>
    </>
  );
}
