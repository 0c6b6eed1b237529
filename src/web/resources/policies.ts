/** /v1/policies: the available policies, the documents that apply them to teams, and how far they may go. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { denied, missing } from '../../core/errors.js';
import {
  checkPolicyDocument,
  POLICY_MODES,
  readPolicyDocument,
  type PolicyDocument,
} from '../../core/policy/document.js';
import { describePolicy, type PolicyDescription } from '../../core/policy/description.js';
import type { PolicyMode } from '../../core/policy/recommendation.js';
import type { Policy } from '../../core/policy/policy.js';
import type { StoredPolicy } from '../../store/policy/policies.js';
import { applyPolicy, pausePolicy } from '../../application/policy/set-policy.js';
import { actorOf, Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput, UncheckedBody } from '../endpoint.js';
import { pageOfAll, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const nameSchema = z.string().min(1).max(100);
const settable = {
  policy: z.string().describe('A policy of the catalogue'),
  teams: z
    .union([z.literal('*'), z.array(z.string()).min(1)])
    .describe('Exactly these teams, or * for all, including what belongs to no team'),
  mode: z
    .enum(POLICY_MODES as readonly [PolicyMode, ...PolicyMode[]])
    .describe('observe keeps what it would propose without showing it as open; each mode includes those before it'),
  params: z.record(z.string(), z.unknown()).optional().describe("As the policy's own schema in the catalogue says"),
  priority: z.int().optional().describe('Higher wins; 0 where absent'),
};
const settingsSchema = z
  .strictObject({
    ...settable,
    override: z.string().optional().describe('Why it may enforce without a backtest; needs the role admin'),
  })
  .meta({ id: 'PolicySettings' });
const documentSchema = z.strictObject({ name: z.string(), ...settable }).meta({ id: 'PolicyDocument' });
const storedSchema = z
  .strictObject({
    name: z.string(),
    ...settable,
    params: z.record(z.string(), z.unknown()),
    priority: z.int(),
    isDefault: z.boolean().describe('It is the default, because there is no document'),
    paused: z.boolean(),
    version: z.int(),
    updatedAt: z.iso.datetime().nullable(),
    updatedBy: z.string().nullable().describe('Who wrote the current document'),
    pausedAt: z.iso.datetime().nullable(),
    pausedBy: z.string().nullable().describe('Who last paused or resumed it; null if nobody has'),
  })
  .meta({ id: 'StoredPolicy' });
const problem = z.strictObject({ path: z.string().nullable(), message: z.string() });
const checkSchema = z
  .strictObject({
    valid: z.boolean(),
    problems: z.array(problem),
    document: z.record(z.string(), z.unknown()).nullable().describe('With defaults filled in'),
  })
  .meta({ id: 'PolicyCheck' });
const listSchema = pageSchema(storedSchema).extend({
  catalogue: z
    .array(
      z
        .strictObject({
          name: z.string(),
          version: z.int(),
          description: z.string(),
          parameters: z.record(z.string(), z.unknown()).describe('JSON Schema of params'),
          examples: z.array(
            z.strictObject({
              title: z.string(),
              params: z.unknown(),
              proposes: z.array(z.strictObject({ action: z.string(), target: z.string() })),
            }),
          ),
        })
        .meta({ id: 'PolicyDescription' }),
    )
    .describe('All policies'),
});

type Check = z.infer<typeof checkSchema>;
type Listed = Page<StoredPolicy> & { readonly catalogue: readonly PolicyDescription[] };

@Controller()
export class PoliciesController {
  private readonly policies: readonly Policy[];

  constructor(@InjectParts() private readonly parts: WebParts) {
    this.policies = parts.policies ?? [];
  }

  @Endpoint('GET /v1/policies', {
    summary: 'List the policies and the current documents',
    access: 'read',
    answer: listSchema,
  })
  async list(@Calling() caller: Caller, @QueryInput(pageQuerySchema) query: PageQuery): Promise<Listed> {
    const { stores } = this.parts;
    const all = await stores.policies.list(stores.db, caller.principal.organisation, this.policies);
    return {
      ...(await pageOfAll(
        query,
        all.filter((document) => isFor(caller, document)),
        ({ name }) => name,
      )),
      catalogue: this.policies.map(describePolicy),
    };
  }

  @Endpoint('GET /v1/policies/:name', { summary: 'Get a policy document', access: 'read', answer: storedSchema })
  async get(@Calling() caller: Caller, @PathInput('name', nameSchema) name: string): Promise<StoredPolicy> {
    const { stores } = this.parts;
    const all = await stores.policies.list(stores.db, caller.principal.organisation, this.policies);
    const found = all.find((document) => document.name === name);
    if (found === undefined) throw missing(`there is no policy document with the name ${name}`);
    if (!isFor(caller, found)) throw denied('this key is not for the teams of this document');
    return found;
  }

  @Endpoint('POST /v1/policies/validate', {
    summary: 'Check a policy document',
    description: 'Names every problem. Writes nothing.',
    access: 'read',
    answer: checkSchema,
  })
  async validate(@UncheckedBody(documentSchema) body: unknown): Promise<Check> {
    const { document, problems } = checkPolicyDocument(body, this.policies);
    return { valid: document !== null, problems: [...problems], document: document === null ? null : { ...document } };
  }

  @Endpoint('PUT /v1/policies/:name', {
    summary: 'Apply a policy document',
    description: 'Enforcing needs a backtest on the history of every team, or an override.',
    access: 'configure',
    writes: true,
    answer: storedSchema,
    readBack: {
      addressed: ['name'],
      ignored: ['isDefault', 'paused', 'version', 'updatedAt', 'updatedBy', 'pausedAt', 'pausedBy'],
    },
  })
  async apply(
    @Calling() caller: Caller,
    @PathInput('name', nameSchema) name: string,
    @UncheckedBody(settingsSchema) body: unknown,
  ): Promise<StoredPolicy> {
    const { stores, clock } = this.parts;
    const { principal } = caller;
    const { override, ...settings } =
      typeof body === 'object' && body !== null && !Array.isArray(body)
        ? (body as Readonly<Record<string, unknown>>)
        : { settings: body };
    const document = readPolicyDocument({ ...settings, name }, this.policies);
    const reason = typeof override === 'string' && override.trim() !== '' ? override : null;
    if (reason !== null && !principal.scopes.includes('admin'))
      throw denied('an override needs a key with the scope admin');
    checkDocument(caller, document);
    return write(stores, caller, 'policy.apply', async (tx) => {
      const before = await stores.policies.get(tx, principal.organisation, name);
      if (before !== null) checkDocument(caller, before);
      const { policy, detail } = await applyPolicy(
        stores,
        tx,
        principal.organisation,
        this.policies,
        { document, override: reason },
        actorOf(caller),
        clock.now(),
      );
      const changedNothing = policy.version === before?.version && detail['override'] === undefined;
      return { body: policy, target: name, detail, changedNothing };
    });
  }

  @Endpoint('POST /v1/policies/:name/pause', {
    summary: 'Pause a policy document',
    access: 'configure',
    writes: true,
    answer: storedSchema,
  })
  async pause(@Calling() caller: Caller, @PathInput('name', nameSchema) name: string): Promise<StoredPolicy> {
    return this.setPaused(caller, name, true);
  }

  @Endpoint('POST /v1/policies/:name/resume', {
    summary: 'Resume a paused policy document',
    access: 'configure',
    writes: true,
    answer: storedSchema,
  })
  async resume(@Calling() caller: Caller, @PathInput('name', nameSchema) name: string): Promise<StoredPolicy> {
    return this.setPaused(caller, name, false);
  }

  private async setPaused(caller: Caller, name: string, paused: boolean): Promise<StoredPolicy> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, paused ? 'policy.pause' : 'policy.resume', async (tx) => {
      checkDocument(caller, await stores.policies.known(tx, organisation, name));
      const { policy, detail } = await pausePolicy(
        stores,
        tx,
        organisation,
        name,
        paused,
        actorOf(caller),
        clock.now(),
      );
      return { body: policy, target: name, detail };
    });
  }
}

/** Whether a key may see a document: it must apply to a team of the key. */
export const isFor = ({ principal }: Caller, { teams }: Pick<PolicyDocument, 'teams'>): boolean =>
  teams === '*' || teams.some((team) => sees(principal, team));

/** @throws Failure denied where a document applies to teams outside the key's. */
function checkDocument(caller: Caller, { teams }: Pick<PolicyDocument, 'teams'>): void {
  if (teams === '*' && caller.principal.teams !== null)
    throw denied('this document is for all teams; this key is restricted to some');
  if (teams !== '*') for (const team of teams) checkTeam(caller, team);
}
