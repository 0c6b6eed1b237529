/** Who somebody is does not hang on a name: writes that are kept for a repeat, authors and approvers. Over HTTP. */
import { expect, it } from 'vitest';
import { testApi } from '../support/web.js';

const api = await testApi();

it('keeps the answers of a key and of a user with the same id apart', async () => {
  const made = await api.call<{ id: string; text: string }>('POST', '/v1/keys', { body: { name: 'k', role: 'admin' } });
  const { stores } = api;
  const user = { id: made.body.id, name: 'k', role: 'admin', teams: null } as const;
  const { text } = await stores.sessions.start(stores.db, 'default', { user }, Date.UTC(2026, 9, 7));
  const once = { 'idempotency-key': 'one' };
  const byKey = await api.call('PUT', '/v1/teams/red', {
    key: made.body.text,
    headers: once,
    body: { name: 'by key' },
  });
  const byUser = await api.call('PUT', '/v1/teams/red', {
    key: null,
    headers: { ...once, cookie: `bursar-session=${text}`, 'x-bursar-session': '1' },
    body: { name: 'by user' },
  });
  expect([byKey.status, byUser.status]).toEqual([200, 200]);
  expect(byUser.body).toMatchObject({ name: 'by user' });
});

it('says who wrote a document, and beside it who paused it', async () => {
  const [author, other] = [
    await api.keyFor({ role: 'operator', name: 'author' }),
    await api.keyFor({ role: 'operator', name: 'other' }),
  ];
  const body = { policy: 'idle-stop', teams: '*', mode: 'recommend' };
  expect((await api.call('PUT', '/v1/policies/idle', { key: author, body })).body).toMatchObject({
    updatedBy: expect.stringContaining('(author)'),
    pausedBy: null,
  });
  expect((await api.call('POST', '/v1/policies/idle/pause', { key: other })).body).toMatchObject({
    paused: true,
    updatedBy: expect.stringContaining('(author)'),
    pausedBy: expect.stringContaining('(other)'),
  });
});

it('asks for another approver of purchases unless somebody says otherwise', async () => {
  const limits = async () => (await api.call<{ limits: object }>('GET', '/v1/limits')).body.limits;
  expect(await limits()).toMatchObject({ separateApprover: false, separatePurchaseApprover: true });
  expect((await api.call('PUT', '/v1/limits', { body: { separatePurchaseApprover: false } })).status).toBe(200);
  expect(await limits()).toMatchObject({ separatePurchaseApprover: false });
});
