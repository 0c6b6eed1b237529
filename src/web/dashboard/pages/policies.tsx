/** The policies and the documents that apply them; an address with a name opens its document. */
import type { JSX } from 'preact';
import type { Page as List, PolicyDocument, PolicyKind } from '../answers.js';
import { get } from '../api.js';
import { Described } from '../described.js';
import { code, instant, unknown, within } from '../format.js';
import { say } from '../language.js';
import { useLoaded } from '../loading.js';
import { link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { Badge, Card, Empty, Page, Show } from '../ui.js';
import { Document, NEW } from './policy.js';

type Answer = List<PolicyDocument> & { readonly catalogue: readonly PolicyKind[] };

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
      <Card title={say('policies.documents')} terms={['mode', 'guard', 'canary']}>
        <Listing
          items={items}
          note={null}
          empty={say('policies.empty')}
          caption={say('policies.caption')}
          file="policies"
          columns={columns()}
          keyOf={({ name }) => name}
        />
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
