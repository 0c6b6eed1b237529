/** What roles allow, and how a refusal names them. */
import { describe, expect, it } from 'vitest';
import { CUSTOM_ROLE, inOrder, isRole, rolesWith, scopesOf } from '../../../src/core/scopes.js';

describe('the scopes of roles', () => {
  it('are those of all of them, each once, in their own order', () => {
    const custom = (role: string): string[] | null =>
      role === 'custom:send' ? ['samples:write', 'usage:write'] : null;
    expect(scopesOf(['viewer', 'custom:send', 'viewer'], custom)).toEqual([
      'usage:write',
      'samples:write',
      'admission',
      'read',
    ]);
  });

  it('are none of a role that nobody knows, or of a scope that is none', () => {
    expect(scopesOf(['owner', 'custom:gone'], () => undefined)).toEqual([]);
    expect(inOrder(['admin', 'everything'])).toEqual(['admin']);
    expect(isRole('admin')).toBe(true);
    expect(isRole('owner')).toBe(false);
  });

  it('of an operator leave out keys and accounts', () => {
    const operator = scopesOf(['operator'], () => null);
    expect(operator).toContain('configure');
    expect(operator).not.toContain('admin');
    expect(operator).not.toContain('scim');
  });
});

it.each([
  ['read', 'viewer or operator or admin'],
  ['approve', 'operator or admin'],
  ['admin', 'admin'],
] as const)('a refusal of %s names %s', (scope, roles) => {
  expect(rolesWith(scope)).toBe(roles);
});

it.each([
  ['custom:night-shift', true],
  [`custom:${'a'.repeat(63)}`, true],
  [`custom:${'a'.repeat(64)}`, false],
  ['custom:-shift', false],
  ['custom:', false],
  ['night', false],
  ['a custom:night', false],
  ['custom:night shift', false],
])('%s as the name of an own role: %s', (name, isOne) => {
  expect(CUSTOM_ROLE.test(name)).toBe(isOne);
});
