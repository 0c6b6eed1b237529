/** Signing in: with an API key, which is sent once and not kept, or at the identity provider. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Session } from '../answers.js';
import { send, session } from '../api.js';
import { useTask } from '../loading.js';
import { go, place } from '../router.js';
import { Act, Field, Page, Problems } from '../ui.js';

const REASONS: Readonly<Record<string, string>> = {
  'no-role': 'Your account has none of the roles that may use Bursar. Ask whoever runs it.', 'no-teams': 'Your account names no team, and Bursar shows people only their teams.',
  over: 'That took too long, or began in another browser: try again.', failed: 'The identity provider did not confirm who you are: try again. The log of Bursar has the reason.',
};

export function SignIn(): JSX.Element {
  const [key, setKey] = useState('');
  const { isBusy, trouble, run } = useTask(async () => {
    const answer = await send<Session>('POST', '/session', { key });
    setKey('');
    session.value = answer;
    if (place.value.page === 'sign-in') go('#/');
  });
  const { page, id } = place.value;
  const reason = page === 'sign-in' && id !== null ? (REASONS[id] ?? REASONS['failed']) : null;
  return (
    <Page title="Sign in">
      <div class="card narrow">
        {reason === null || reason === undefined ? null : <div class="problems" role="alert"><p>{reason}</p></div>}
        {session.value?.oidc === true ? <p><a class="button primary" href="/session/oidc">Sign in with your organisation</a></p> : null}
        <form onSubmit={(event) => { event.preventDefault(); run(); }}>
          <Field label="API key" note="bursar_…; the first start prints one, an admin makes others: bursar keys create. It is exchanged for a session of twelve hours and not kept here.">{(ids) =>
            <input {...ids} type="password" autocomplete="off" spellcheck={false} required value={key} onInput={({ currentTarget }) => setKey(currentTarget.value)} />}
          </Field>
          <button class="primary" aria-disabled={isBusy}>Sign in{isBusy ? ' …' : ''}</button>
        </form>
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
  return <><Act isBusy={isBusy} onAct={run}>Sign out</Act><Problems trouble={trouble} /></>;
}
