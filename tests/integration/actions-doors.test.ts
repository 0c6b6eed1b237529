/** The doors to actions: who may see, approve, reject, take back and stop, over REST and on the command line. */
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../../src/cli/program.js';
import { HOUR_MS } from '../../src/core/time.js';
import type { NewAction } from '../../src/store/action/actions.js';
import type { ActionJson, ActionStory } from '../../src/store/action/action-json.js';
import type { StoredStop } from '../../src/store/action/safety.js';
import { actingWorld, type ActingWorld } from '../support/acting.js';
import { group, instance } from '../support/memory-cloud.js';
import { endpoints } from '../../src/web/web.module.js';
import { NOW, testApi } from '../support/web.js';
import { localOfComposed } from '../support/local.js';
import { proposedAction } from '../support/makers.js';

/** A stop that a document asks for. */
const stopOf = (team: string, target: string): NewAction =>
  proposedAction({
    team,
    target,
    effect: { kind: 'stop', target },
    policy: 'idle-stop',
    document: 'doc',
    proposedBy: 'policy:doc',
    evidenceAt: NOW,
    expiresAt: NOW + HOUR_MS,
  });

describe('actions over REST', async () => {
  const api = await testApi();
  const propose = async (team: string, target: string): Promise<string> => {
    const { action } = await api.stores.db.transaction((tx) =>
      api.stores.actions.propose(tx, 'default', stopOf(team, target), NOW),
    );
    return action.id;
  };
  const list = async (query = '', key?: string): Promise<{ items: ActionJson[]; nextCursor: string | null }> =>
    (
      await api.call<{ items: ActionJson[]; nextCursor: string | null }>(
        'GET',
        `/v1/actions${query}`,
        key === undefined ? {} : { key },
      )
    ).body;

  it('lists them by page, team and state, and only to who may see them', async () => {
    const ids = [
      await propose('red', 'instance/a'),
      await propose('red', 'instance/b'),
      await propose('blue', 'instance/c'),
    ];
    const first = await list('?limit=2');
    expect(first.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect((await list(`?limit=2&cursor=${first.nextCursor}`)).items.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await list('?team=blue&state=proposed')).items.map(({ id }) => id)).toEqual([ids[2]]);
    expect((await list('?state=applied')).items).toEqual([]);
    const red = await api.keyFor({ role: 'operator', teams: ['red'] });
    expect((await list('', red)).items.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    expect((await api.call('GET', `/v1/actions/${ids[2]}`, { key: red })).status).toBe(403);
    expect((await api.call('POST', `/v1/actions/${ids[2]}/approve`, { key: red })).status).toBe(403);
    expect((await api.call('GET', '/v1/actions/act-0000000000000000')).status).toBe(404);
    expect((await api.call('GET', '/v1/actions/rec-1')).status).toBe(400);
    expect(
      (await api.call('POST', `/v1/actions/${ids[0]}/approve`, { key: await api.keyFor({ role: 'viewer' }) })).status,
    ).toBe(403);
  });

  it('approves once, however often it is asked with one key, and enqueues its work', async () => {
    const [, { id }] = (await list('?team=red')).items as [ActionJson, ActionJson];
    const headers = { 'idempotency-key': 'approve-1' };
    const approved = await api.call<ActionJson>('POST', `/v1/actions/${id}/approve`, { headers });
    expect(approved.body).toMatchObject({
      id,
      state: 'approved',
      approvedBy: expect.stringMatching(/^key:/) as string,
    });
    expect((await api.call('POST', `/v1/actions/${id}/approve`, { headers })).body).toEqual(approved.body);
    expect((await api.call('POST', `/v1/actions/${id}/approve`)).status).toBe(409);
    const story = (await api.call<ActionStory>('GET', `/v1/actions/${id}`)).body;
    expect(story.events.map(({ code, from }) => [code, from])).toEqual([
      ['proposed', null],
      ['approved', 'proposed'],
    ]);
    expect(await api.stores.work.duePartitions(NOW)).toContainEqual(
      expect.objectContaining({ stage: 'action.execute', partition: 'red', due: 1 }),
    );
    const [entry] = await api.stores.audit.list('default', null, 1);
    expect(entry).toMatchObject({ verb: 'action.approve', target: id, detail: { team: 'red', effect: 'stop' } });
  });

  it('rejects with a reason, and takes back only what was done', async () => {
    const [{ id }] = (await list('?team=red&state=proposed')).items as [ActionJson];
    expect((await api.call('POST', `/v1/actions/${id}/reject`, { body: { reason: 'needed', why: 'x' } })).status).toBe(
      400,
    );
    expect((await api.call('POST', `/v1/actions/${id}/reject`, { body: { reason: 'needed' } })).body).toMatchObject({
      state: 'refused',
      reasons: [{ code: 'rejected', message: 'needed' }],
    });
    expect(await api.call('POST', `/v1/actions/${id}/rollback`)).toMatchObject({
      status: 409,
      body: { detail: `action ${id} is refused: there is nothing to roll back` },
    });
    const operator = await api.keyFor({ role: 'operator' });
    expect(
      (await api.call('POST', `/v1/actions/${id}/rollback`, { key: operator, body: { underStop: true } })).status,
    ).toBe(403);
  });

  it('says that the kill switch refuses an approval, before anybody asks; rejecting stays', async () => {
    const id = await propose('red', 'instance/d');
    const of = async () => (await list('?team=red&state=proposed')).items.find((one) => one.id === id);
    expect(await of()).toMatchObject({ may: { approve: null, reject: null } });
    await api.call('POST', '/v1/stop', { body: { reason: 'odd' } });
    expect(await of()).toMatchObject({
      may: {
        approve: {
          code: 'stopped',
          message: expect.stringMatching(/ is on for everything, since .*, set by first admin$/) as string,
        },
        reject: null,
      },
    });
    expect(await api.call('POST', `/v1/actions/${id}/approve`)).toMatchObject({
      status: 409,
      body: {
        problems: [{ message: expect.stringMatching(/^for everything, since .*, set by first admin$/) as string }],
      },
    });
    expect((await api.call('POST', `/v1/actions/${id}/reject`)).status).toBe(200);
    await api.call('POST', '/v1/stop/lift');
  });

  it('stops at once: a team by its operator, everything by who is for all teams; lifting needs an admin', async () => {
    const red = await api.keyFor({ role: 'operator', teams: ['red'] });
    expect(await api.call('POST', '/v1/stop', { key: red, body: { team: 'red' } })).toMatchObject({
      status: 404,
      body: { detail: 'there is no team red: nothing was stopped' },
    });
    await api.call('PUT', '/v1/teams/red', { body: {} });
    expect(
      (
        await api.call<{ stops: StoredStop[] }>('POST', '/v1/stop', {
          key: red,
          body: { team: 'red', reason: 'odd prices' },
        })
      ).body.stops,
    ).toMatchObject([
      { scope: 'team', name: 'red', reason: 'odd prices', setBy: expect.stringMatching(/^key:/) as string },
    ]);
    for (const body of [{}, { provider: 'aws' }, { team: 'blue' }])
      expect((await api.call('POST', '/v1/stop', { key: red, body })).status).toBe(403);
    expect((await api.call('POST', '/v1/stop')).body).toMatchObject({
      stops: [{ scope: 'all', name: '' }, { scope: 'team' }],
    });
    expect((await api.call('POST', '/v1/stop', { body: { team: 'red', provider: 'aws' } })).status).toBe(400);
    expect((await api.call('GET', '/v1/stop', { key: red })).body).toMatchObject({
      stops: [{ scope: 'all' }, { scope: 'team' }],
    });
    const { id } = (await list('?team=blue')).items[0]!;
    expect(await api.call('POST', `/v1/actions/${id}/approve`)).toMatchObject({
      status: 409,
      body: { problems: [{ message: 'for everything, since 2026-10-07 00:00 UTC, set by first admin' }] },
    });
    expect((await api.call('POST', '/v1/stop/lift', { key: red, body: { team: 'red' } })).status).toBe(403);
    await api.call('POST', '/v1/stop/lift');
    expect((await api.call('POST', '/v1/stop/lift', { body: { team: 'red' } })).body).toEqual({ stops: [] });
    expect((await api.call('POST', '/v1/stop/lift')).status).toBe(404);
  });

  it('has limits that name every problem, and bind a team twice', async () => {
    expect((await api.call('PUT', '/v1/limits', { body: { gpusPerAction: -1, colour: 'red' } })).body).toMatchObject({
      problems: [{ path: 'colour' }, { path: 'gpusPerAction' }],
    });
    expect(
      (await api.call('PUT', '/v1/limits', { key: await api.keyFor({ role: 'operator' }), body: {} })).status,
    ).toBe(403);
    expect((await api.call('PUT', '/v1/limits', { body: { gpusPerAction: 16 } })).body).toMatchObject({
      team: null,
      document: { gpusPerAction: 16 },
      limits: { gpusPerAction: 16, gpusPerHour: 128 },
    });
    expect(
      (await api.call('PUT', '/v1/limits?team=red', { body: { gpusPerAction: 64, separateApprover: true } })).body,
    ).toMatchObject({ limits: { gpusPerAction: 16, separateApprover: true } });
    expect(
      (await api.call('GET', '/v1/limits?team=red', { key: await api.keyFor({ role: 'viewer', teams: ['blue'] }) }))
        .status,
    ).toBe(403);
    expect((await api.call('GET', '/v1/limits')).body).toMatchObject({ limits: { separateApprover: false } });
  });
});

describe('how a machine was made', async () => {
  const api = await testApi();
  const SECRET = 'launched-with-a-key-7f3a';
  const launched = instance('launched', { launch: { KeyName: SECRET, UserData: SECRET } });

  it('is for its provider alone: no door answers with it, and nothing else keeps it', async () => {
    const { stores } = api;
    const { db } = stores;
    const reading = { at: NOW, targets: [launched], complete: true, problems: [] };
    await stores.fleet.save(db, 'default', 'cloud', reading, () => 'red');
    const id = await db.transaction(async (tx) => {
      const { action } = await stores.actions.propose(tx, 'default', stopOf('red', launched.target), NOW);
      const by = { at: NOW, actor: 'boss' };
      const approved = await stores.actions.move(tx, 'default', action, 'approved', by);
      const read = { before: launched, beforeAt: NOW, after: launched, afterAt: NOW };
      await stores.actions.move(tx, 'default', approved.action, 'intended', { ...by, set: { token: 't-1', ...read } });
      return action.id;
    });
    const shown: string[] = [];
    for (const { method, path: route } of endpoints().filter(({ path: at }) => !at.includes('events'))) {
      const filled = route
        .replaceAll('{id}', id)
        .replaceAll('{team}', 'red')
        .replace(/\{\w+\}/g, 'x');
      if (method !== 'GET') continue;
      const { text } = await api.call('GET', filled);
      expect(text, filled).not.toContain(SECRET);
      if (text.includes('instance/launched')) shown.push(route);
    }
    expect(shown).toEqual(
      expect.arrayContaining(['/v1/actions', '/v1/actions/{id}', '/v1/fleet', '/v1/fleet/details']),
    );
    for (const verb of ['approve', 'reject', 'rollback'])
      expect((await api.call('POST', `/v1/actions/${id}/${verb}`, { body: {} })).text).not.toContain(SECRET);
    const columns = await db.query<{ name: string; found: boolean }>(
      `select table_name || '.' || column_name as name, (xpath('//found/text()', query_to_xml(format(
         'select exists (select 1 from %I where %I::text like %L) as found', table_name, column_name, '%' || $1 || '%'), true, true, '')))[1]::text::boolean as found
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
       where table_schema = 'public' and table_type = 'BASE TABLE' and data_type in ('jsonb', 'json', 'text', 'character varying', 'ARRAY', 'bytea')`,
      [SECRET],
    );
    expect(columns.length).toBeGreaterThan(100);
    expect(
      columns
        .filter(({ found }) => found)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['action.after', 'action.before', 'fleet_target.body']);
  });
});

describe('actions on the command line', async () => {
  const w = await actingWorld();
  const cli = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await run(argv, {
      environment: {},
      clock: w.clock,
      remote: null,
      parseYaml,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
      serve: async () => undefined,
      connect: async () => localOfComposed({ ...w, policies: [w.policy] }, w.clock),
    });
    return { code, out: out.join(''), err: err.join('') };
  };
  const json = async <T>(...argv: string[]): Promise<T> => {
    const { code, out, err } = await cli(...argv, '--json');
    expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
    return JSON.parse(out) as T;
  };
  const recommended = async (world: ActingWorld): Promise<string> => (await world.recommendation()).id;

  it('approves a recommendation, and shows what became of it', async () => {
    w.cloud.add(group('web', 6));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 2 } }];
    await w.document('recommend');
    await w.look();
    const id = await recommended(w);
    const { recommendation, action } = await json<{
      recommendation: { id: string; actionId: string };
      action: ActionJson;
    }>('approve', id);
    expect(recommendation).toMatchObject({
      id,
      status: 'approved',
      decidedBy: expect.stringMatching(/^cli:/) as string,
      actionId: action.id,
    });
    expect(action).toMatchObject({
      target: 'asg/web',
      effect: { kind: 'scale', replicas: 2 },
      after: { replicas: { desired: 2 } },
    });
    expect(['confirmed', 'measured']).toContain(action.state);
    expect((await json<{ actions: ActionJson[] }>('actions')).actions.map((one) => one.id)).toEqual([action.id]);
    expect((await cli('actions', 'show', action.id)).out).toMatch(
      /Proof, read at .*: running, 2 replicas, billing billed/,
    );
    expect(await cli('approve', action.id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('not proposed') as string,
    });
  });

  it('takes it back', async () => {
    const [{ id }] = (await json<{ actions: ActionJson[] }>('actions')).actions as [ActionJson];
    const { action } = await json<{ action: ActionStory }>('rollback', id);
    expect(action).toMatchObject({ rollbackOf: id, effect: { kind: 'scale', replicas: 6 } });
    expect(
      (await json<{ actions: ActionJson[] }>('actions', '--state', 'rolled-back')).actions.map((one) => one.id),
    ).toEqual([id]);
    expect(await cli('rollback', 'act-none')).toMatchObject({
      code: 1,
      err: 'bursar: the request has 1 problem(s)\n  id is not the id of an action\n',
    });
  });

  it('says why nothing carries a recommendation out', async () => {
    w.script.wants = [{ action: 'Stop', target: 'nobody-knows' }];
    await w.look(HOUR_MS);
    const found = (await w.stores.recommendations.list('default', { status: 'open' }, null, 10))[0]!;
    expect(await cli('approve', found.id)).toMatchObject({
      code: 0,
      err: expect.stringContaining('Bursar cannot carry it out: no connection knows nobody-knows.') as string,
    });
    expect(await json('recommend', '--status', 'approved')).toMatchObject({
      recommendations: expect.arrayContaining([
        expect.objectContaining({
          id: found.id,
          obstacle: { code: 'no-target', message: 'no connection knows nobody-knows' },
        }),
      ]) as unknown,
    });
  });

  it('stops everything, and says so', async () => {
    expect(await json('stop-all', '--reason', 'odd')).toMatchObject({ stops: [{ scope: 'all', reason: 'odd' }] });
    expect((await cli('stop-all', '--show')).out).toContain('everything');
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.look(HOUR_MS);
    const found = (await w.stores.recommendations.list('default', { status: 'open' }, null, 10))[0]!;
    expect(await cli('approve', found.id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('the kill switch is on') as string,
    });
    expect(await cli('stop-all', '--team', 'nobody')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no team nobody') as string,
    });
    expect((await cli('stop-all', '--lift')).out).toBe('Nothing is stopped.\n');
    expect((await cli('stop-all', '--lift', '--show')).code).toBe(2);
  });

  it('an approval that the guard refuses is a failure that says why', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-limits-'));
    await writeFile(path.join(folder, 'limits.yaml'), 'gpusPerAction: 4\n');
    expect(await json('limits', 'set', path.join(folder, 'limits.yaml'))).toMatchObject({
      limits: { gpusPerAction: 4 },
    });
    expect((await cli('limits')).out).toMatch(/gpusPerAction +4/);
    const found = (await w.stores.recommendations.list('default', { status: 'open' }, null, 10))[0]!;
    const { code, out } = await cli('approve', found.id);
    expect(code).toBe(1);
    expect(out).toContain('it would change 8 GPUs; 4 are allowed at once');
    expect(w.cloud.targets.get('instance/i-1')?.state).toBe('running');
    await rm(folder, { recursive: true });
  });
});
