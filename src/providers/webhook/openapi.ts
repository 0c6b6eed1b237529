/**
 * The contract as an OpenAPI 3.1 document, made from the schemas that check the answers: what is published is what is
 * enforced.
 *
 * Pure: docs/reference/webhook-provider.openapi.json is its output, and a test holds the two together.
 */
import { z } from 'zod';
import {
  CONTRACT_VERSION,
  descriptionSchema,
  envelopeOf,
  errorSchema,
  OPERATIONS,
  RESPONSES,
  type Operation,
} from './contract.js';

const SUMMARIES: Readonly<Record<Operation, string>> = {
  prices: 'Prices that take effect, and withdrawals that happen, at an instant or after it',
  usage: 'Metered usage within a half-open interval',
  fleet: 'What runs',
  offers: 'Commitments on sale',
  target: 'One target, read now',
  apply: 'Do one effect on one target, once per token; signed with the act secret',
  outcome: 'What became of the effect that was sent under a token',
};

/** The schemas that have an id, gathered while the document is made. */
type Components = Record<string, object>;

/** A schema's JSON form; what has an id goes to the components and is referred to. */
function jsonSchema(schema: z.ZodType, components: Components): object {
  // Inside an object a schema with an id is referred to, which at the root it is not.
  const text = JSON.stringify(z.toJSONSchema(z.object({ schema }), { io: 'input' })).replaceAll(
    '"#/$defs/',
    '"#/components/schemas/',
  );
  const { properties, $defs = {} } = JSON.parse(text) as {
    properties: { schema: object };
    $defs?: Record<string, { id?: string }>;
  };
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) components[name] = definition;
  return properties.schema;
}

const SIGNED = [
  {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'Unique per request; a request whose id came before is refused',
    schema: { type: 'string', pattern: '^msg_[0-9a-f]{32}$' },
  },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Unix seconds of the sending; refused when more than 300 away',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description: 'One or two of v1,base64(HMAC-SHA256(secret, id.timestamp.body)), divided by a blank',
    schema: { type: 'string' },
  },
];

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'The request is not of the contract; nothing was done',
  401: 'Signature, time or id is not accepted; nothing was done',
  403: 'The signature is right, and this is not allowed; nothing was done',
  429: 'Too many requests; nothing was done',
  503: 'Not now; with Retry-After: nothing was done',
};
const REFUSALS_OF_APPLY: Readonly<Record<number, string>> = {
  409: 'Refused, because of the state of the target; nothing was done',
  422: 'Refused, whatever the state; nothing was done',
};

/** The document, as plain JSON. */
export function openApi(): object {
  const components: Components = {};
  const content = (schema: z.ZodType): object => ({ 'application/json': { schema: jsonSchema(schema, components) } });
  const refusals = (of: Readonly<Record<number, string>>): object =>
    Object.fromEntries(
      Object.entries(of).map(([status, description]) => [status, { description, content: content(errorSchema) }]),
    );
  const responses = (schema: z.ZodType): object => ({
    200: { description: 'Done', content: content(schema) },
    ...refusals(REFUSALS),
  });
  const paths = Object.fromEntries(
    OPERATIONS.map((operation) => [
      `/${operation}`,
      {
        post: {
          operationId: operation,
          summary: SUMMARIES[operation],
          parameters: SIGNED,
          requestBody: { required: true, content: content(envelopeOf(operation)) },
          responses: {
            ...responses(RESPONSES[operation]),
            ...(operation === 'apply' ? refusals(REFUSALS_OF_APPLY) : {}),
          },
        },
      },
    ]),
  );
  const describe = {
    operationId: 'describe',
    summary: 'What the receiver can do',
    parameters: SIGNED,
    responses: responses(descriptionSchema),
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Bursar webhook provider',
      version: String(CONTRACT_VERSION),
      description: 'What a platform answers so that Bursar can meter it and act on it',
    },
    paths: { '/': { get: describe }, ...paths },
    components: { schemas: components },
  };
}
