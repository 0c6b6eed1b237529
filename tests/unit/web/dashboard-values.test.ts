/**
 * How the dashboard shows values, writes CSV, and what the server makes of claims and of accepted encodings: all
 * without a browser.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { readerOf } from '../../../src/core/report/reader.js';
import { runningDay } from '../../../src/core/time.js';
import { encodingFor } from '../../../src/web/assets.js';
import { csvOf } from '../../../src/core/csv.js';
import { loadTexts, reader } from '../../../src/web/dashboard/language.js';
import { endOf, standing } from '../../../src/web/dashboard/standing.js';
import { decimal, duration, figureOf, instant, money, percent, words } from '../../../src/web/dashboard/format.js';
import { standAlone } from '../../../src/web/dashboard/picture-points.js';
import { gpusOfParts, heldText, measureOf } from '../../../src/web/dashboard/measures.js';
import { claimOf, userOf, type OidcSettings } from '../../../src/web/sign-in.js';
import { parseConfig } from '../../../src/config.js';

describe('values', () => {
  it('keeps every digit of an amount that no float holds', () => {
    expect(money('90071992547409931.25', 'USD')).toMatch(/90.071.992.547.409.931.25/);
    expect(decimal('0.1234567890123456789', 19)).toMatch(/0.1234567890123456789$/);
  });

  it('says unknown, and never 0, of what is unknown', () => {
    expect([money(null, 'USD'), decimal(null), percent(null), instant(null)]).toEqual([
      'unknown',
      'unknown',
      'unknown',
      'unknown',
    ]);
    expect(money('0', 'USD')).toMatch(/0.00/);
  });

  it('shows what is kept in nanos as money, named without its unit of storage', () => {
    expect(figureOf('field', 'perGpuHourNanos', 2_088_500_000, 'USD')).toEqual(['Per GPU-hour', '$2.0885']);
    expect(figureOf('field', 'units', 8, 'USD')).toEqual(['Units', '8']);
    expect(figureOf('field', 'termHours', 8760, 'USD')[1]).toBe('8,760');
    expect(figureOf('field', 'ratio', 0.000125, 'USD')[1]).toBe('0.000125');
    expect(
      figureOf('measure', 'savingBeforeCalibrationNanos', '3343693200000 3081341100000 3606045300000', 'USD'),
    ).toEqual(['Monthly saving as the policy predicted it', '$3,343.69 ($3,081.34 to $3,606.05)']);
    expect(figureOf('measure', 'savingBeforeBoundNanos', '900000000000 800000000000', 'USD')).toEqual([
      'Saving before it was limited to the cost',
      '$900.00, $800.00',
    ]);
  });

  it('shows what a recommendation was made of with unit and rounding, never as it is kept', () => {
    const shown = (name: string, value: string | number): string => measureOf(name, value, 'USD')[1];
    expect([
      shown('onDemandPerGpuHour', '2.088500'),
      shown('breakEvenUseRatio', 0.6123456789),
      shown('falseStopProbability', 0.00314159),
      shown('restartHours', 0.123456),
      shown('gpus', 8),
      shown('perReplicaHour', 'no price'),
      shown('periodEnds', '2026-12-01T00:00:00Z').replace(/\s/g, ' '),
      measureOf('gpusToReserve', 3, 'USD')[0],
    ]).toEqual(['$2.0885', '61.2%', '0.31%', '0.12', '8', 'no price', 'Dec 1, 2026, 12:00 AM UTC', 'GPUs to reserve']);
  });

  it('shows held GPUs as GPUs, not in the parts in which they are kept', () => {
    expect(heldText({ key: { sku: 'fake.l40sx4', term: 'on-demand' }, gpuParts: 28_000, units: 1 })).toBe(
      '1 × fake.l40sx4, on demand, 4 GPUs each',
    );
    expect(gpusOfParts(0)).toBe('0 GPUs');
  });

  it('shows what has parts in words, not as JSON', () => {
    expect(figureOf('field', 'offer', { perHour: 2, terms: ['a', 'b'], none: [] }, 'USD')[1]).toBe(
      'Per hour 2, Terms a, b, None none',
    );
  });

  it('finds days that stand alone, to which no line leads, as on the first day of a saving', () => {
    expect([
      standAlone(['5']),
      standAlone(['5', '6', null, '7', null]),
      standAlone(['5', '6', '7']),
      standAlone([null]),
    ]).toEqual([[0], [3], [], []]);
  });

  it('calls no budget good whose usage has no price', async () => {
    const state = (unpricedGpuHours: string) =>
      ({ planned: '100', spent: '10', exhaustionAt: null, forecast: { mean: '20' }, unpricedGpuHours }) as never;
    expect(standing(state('0.000000'))[0]).toBe('good');
    expect(standing(state('12.5'))).toEqual(['warn', 'usage without a price']);
    expect([endOf(state('0.000000')), endOf(state('12.5'))]).toEqual([
      'not in this period',
      'unknown, usage without a price',
    ]);
    await loadTexts('zh');
    reader.value = readerOf('zh');
    onTestFinished(() => {
      reader.value = readerOf('en');
    });
    expect(endOf(state('12.5'))).toBe('未知，有用量未定价');
  });

  it('rounds for reading, half away from a whole amount included', () => {
    expect(money('1234.5', 'USD', true)).toMatch(/1.235$/);
    expect([duration(90), duration(5400), duration(86_400), duration(10 * 86_400)]).toEqual([
      '90 s',
      '90 min',
      '24 h',
      '10 days',
    ]);
    expect([words('PurchaseSavingsPlans'), words('not-planned')]).toEqual(['Purchase savings plans', 'Not planned']);
  });
});

describe('CSV', () => {
  it('quotes what has to be quoted, and keeps numbers as they came', () => {
    expect(
      csvOf([
        ['a', 'b'],
        ['x,"y"', '-12.500000001'],
        ['two\nlines', ''],
      ]),
    ).toBe('a,b\r\n"x,""y""",-12.500000001\r\n"two\nlines",\r\n');
  });

  it('keeps a spreadsheet from running a text as a formula', () => {
    expect(csvOf([['=HYPERLINK("http://x")', '@SUM(A1)', '+1+1', '-1+1']])).toBe(
      `"'=HYPERLINK(""http://x"")",'@SUM(A1),'+1+1,'-1+1\r\n`,
    );
  });
});

describe('encodings', () => {
  it('takes the best that is accepted, and none that is refused', () => {
    expect(
      ['gzip, deflate, br, zstd', 'gzip', 'br;q=0, gzip;q=0.5', 'br; q=0.0', '*', undefined, ''].map(encodingFor),
    ).toEqual(['br', 'gzip', 'gzip', 'identity', 'br', 'identity', 'identity']);
  });
});

describe('claims', () => {
  const settings: OidcSettings = {
    issuer: 'https://id',
    clientId: 'c',
    clientSecret: null,
    scopes: 'openid',
    rolesClaim: 'groups',
    roles: { admin: ['finops'], operator: ['sre', 'platform'] },
    teamsClaim: null,
  };

  it('give the highest role of which a group is there, and none to others', () => {
    expect(userOf({ sub: 'u', name: 'Ada', groups: ['sre', 'finops'] }, settings)).toEqual({
      id: 'u',
      name: 'Ada',
      role: 'admin',
      teams: null,
      claimed: { groups: ['sre', 'finops'], teams: [] },
      directoryName: 'u',
    });
    expect(userOf({ sub: 'u', email: 'a@b', groups: 'platform' }, settings)).toEqual({
      id: 'u',
      name: 'a@b',
      role: 'operator',
      teams: null,
      claimed: { groups: ['platform'], teams: [] },
      directoryName: 'u',
    });
    expect([
      userOf({ sub: 'u', groups: ['sales'] }, settings),
      userOf({ sub: 'u' }, settings),
      userOf({ sub: 'u', groups: [7, null] }, settings),
    ]).toEqual(['no-role', 'no-role', 'no-role']);
    expect(userOf({ sub: 'u' }, { ...settings, roles: { viewer: ['*'] } })).toMatchObject({
      name: 'u',
      role: 'viewer',
    });
  });

  it('restrict to teams where that is set, and a claim that is missing is not all teams', () => {
    const restricted = { ...settings, teamsClaim: 'bursar.teams' };
    expect(userOf({ sub: 'u', groups: ['sre'], bursar: { teams: ['lab'] } }, restricted)).toMatchObject({
      teams: ['lab'],
    });
    expect([
      userOf({ sub: 'u', groups: ['sre'] }, restricted),
      userOf({ sub: 'u', groups: ['sre'], bursar: { teams: [] } }, restricted),
    ]).toEqual(['no-teams', 'no-teams']);
    expect(userOf({ sub: 'u', groups: ['finops'] }, restricted)).toMatchObject({ role: 'admin', teams: null });
  });

  it('are found by their own name first, then by a path', () => {
    expect(claimOf({ 'https://x.example/roles': 1, a: { b: 2 } }, 'https://x.example/roles')).toBe(1);
    expect([claimOf({ a: { b: 2 } }, 'a.b'), claimOf({ a: 'text' }, 'a.b'), claimOf({}, 'constructor')]).toEqual([
      2,
      undefined,
      undefined,
    ]);
  });
});

describe('the settings of signing in', () => {
  const read = (over: Record<string, string>) =>
    parseConfig({
      BURSAR_OIDC_ISSUER: 'https://id.example',
      BURSAR_OIDC_CLIENT_ID: 'c',
      BURSAR_OIDC_ROLES: 'admin=finops; operator=sre,platform',
      ...over,
    }).signIn;

  it('are read, and are none without an issuer', () => {
    const given = { BURSAR_SESSION_HOURS: '8', BURSAR_SESSION_IDLE_MINUTES: '30', BURSAR_SESSION_CHECK_MINUTES: '15' };
    expect(read(given).sessions).toEqual({ lifeMs: 8 * 3_600_000, idleMs: 1_800_000, checkMs: 900_000 });
    const scim = { BURSAR_SCIM: 'groups', BURSAR_SCIM_CLAIM: 'oid' };
    expect(read(scim).oidc).toMatchObject({ directory: 'groups', directoryClaim: 'oid' });
    expect(() => read({ BURSAR_SCIM: 'on' })).toThrow(/BURSAR_SCIM is none of off, users and groups/);
    expect(read({ BURSAR_PUBLIC_URL: 'https://b.example' })).toEqual({
      sessions: { lifeMs: 12 * 3_600_000, idleMs: 7_200_000, checkMs: 3_600_000 },
      publicUrl: 'https://b.example',
      oidc: {
        issuer: 'https://id.example',
        clientId: 'c',
        clientSecret: null,
        directory: 'off',
        directoryClaim: 'sub',
        scopes: 'openid profile email',
        rolesClaim: 'groups',
        roles: { admin: ['finops'], operator: ['sre', 'platform'] },
        teamsClaim: null,
      },
    });
    expect(parseConfig({}).signIn).toMatchObject({ publicUrl: null, oidc: null });
  });

  it('name what is missing or wrong, and no secret', () => {
    expect(() => parseConfig({ BURSAR_OIDC_ISSUER: 'https://id.example', BURSAR_OIDC_CLIENT_SECRET: 'hush' })).toThrow(
      'BURSAR_OIDC_ISSUER needs BURSAR_OIDC_CLIENT_ID and BURSAR_OIDC_ROLES',
    );
    expect(() => read({ BURSAR_OIDC_ROLES: 'owner=x' })).toThrow('BURSAR_OIDC_ROLES is not written admin=group');
    expect(() => read({ BURSAR_OIDC_SCOPES: 'profile' })).toThrow('BURSAR_OIDC_SCOPES does not hold openid');
  });
});

describe('the day that is not over', () => {
  const week = { from: '2026-11-22', to: '2026-11-29' };
  const at = Date.UTC(2026, 10, 28, 23, 30);

  it('is that of the zone, if the time has it', () => {
    expect([
      runningDay(week, 'UTC', at),
      runningDay(week, 'Asia/Shanghai', at),
      runningDay({ ...week, to: '2026-11-28' }, 'UTC', at),
      runningDay({ from: '2026-11-29', to: '2026-11-30' }, 'Asia/Shanghai', at),
    ]).toEqual(['2026-11-28', null, null, '2026-11-29']);
  });
});
