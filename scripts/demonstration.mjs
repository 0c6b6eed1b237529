/**
 * The bundled example with something to act on, for pictures: beside the example's pods run six machines of a cloud
 * that exists in this process only; three of them fall idle, are stopped by an approved recommendation, and what that
 * saves is measured over the next two days.
 *
 * Everything but the machines is the product: the example, the policy, the guard, the line, the ledger. The clock is
 * set by hand, at the end of the example's recorded history. Needs `npm run build` first.
 */
import 'reflect-metadata';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compose } from '../dist/src/app.module.js';
import { welcome } from '../dist/src/example/welcome.js';
import * as pods from '../dist/src/formats/openb-pods.js';
import { makeLine } from '../dist/src/pipeline/line.js';
import { Runner } from '../dist/src/pipeline/runner.js';
import { startEmbedded } from '../dist/src/store/embedded/embedded.js';
import { Stores } from '../dist/src/store/stores.js';
import { createWebApp, listen } from '../dist/src/web/server.js';
import { WebModule } from '../dist/src/web/web.module.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The last hour of the example's recorded history (src/example/example.ts). */
const END = Date.UTC(2026, 9, 30, 8);

const MACHINES = [
  { name: 'notebook-ada', team: 'research', idleFrom: END - 11 * HOUR },
  { name: 'notebook-lin', team: 'research', idleFrom: END - 7 * HOUR },
  { name: 'train-resnet', team: 'training', idleFrom: END - 9 * HOUR },
  { name: 'train-bert', team: 'training', idleFrom: null },
  { name: 'infer-eu', team: 'serving', idleFrom: null },
  { name: 'infer-us', team: 'serving', idleFrom: null },
];
const SKU = { provider: 'AWS', region: 'us-east-1', sku: 'p3.8xlarge' };

/** The cloud: a machine runs or stands still, and is billed while it runs. */
class Machines {
  name = 'demonstration';
  account = 'demonstration';
  canAct = true;
  done = new Map();
  running = new Map(MACHINES.map(({ name }) => [name, true]));

  target(id) {
    const name = id.replace(/^instance\//, '');
    const running = this.running.get(name);
    if (running === undefined) return Promise.resolve(null);
    return Promise.resolve({
      target: `instance/${name}`,
      kind: 'instance',
      name,
      ...SKU,
      account: this.account,
      gpuModel: 'V100-16GB',
      gpus: 4,
      term: 'on-demand',
      state: running ? 'running' : 'stopped',
      billing: running ? 'billed' : 'ended',
      replicas: null,
      spotRatio: null,
      labels: {},
      launchedAt: null,
      revision: null,
    });
  }

  apply(effect, token) {
    if (!this.done.has(token)) this.running.set(effect.target.replace(/^instance\//, ''), effect.kind === 'start');
    this.done.set(token, effect);
    return Promise.resolve({ kind: 'taken', reference: token, detail: 'taken' });
  }

  outcome(_, token) {
    return Promise.resolve(
      this.done.has(token) ? { kind: 'taken', reference: token, detail: 'taken' } : { kind: 'absent' },
    );
  }

  finder(clock) {
    return {
      find: async (_db, _organisation, _team, name) => {
        const seen = await this.target(`instance/${name}`);
        return seen === null ? null : { connection: this.name, seen, seenAt: clock.now() };
      },
      offers: async () => [],
    };
  }
}

const iso = (at) => new Date(at).toISOString();

/** Metered hours of the machines that run, from one instant to another. */
function usageOf(machines, from, to) {
  return MACHINES.filter(({ name }) => machines.running.get(name)).flatMap(({ name, team }) =>
    Array.from({ length: (to - from) / HOUR }, (_, n) => {
      const start = from + n * HOUR;
      return {
        id: `${name}-${start}`,
        ...SKU,
        account: 'demonstration',
        term: 'on-demand',
        resource: name,
        gpus: 4,
        tags: { team },
        start: iso(start),
        end: iso(start + HOUR),
      };
    }),
  );
}

/** A reading of each card every two minutes over a day. */
const samplesOf = (from, to) =>
  MACHINES.flatMap(({ name, team, idleFrom }) =>
    Array.from({ length: (to - from) / (2 * MINUTE) + 1 }, (_, n) => from + n * 2 * MINUTE).flatMap((at) =>
      Array.from({ length: 4 }, (_, card) => ({
        resource: name,
        gpu: `${name}-${card}`,
        gpuModel: 'V100-16GB',
        at: iso(at),
        gpuUtilisationRatio: idleFrom !== null && at >= idleFrom ? 0 : 0.5 + 0.4 * Math.abs(Math.sin(at / HOUR + card)),
        memoryUsedRatio: 0.4,
        labels: {
          team,
          ...SKU,
          workload_kind: name.startsWith('notebook') ? 'notebook' : name.startsWith('train') ? 'training' : 'inference',
        },
      })),
    ),
  );

/** Serves it while `use` looks at it. `use` gets the address, the admin's key, and `act`, which lets things happen. */
export async function withDemonstration(use, say = () => undefined) {
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-pictures-'));
  const server = await startEmbedded({ dataDir: path.join(folder, 'data'), log: () => undefined });
  const clock = { at: END, now: () => clock.at };
  const machines = new Machines();
  const bursar = await compose(server.url, clock);
  const stores = new Stores(bursar.stores.db, machines.finder(clock));
  const runner = new Runner(
    stores.db,
    stores.work,
    clock,
    makeLine(stores, bursar.policies, [], new Map([[machines.name, machines]])),
  );
  try {
    const said = [];
    await welcome({
      bursar: { ...bursar, stores, runner },
      example: true,
      pods,
      clock,
      say: (text) => said.push(text),
    });
    const key = /bursar_[0-9a-f]{12}_[\w-]{43}/.exec(said.join('\n'))?.[0];
    const app = await createWebApp(
      WebModule.register({ stores, importer: bursar.importer, clock, policies: bursar.policies }),
      { logger: ['error'] },
    );
    const address = await listen(app, { host: '127.0.0.1', port: 0 });
    const call = async (method, route, body) => {
      const response = await fetch(address + route, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${await response.text()}`);
      return response.json();
    };
    try {
      return await use({ address, key, act: () => act({ clock, machines, runner, call, say }) });
    } finally {
      await app.close();
    }
  } finally {
    await bursar.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function act({ clock, machines, runner, call, say }) {
  const { rules } = await call('GET', '/v1/rules');
  const own = ['research', 'training', 'serving'].flatMap((team) => [
    { match: { tag: { key: 'team', value: team } }, team },
    { match: { label: { key: 'team', value: team } }, team },
  ]);
  await call('PUT', '/v1/rules', { rules: [...own, ...rules] });
  await call('PUT', '/v1/policies/idle-machines', {
    policy: 'idle-stop',
    teams: ['research', 'training', 'serving'],
    mode: 'approve',
  });
  await call('POST', '/v1/usage', { records: usageOf(machines, END - 72 * HOUR, END) });
  const samples = samplesOf(END - 24 * HOUR, END);
  for (let at = 0; at < samples.length; at += 18_000)
    await call('POST', '/v1/samples', { samples: samples.slice(at, at + 18_000) });
  await runner.drain();
  const { items } = await call('GET', '/v1/actions?state=proposed');
  say(`proposed: ${items.map(({ target }) => target).join(', ')}`);
  for (const { id } of items.slice(0, -1)) await call('POST', `/v1/actions/${id}/approve`);
  await runner.drain();
  return {
    proposed: items.length,
    /** Two days later. */
    async wait() {
      clock.at = END + 48 * HOUR;
      await call('POST', '/v1/usage', { records: usageOf(machines, END, clock.at) });
      await runner.drain();
    },
  };
}
