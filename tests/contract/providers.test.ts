/**
 * Every folder of src/providers, whichever there are: loads, says what it is, and refuses wrong settings without
 * showing them. The deeper contract (contract.ts) runs here over the fake cloud; a provider's own tests run it over its
 * own server.
 */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/core/errors.js';
import type { Provider, ProviderConnection } from '../../src/core/ports.js';
import { loadProviders, undeclared } from '../../src/parts.js';
import { fakeCloud, connectTo } from '../../src/providers/fake/fake.js';
import { describeProviderContract } from './contract.js';

const NOW = Date.UTC(2026, 9, 20, 12);
const clock = { now: () => NOW };
/** No provider could take this for anything, and it must not be repeated. */
const NONSENSE = 'nonsense \u0001 nobody may read this';

const providers = await loadProviders();

/** What is thrown, or the connection; a connection is closed again. */
async function attempt(
  provider: Provider,
  settings: Readonly<Record<string, string>>,
): Promise<{ failure: unknown; connection: ProviderConnection | null }> {
  try {
    const connection = provider.connect(settings, clock);
    await connection?.close?.();
    return { failure: null, connection };
  } catch (failure) {
    return { failure, connection: null };
  }
}

it('has the fake cloud among the providers', () => {
  expect(providers.map(({ name }) => name)).toContain('fake');
  expect(new Set(providers.map(({ name }) => name)).size).toBe(providers.length);
});

describe.each(providers)('the provider $name', (provider) => {
  it('is not used where none of its settings is there', () => {
    expect(provider.connect({}, clock)).toBeNull();
    expect(
      provider.connect(Object.fromEntries(provider.settings.map(({ name }) => [name, undefined])), clock),
    ).toBeNull();
    expect(provider.connect({ PATH: '/bin', HOME: '/root' }, clock)).toBeNull();
  });

  it('names every setting that it needs and does not have', async () => {
    for (const { name: given } of provider.settings) {
      const { failure } = await attempt(provider, { [given]: NONSENSE });
      if (failure === null) continue;
      expect(failure).toMatchObject({ name: 'Failure', kind: 'invalid' });
      const named = (failure as Failure).problems.map(({ path }) => path);
      for (const { name, required } of provider.settings) if (required && name !== given) expect(named).toContain(name);
    }
  });

  it('never shows the value of a setting that is wrong', async () => {
    const all = Object.fromEntries(provider.settings.map(({ name }) => [name, NONSENSE]));
    for (const settings of [all, ...provider.settings.map(({ name }) => ({ [name]: NONSENSE }))]) {
      const { failure } = await attempt(provider, settings);
      if (failure === null) continue;
      expect(failure).toMatchObject({ name: 'Failure', kind: 'invalid' });
      const { message, problems, cause } = failure as Failure;
      expect(problems.length).toBeGreaterThan(0);
      expect(`${message} ${JSON.stringify(problems)} ${String(cause)}`).not.toContain('nobody may read this');
      for (const { path } of problems) expect(provider.settings.map(({ name }) => name)).toContain(path);
    }
  });

  it('keeps what it acts with apart: each is named so, and none is needed to look', () => {
    const acting = provider.settings.filter(({ use }) => use === 'act');
    if (Object.keys(provider.abilities.effects).length > 0) expect(acting.length).toBeGreaterThan(0);
    expect(acting.filter(({ required }) => required)).toEqual([]);
  });

  it('reads what it acts on', () => {
    if (Object.keys(provider.abilities.effects).length > 0) expect(provider.abilities.fleet).not.toBeNull();
  });
});

describe('the fake cloud as it is connected from settings', () => {
  const provider = providers.find(({ name }) => name === 'fake') as Provider;

  it('can do what it declares, and acts only where it was said', async () => {
    const looking = provider.connect({ BURSAR_FAKE_SEED: '7' }, clock) as ProviderConnection;
    const acting = provider.connect(
      { BURSAR_FAKE_SEED: '7', BURSAR_FAKE_ACT: 'on', BURSAR_FAKE_TARGETS: '6', BURSAR_FAKE_FAULTS: 'none' },
      clock,
    ) as ProviderConnection;
    expect([undeclared(provider, looking), undeclared(provider, acting)]).toEqual([[], []]);
    expect([looking.canAct, acting.canAct]).toEqual([false, true]);
    const targets = (await looking.fleet?.())?.targets ?? [];
    expect(targets.filter(({ kind }) => kind === 'group')).toHaveLength(6);
    expect((await acting.fleet?.())?.targets.filter(({ kind }) => kind === 'group')).toHaveLength(3);
    await expect(looking.apply?.({ kind: 'stop', target: 'instance/i-000001' }, 't', null)).rejects.toMatchObject({
      kind: 'denied',
    });
  });

  it('names every wrong setting at once', async () => {
    const { failure } = await attempt(provider, {
      BURSAR_FAKE_TARGETS: '0',
      BURSAR_FAKE_FAULTS: 'all',
      BURSAR_FAKE_ACT: 'yes',
    });
    expect((failure as Failure).problems.map(({ path }) => path)).toEqual([
      'BURSAR_FAKE_SEED',
      'BURSAR_FAKE_TARGETS',
      'BURSAR_FAKE_FAULTS',
      'BURSAR_FAKE_ACT',
    ]);
  });
});

describeProviderContract('the fake cloud', () => {
  const { cloud, connection } = fakeCloud(3, clock, {
    from: NOW - 86_400_000,
    machines: [
      { sku: 'fake.t4x1', region: 'fake-east' },
      { sku: 'fake.h100x8', region: 'fake-west', term: 'spot' },
    ],
    groups: [{ name: 'serving', sku: 'fake.l40sx4', region: 'fake-east', desired: 3, spotRatio: 0.5 }],
  });
  return {
    connection,
    readOnly: connectTo(cloud, { canAct: false }),
    effect: { kind: 'stop', target: 'instance/i-000001' },
    now: clock.now,
    appliedCount: (token) => cloud.appliedCount(token),
    loseNextAnswer: (arrives) => connection.loseNextAnswer(arrives),
    metered: { from: NOW - 8 * 3_600_000, to: NOW - 2 * 3_600_000 },
  };
});
