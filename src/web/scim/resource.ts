/**
 * Converts between SCIM's resources and the directory: which fields a request must have, and how a person or a group is
 * shown (RFC 7643, sections 3 and 4).
 *
 * A password is neither stored nor returned.
 */
import type {
  DirectoryFilter,
  DirectoryGroup,
  DirectoryUser,
  GroupFields,
  UserFields,
} from '../../store/access/directory.js';
import { spelled } from './names.js';
import { isObject, type Resource } from './patch.js';
import { parseFilter } from './path.js';
import { ScimProblem } from './problem.js';
import { GROUP_SCHEMA, USER_SCHEMA } from './schemas.js';

/** Not among a person's attributes: they have their own fields, or clients may not set them. */
const OWN = new Set(['schemas', 'id', 'meta', 'groups', 'userName', 'externalId', 'active', 'password']);
const MOST_NAME = 500;
const MOST_EMAILS = 100;
/**
 * Of an account's attributes, as JSON. Without it, many requests could add up to more than a list of accounts can hold.
 */
const MOST_ATTRIBUTE_CHARACTERS = 64 << 10;

/**
 * @param sent with names in any case
 * @param active the value where the request has none
 * @param kept earlier attributes: unchanged ones are not refused, so that any account can be closed
 * @throws ScimProblem invalidValue
 */
export function userFields(sent: Resource, active: boolean, kept: Resource = {}): UserFields {
  const resource = spelled(sent);
  const { emails } = resource;
  if (JSON.stringify(emails) !== JSON.stringify(spelled(kept)['emails'])) checkEmails(emails ?? []);
  const attributes = Object.fromEntries(Object.entries(resource).filter(([name]) => !OWN.has(name)));
  const size = JSON.stringify(attributes).length;
  if (size > MOST_ATTRIBUTE_CHARACTERS && size > JSON.stringify(kept).length)
    throw wrong('the account', `has more than ${MOST_ATTRIBUTE_CHARACTERS} characters of attributes`);
  return {
    userName: nameOf(resource, 'userName'),
    externalId: externalIdOf(resource),
    active: booleanOf(resource['active'], active),
    attributes,
  };
}

function checkEmails(emails: unknown): void {
  if (!Array.isArray(emails)) throw wrong('emails', 'is not a list');
  if (emails.length > MOST_EMAILS) throw wrong('emails', `has more than ${MOST_EMAILS} addresses`);
  for (const one of emails as unknown[]) {
    const value = isObject(one) ? (one['value'] ?? '') : null;
    if (typeof value !== 'string' || value.length > MOST_NAME)
      throw wrong('emails', `holds an element whose value is not a text of at most ${MOST_NAME} characters`);
  }
}

/** @throws ScimProblem invalidValue */
export function groupFields(sent: Resource): GroupFields {
  const resource = spelled(sent);
  const members = resource['members'] ?? [];
  if (!Array.isArray(members)) throw wrong('members', 'is not a list');
  return {
    displayName: nameOf(resource, 'displayName'),
    externalId: externalIdOf(resource),
    members: members.map((one: unknown) => {
      const value = isObject(one) ? one['value'] : one;
      if (typeof value !== 'string' || value === '') throw wrong('members', 'holds an element without a value');
      return value;
    }),
  };
}

function nameOf(resource: Resource, field: string): string {
  const value = resource[field];
  if (typeof value !== 'string' || value.trim() === '' || value.length > MOST_NAME)
    throw wrong(field, `is not a text of 1 to ${MOST_NAME} characters`);
  return value;
}

function externalIdOf(resource: Resource): string | null {
  const value = resource['externalId'] ?? null;
  if (value !== null && (typeof value !== 'string' || value.length > MOST_NAME))
    throw wrong('externalId', `is not a text of at most ${MOST_NAME} characters`);
  return value === '' ? null : value;
}

/** Microsoft Entra ID writes booleans as texts. */
function booleanOf(value: unknown, absent: boolean): boolean {
  if (value === undefined || value === null) return absent;
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text !== 'true' && text !== 'false') throw wrong('active', 'is neither true nor false');
  return text === 'true';
}

const wrong = (field: string, what: string): Error => new ScimProblem(400, 'invalidValue', `${field} ${what}`);

/** A person as a PATCH sees it: what was sent, without what we add. */
export const userResource = ({ userName, externalId, active, attributes }: DirectoryUser): Resource => ({
  ...spelled(attributes),
  userName,
  ...(externalId === null ? {} : { externalId }),
  active,
});

export const groupResource = ({ displayName, externalId, members }: DirectoryGroup): Resource => ({
  displayName,
  ...(externalId === null ? {} : { externalId }),
  members: members.map(({ id }) => ({ value: id })),
});

/** @param base address of the service */
export const shownUser = (user: DirectoryUser, base: string): Resource => ({
  schemas: [USER_SCHEMA, ...Object.keys(user.attributes).filter((name) => name.toLowerCase().startsWith('urn:'))],
  id: user.id,
  ...userResource(user),
  groups: user.groups.map(({ id, displayName }) => ({ value: id, display: displayName, $ref: `${base}/Groups/${id}` })),
  meta: metaOf(user, 'User', base),
});

export const shownGroup = (group: DirectoryGroup, base: string): Resource => ({
  schemas: [GROUP_SCHEMA],
  id: group.id,
  ...groupResource(group),
  members: group.members.map(({ id, userName }) => ({ value: id, display: userName, $ref: `${base}/Users/${id}` })),
  meta: metaOf(group, 'Group', base),
});

const metaOf = (
  { id, createdAt, updatedAt }: Pick<DirectoryUser, 'id' | 'createdAt' | 'updatedAt'>,
  resourceType: 'User' | 'Group',
  base: string,
): Resource => ({
  resourceType,
  created: createdAt,
  lastModified: updatedAt,
  location: `${base}/${resourceType}s/${id}`,
});

/** The attributes that a request asks for (RFC 7644, section 3.9); id and schemas are always included. */
export function chosen(resource: Resource, attributes?: string, excluded?: string): Resource {
  const names = (list: string): Set<string> =>
    new Set(list.split(',').map((one) => (one.trim().split(/[.[]/, 1)[0] ?? '').toLowerCase()));
  const [wanted, unwanted] = [attributes === undefined ? null : names(attributes), names(excluded ?? '')];
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => {
      const lower = name.toLowerCase();
      return lower === 'id' || lower === 'schemas' || (!unwanted.has(lower) && (wanted === null || wanted.has(lower)));
    }),
  );
}

const EMAILS = ['emails', 'emails.value', 'emails[type eq "work"].value'];
const FIELDS: Readonly<Record<'User' | 'Group', Readonly<Record<string, keyof DirectoryFilter>>>> = {
  User: {
    id: 'id',
    externalid: 'externalId',
    username: 'userName',
    displayname: 'displayName',
    active: 'active',
    ...Object.fromEntries(EMAILS.map((one) => [one, 'email' as const])),
  },
  Group: {
    id: 'id',
    externalid: 'externalId',
    displayname: 'displayName',
    members: 'member',
    'members.value': 'member',
  },
};

/** @throws ScimProblem invalidFilter */
export function filterOf(kind: 'User' | 'Group', text: string | undefined): DirectoryFilter {
  if (text === undefined) return {};
  const filter: Record<string, string | boolean> = {};
  for (const { attribute, value } of parseFilter(text)) {
    const field = FIELDS[kind][attribute.toLowerCase()];
    if (field === undefined || (typeof value === 'boolean') !== (field === 'active'))
      throw new ScimProblem(
        400,
        'invalidFilter',
        `${attribute} cannot be used in a filter here, or not with such a value`,
      );
    if (filter[field] !== undefined && filter[field] !== value)
      throw new ScimProblem(400, 'invalidFilter', `${attribute} is in the filter twice`);
    filter[field] = value;
  }
  return filter;
}
