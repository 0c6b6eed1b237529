/**
 * Describes this SCIM service (RFC 7644, section 4; RFC 7643, sections 5 to 8): its features, its kinds of resource,
 * and the attributes that it uses. Other attributes are kept and returned unchanged.
 */
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const MOST_RESULTS = 200;

type Document = Readonly<Record<string, unknown>>;

export const serviceProviderConfig = (base: string): Document => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MOST_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'Authorization: Bearer with an API key that has the scope scim',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

export const resourceTypes = (base: string): readonly Document[] =>
  (
    [
      ['User', USER_SCHEMA],
      ['Group', GROUP_SCHEMA],
    ] as const
  ).map(([name, schema]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));

interface AttributeOptions {
  readonly type?: 'string' | 'boolean' | 'complex';
  readonly multiValued?: boolean;
  readonly required?: boolean;
  readonly caseExact?: boolean;
  readonly mutability?: 'readWrite' | 'readOnly' | 'immutable';
  readonly uniqueness?: 'none' | 'server';
  readonly subAttributes?: readonly Document[];
}

const attribute = (name: string, description: string, options: AttributeOptions = {}): Document => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...options,
});

const EXTERNAL_ID = attribute('externalId', 'Name that the identity provider uses', { caseExact: true });

export const schemas = (base: string): readonly Document[] => [
  schemaOf(base, USER_SCHEMA, 'User', 'Somebody who may sign in', [
    attribute('userName', 'Name by which the person is known', { required: true, uniqueness: 'server' }),
    EXTERNAL_ID,
    attribute('active', 'false: none of their sessions and keys is valid', { type: 'boolean' }),
    attribute('displayName', 'As shown'),
    attribute('name', 'Parts of the name', {
      type: 'complex',
      subAttributes: ['formatted', 'familyName', 'givenName'].map((one) => attribute(one, 'Part of the name')),
    }),
    attribute('emails', 'Addresses', {
      type: 'complex',
      multiValued: true,
      subAttributes: [
        attribute('value', 'The address'),
        attribute('type', 'work, home or other'),
        attribute('primary', 'Whether it is the preferred one', { type: 'boolean' }),
      ],
    }),
    attribute('groups', 'Groups that they are in', {
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: ['value', 'display', '$ref'].map((one) =>
        attribute(one, 'Id of the group', { mutability: 'readOnly' }),
      ),
    }),
  ]),
  schemaOf(base, GROUP_SCHEMA, 'Group', 'People who share a role', [
    attribute('displayName', 'Name that roles use', { required: true, uniqueness: 'server' }),
    EXTERNAL_ID,
    attribute('members', 'Users', {
      type: 'complex',
      multiValued: true,
      subAttributes: [
        attribute('value', 'id of the user', { mutability: 'immutable', caseExact: true }),
        attribute('display', 'userName', { mutability: 'readOnly' }),
      ],
    }),
  ]),
];

const schemaOf = (
  base: string,
  id: string,
  name: string,
  description: string,
  attributes: readonly Document[],
): Document => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  id,
  name,
  description,
  attributes,
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

/** A list in SCIM's form (RFC 7644, section 3.4.2). */
export const listResponse = (resources: readonly unknown[], total: number, startIndex = 1): Document => ({
  schemas: [LIST_SCHEMA],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});
