/** What doctor says of settings and of connections: by name, never by value, and one fault hides no other. */
import type { ProviderSetting } from '../../src/core/setting.js';
import { describe, expect, it } from 'vitest';
import { examineParts } from '../../src/cli/doctor/connections.js';
import { closest, settingStates, unknownSettings } from '../../src/cli/doctor/settings.js';
import type { Examination } from '../../src/cli/context.js';
import { run, type CliContext } from '../../src/cli/program.js';
import { parseConfig, SETTING_NAMES } from '../../src/config.js';
import { denied, Failure, invalid, unavailable } from '../../src/core/errors.js';
import type { FleetReading } from '../../src/core/fleet/fleet.js';
import type { InstalledPart, InstalledProvider, InstalledTelemetry } from '../../src/core/installed.js';
import type { GpuSample, ProviderConnection } from '../../src/core/ports.js';
import { inspectParts } from '../../src/parts.js';
import { gpuSample } from '../support/makers.js';

const clock = { now: () => Date.UTC(2026, 9, 21) };
const setting = (name: string, use: ProviderSetting['use'] = 'read'): ProviderSetting => ({
  name,
  description: `what ${name} is for`,
  required: true,
  secret: false,
  use,
});
const reading = (over: Partial<FleetReading> = {}): FleetReading => ({
  at: clock.now(),
  targets: [],
  complete: true,
  problems: [],
  ...over,
});

function provider(connection: Partial<ProviderConnection>): InstalledProvider {
  return {
    kind: 'provider',
    problems: [],
    connection: { name: 'moon', account: null, canAct: false, ...connection },
    part: {
      name: 'moon',
      providerName: 'Moon',
      description: 'a cloud',
      settings: [setting('BURSAR_MOON_KEY'), setting('BURSAR_MOON_ACT_KEY', 'act')],
      connect: () => null,
      abilities: {
        prices: null,
        usage: ['moon:ReadUsage'],
        bill: null,
        spotHistory: null,
        offers: null,
        fleet: ['moon:List'],
        effects: { stop: ['moon:Stop'], terminate: ['moon:Stop', 'moon:End'] },
      },
    },
  };
}

const sample: GpuSample = gpuSample({
  resource: 'host-1',
  gpu: 'gpu-1',
  gpuModel: null,
  at: 0,
  gpuUtilisationRatio: 0.5,
});

function telemetry(samples: readonly GpuSample[], problems: readonly string[] = []): InstalledTelemetry {
  return {
    kind: 'telemetry',
    problems: [],
    part: { name: 'sky', description: 'a source', settings: [], connect: () => null },
    connection: {
      name: 'sky',
      async *read(from) {
        yield { at: from, samples, coverage: 0.5, problems };
        yield { at: from, samples: [], coverage: null, problems: [] };
      },
    },
  };
}

const said = async (part: InstalledPart, seconds = 5) =>
  (await examineParts([part], clock, seconds)).findings.map(({ check, status, detail, remedy }) => [
    check,
    status,
    detail,
    remedy,
  ]);

describe('a misspelt setting', () => {
  it.each([
    ['BURSAR_TICK_SECOND', 'BURSAR_TICK_SECONDS'],
    ['BURSAR_LGO_LEVEL', 'BURSAR_LOG_LEVEL'],
    ['BURSAR_AWS_REGION', 'BURSAR_AWS_REGIONS'],
    ['BURSAR_MOONBEAM', null],
    ['BURSAR_X', null],
  ])('%s is taken for %s', (name, meant) =>
    expect(closest(name, [...SETTING_NAMES, 'BURSAR_AWS_REGIONS', 'BURSAR_AWS_ACCOUNT'])).toBe(meant),
  );

  it('is named, with the setting that is meant, and never its value', () => {
    const environment = { BURSAR_API_KYE: 'hush', BURSAR_API_KEY: 'hush', HOME: '/root' };
    const findings = unknownSettings(environment, settingStates(environment, SETTING_NAMES, [], []));
    expect(findings).toEqual([
      {
        check: 'configuration',
        status: 'attend',
        detail: 'BURSAR_API_KYE is not a setting',
        remedy: 'is BURSAR_API_KEY meant?',
      },
    ]);
  });
});

describe('the state of settings', () => {
  it('is set, absent, missing or wrong, for every part', () => {
    const part: InstalledPart = {
      ...provider({}),
      connection: null,
      problems: [
        { path: 'BURSAR_MOON_KEY', message: 'is missing' },
        { path: 'BURSAR_MOON_ACT_KEY', message: 'is no key' },
      ],
    };
    const states = settingStates(
      { PORT: 'x', HOST: 'h', BURSAR_MOON_ACT_KEY: 'hush' },
      ['PORT', 'HOST', 'REDIS_URL'],
      [{ path: 'PORT', message: 'is not a number' }],
      [part],
    );
    expect(states.map(({ name, of, state }) => `${of}: ${name} ${state}`)).toEqual([
      'bursar: PORT wrong',
      'bursar: HOST set',
      'bursar: REDIS_URL absent',
      'provider moon: BURSAR_MOON_KEY missing',
      'provider moon: BURSAR_MOON_ACT_KEY wrong',
    ]);
  });

  it("is told of the product's own parts, of which one wrong one stops no other", async () => {
    const environment = {
      BURSAR_AWS_ACCOUNT: 'hush',
      BURSAR_FAKE_SEED: '7',
      BURSAR_PROMETHEUS_URL: 'hush',
      BURSAR_PROMETHEUS_TOKEN: 'hush',
    };
    const parts = await inspectParts(environment, clock);
    try {
      const states = Object.fromEntries(
        settingStates(environment, [], [], parts).map(({ name, state }) => [name, state]),
      );
      expect(states).toMatchObject({
        BURSAR_AWS_REGIONS: 'missing',
        BURSAR_AWS_ACCOUNT: 'set',
        BURSAR_FAKE_SEED: 'set',
        BURSAR_PROMETHEUS_URL: 'wrong',
        BURSAR_WEBHOOK_URL: 'absent',
      });
      expect(
        parts.filter(({ kind, connection }) => kind !== 'channel' && connection !== null).map(({ part }) => part.name),
      ).toEqual(['fake']);
      const { findings } = await examineParts(parts, clock, 5);
      expect(
        findings.filter(({ status }) => status === 'wrong').map(({ check, detail }) => `${check}: ${detail}`),
      ).toContain('provider aws: BURSAR_AWS_REGIONS is missing');
      expect(findings.map(({ check, status }) => `${check} ${status}`)).toContain('provider fake ok');
      expect(JSON.stringify([findings, states])).not.toContain('hush');
    } finally {
      await Promise.all(parts.map(({ connection }) => connection?.close?.()));
    }
  });
});

describe('a provider', () => {
  it('that was read, and may only look', async () => {
    expect(await said(provider({ fleet: async () => reading() }))).toEqual([
      ['provider moon', 'ok', 'read now: 0 target(s)', null],
      ['provider moon, acting', 'ok', 'read-only: no credentials for acting are set', null],
    ]);
  });

  it('that was read in part, or does not list machines', async () => {
    const [[, status, detail] = []] = await said(
      provider({ fleet: async () => reading({ complete: false, problems: ['region x is away'] }) }),
    );
    expect([status, detail]).toEqual(['attend', 'read now: 0 target(s), but not all of them: region x is away']);
    expect((await said(provider({})))[0]).toEqual([
      'provider moon',
      'attend',
      expect.stringContaining('not checked'),
      expect.any(String),
    ]);
  });

  it.each([
    [
      denied('moon:List is denied'),
      'moon:List is denied',
      'check its credentials for reading, and grant them moon:List',
    ],
    [unavailable('the moon is away'), 'the moon is away', "check the network and the provider's own status"],
    [invalid('no such region'), 'no such region', 'correct its settings'],
    [
      new TypeError('key hush'),
      'it failed unexpectedly (TypeError)',
      "check the network and the provider's own status",
    ],
  ])('that fails with %s', async (error, detail, remedy) => {
    const fleet = async (): Promise<never> => {
      throw error;
    };
    expect((await said(provider({ fleet })))[0]).toEqual(['provider moon', 'wrong', detail, remedy]);
  });

  it('that never answers is given up', async () => {
    const [first] = await said(provider({ fleet: () => new Promise<never>(() => undefined) }), 0.01);
    expect(first).toEqual(['provider moon', 'wrong', 'there was no answer within 0.01 s', expect.any(String)]);
  });

  it('has each ability with its permissions; nothing is taken for granted', async () => {
    const acting = {
      canAct: true,
      fleet: async () => reading(),
      async *usage() {},
      apply: async () => ({ kind: 'absent' as const }),
    };
    const { permissions, findings } = await examineParts([provider(acting)], clock, 5);
    expect(
      permissions.map(
        ({ use, ability, permissions: names, checked }) => `${use} ${ability} ${names.join('+')} ${checked}`,
      ),
    ).toEqual([
      'read usage moon:ReadUsage not-checked',
      'read fleet moon:List granted',
      'act stop moon:Stop not-checked',
      'act terminate moon:Stop+moon:End not-checked',
    ]);
    expect(findings.at(-1)?.detail).toBe('may be asked to stop, terminate; not checked: only acting shows it');
    expect(findings.at(-1)?.remedy).toBe(
      "the cloud does not say whether the credentials for acting have moon:Stop, moon:End: check this in the cloud's console",
    );
    const granted = async (permission: string): Promise<boolean | null> =>
      permission === 'moon:End' ? false : permission === 'moon:ReadUsage' ? null : true;
    const asked = await examineParts([provider({ ...acting, granted })], clock, 5);
    expect(asked.permissions.map(({ ability, checked }) => `${ability} ${checked}`)).toEqual([
      'usage not-checked',
      'fleet granted',
      'stop granted',
      'terminate refused',
    ]);
    // A receiver that says what it carries out is not said to be asked for more.
    const less = await examineParts([provider({ ...acting, effects: async () => ['stop', 'scale'] })], clock, 5);
    expect(less.findings.at(-1)?.detail).toContain('may be asked to stop; not checked');
    // What is refused is named alone, where it is refused and in what mends it.
    expect(asked.findings.at(-1)).toMatchObject({
      status: 'attend',
      detail: 'terminate is refused: moon:End',
      remedy: 'grant moon:End to the credentials for acting, or let no policy ask for it',
    });
    expect(asked.permissions.at(-1)?.each).toEqual([
      { permission: 'moon:Stop', checked: 'granted' },
      { permission: 'moon:End', checked: 'refused' },
    ]);
  });
});

describe('a source of evidence', () => {
  it('is counted by its latest reading that has any GPU', async () => {
    expect(await said(telemetry([sample, { ...sample, gpu: 'gpu-2' }, sample]))).toEqual([
      ['telemetry sky', 'ok', 'it answers: 2 GPU(s), 50 % of the exporters', null],
    ]);
    expect((await said(telemetry([])))[0]).toMatchObject([
      'telemetry sky',
      'attend',
      'it answers, and reported no GPU in the last five minutes',
      expect.any(String),
    ]);
    expect((await said(telemetry([sample], ['series without a host'])))[0]).toMatchObject([
      'telemetry sky',
      'attend',
      expect.stringContaining('series without a host'),
      expect.any(String),
    ]);
  });
});

describe('a channel', () => {
  const channel = (check?: () => Promise<string>): InstalledPart => ({
    kind: 'channel',
    problems: [],
    part: { name: 'gong', description: 'a channel', settings: [], connect: () => null },
    connection: {
      name: 'gong',
      leastPauseMs: 0,
      whenUnknown: 'leave',
      threads: false,
      pictures: 'none',
      send: async () => ({ kind: 'sent', reference: null }),
      ...(check === undefined ? {} : { check }),
    },
  });

  it('is asked where it can be, and told nothing', async () => {
    expect(await said(channel())).toEqual([['channel gong', 'ok', expect.stringContaining('not checked'), null]]);
    expect(await said(channel(async () => 'signed in as bursar'))).toEqual([
      ['channel gong', 'ok', 'signed in as bursar', null],
    ]);
    const [refused] = await said(channel(async () => Promise.reject(new Failure('denied', 'invalid_auth'))));
    expect(refused).toEqual([
      'channel gong',
      'wrong',
      'invalid_auth',
      'check its settings, its permissions and the network',
    ]);
  });
});

describe('bursar doctor', () => {
  const environment = {
    DATABASE_URL: 'postgres://u:hush@h/d',
    REDIS_URL: 'redis://:hush@h',
    PORT: 'hush',
    BURSAR_AWS_REGIONS: 'hush',
    BURSAR_TICK_SECOND: '5',
  };
  const examination: Examination = {
    configuration: async () => {
      try {
        parseConfig(environment);
        return { settings: SETTING_NAMES, problems: [] };
      } catch (error) {
        return { settings: SETTING_NAMES, problems: (error as Failure).problems };
      }
    },
    parts: () => inspectParts(environment, clock),
    redis: async () => Promise.reject(unavailable('Redis does not answer: ECONNREFUSED')),
    tables: async () => Promise.reject(new Error('not asked')),
  };
  const doctor = async (over: Partial<CliContext>): Promise<{ code: number; out: string }> => {
    let out = '';
    const code = await run(['doctor', ...(over.environment === undefined ? ['--json'] : [])], {
      environment,
      clock,
      stdout: { write: (text) => (out += text) },
      stderr: { write: () => undefined },
      serve: async () => undefined,
      remote: null,
      examination,
      connect: async () =>
        Promise.reject(invalid('the configuration is wrong', [{ path: 'PORT', message: 'is not a number' }])),
      ...over,
    });
    return { code, out };
  };

  it('says all of it at once: the configuration, the parts, what is misspelt; and shows no value', async () => {
    const { code, out } = await doctor({});
    expect(code).toBe(1);
    const { ok, findings, settings } = JSON.parse(out) as {
      ok: boolean;
      findings: { check: string; status: string; detail: string }[];
      settings: { name: string; state: string }[];
    };
    expect(ok).toBe(false);
    expect(
      findings
        .filter(({ status }) => status !== 'ok')
        .map(({ check, status, detail }) => `${check} ${status}: ${detail}`),
    ).toEqual([
      'configuration wrong: PORT is not a number',
      'configuration attend: BURSAR_TICK_SECOND is not a setting',
      'provider aws wrong: BURSAR_AWS_REGIONS is not a list of region codes',
      'provider aws wrong: BURSAR_AWS_READ_ACCESS_KEY_ID is missing (or BURSAR_AWS_READ_CREDENTIALS)',
    ]);
    expect(settings).toContainEqual({ name: 'PORT', of: 'bursar', state: 'wrong' });
    expect(settings).toContainEqual({ name: 'DATABASE_URL', of: 'bursar', state: 'set' });
    expect(out).not.toContain('hush');
  });

  it('looks at Redis although the database is away, and prints each remedy', async () => {
    const { code, out } = await doctor({
      environment: { ...environment, PORT: '1' },
      examination: { ...examination, configuration: async () => ({ settings: SETTING_NAMES, problems: [] }) },
      connect: async () => Promise.reject(unavailable('the database cannot be reached')),
    });
    expect(code).toBe(1);
    expect(out).toMatch(/database +wrong +the database cannot be reached/);
    expect(out).toMatch(/queue +wrong +Redis does not answer: ECONNREFUSED/);
    expect(out).toContain('queue: start the server that REDIS_URL names');
    expect(out).toMatch(/BURSAR_AWS_REGIONS +provider aws +wrong/);
    expect(out).not.toContain('hush');
  });
});
