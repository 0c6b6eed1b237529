/** One kind of setting: its items with a form for each, or its document. The form is made from the API's own schema. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { BudgetPlan, ConfigurationChange, Schema } from '../answers.js';
import { get, list, refusal, send, session, Trouble } from '../api.js';
import { Ask } from '../ask.js';
import { inWords, named, namedPath } from '../field-words.js';
import { DraftNotes } from '../draft-notes.js';
import { useDraft, type Draft } from '../drafts.js';
import { Fields, tidy } from '../form.js';
import { code, money, percent, within } from '../format.js';
import { joined, say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { TeamPick } from '../team-pick.js';
import { Act, Card, Field, Form, Problems, Said, Show } from '../ui.js';
import { BudgetPreview, Plan } from './plan.js';
import { emptied, schemaNamed, writable } from './schemas.js';
import { sectionOf, type Section, type SectionName } from './sections.js';

type Values = Readonly<Record<string, unknown>>;

export function SectionPage({ name }: { readonly name: SectionName }): JSX.Element {
  const section = sectionOf(name);
  const { query } = place.value;
  if (section.key === null) return <DocumentOf name={name} section={section} team={query.get('team') ?? ''} />;
  const id = query.get('one');
  return id === null && !query.has('new') ? (
    <Items name={name} section={section} />
  ) : (
    <Item key={id ?? ''} name={name} section={section} id={id} />
  );
}

/** A short text for a table. */
const brief = (one: Values, field: string): string => {
  const text = (OWN_WORDS[field] ?? inWords)(one[field], field, one);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

/** Nearly always the same in a list. */
const MINOR: ReadonlySet<string> = new Set(['zone', 'currency', 'filters', 'basis', 'includeCredits']);

type Said = (value: unknown, field: string, one: Values) => string;

/** What a budget plans and watches, said in a list as on its own page. */
const OWN_WORDS: Readonly<Record<string, Said>> = {
  planned: (value, _, { currency }) => {
    const { default: amount, periods = {} } = value as BudgetPlan['planned'];
    return joined([
      amount === null || amount === undefined ? say('standing.not-planned') : money(amount, String(currency)),
      Object.keys(periods).length === 0 ? null : say('settings.own-periods', { n: Object.keys(periods).length }),
    ]);
  },
  thresholds: (value) => {
    const shares = new Map<string, string[]>();
    for (const { kind, ratio } of value as BudgetPlan['thresholds'])
      shares.set(kind, [...(shares.get(kind) ?? []), percent(Number(ratio))]);
    return [...shares]
      .map(([kind, all]) => say('threshold.of', { share: all.join(', '), kind: within(code('threshold', kind)) }))
      .join('; ');
  },
};

function Items({ name, section }: { readonly name: SectionName; readonly section: Section }): JSX.Element {
  const { key, read, schema: schemaName } = section;
  const loaded = useLoaded(`settings ${name}`, async (halt) => ({
    ...(await list<Values>(read, {}, halt)),
    schema: await schemaNamed(schemaName),
  }));
  const idOf = (one: Values): string => String(one[key ?? 'id']);
  const columnsOf = (schema: Schema): Column<Values>[] => [
    {
      name: say('settings.id'),
      text: idOf,
      cell: (one) => <a href={link('settings', name, { one: idOf(one) })}>{idOf(one)}</a>,
    },
    ...Object.keys(schema.properties ?? {}).map(
      (field): Column<Values> => ({ name: named(field), text: (one) => brief(one, field), isMinor: MINOR.has(field) }),
    ),
  ];
  return (
    <>
      {refusal(section.scope, section.ofAllTeams) === null ? (
        <p>
          <a class="button" href={link('settings', name, { new: '1' })}>
            {say('settings.add')}
          </a>
        </p>
      ) : null}
      <Show loaded={loaded}>
        {({ items, more, schema }) => (
          <Listing
            items={items}
            note={more ? say('settings.many') : null}
            empty={say('settings.none')}
            caption={say(`settings.${name}`)}
            file={name}
            columns={columnsOf(schema)}
            keyOf={idOf}
          />
        )}
      </Show>
    </>
  );
}

function Item({
  name,
  section,
  id,
}: {
  readonly name: SectionName;
  readonly section: Section;
  readonly id: string | null;
}): JSX.Element {
  const loaded = useLoaded(`setting ${name} ${id ?? ''}`, async (halt) => {
    const schema = await schemaNamed(section.schema);
    const before = id === null ? {} : await saved(section, schema, id, halt);
    if (before === null) throw new Trouble(say('proof.not-there'), 404);
    return { schema, before };
  });
  return (
    <>
      <p>
        <a href={link('settings', name)}>{say('settings.back')}</a>
      </p>
      <Show loaded={loaded}>
        {({ schema, before }) => (
          <Card title={id ?? say('settings.new')}>
            <Editing name={name} section={section} schema={schema} before={before} id={id} />
          </Card>
        )}
      </Show>
    </>
  );
}

/** What the server has by now, as far as it can be written. Null: there is no such item. */
async function saved(section: Section, schema: Schema, id: string, halt?: AbortSignal): Promise<Values | null> {
  const { key, read } = section;
  const asked = async (): Promise<Values | null> => {
    if (key === null) return get<Values>(read, id === '' ? {} : { team: id }, halt);
    // A single role has no route to read it: the list is short.
    if (key === 'name') return (await list<Values>(read, {}, halt)).items.find((one) => one['name'] === id) ?? null;
    return get<Values>(`${read}/${encodeURIComponent(id)}`, {}, halt).catch((trouble: unknown) => {
      if (trouble instanceof Trouble && trouble.status === 404) return null;
      throw trouble;
    });
  };
  const answer = await asked();
  return answer === null ? null : writable(schema, section.of?.(answer) ?? answer);
}

function DocumentOf({
  name,
  section,
  team,
}: {
  readonly name: SectionName;
  readonly section: Section;
  readonly team: string;
}): JSX.Element {
  const loaded = useLoaded(`settings ${name} ${team}`, async (halt) => {
    const schema = await schemaNamed(section.schema);
    return { schema, before: (await saved(section, schema, team, halt)) ?? {} };
  });
  return (
    <>
      {section.perTeam === true ? (
        <TeamPick
          value={team}
          none={say('settings.everybody')}
          onPick={(picked) => go(link('settings', name, { team: picked }))}
        />
      ) : null}
      <Show loaded={loaded}>
        {({ schema, before }) => (
          <Editing key={team} name={name} section={section} schema={schema} before={before} id={team} />
        )}
      </Show>
    </>
  );
}

interface Edited {
  readonly name: SectionName;
  readonly section: Section;
  readonly schema: Schema;
  readonly before: Values;
  /** Id of the item, or the document's team; empty for everybody's. Null: it is new, and gets one. */
  readonly id: string | null;
}

const pathOf = ({ key, read }: Section, id: string): string =>
  key === null ? `${read}${id === '' ? '' : `?team=${encodeURIComponent(id)}`}` : `${read}/${encodeURIComponent(id)}`;

interface Typed {
  readonly id: string;
  readonly values: Values;
}

/** Saves a draft, unless others have changed the same in between. */
function useSave(
  { name, section, schema, id }: Edited,
  draft: Draft<Typed>,
  body: Values,
): ReturnType<typeof useTask<[]>> {
  return useTask(async () => {
    const to = draft.values.id;
    const now = async (): Promise<Values | null> => saved(section, schema, to);
    const found = await now();
    if (id === null && found !== null) throw new Trouble(say('settings.exists', { id: to }), 409);
    if (id !== null && draft.isOutdated({ id, values: found ?? {} })) return;
    await send('PUT', pathOf(section, to), body);
    draft.settle(id === null ? { id: '', values: {} } : { id, values: (await now()) ?? {} });
    if (id === null) go(link('settings', name, { one: to }));
    return say('settings.saved');
  });
}

function Editing(edited: Edited): JSX.Element {
  const { name, section, schema, before, id } = edited;
  const server = useMemo((): Typed => ({ id: id ?? '', values: before }), [id, before]);
  const draft = useDraft(`${name} ${id === null ? 'new' : `of ${id}`}`, server);
  const [planned, setPlanned] = useState<Values | null>(null);
  const typed = draft.values;
  const body = emptied(schema, draft.base.values, tidy(typed.values) as Values);
  const save = useSave(edited, draft, body);
  const set = (change: Partial<Typed>): void => {
    draft.set({ ...typed, ...change });
    setPlanned(null);
  };
  const lacks = section.key !== null && typed.id === '' ? say('settings.needs-id') : null;
  return (
    <>
      <DraftNotes draft={draft} shown={({ values }) => values} />
      <Form onSend={save.run}>
        {id === null ? (
          <Field label={say('settings.id')}>
            {(ids) => (
              <input
                {...ids}
                type="text"
                value={typed.id}
                onInput={({ currentTarget }) => set({ id: currentTarget.value })}
              />
            )}
          </Field>
        ) : null}
        <Fields schema={schema} value={typed.values} onSet={(next) => set({ values: (next ?? {}) as Values })} />
        <div class="buttons">
          <Act tone="primary" refused={refusal(section.scope, section.ofAllTeams) ?? lacks} isBusy={save.isBusy}>
            {say('settings.save')}
          </Act>
          {section.plan === undefined || session.value?.signedIn?.teams !== null ? null : (
            <Act refused={lacks} onAct={() => setPlanned(body)}>
              {say('settings.preview')}
            </Act>
          )}
        </div>
      </Form>
      <Problems trouble={save.trouble} nameOf={(path) => namedPath(path.split('/'))} />
      <Said>{save.said}</Said>
      {planned === null ? null : <Planned {...edited} to={typed.id} body={planned} />}
      {section.mayRemove === true && id !== null ? <Removing {...edited} id={id} draft={draft} /> : null}
    </>
  );
}

/** What saving it would change. */
function Planned({
  name,
  section,
  before,
  id,
  to,
  body,
}: Edited & { readonly to: string; readonly body: Values }): JSX.Element {
  const configuration = section.plan?.(body, to) ?? {};
  const loaded = useLoaded(`plan ${JSON.stringify(configuration)}`, () =>
    send<{ changes: readonly ConfigurationChange[] }>('POST', '/v1/configuration/plan', {
      configuration,
      prune: false,
    }),
  );
  return (
    <Show loaded={loaded}>
      {({ changes }) => (
        <>
          <Plan changes={changes} />
          {name === 'budgets' ? <BudgetPreview id={to} isNew={id === null} before={before} body={body} /> : null}
        </>
      )}
    </Show>
  );
}

function Removing({
  name,
  section,
  id,
  draft,
}: {
  readonly name: SectionName;
  readonly section: Section;
  readonly id: string;
  readonly draft: Draft<Typed>;
}): JSX.Element {
  const [asks, setAsks] = useState(false);
  const { isBusy, trouble, run } = useTask(async () => {
    await send('DELETE', pathOf(section, id));
    draft.drop();
    go(link('settings', name));
  });
  return (
    <>
      <p>
        <Act tone="danger" refused={refusal(section.scope, section.ofAllTeams)} onAct={() => setAsks(true)}>
          {say('settings.remove')}
        </Act>
      </p>
      {asks ? (
        <Ask
          name={say('settings.sure', { id })}
          yes={say('settings.remove')}
          isBusy={isBusy}
          onYes={run}
          onLeave={() => setAsks(false)}
        >
          <p>{say('settings.sure', { id })}</p>
        </Ask>
      ) : null}
      <Problems trouble={trouble} />
    </>
  );
}
