/** Which errors of the network say that nothing was sent. */
import { describe, expect, it } from 'vitest';
import { networkCode, NEVER_SENT } from '../../../src/core/never-sent.js';

const coded = (code: string): Error => Object.assign(new Error('no'), { code });

describe('the code of a network error', () => {
  it.each([
    ['its own', coded('ECONNREFUSED'), 'ECONNREFUSED'],
    ['its cause’s, as fetch has it', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'ENOTFOUND'],
    [
      'of the first address of several',
      new AggregateError([coded('EHOSTUNREACH'), coded('ETIMEDOUT')]),
      'EHOSTUNREACH',
    ],
    [
      'of what a client keeps as original',
      Object.assign(new Error('x'), { original: coded('EAI_AGAIN') }),
      'EAI_AGAIN',
    ],
    ['none of words that may quote an address', coded('connect 10.0.0.1:443'), ''],
    ['none of a number', Object.assign(new Error('x'), { code: 23 }), ''],
    ['none of what is no error', 'ECONNREFUSED', ''],
  ])('is %s', (_, error, code) => expect(networkCode(error)).toBe(code));

  it('is looked for in a few causes only', () => {
    const circle = new Error('a');
    circle.cause = circle;
    expect(networkCode(circle)).toBe('');
  });
});

it('what may have arrived is not among those that were never sent', () => {
  for (const code of [
    'ECONNRESET',
    'ETIMEDOUT',
    'EPIPE',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'ECONNABORTED',
    '',
  ])
    expect(NEVER_SENT.has(code), code).toBe(false);
  expect(NEVER_SENT.has('ECONNREFUSED')).toBe(true);
});
