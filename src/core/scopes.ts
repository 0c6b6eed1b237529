/**
 * The rights of a key or a signed-in user: a set of scopes, given one by one or by a role.
 *
 * A scope never includes another one: a caller who may only send usage reads nothing. The roles viewer, operator and
 * admin are fixed sets; an organisation adds its own, whose names begin with `custom:`, so that no name is ever both.
 */

export const SCOPES = [
  'usage:write',
  'samples:write',
  'admission',
  'read',
  'approve',
  'configure',
  'scim',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

/** For the API's description and the command line's help. */
export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'usage:write': 'sends usage, bills and deliveries',
  'samples:write': 'sends GPU samples, workload metrics and throughput measurements',
  admission: "asks the admission webhook on a cluster's behalf",
  read: 'reads everything of its teams, except keys and the audit',
  approve: 'decides about recommendations, actions and alerts, and presses the kill switch',
  configure: 'sets teams, budgets, rules, prices, policies, leases and reservations',
  scim: 'for an identity provider, which reports accounts and group memberships',
  admin: 'manages keys, roles and sessions, reads the audit, sets limits, lifts the kill switch',
};

/** From the least to the most. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The scopes of each role. The admission webhook has always accepted a key of any role. */
export const ROLE_SCOPES: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['admission', 'read'],
  operator: SCOPES.filter((scope) => scope !== 'admin' && scope !== 'scim'),
  admin: SCOPES,
};

/** How a role of an organisation's own is called. */
export const CUSTOM_ROLE = /^custom:[a-z0-9][a-z0-9-]{0,62}$/;

export const isRole = (name: string): name is Role => (ROLES as readonly string[]).includes(name);

/** The scopes in their own order, each once. */
export const inOrder = (scopes: readonly string[]): Scope[] => SCOPES.filter((scope) => scopes.includes(scope));

/**
 * The combined scopes of roles; an unknown or removed role allows nothing.
 * @param custom scopes of the organisation's own roles, by name
 */
export const scopesOf = (
  roles: readonly string[],
  custom: (role: string) => readonly string[] | null | undefined,
): Scope[] => inOrder(roles.flatMap((role) => (isRole(role) ? ROLE_SCOPES[role] : (custom(role) ?? []))));

/** Roles that have a scope, as a refusal names them: `operator or admin`. */
export const rolesWith = (scope: Scope): string =>
  ROLES.filter((role) => ROLE_SCOPES[role].includes(scope)).join(' or ');
