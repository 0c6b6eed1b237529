/**
 * Examples of requests that no schema alone can give: whose fields belong together, are times of a day, or lie ahead. A
 * test sends every example of a request, these and the made ones, to the API.
 */
import type { Json } from './openapi-examples.js';

/** What a workload is asked to be placed by; the one of a quote has the hours and GPUs of the quote. */
const WORKLOAD = {
  kind: 'training',
  memoryGibPerGpu: 70,
  gpusPerUnitMin: 8,
  deadlineHours: 48,
  egressGib: 50,
  providers: ['AWS', 'Google Cloud'],
  terms: ['on-demand', 'spot'],
  relativeSpeeds: { 'H100-80GB': 1, 'A100-80GB': 0.45 },
};
const QUOTE = {
  provider: 'AWS',
  sku: 'p5.48xlarge',
  gpus: 8,
  hours: 24,
  term: 'on-demand',
  region: 'us-east-1',
  currency: 'USD',
  team: 'research',
};
const RULE = { match: { tag: { key: 'team', value: 'research' } }, team: 'research' };
const PEAK = {
  from: '08:00',
  to: '20:00',
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  zone: 'Europe/Berlin',
  factor: '1.15',
};
const CONFIGURATION = {
  teams: { ai: {}, research: { name: 'Research', parent: 'ai', zone: 'Europe/Berlin', currency: 'USD' } },
  budgets: {
    'research-monthly': {
      team: 'research',
      planned: { default: '40000' },
      thresholds: [
        { kind: 'actual', ratio: '0.8' },
        { kind: 'forecast', ratio: '1' },
      ],
    },
  },
  rules: [RULE],
  peak: [PEAK],
};

/** By method and path. */
export const REQUEST_EXAMPLES: Readonly<Record<string, Json>> = {
  'PUT /v1/fx': { source: 'ecb', rates: [{ day: '2026-10-01', currency: 'EUR', perUsd: '0.92' }] },
  'PUT /v1/peak': { rules: [PEAK] },
  'PUT /v1/reports/schedule': { day: 6, hour: 9 },
  'PUT /v1/rules': { rules: [RULE] },
  'PUT /v1/credits': {
    credits: [
      {
        id: 'aws-activate',
        kind: 'promotional',
        provider: 'AWS',
        amount: '25000',
        currency: 'USD',
        from: '2026-10-01',
        until: '2027-10-01',
      },
    ],
  },
  'PUT /v1/reconciliation/settings': {
    learnRates: true,
    threshold: { ratio: '0.05', amount: '100' },
    settling: { days: 7, providers: { AWS: 3 } },
  },
  'PUT /v1/limits': {
    gpusPerAction: 16,
    actionsPerHour: 4,
    cooldownMinutes: 30,
    protectedLabels: { keep: '*' },
    quietHours: [{ zone: 'Europe/Berlin', from: '22:00', to: '06:00', days: ['fri', 'sat', 'sun'] }],
    purchasesPerMonth: { amount: '20000', currency: 'USD' },
  },
  'PUT /v1/policies/{name}': { policy: 'idle-stop', teams: ['research'], mode: 'recommend', params: {} },
  'PUT /v1/configuration': { configuration: CONFIGURATION, prune: false, replaces: 'a'.repeat(32) },
  'POST /v1/configuration/plan': { configuration: CONFIGURATION, prune: false },
  'POST /v1/backtests': { policy: 'nights', from: '2026-09-01', to: '2026-10-01', teams: ['research'] },
  'POST /v1/quotes': { ...QUOTE, placement: WORKLOAD },
  'POST /v1/reservations': { ...QUOTE, reason: 'fine-tuning of the summariser', holdHours: 48 },
  'POST /v1/placements': { ...WORKLOAD, gpus: 8, hours: 24, currency: 'USD' },
  'POST /v1/samples': {
    source: 'dcgm',
    samples: [
      {
        resource: 'i-0abc',
        gpu: 'GPU-5f1c',
        at: '2026-10-01T00:00:00Z',
        gpuModel: 'H100-80GB',
        gpuUtilisationRatio: 0.87,
      },
    ],
  },
  'POST /v1/workload-metrics': {
    team: 'research',
    points: [{ workload: 'deployment/chat', name: 'queue', at: '2026-10-01T00:00:00Z', value: 12 }],
  },
  'POST /v1/leases/{id}/renew': { expiresAt: '2030-01-01T00:00:00Z' },
  'POST /v1/keys': { name: 'meter', scopes: ['usage:write'], teams: ['research'], owner: 'ada@example.com' },
  'POST /v1/sessions/end': { of: 'user:ada@example.com' },
  'POST /v1/alert-mutes': { team: 'research', kind: 'budget', until: '2030-01-01T00:00:00Z', reason: 'a drill' },
};
