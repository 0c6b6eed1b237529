/** One kind of setting: its items with a form for each, or its document. The form is made from the API's own schema. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Schema } from '../answers.js';
import { get, list, refusal, send, session } from '../api.js';
import { inWords, named, namedPath } from '../described.js';
import { Fields, tidy } from '../form.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Table, type Column } from '../table.js';
import { Act, Card, Empty, Field, Problems, Said, Select, Show } from '../ui.js';
import { BudgetPreview, Plan } from './plan.js';
import { emptied, schemaNamed, writable } from './schemas.js';
import { sectionOf, type Section, type SectionName } from './sections.js';
import type { ConfigurationChange } from './answers.js';

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
const brief = (value: unknown): string => {
  const text = inWords(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
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
      (field): Column<Values> => ({ name: named(field), text: (one) => brief(one[field]) }),
    ),
  ];
  return (
    <>
      <p>
        <a class="button" href={link('settings', name, { new: '1' })}>
          {say('settings.add')}
        </a>
      </p>
      <Show loaded={loaded}>
        {({ items, more, schema }) =>
          items.length === 0 ? (
            <Empty>{say('settings.none')}</Empty>
          ) : (
            <>
              {more ? <p class="warning">{say('settings.many')}</p> : null}
              <Table
                caption={say(`settings.${name}`)}
                file={name}
                columns={columnsOf(schema)}
                rows={items}
                keyOf={idOf}
                isCaptionHidden
              />
            </>
          )
        }
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
    // A single role has no route to read it: the list is short.
    const found =
      id === null
        ? {}
        : section.key === 'name'
          ? ((await list<Values>(section.read, {}, halt)).items.find((one) => one['name'] === id) ?? {})
          : await get<Values>(`${section.read}/${encodeURIComponent(id)}`, {}, halt);
    return { schema, before: writable(schema, found) };
  });
  const [given, setGiven] = useState(id ?? '');
  return (
    <>
      <p>
        <a href={link('settings', name)}>{say('settings.back')}</a>
      </p>
      <Show loaded={loaded}>
        {({ schema, before }) => (
          <Card title={id ?? say('settings.new')}>
            {id === null ? (
              <Field label={say('settings.id')}>
                {(ids) => (
                  <input
                    {...ids}
                    type="text"
                    value={given}
                    onInput={({ currentTarget }) => setGiven(currentTarget.value)}
                  />
                )}
              </Field>
            ) : null}
            <Editing name={name} section={section} schema={schema} before={before} id={given} isNew={id === null} />
          </Card>
        )}
      </Show>
    </>
  );
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
    const answer = await get<Values>(section.read, team === '' ? {} : { team }, halt);
    const teams = section.perTeam === true ? (await list<{ id: string }>('/v1/teams', {}, halt)).items : [];
    return { schema, before: writable(schema, section.of?.(answer) ?? answer), teams };
  });
  return (
    <Show loaded={loaded}>
      {({ schema, before, teams }) => (
        <>
          {section.perTeam === true ? (
            <Select
              label={say('settings.of')}
              value={team}
              options={[['', say('settings.everybody')], ...teams.map(({ id }) => [id, id] as const)]}
              onPick={(picked) => go(link('settings', name, { team: picked }))}
            />
          ) : null}
          <Editing key={team} name={name} section={section} schema={schema} before={before} id={team} isNew={false} />
        </>
      )}
    </Show>
  );
}

interface Edited {
  readonly name: SectionName;
  readonly section: Section;
  readonly schema: Schema;
  readonly before: Values;
  /** Id of the item, or the document's team; empty for everybody's. */
  readonly id: string;
  readonly isNew: boolean;
}

const pathOf = ({ section: { key, read }, id }: Edited): string =>
  key === null ? `${read}${id === '' ? '' : `?team=${encodeURIComponent(id)}`}` : `${read}/${encodeURIComponent(id)}`;

function Editing(edited: Edited): JSX.Element {
  const { name, section, schema, before, id, isNew } = edited;
  const [values, setValues] = useState<Values>(before);
  const [planned, setPlanned] = useState<Values | null>(null);
  const body = (): Values => emptied(schema, before, tidy(values) as Values);
  const save = useTask(async () => {
    await send('PUT', pathOf(edited), body());
    setPlanned(null);
    if (isNew) go(link('settings', name, { one: id }));
    return say('settings.saved');
  });
  const lacks = section.key !== null && id === '' ? say('settings.needs-id') : null;
  return (
    <>
      <form onSubmit={(event) => event.preventDefault()}>
        <Fields schema={schema} value={values} onSet={(next) => setValues((next ?? {}) as Values)} />
        <div class="buttons">
          <Act tone="primary" refused={refusal(section.scope) ?? lacks} isBusy={save.isBusy} onAct={save.run}>
            {say('settings.save')}
          </Act>
          {section.plan === undefined || session.value?.signedIn?.teams !== null ? null : (
            <Act refused={lacks} onAct={() => setPlanned(body())}>
              {say('settings.preview')}
            </Act>
          )}
        </div>
      </form>
      <Problems trouble={save.trouble} nameOf={(path) => namedPath(path.split('/'))} />
      <Said>{save.said}</Said>
      {planned === null ? null : <Planned {...edited} body={planned} />}
      {section.mayRemove === true && !isNew ? <Removing {...edited} path={pathOf(edited)} /> : null}
    </>
  );
}

/** What saving it would change. */
function Planned({ name, section, id, isNew, body }: Edited & { readonly body: Values }): JSX.Element {
  const configuration = section.plan?.(body, id) ?? {};
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
          {name === 'budgets' ? <BudgetPreview id={id} isNew={isNew} body={body} /> : null}
        </>
      )}
    </Show>
  );
}

function Removing({
  name,
  section,
  path,
  id,
}: {
  readonly name: SectionName;
  readonly section: Section;
  readonly path: string;
  readonly id: string;
}): JSX.Element {
  const [asks, setAsks] = useState(false);
  const { isBusy, trouble, run } = useTask(async () => {
    await send('DELETE', path);
    go(link('settings', name));
  });
  return (
    <>
      {asks ? (
        <div class="ask" role="group" aria-label={say('settings.sure', { id })}>
          <p>{say('settings.sure', { id })}</p>
          <div class="buttons">
            <Act tone="danger" isBusy={isBusy} onAct={run}>
              {say('settings.remove')}
            </Act>
            <button type="button" onClick={() => setAsks(false)}>
              {say('leave')}
            </button>
          </div>
        </div>
      ) : (
        <p>
          <Act tone="danger" refused={refusal(section.scope)} onAct={() => setAsks(true)}>
            {say('settings.remove')}
          </Act>
        </p>
      )}
      <Problems trouble={trouble} />
    </>
  );
}
