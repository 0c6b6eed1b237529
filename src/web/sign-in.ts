/**
 * The installation's sign-in settings, and the rights that an identity provider's claims give.
 *
 * Claims grant only what the settings name: no mapped role, no entry; a missing teams claim never means all teams.
 */
import { CUSTOM_ROLE, ROLES } from '../core/scopes.js';
import type { Known } from '../store/access/directory.js';
import {
  isOpen,
  SESSION_RULES,
  type Claimed,
  type DirectoryUse,
  type SessionRules,
  type SessionUser,
  type Standing,
} from '../store/access/sessions.js';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client. */
  readonly clientSecret: string | null;
  readonly scopes: string;
  /** Name of the claim that lists groups or roles; `realm_access.roles` reaches into objects. */
  readonly rolesClaim: string;
  /** The claim values for each role, the organisation's own too; `*`: anything, or nothing. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  /** What to ask the directory (SCIM); absent: off. */
  readonly directory?: DirectoryUse;
  /** The claim with a person's externalId or userName there; absent: sub. */
  readonly directoryClaim?: string;
  /** Name of the claim that lists teams; null: nobody is restricted to teams. Admins never are. */
  readonly teamsClaim: string | null;
}

export interface SignInSettings {
  /** Our public address, `https://bursar.example.com`; null: the address in the request. */
  readonly publicUrl: string | null;
  readonly oidc: OidcSettings | null;
  /** How long sessions last; absent: the defaults. */
  readonly sessions?: Pick<SessionRules, 'lifeMs' | 'idleMs' | 'checkMs'>;
}

export const NO_SIGN_IN: SignInSettings = { publicUrl: null, oidc: null };

export type Claims = Readonly<Record<string, unknown>>;

/** Why a valid account is not let in. */
export type NotLetIn = 'no-role' | 'no-teams' | 'closed';

/** A person's name in the directory; null: the claim is missing. */
export const directoryNameOf = (claims: Claims, { directoryClaim = 'sub' }: OidcSettings): string | null =>
  textsOf(claimOf(claims, directoryClaim))[0] ?? null;

/**
 * @param claims of a verified token
 * @param known the directory's answer; undefined: it was not asked, or its claim is missing
 */
export function userOf(claims: Claims, settings: OidcSettings, known?: Known | null): SessionUser | NotLetIn {
  const { rolesClaim, teamsClaim, directory = 'off' } = settings;
  if (!isOpen(known, directory)) return 'closed';
  const claimed: Claimed = {
    groups: directory === 'groups' ? (known?.groups ?? []) : textsOf(claimOf(claims, rolesClaim)),
    teams: teamsClaim === null ? [] : textsOf(claimOf(claims, teamsClaim)),
  };
  const standing = standingOf(claimed, settings);
  if (typeof standing === 'string') return standing;
  const id = String(claims['sub']);
  const name =
    [claims['name'], claims['preferred_username'], claims['email']].find(
      (one): one is string => typeof one === 'string' && one.trim() !== '',
    ) ?? id;
  const directoryName = directoryNameOf(claims, settings);
  return { id, name: name.slice(0, 200), claimed, ...(directoryName === null ? {} : { directoryName }), ...standing };
}

/** The rights of groups and teams by the current settings. */
function standingOf(
  { groups, teams: named }: Claimed,
  { roles, teamsClaim }: Pick<OidcSettings, 'roles' | 'teamsClaim'>,
): Standing | NotLetIn {
  const all = Object.keys(roles).filter((one) => roles[one]?.some((group) => group === '*' || groups.includes(group)));
  // Each of the three includes those below it.
  const highest = [...ROLES].reverse().find((one) => all.includes(one));
  const own = all.filter((one) => CUSTOM_ROLE.test(one));
  const role = highest ?? own[0];
  if (role === undefined) return 'no-role';
  const teams = teamsClaim === null || role === 'admin' ? null : named;
  if (teams?.length === 0) return 'no-teams';
  return { role, ...(own.length === 0 ? {} : { roles: [...(highest === undefined ? [] : [highest]), ...own] }), teams };
}

/** The rules for sessions: with a provider, a person without a role in the current settings is signed out. */
export function sessionRulesOf({ oidc, sessions }: SignInSettings): SessionRules {
  const rules = { ...SESSION_RULES, ...sessions };
  if (oidc === null) return rules;
  return {
    ...rules,
    ...(oidc.directory === undefined ? {} : { directory: oidc.directory }),
    standing: (claimed) => {
      const standing = standingOf(claimed, oidc);
      return typeof standing === 'string' ? null : standing;
    },
  };
}

/** A claim by its own name, or by a path with dots. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, step) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? (value as Claims)[step] : undefined,
      claims,
    );
}

const textsOf = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string' && one !== '');
