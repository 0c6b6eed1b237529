/** One policy document: its form, made from the policy's own schema, its backtest, and the policy's examples. */
import type { JSX } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import { POLICY_MODES } from '../../../core/policy/document.js';
import type { PolicyCheck, PolicyDocument, PolicyKind } from '../answers.js';
import { list, refusal, send, session, Trouble } from '../api.js';
import { BacktestButton } from '../backtest.js';
import { Described } from '../described.js';
import { inWords } from '../field-words.js';
import { DraftNotes } from '../draft-notes.js';
import { useDraft, type Draft } from '../drafts.js';
import { code, within } from '../format.js';
import { isKey, joined, raw, say } from '../language.js';
import { Fields, tidy } from '../form.js';
import { useTask } from '../loading.js';
import { go, link } from '../router.js';
import { Act, AsWritten, Badge, Card, Field, Form, Problems, Said, Select } from '../ui.js';

/** An address with this name begins a new document. */
export const NEW = 'new';

function modeNote(mode: string): string | undefined {
  const key = `mode-note.${mode}`;
  return isKey(key) ? raw(key) : undefined;
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
  const only = teams
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return {
    name,
    policy,
    teams: only.length === 0 ? '*' : only,
    mode,
    ...(priority === '' ? {} : { priority: Number(priority) }),
    params: tidy(params) ?? {},
  };
}

interface Props {
  /** Null: it is new. */
  readonly found: PolicyDocument | null;
  readonly kind: PolicyKind;
  readonly catalogue: readonly PolicyKind[];
  readonly again: () => void;
}

export function Document({ found, kind, catalogue, again }: Props): JSX.Element {
  const server = useMemo(() => writtenOf(found, kind), [found, kind]);
  const draft = useDraft(`policy ${kind.name} ${found === null ? NEW : `of ${found.name}`}`, server);
  const written = draft.values;
  const set = (change: Partial<Written>): void => draft.set({ ...written, ...change });
  const document = documentOf(written, kind.name);
  const apply = useApply(document, draft, { found, kind, again });
  const check = useCheck(document);
  const isForAll = document['teams'] === '*';
  const isRestricted = session.value?.signedIn?.teams !== null;
  const form = useId();
  const refused = refusal('configure') ?? (isRestricted && isForAll ? say('policies.restricted') : null);
  return (
    <>
      <Kind found={found} kind={kind} catalogue={catalogue} again={again} />
      <DraftNotes draft={draft} />
      <Form id={form} class="columns" onSend={apply.run}>
        <Card title={say('policies.whom')}>
          <Whom written={written} isNew={found === null} onSet={set} />
        </Card>
        <Card title={say('policies.parameters')}>
          <Fields schema={kind.parameters} value={written.params} onSet={(params) => set({ params })} />
        </Card>
        <div class="buttons wide">
          <Act
            tone="primary"
            refused={refused}
            isBusy={apply.isBusy}
            // It may stop machines without asking again: that is no matter for Enter.
            onAct={written.mode === 'enforce' ? apply.run : undefined}
          >
            {found === null || found.isDefault ? say('policies.apply') : say('policies.change')}
          </Act>
          <Act isBusy={check.isBusy} onAct={check.run}>
            {say('policies.check')}
          </Act>
        </div>
      </Form>
      <Problems trouble={apply.trouble ?? check.trouble} />
      <Said>{apply.said || check.said}</Said>
      <Card title={say('backtest')}>
        <p>{say('policies.backtest')}</p>
        <BacktestButton document={document} form={form} />
      </Card>
      <Card title={say('policies.examples')}>
        <Examples kind={kind} />
      </Card>
    </>
  );
}

/** What the policy does; a new document's can be chosen, another one paused. */
const Kind = ({ found, kind, catalogue, again }: Props): JSX.Element => (
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
  </>
);

type Settings = ReturnType<typeof documentOf>;

const useCheck = (document: Settings): ReturnType<typeof useTask<[]>> =>
  useTask(async () => {
    const { valid, problems } = await send<PolicyCheck>('POST', '/v1/policies/validate', document);
    return valid
      ? say('policies.fine')
      : say('policies.problems', {
          problems: problems.map(({ path, message }) => `${path ?? ''} ${message}`.trim()).join('; '),
        });
  });

const useApply = (
  { name, ...settings }: Settings,
  draft: Draft<Written>,
  { found, kind, again }: Pick<Props, 'found' | 'kind' | 'again'>,
): ReturnType<typeof useTask<[]>> =>
  useTask(async () => {
    const { override } = draft.values;
    const path = `/v1/policies/${encodeURIComponent(String(name))}`;
    const { items } = await list<PolicyDocument>('/v1/policies');
    const now = items.find((one) => one.name === name && !one.isDefault) ?? null;
    if (found === null && now !== null) throw new Trouble(say('settings.exists', { id: String(name) }), 409);
    if (found !== null && now !== null && draft.isOutdated(writtenOf(now, kind))) return;
    const saved = await send<PolicyDocument>('PUT', path, { ...settings, ...(override === '' ? {} : { override }) });
    draft.settle(writtenOf(saved, kind));
    if (found === null) go(link('policies', saved.name));
    again();
    return say('policies.holds', { version: saved.version });
  });

type TextField = Exclude<keyof Written, 'params'>;

/** To whom the document applies, how far it may go, and its priority. */
function Whom({
  written,
  isNew,
  onSet,
}: {
  readonly written: Written;
  readonly isNew: boolean;
  readonly onSet: (change: Partial<Written>) => void;
}): JSX.Element {
  const bound = (field: TextField): { value: string; onInput: (event: Typed) => void } => ({
    value: written[field],
    onInput: ({ currentTarget }) => onSet({ [field]: currentTarget.value }),
  });
  return (
    <>
      {isNew ? (
        <Field label={say('form.name')} note={say('policies.name-note')}>
          {(ids) => <input {...ids} {...bound('name')} type="text" required pattern="[\w.\-]{1,100}" />}
        </Field>
      ) : null}
      <Field label={say('page.teams')} note={say('policies.teams-note')}>
        {(ids) => <textarea {...ids} {...bound('teams')} rows={3} />}
      </Field>
      <Field label={say('column.mode')} note={modeNote(written.mode)}>
        {(ids) => (
          <select {...ids} {...bound('mode')}>
            {POLICY_MODES.map((mode) => (
              <option key={mode} value={mode}>
                {code('mode', mode)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={say('policies.priority')} note={say('policies.priority-note')}>
        {(ids) => <input {...ids} {...bound('priority')} type="number" step={1} />}
      </Field>
      {written.mode === 'enforce' && refusal('admin') === null ? (
        <Field label={say('policies.override')} note={say('policies.override-note')}>
          {(ids) => <input {...ids} {...bound('override')} type="text" />}
        </Field>
      ) : null}
    </>
  );
}

interface Typed {
  readonly currentTarget: { readonly value: string };
}

/** The policy's own examples: what it proposes with which parameters. */
const Examples = ({ kind: { examples } }: { readonly kind: PolicyKind }): JSX.Element => (
  <ul class="plain">
    {examples.map(({ title, params, proposes }) => (
      <li key={title}>
        <AsWritten>{title}</AsWritten>:{' '}
        {inWords(params) === '' ? null : <>{say('policies.with', { settings: inWords(params) })} </>}
        {proposes.length === 0
          ? say('policies.proposes-nothing')
          : say('policies.proposes', {
              what: joined(proposes.map(({ action, target }) => `${within(code('do', action))} ${target}`)),
            })}
      </li>
    ))}
  </ul>
);

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
