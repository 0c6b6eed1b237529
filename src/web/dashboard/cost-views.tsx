/** Saved questions: opens one, saves the current one, for oneself or for everybody who may see its teams. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CostView } from './answers.js';
import { list, send } from './api.js';
import { wordsOf, type CostQuestion } from './cost-question.js';
import { say } from './language.js';
import { useLoaded, useTask } from './loading.js';
import { go, link } from './router.js';
import { Act, Badge, Field, Form, Problems, Said, Show } from './ui.js';

export function Views({ question }: { readonly question: CostQuestion }): JSX.Element {
  const loaded = useLoaded('views', (halt) => list<CostView>('/v1/cost-views', {}, halt));
  return (
    <details class="views">
      <summary>{say('views')}</summary>
      <Show loaded={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">{say('views.none')}</p>
          ) : (
            <ul class="plain">
              {items.map((view) => (
                <Saved key={view.id} view={view} onGone={loaded.again} />
              ))}
            </ul>
          )
        }
      </Show>
      <Keep question={question} onKept={loaded.again} />
    </details>
  );
}

function Saved({ view, onGone }: { readonly view: CostView; readonly onGone: () => void }): JSX.Element {
  const removal = useTask(async () => {
    await send('DELETE', `/v1/cost-views/${view.id}`);
    onGone();
  });
  return (
    <li>
      <a href={link('costs', null, view.query)}>{view.name}</a>{' '}
      {view.shared ? <Badge>{say('views.shared')}</Badge> : null}{' '}
      {view.isOwn ? (
        <button type="button" class="quiet" onClick={() => removal.run()}>
          {say('views.remove')}
          <span class="hidden"> {view.name}</span>
        </button>
      ) : (
        <span class="note">{say('by', { who: view.owner })}</span>
      )}
      <Problems trouble={removal.trouble} />
    </li>
  );
}

function Keep({ question, onKept }: { readonly question: CostQuestion; readonly onKept: () => void }): JSX.Element {
  const [name, setName] = useState('');
  const [shared, setShared] = useState(false);
  const saving = useTask(async () => {
    const query = wordsOf(question);
    await send<CostView>('POST', '/v1/cost-views', { name, shared, query });
    setName('');
    onKept();
    go(link('costs', null, query));
    return say('views.kept', { name });
  });
  return (
    <Form class="fields" onSend={saving.run}>
      <Field label={say('form.name')}>
        {(ids) => (
          <input
            {...ids}
            required
            maxLength={100}
            autocomplete="off"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        )}
      </Field>
      <label class="check">
        <input type="checkbox" checked={shared} onChange={({ currentTarget }) => setShared(currentTarget.checked)} />{' '}
        {say('views.share')}
      </label>
      <Act isBusy={saving.isBusy} refused={name.trim() === '' ? say('views.nameless') : null}>
        {say('views.save')}
      </Act>
      <Said>{saving.said}</Said>
      <Problems trouble={saving.trouble} />
    </Form>
  );
}
