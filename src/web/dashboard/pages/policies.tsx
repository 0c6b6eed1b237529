/** The policies and the documents that say for whom they hold; and one document with its form, made of the policy's own schema, and its backtest. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { POLICY_MODES } from '../../../core/policy-document.js';
import type { Page as List, PolicyDocument, PolicyKind } from '../answers.js';
import { get, refusal, send, session, type Detail } from '../api.js';
import { BacktestButton } from '../backtest.js';
import { instant, words } from '../format.js';
import { Fields, tidy } from '../form.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, Badge, Card, Empty, Field, Page, Problems, Said, Select, Show } from '../ui.js';

type Answer = List<PolicyDocument> & { readonly catalogue: readonly PolicyKind[] };

const MODES: Readonly<Record<string, string>> = {
  observe: 'only noted', recommend: 'for people to carry out', approve: 'carried out once somebody approves', enforce: 'carried out without asking; needs a backtest of the teams first',
};

const columns: readonly Column<PolicyDocument>[] = [
  { name: 'Document', text: ({ name }) => name, cell: ({ name }) => <a href={link('policies', name)}>{name}</a> },
  { name: 'Policy', text: ({ policy }) => policy },
  { name: 'Teams', text: ({ teams }) => (teams === '*' ? 'all' : teams.join(', ')) },
  { name: 'Mode', text: ({ mode }) => mode, cell: ({ mode, paused }) => <>{mode} {paused ? <Badge tone="warn">paused</Badge> : null}</> },
  { name: 'Set', text: ({ updatedAt }) => updatedAt ?? '', cell: ({ isDefault, updatedAt, updatedBy }) => (isDefault ? 'holds because there is no document' : `${instant(updatedAt)}, by ${updatedBy ?? 'unknown'}`) },
];

const NEW = 'new';

export function Policies(): JSX.Element {
  const loaded = useLoaded('policies', (halt) => get<Answer>('/v1/policies', { limit: 1000 }, halt));
  const { id, query } = place.value;
  const title = id === null ? 'Policies' : id === NEW ? 'New policy document' : `Policy document ${id}`;
  return (
    <Page title={title} lead={id === null ? 'A document says which policy holds for which teams, with which parameters, and how far it may go' : undefined} actions={id === null ? undefined : <a href={link('policies')}>All policies</a>}>
      <Show loaded={loaded}>{({ items, catalogue }) => {
        if (id === null) return <Both items={items} catalogue={catalogue} />;
        const found = items.find(({ name }) => name === id) ?? null;
        const kind = catalogue.find(({ name }) => name === (found?.policy ?? query.get('policy'))) ?? (id === NEW ? catalogue[0] : undefined);
        if (kind === undefined) return <Empty>There is no such document. <a href={link('policies')}>All policies</a></Empty>;
        return <Document key={`${found?.name ?? NEW} ${kind.name} ${found?.version ?? 0} ${found?.paused ?? false}`} found={found} kind={kind} catalogue={catalogue} again={loaded.again} />;
      }}</Show>
    </Page>
  );
}

function Both({ items, catalogue }: { readonly items: readonly PolicyDocument[]; readonly catalogue: readonly PolicyKind[] }): JSX.Element {
  return (
    <>
      <Card title="Documents">{items.length === 0 ? <Empty>No document holds for what you may see. Choose a policy below to write one.</Empty> : <Table caption="Policy documents" file="policies" columns={columns} rows={items} keyOf={({ name }) => name} isCaptionHidden />}</Card>
      <Card title="What there is to choose from">
        <ul class="plain">{catalogue.map(({ name, description, version }) => <li key={name}><a href={link('policies', NEW, { policy: name })}>{name}</a> <span class="note">version {version}</span><div>{description}</div></li>)}</ul>
      </Card>
    </>
  );
}

interface Written { readonly name: string; readonly teams: string; readonly mode: string; readonly priority: string; readonly override: string; readonly params: unknown }

function writtenOf(found: PolicyDocument | null, kind: PolicyKind): Written {
  return {
    name: found?.name ?? kind.name, teams: found === null || found.teams === '*' ? '' : found.teams.join('\n'), mode: found?.mode ?? 'recommend', priority: found === null || found.priority === 0 ? '' : String(found.priority),
    override: '', params: found?.params,
  };
}

function documentOf({ name, teams, mode, priority, params }: Written, policy: string): Readonly<Record<string, unknown>> {
  const list = teams.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  return { name, policy, teams: list.length === 0 ? '*' : list, mode, ...(priority === '' ? {} : { priority: Number(priority) }), params: tidy(params) ?? {} };
}

interface Check { readonly valid: boolean; readonly problems: readonly Detail[] }

function Document({ found, kind, catalogue, again }: { readonly found: PolicyDocument | null; readonly kind: PolicyKind; readonly catalogue: readonly PolicyKind[]; readonly again: () => void }): JSX.Element {
  const [written, setWritten] = useState(() => writtenOf(found, kind));
  const set = (change: Partial<Written>): void => setWritten({ ...written, ...change });
  const document = documentOf(written, kind.name);
  const check = useTask(async () => {
    const { valid, problems } = await send<Check>('POST', '/v1/policies/validate', document);
    return valid ? 'The document is fine.' : `There are problems: ${problems.map(({ path, message }) => `${path ?? ''} ${message}`.trim()).join('; ')}`;
  });
  const apply = useTask(async () => {
    const { name, ...settings } = document;
    const saved = await send<PolicyDocument>('PUT', `/v1/policies/${encodeURIComponent(String(name))}`, { ...settings, ...(written.override === '' ? {} : { override: written.override }) });
    if (found === null) go(link('policies', saved.name));
    again();
    return `It holds from now on (version ${saved.version}).`;
  });
  const caller = session.value?.signedIn;
  const refused = refusal('operator') ?? (caller?.teams !== null && document['teams'] === '*' ? 'you are restricted to some teams: name them' : null);
  return (
    <>
      <p>{kind.description} <span class="note">({kind.name}, version {kind.version})</span></p>
      {found === null ? <Select label="Policy" value={kind.name} options={catalogue.map(({ name }) => [name, name])} onPick={(name) => go(link('policies', NEW, { policy: name }))} /> : <Pausing found={found} again={again} />}
      <form class="columns" onSubmit={(event) => { event.preventDefault(); if (refused === null) apply.run(); }}>
        <Card title="For whom">
          {found === null ? <Field label="Name" note="letters, digits and . _ -">{(ids) => <input {...ids} type="text" required pattern="[\w.\-]{1,100}" value={written.name} onInput={({ currentTarget }) => set({ name: currentTarget.value })} />}</Field> : null}
          <Field label="Teams" note="one per line, exactly these; empty: all teams">{(ids) => <textarea {...ids} rows={3} value={written.teams} onInput={({ currentTarget }) => set({ teams: currentTarget.value })} />}</Field>
          <Field label="Mode" note={MODES[written.mode]}>{(ids) => <select {...ids} value={written.mode} onChange={({ currentTarget }) => set({ mode: currentTarget.value })}>{POLICY_MODES.map((mode) => <option key={mode}>{mode}</option>)}</select>}</Field>
          <Field label="Priority" note="a whole number; higher wins; 0 where empty">{(ids) => <input {...ids} type="number" step={1} value={written.priority} onInput={({ currentTarget }) => set({ priority: currentTarget.value })} />}</Field>
          {written.mode === 'enforce' && refusal('admin') === null ? <Field label="Why it may enforce without a backtest" note="goes into the audit; leave empty after a backtest">{(ids) => <input {...ids} type="text" value={written.override} onInput={({ currentTarget }) => set({ override: currentTarget.value })} />}</Field> : null}
        </Card>
        <Card title="Parameters"><Fields schema={kind.parameters} value={written.params} onSet={(params) => set({ params })} /></Card>
        <div class="buttons wide">
          <Act tone="primary" refused={refused} isBusy={apply.isBusy} onAct={apply.run}>{found === null || found.isDefault ? 'Apply' : 'Apply the change'}</Act>
          <Act isBusy={check.isBusy} onAct={check.run}>Check</Act>
        </div>
      </form>
      <Problems trouble={apply.trouble ?? check.trouble} /><Said>{apply.said || check.said}</Said>
      <Card title="Backtest"><p>Runs the document as it is written above over the recorded history of its teams. A finished backtest lets it enforce.</p><BacktestButton document={document} /></Card>
      <Card title="Examples"><ul class="plain">{kind.examples.map(({ title, params, proposes }) => <li key={title}>{title}: <code>{JSON.stringify(params)}</code> proposes {proposes.length === 0 ? 'nothing' : proposes.map(({ action, target }) => `${words(action).toLowerCase()} ${target}`).join(', ')}</li>)}</ul></Card>
    </>
  );
}

function Pausing({ found, again }: { readonly found: PolicyDocument; readonly again: () => void }): JSX.Element {
  const { name, paused, isDefault } = found;
  const { isBusy, trouble, said, run } = useTask(async () => {
    await send('POST', `/v1/policies/${encodeURIComponent(name)}/${paused ? 'resume' : 'pause'}`);
    again();
    return paused ? 'It goes on.' : 'It is paused.';
  });
  return <><p>{paused ? <Badge tone="warn">paused</Badge> : null} <Act refused={refusal('operator') ?? (isDefault ? 'there is no document yet: apply one first' : null)} isBusy={isBusy} onAct={run}>{paused ? 'Resume' : 'Pause'}</Act></p><Problems trouble={trouble} /><Said>{said}</Said></>;
}
