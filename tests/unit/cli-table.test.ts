/** Tables for people: alignment, what is absent, and that no file steers the terminal. */
import { describe, expect, it } from 'vitest';
import { grouped, percent, printable, shortAmount, table } from '../../src/cli/table.js';

describe('a table', () => {
  it('puts numbers to the right and the rest to the left', () => {
    expect(
      table(
        ['team', 'cost'],
        [
          ['red', '1.50'],
          ['ultraviolet', '120.25'],
        ],
      ),
    ).toBe('team           cost\n-----------  ------\nred            1.50\nultraviolet  120.25\n');
  });

  it('keeps a column to the left where one cell is no number, and shows what is absent', () => {
    expect(
      table(
        ['id', 'n'],
        [
          ['a', null],
          ['b', 'none'],
          ['c', 7],
        ],
      ),
    ).toBe('id  n\n--  ----\na   -\nb   none\nc   7\n');
    expect(table(['n'], [[null], ['12,345'], ['5.0%']])).toBe('     n\n------\n     -\n12,345\n  5.0%\n');
  });

  it('of no rows is its titles', () => expect(table(['a', 'b'], [])).toBe('a  b\n-  -\n'));

  it('counts wide characters as two', () =>
    expect(
      table(
        ['team', 'x'],
        [
          ['研究', 'y'],
          ['ab', 'z'],
        ],
      ),
    ).toBe('team  x\n----  -\n研究  y\nab    z\n'));

  it('cuts long cells', () =>
    expect(table(['id', 'raw'], [['y'.repeat(200), 'x'.repeat(200)]]).split('\n')[2]).toBe(
      `${'y'.repeat(79)}…  ${'x'.repeat(159)}…`,
    ));

  it('never hands control characters on', () => {
    expect(printable('a\u001b[31mred\nb\u0007\u202e')).toBe('a [31mred b ');
    expect(table(['raw'], [['\u001b]0;title\u0007x']])).toBe('raw\n-----------\n ]0;title x\n');
  });
});

describe('amounts for people', () => {
  it('have two digits, half to even, and never vanish', () => {
    expect(shortAmount('12')).toBe('12.00');
    expect(shortAmount('0.125')).toBe('0.12');
    expect(shortAmount('0.135')).toBe('0.14');
    expect(shortAmount('-8.00155109870')).toBe('-8.00');
    expect(shortAmount('0.000123')).toBe('0.000123');
    expect(shortAmount('0.000')).toBe('0.00');
    expect(shortAmount(null)).toBeNull();
  });

  it('group and show shares', () => {
    expect([grouped(0), grouped(999), grouped(1000), grouped(1234567)]).toEqual(['0', '999', '1,000', '1,234,567']);
    expect([percent(0.0512), percent(null)]).toEqual(['5.1%', null]);
  });
});
