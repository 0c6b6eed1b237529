/** Small makers of alerts, messages and tellings for tests. */
import {
  identityOf,
  severityOf,
  threadOf,
  type Alert,
  type ApprovalNews,
  type BudgetNews,
  type News,
} from '../../src/core/alert/alert.js';
import { messageOf } from '../../src/core/alert/compose.js';
import { ENGLISH } from '../../src/core/alert/texts.js';
import type { Notification } from '../../src/core/alert/channel.js';

export const budgetNews = (over: Partial<BudgetNews> = {}): BudgetNews => ({
  kind: 'budget',
  team: 'research',
  budget: 'gpus',
  periodStart: '2026-11-01T00:00:00Z',
  periodEnd: '2026-12-01T00:00:00Z',
  threshold: { kind: 'actual', ratio: '0.8' },
  currency: 'USD',
  planned: '10000.000000000',
  spent: '8123.456000000',
  forecast: { mean: '12500.000000000', low: '11000.000000000', high: '14000.000000000' },
  exhaustionAt: '2026-11-24T06:30:00Z',
  unpricedGpuHours: '0.000000',
  drivers: [{ name: 'AWS p5.48xlarge', cost: '6000.000000000', share: 0.7386 }],
  nextStep: {
    recommendation: 'rec-1',
    title: 'Move the training pool to spot',
    monthlySavings: '2100.5',
    currency: 'USD',
  },
  ...over,
});

export const approvalNews = (over: Partial<ApprovalNews> = {}): ApprovalNews => ({
  kind: 'approval',
  team: 'research',
  action: 'act-0123456789abcdef',
  effect: { kind: 'stop', target: 'instance/i-1' },
  connection: 'aws',
  proposedBy: 'policy:nights',
  expiresAt: '2026-11-22T12:00:00Z',
  because: {
    title: 'i-1 has been idle for 6 hours',
    monthlySavings: '1234.5',
    monthlySavingsLow: '900',
    monthlySavingsHigh: '1500',
    currency: 'USD',
    risk: 'what runs there ends',
    evidence: [{ what: 'GPU utilisation', from: '2026-11-21T06:00:00Z', to: '2026-11-21T12:00:00Z', ageSeconds: 30 }],
    computation: { hourlyNanos: 1 },
  },
  ...over,
});

export const alertOf = (news: News, over: Partial<Alert> = {}): Alert => ({
  id: 'alr-0123456789abcdef',
  identity: identityOf(news),
  kind: news.kind,
  team: news.team,
  severity: severityOf(news),
  thread: threadOf(news),
  news,
  state: 'open',
  silence: null,
  answer: null,
  level: 0,
  madeAt: '2026-11-21T12:00:00.000Z',
  revision: 0,
  ...over,
});

export const notificationOf = (news: News, over: Partial<Notification> = {}, alert = alertOf(news)): Notification => ({
  token: '11111111-2222-4333-8444-555555555555',
  message: messageOf(alert, ENGLISH, 'https://bursar.example.com'),
  news,
  address: null,
  thread: alert.thread,
  threadReference: null,
  picture: null,
  people: [],
  part: 'message',
  since: Date.UTC(2026, 10, 21, 12),
  ...over,
});

/** A picture of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
