/**
 * Who did what and when, by actor, verb, target and time; whether the log is complete and unchanged; and its download.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditCheck, AuditEntry } from '../answers.js';
import { get, list, refusal } from '../api.js';
import { instantColumn } from '../columns.js';
import { moved } from '../cost-question.js';
import { shownCode, words } from '../format.js';
import { say } from '../language.js';
import { useLoaded, useTask } from '../loading.js';
import { go, link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { Act, AsWritten, Badge, Card, Day, Facts, Field, Form, Page, Problems, Show, Unseen } from '../ui.js';

const WORDS = ['actor', 'verb', 'target', 'from', 'to'] as const;
type Wanted = Readonly<Record<(typeof WORDS)[number], string>>;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOST = 500;

function wantedOf(): Wanted {
  const { query } = place.value;
  const all = Object.fromEntries(WORDS.map((word) => [word, query.get(word) ?? ''])) as Wanted;
  return { ...all, from: DAY.test(all.from) ? all.from : '', to: DAY.test(all.to) ? all.to : '' };
}

/** A chosen day is whole: the API takes instants, and excludes the end. */
const queryOf = ({ actor, verb, target, from, to }: Wanted): Readonly<Record<string, string | null>> => ({
  actor: actor === '' ? null : actor,
  verb: verb === '' ? null : verb,
  target: target === '' ? null : target,
  from: from === '' ? null : `${from}T00:00:00Z`,
  to: to === '' ? null : `${moved(to, 1)}T00:00:00Z`,
});

const asWord = (word: keyof Wanted, value: string, wanted: Wanted): string =>
  link('audit', null, { ...wanted, [word]: value });

/** Without the name of a key: the same key under another name counts too. */
const principalOf = (actor: string): string => actor.replace(/ \(.*\)$/s, '');

const columns = (wanted: Wanted): readonly Column<AuditEntry>[] => [
  instantColumn(say('column.when'), ({ at }) => at),
  {
    name: say('column.who'),
    text: ({ actor }) => actor,
    cell: ({ actor }) => <a href={asWord('actor', principalOf(actor), wanted)}>{actor}</a>,
  },
  {
    name: say('column.what'),
    text: ({ verb }) => verb,
    cell: ({ verb }) => (
      <a href={asWord('verb', verb, wanted)}>
        <code>{verb}</code>
      </a>
    ),
  },
  {
    name: say('audit.target'),
    text: ({ target }) => target,
    cell: ({ target }) => <a href={asWord('target', target, wanted)}>{target}</a>,
  },
  {
    name: say('details'),
    text: ({ detail }) => JSON.stringify(detail),
    cell: ({ id, detail }) =>
      Object.keys(detail).length === 0 ? null : (
        <details>
          <summary>
            {say('details')}
            <span class="hidden"> {id}</span>
          </summary>
          <AsWritten>
            <Facts facts={Object.entries(detail).map(([name, value]) => [words(name), shownCode(value)])} />
          </AsWritten>
        </details>
      ),
  },
];

export function Audit(): JSX.Element {
  const wanted = wantedOf();
  const refused = refusal('admin');
  return (
    <Page
      title={say('page.audit')}
      lead={say('audit.lead')}
      actions={
        refused === null ? (
          <a href="/v1/audit/export?limit=10000" target="_blank" rel="noopener">
            {say('audit.export')}
          </a>
        ) : undefined
      }
    >
      {refused === null ? (
        <>
          <Check />
          <Filters key={JSON.stringify(wanted)} wanted={wanted} />
          <Entries wanted={wanted} />
        </>
      ) : (
        <Unseen why={refused} />
      )}
    </Page>
  );
}

function Check(): JSX.Element {
  const [found, setFound] = useState<AuditCheck | null>(null);
  const task = useTask(async () => {
    setFound(null);
    setFound(await get<AuditCheck>('/v1/audit/verification'));
  });
  return (
    <Card
      title={say('audit.check')}
      actions={
        <Act isBusy={task.isBusy} onAct={task.run}>
          {say('audit.check-now')}
        </Act>
      }
    >
      <p>{say('audit.check-note')}</p>
      <Problems trouble={task.trouble} />
      <div role="status">{found === null ? null : <Checked check={found} />}</div>
    </Card>
  );
}

function Checked({ check: { holds, entries, head, problems } }: { readonly check: AuditCheck }): JSX.Element {
  return (
    <>
      <p>
        <Badge tone={holds ? 'good' : 'bad'}>{say(holds ? 'audit.holds' : 'audit.broken')}</Badge>{' '}
        {say('audit.entries', { n: entries })}
      </p>
      {head === null ? null : (
        <p class="note">
          {say('audit.head')} <code>{`${head.seq}:${head.hash}`}</code>
        </p>
      )}
      {problems.length === 0 ? null : (
        <ul class="problems">
          {problems.map(({ seq, entry, message }) => (
            <li key={`${seq} ${entry} ${message}`}>
              {say('audit.entry', { entry })} <AsWritten>{message}</AsWritten>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The filters apply when the form is sent. */
function Filters({ wanted }: { readonly wanted: Wanted }): JSX.Element {
  const [draft, setDraft] = useState(wanted);
  const text = (word: 'actor' | 'verb' | 'target', label: string, note: string): JSX.Element => (
    <Field label={label} note={note}>
      {(ids) => (
        <input
          {...ids}
          value={draft[word]}
          onInput={({ currentTarget }) => setDraft({ ...draft, [word]: currentTarget.value.trim() })}
        />
      )}
    </Field>
  );
  const date = (word: 'from' | 'to', label: string): JSX.Element => (
    <Day label={label} value={draft[word]} onPick={(day) => setDraft({ ...draft, [word]: day })} />
  );
  return (
    <Form class="card" aria-label={say('explorer.filter')} onSend={() => go(link('audit', null, draft))}>
      <div class="fields">
        {text('actor', say('column.who'), say('audit.who-note'))}
        {text('verb', say('column.what'), say('audit.what-note'))}
        {text('target', say('audit.target'), say('audit.target-note'))}
        {date('from', say('from'))}
        {date('to', say('explorer.last-day'))}
        <Act tone="primary">{say('explorer.filter')}</Act>
        {WORDS.every((word) => wanted[word] === '') ? null : <a href={link('audit')}>{say('audit.all')}</a>}
      </div>
    </Form>
  );
}

function Entries({ wanted }: { readonly wanted: Wanted }): JSX.Element {
  const loaded = useLoaded(`audit ${JSON.stringify(wanted)}`, (halt) =>
    list<AuditEntry>('/v1/audit', queryOf(wanted), halt, MOST),
  );
  return (
    <Show loaded={loaded}>
      {({ items, more }) => (
        <Listing
          items={items}
          note={more ? say('audit.more', { n: MOST }) : null}
          empty={say('audit.none')}
          caption={say('page.audit')}
          file="audit"
          columns={columns(wanted)}
          keyOf={({ id }) => id}
        />
      )}
    </Show>
  );
}
