/**
 * Why something is proposed or left alone: for one target, team or budget what each policy saw, its result, what would
 * make it act, and the state of its recommendation. The server's texts are English and shown unchanged.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Explained, ExplainedPolicy } from '../answers.js';
import { get } from '../api.js';
import { code } from '../format.js';
import { say } from '../language.js';
import { useLoaded } from '../loading.js';
import { Rich } from '../rich.js';
import { go, link, place } from '../router.js';
import { Listing, type Column } from '../table.js';
import { Act, AsWritten, Badge, Card, Field, Form, Page, Show } from '../ui.js';

const written = (lines: readonly string[]): JSX.Element => (
  <ul class="plain">
    {lines.map((line, at) => (
      <li key={at}>
        <AsWritten>{line}</AsWritten>
      </li>
    ))}
  </ul>
);

const saysOf = ({ leftAlone, proposes }: ExplainedPolicy): readonly string[] =>
  leftAlone === null ? proposes : [leftAlone.message];

const columns = (): readonly Column<ExplainedPolicy>[] => [
  {
    name: say('column.policy'),
    text: ({ document, policy }) => document ?? policy,
    cell: ({ document, policy }) => (document === null ? policy : <a href={link('policies', document)}>{document}</a>),
  },
  { name: say('fleet.target'), text: ({ target }) => target },
  { name: say('explain.saw'), text: ({ saw }) => saw.join('; '), cell: ({ saw }) => written(saw), isMinor: true },
  {
    name: say('explain.says'),
    text: (one) => saysOf(one).join('; '),
    cell: (one) => (
      <>
        <Badge tone={one.leftAlone === null ? 'warn' : 'plain'}>
          {one.leftAlone === null ? say('explain.proposes') : say('explain.leaves')}
        </Badge>
        {written(saysOf(one))}
      </>
    ),
  },
  {
    name: say('explain.would'),
    text: ({ leftAlone }) => leftAlone?.toAct ?? '',
    cell: ({ leftAlone }) => (leftAlone === null ? null : <AsWritten>{leftAlone.toAct}</AsWritten>),
  },
  {
    name: say('field.recommendation'),
    text: ({ recommendation }) => recommendation?.status ?? '',
    cell: ({ recommendation, ...one }) => (recommendation === null ? null : <Made one={{ ...one, recommendation }} />),
  },
];

function Made({ one: { recommendation } }: { readonly one: ExplainedPolicy }): JSX.Element | null {
  if (recommendation === null) return null;
  const { id, status, decidedBy, because } = recommendation;
  return (
    <>
      <a href={link('recommendations', id, { status: status === 'open' ? '' : status })}>{code('status', status)}</a>
      {decidedBy === null ? null : <div class="note">{say('explain.by', { who: decidedBy })}</div>}
      {because === null ? null : (
        <div class="note">
          <AsWritten>{because}</AsWritten>
        </div>
      )}
    </>
  );
}

export function Explain(): JSX.Element {
  const { id } = place.value;
  const [asked, setAsked] = useState(id ?? '');
  return (
    <Page title={id === null ? say('page.explain') : say('explain.title', { target: id })} lead={say('explain.lead')}>
      <Form onSend={() => asked.trim() !== '' && go(link('explain', asked.trim()))}>
        <Field label={say('explain.ask')} note={say('explain.note')}>
          {(ids) => (
            <input
              {...ids}
              autocomplete="off"
              spellcheck={false}
              required
              value={asked}
              onInput={(event) => setAsked(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="buttons">
          <Act>{say('page.explain')}</Act>
        </div>
      </Form>
      {id === null ? null : <Answer key={id} target={id} />}
    </Page>
  );
}

function Answer({ target }: { readonly target: string }): JSX.Element {
  const loaded = useLoaded(`explain ${target}`, (halt) => get<Explained>('/v1/explain', { target }, halt));
  return (
    <Show loaded={loaded}>
      {({ kind, team, known, looks, recommended }) => (
        <>
          <Card title={say('explain.known')}>
            <p>
              {say(`known.${kind}`)} {team}{' '}
              <a href={link('recommendations', null, { team })}>{say('page.recommendations')}</a>
            </p>
            {written([...known, recommended.message])}
          </Card>
          <Card title={say('explain.looks')} wide>
            <Listing
              items={looks}
              note={null}
              empty={<Rich of="explain.no-looks" given={{ a: (inner) => <a href={link('policies')}>{inner}</a> }} />}
              caption={say('explain.looks')}
              file="explain"
              columns={columns()}
              keyOf={({ document, policy, target: of }) => `${document ?? policy} ${of}`}
            />
          </Card>
        </>
      )}
    </Show>
  );
}
