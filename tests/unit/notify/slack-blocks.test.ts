/** Slack's form of messages: what it shows, and that no text, however long or odd, breaks a limit or calls anybody. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../src/core/alert/compose.js';
import type { Message } from '../../../src/core/alert/message.js';
import { ENGLISH } from '../../../src/core/alert/texts.js';
import { fit, slackMessage } from '../../../src/notify/slack/blocks.js';
import { alertOf, approvalNews, budgetNews } from '../../support/alerts.js';
import { blockProblems, type SlackBlock } from '../../support/slack-server.js';

const blocksOf = (message: Message): SlackBlock[] => slackMessage(message).blocks as unknown as SlackBlock[];

describe('a budget alert', () => {
  const blocks = blocksOf(
    messageOf(alertOf(budgetNews({ threshold: { kind: 'actual', ratio: '1' } })), ENGLISH, 'https://b.example'),
  );

  it('asks the same of each warning about a budget as of the last', () => {
    for (const ratio of ['0.5', '0.8', '1']) {
      const state = ratio === '1' ? 'open' : 'told';
      const alert = alertOf(budgetNews({ threshold: { kind: 'actual', ratio } }), { state });
      const actions = blocksOf(messageOf(alert, ENGLISH, 'https://b.example')).at(-1);
      expect(actions).toMatchObject({
        elements: [
          { action_id: 'bursar.open' },
          { action_id: 'bursar.acknowledge' },
          { action_id: 'bursar.mute', text: { text: 'Mute 7 days' } },
        ],
      });
    }
  });

  it('says how much, when it runs out, what drives it and what to do', () => {
    const text = JSON.stringify(blocks);
    for (const part of [
      '100 % of the budget gpus',
      '8,123.46 USD',
      '10,000.00 USD',
      'runs out on 2026-11-24.',
      'AWS p5.48xlarge: 6,000.00 USD (74 %)',
      'Move the training pool to spot',
    ])
      expect(text).toContain(part);
  });

  it('has a button to take it on while nobody has', () => {
    expect(blocks.at(-1)).toMatchObject({
      type: 'actions',
      elements: [
        { action_id: 'bursar.open', url: 'https://b.example/#/budgets/gpus', text: { text: 'Open in Bursar' } },
        { action_id: 'bursar.acknowledge', value: 'alr-0123456789abcdef' },
        { action_id: 'bursar.mute', value: 'alr-0123456789abcdef', text: { text: 'Mute 7 days' } },
      ],
    });
    const answered = alertOf(budgetNews(), {
      state: 'answered',
      answer: { what: 'acknowledged', by: 'Ana', at: '2026-11-21T13:00:00Z' },
    });
    expect(blocksOf(messageOf(answered, ENGLISH, null)).map(({ type }) => type)).not.toContain('actions');
    expect(JSON.stringify(blocksOf(messageOf(answered, ENGLISH, null)))).toContain(
      'Taken on by Ana, 2026-11-21 13:00 UTC.',
    );
  });
});

it('mentions whom it concerns, and nobody whom a text names', () => {
  const message = messageOf(
    alertOf(budgetNews({ drivers: [{ name: '<@U9>', cost: '1', share: null }] })),
    ENGLISH,
    null,
  );
  const text = JSON.stringify(slackMessage(message, ['U1', 'U2']).blocks);
  expect(text).toContain('<@U1> <@U2>');
  expect(text).not.toContain('<@U9>');
});

it('a request to approve shows the evidence, and asks again before it approves', () => {
  const blocks = blocksOf(messageOf(alertOf(approvalNews()), ENGLISH, null));
  expect(JSON.stringify(blocks)).toContain('GPU utilisation, 2026-11-21 06:00 UTC to 2026-11-21 12:00 UTC');
  expect(blocks.at(-1)?.elements).toMatchObject([
    {
      text: { text: 'Approve' },
      style: 'primary',
      confirm: { text: { text: 'Bursar will stop instance/i-1, if its guard allows it.' } },
    },
    { text: { text: 'Reject' }, style: 'danger' },
  ]);
  expect(blockProblems(blocks)).toEqual([]);
});

describe('a text', () => {
  it('is escaped, so that a name calls no channel', () => {
    const { blocks, text } = slackMessage(
      messageOf(
        alertOf(budgetNews({ drivers: [{ name: '<!channel> & <@U1>', cost: '1', share: null }] })),
        ENGLISH,
        null,
      ),
    );
    expect(JSON.stringify(blocks)).toContain('&lt;!channel&gt; &amp; &lt;@U1&gt;');
    expect(JSON.stringify([blocks, text])).not.toMatch(/<[!@]/);
  });

  it('is cut at whole characters and whole escapes', () => {
    expect(fit('abc', 3, true)).toBe('abc');
    expect(fit('abcd', 3, true)).toBe('ab\u2026');
    expect(fit('a&b', 7, true)).toBe('a&amp;b');
    expect(fit('a&bc', 7, true)).toBe('a&amp;\u2026');
    expect(fit('ab\u{1F534}c', 4, true)).toBe('ab\u2026');
  });
});

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '<', '&'.repeat(4000), 'x'.repeat(5000), '\u{1F534}'.repeat(3000), 'line\nline'),
);
const messages: fc.Arbitrary<Message> = fc.record({
  alert: fc.constant('alr-0123456789abcdef'),
  kind: fc.constant('budget' as const),
  severity: fc.constantFrom('info', 'warning', 'critical'),
  title: texts,
  lines: fc.array(texts, { maxLength: 70 }),
  facts: fc.array(fc.record({ name: texts, value: texts }), { maxLength: 40 }),
  lists: fc.array(fc.record({ title: texts, items: fc.array(texts, { maxLength: 30 }) }), { maxLength: 8 }),
  note: fc.option(texts, { nil: null }),
  link: fc.option(
    fc.record({
      text: texts,
      url: fc.constantFrom(
        'https://b.example/',
        `https://b.example/${'x'.repeat(4000)}`,
        'https://b.example/?a=1&b=<|>',
      ),
    }),
    { nil: null },
  ),
  buttons: fc.constantFrom(
    [],
    [
      {
        act: 'approve' as const,
        label: 'x'.repeat(200),
        confirm: { title: 'y'.repeat(200), text: 'z'.repeat(900), yes: 'a'.repeat(60), no: 'b'.repeat(60) },
      },
    ],
  ),
});

it('whatever a message holds, its blocks hold the limits', () => {
  fc.assert(
    fc.property(messages, (message) => {
      const { text, blocks } = slackMessage(message);
      expect(blockProblems(blocks as unknown as SlackBlock[])).toEqual([]);
      expect(text.length).toBeLessThanOrEqual(4000);
    }),
    { numRuns: 150 },
  );
});

describe('the check of the limits', () => {
  it('sees what breaks one', () => {
    const section = (text: string): SlackBlock => ({ type: 'section', text: { type: 'mrkdwn', text } });
    expect(blockProblems([section('x'.repeat(3000))])).toEqual([]);
    expect(blockProblems([section('x'.repeat(3001)), section('')])).toHaveLength(2);
    expect(blockProblems([{ type: 'header', text: { type: 'plain_text', text: 'x'.repeat(151) } }])).toHaveLength(1);
    expect(blockProblems(Array.from({ length: 51 }, () => section('x')))).toEqual(['51 blocks: at most 50']);
    expect(
      blockProblems([{ type: 'section', fields: Array.from({ length: 11 }, () => ({ type: 'mrkdwn', text: 'x' })) }]),
    ).toHaveLength(1);
  });
});
