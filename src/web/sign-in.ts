/**
 * What an installation sets about signing in, and what an identity provider's claims make of somebody.
 *
 * Claims grant only what the settings name: no role that is mapped, no entry; a claim of teams that is missing is never
 * all teams.
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
  /** What the claim must hold for each role, the organisation's own too; `*`: anything, or nothing. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  /** What the directory (SCIM) is asked; absent: off. */
  readonly directory?: DirectoryUse;
  /** The claim that says the externalId or the userName that somebody has there; absent: sub. */
  readonly directoryClaim?: string;
  /** Name of the claim that lists teams; null: nobody is restricted to teams. Admins never are. */
  readonly teamsClaim: string | null;
}

export interface SignInSettings {
  /** `https://bursar.example.com`, where people reach us; null: where the request says that it went. */
  readonly publicUrl: string | null;
  readonly oidc: OidcSettings | null;
  /** How long sessions last; absent: the usual. */
  readonly sessions?: Pick<SessionRules, 'lifeMs' | 'idleMs' | 'checkMs'>;
}

export const NO_SIGN_IN: SignInSettings = { publicUrl: null, oidc: null };

export type Claims = Readonly<Record<string, unknown>>;

/** Why somebody with a good account is not let in. */
export type NotLetIn = 'no-role' | 'no-teams' | 'closed';

/** The name by which the directory knows somebody; null: the claim is missing. */
export const directoryNameOf = (claims: Claims, { directoryClaim = 'sub' }: OidcSettings): string | null =>
  textsOf(claimOf(claims, directoryClaim))[0] ?? null;

/**
 * @param claims of a token that was verified
 * @param known what the directory says; undefined: it was not asked, or the claim for it is missing
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

/** What groups and teams make of somebody by the settings of now. */
function standingOf(
  { groups, teams: named }: Claimed,
  { roles, teamsClaim }: Pick<OidcSettings, 'roles' | 'teamsClaim'>,
): Standing | NotLetIn {
  const all = Object.keys(roles).filter((one) => roles[one]?.some((group) => group === '*' || groups.includes(group)));
  // Each of the three has all that those below it have.
  const highest = [...ROLES].reverse().find((one) => all.includes(one));
  const own = all.filter((one) => CUSTOM_ROLE.test(one));
  const role = highest ?? own[0];
  if (role === undefined) return 'no-role';
  const teams = teamsClaim === null || role === 'admin' ? null : named;
  if (teams?.length === 0) return 'no-teams';
  return { role, ...(own.length === 0 ? {} : { roles: [...(highest === undefined ? [] : [highest]), ...own] }), teams };
}

/** What sessions are held to: with a provider, whoever has no role by the settings of now is out. */
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
