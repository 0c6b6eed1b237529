/** The buttons and the link of a message: shown only while pressing them has an effect, and to the subject's page. */
import { describe, expect, it } from 'vitest';
import { canBeAcknowledged, canBeMuted, type AlertState, type News } from '../../../src/core/alert/alert.js';
import { messageOf } from '../../../src/core/alert/compose.js';
import { ENGLISH } from '../../../src/core/alert/texts.js';
import { alertOf, approvalNews, budgetNews } from '../../support/alerts.js';

const budget = budgetNews({ budget: 'a/b' });
const approval = approvalNews();
const of = (kind: News['kind']) => ({ kind }) as News;

describe('the buttons', () => {
  it.each<[News, AlertState, number]>([
    // Approve and reject; acknowledge; mute.
    [approval, 'open', 2],
    [approval, 'told', 0],
    [approval, 'answered', 0],
    [budget, 'open', 2],
    [budget, 'told', 2],
    [budget, 'answered', 0],
  ])('%o, %s: %d', (news, state, count) => {
    expect(messageOf(alertOf(news, { state }), ENGLISH, null).buttons).toHaveLength(count);
  });

  it('take on whatever waits, and a warning of a budget that was only told', () => {
    const can = (kind: News['kind'], state: AlertState) => canBeAcknowledged(of(kind), state);
    expect([can('health', 'open'), can('health', 'told')]).toEqual([true, false]);
    expect([can('budget', 'open'), can('budget', 'told')]).toEqual([true, true]);
    expect([can('approval', 'open'), can('approval', 'told')]).toEqual([false, false]);
    expect(can('budget', 'answered')).toBe(false);
  });

  it('mute what comes again', () => {
    const muted = (['budget', 'anomaly', 'price', 'health', 'variance'] as const).map((kind) => canBeMuted(of(kind)));
    expect(muted).toEqual([true, true, true, true, true]);
    expect((['approval', 'result', 'digest'] as const).map((kind) => canBeMuted(of(kind)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

it('links to the page of its subject', () => {
  const link = (news: News, url: string | null = 'https://b') => messageOf(alertOf(news), ENGLISH, url).link?.url;
  expect(link(budget)).toBe('https://b/#/budgets/a%2Fb');
  expect(link(approval)).toBe('https://b/#/actions/act-0123456789abcdef');
  expect(link(budget, null)).toBeUndefined();
});

it('says who has answered, or how far an open one has climbed', () => {
  const note = (over: object) => messageOf(alertOf(budget, over), ENGLISH, null).note;
  expect([note({ level: 0 }), note({ level: 1, state: 'told' })]).toEqual([null, null]);
  expect(note({ level: 1 })).toBe(ENGLISH.escalated(1));
});
