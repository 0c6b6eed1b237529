/** Signing in: with an API key, which is sent once and not kept, or at the identity provider. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Session } from '../answers.js';
import { send, session } from '../api.js';
import { isKey, raw, say } from '../language.js';
import { useTask } from '../loading.js';
import { go, keepPlace, place } from '../router.js';
import { Act, Field, Form, Page, Problems } from '../ui.js';

/** Why nobody was let in with the identity provider's answer. */
function reasonOf(outcome: string): string {
  const key = `sign-in-problem.${outcome}`;
  return isKey(key) ? raw(key) : say('sign-in-problem.failed');
}

export function SignIn(): JSX.Element {
  const [key, setKey] = useState('');
  const { isBusy, trouble, run } = useTask(async () => {
    const answer = await send<Session>('POST', '/session', { key });
    setKey('');
    session.value = answer;
    if (place.value.page === 'sign-in') go('#/');
  });
  const { page, id } = place.value;
  return (
    <Page title={say('sign-in')}>
      <div class="card narrow">
        {page !== 'sign-in' || id === null ? null : (
          <div class="problems" role="alert">
            <p>{reasonOf(id)}</p>
          </div>
        )}
        {session.value?.oidc === true ? (
          <p>
            <a class="button primary" href="/session/oidc" onClick={keepPlace}>
              {say('sign-in.oidc')}
            </a>
          </p>
        ) : null}
        <Form onSend={run}>
          <Field label={say('sign-in.key')} note={say('sign-in.note')}>
            {(ids) => (
              <input
                {...ids}
                type="password"
                autocomplete="off"
                spellcheck={false}
                required
                value={key}
                onInput={({ currentTarget }) => setKey(currentTarget.value)}
              />
            )}
          </Field>
          <Act tone="primary" isBusy={isBusy}>
            {say('sign-in')}
          </Act>
        </Form>
        <Problems trouble={trouble} />
      </div>
    </Page>
  );
}

export function SignOut(): JSX.Element {
  const { isBusy, trouble, run } = useTask(async () => {
    session.value = await send<Session>('DELETE', '/session');
    go('#/');
  });
  return (
    <>
      <Act isBusy={isBusy} onAct={run}>
        {say('sign-out')}
      </Act>
      <Problems trouble={trouble} />
    </>
  );
}
