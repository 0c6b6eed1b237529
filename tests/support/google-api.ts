/**
 * A server on 127.0.0.1 that plays Google Cloud's APIs with a small state: instances, groups, autoscalers, operations,
 * a catalogue.
 *
 * Every request is held against the discovery documents, its token is verified with the public key of the account that
 * signed it, and every reply is held against the documents before it goes out: what is wrong anywhere stands in
 * `problems`, and a test asks that there be none. As Google's, it does a thing once per requestId.
 */
import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SCOPES } from '../../src/providers/gcp/client.js';
import { requestIdOf } from '../../src/providers/gcp/apply.js';
import { problemsOfReply, recognise, type Recognised } from './discovery.js';

export type Resource = Record<string, unknown> & { name: string };
type Use = 'read' | 'act';

/** A request that was understood. */
export interface Asked {
  readonly id: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly use: Use;
}

/** In place of an answer; `drop` has been carried out, `cut` has not. */
export type Script =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | 'drop'
  | 'cut';

/** An error as Google's APIs state it (AIP-193 and the older form of Compute Engine). */
export const googleError = (
  status: number,
  reason: string,
  message = 'no',
  headers: Readonly<Record<string, string>> = {},
): Script => ({
  status,
  headers,
  body: { error: { code: status, message, errors: [{ message, domain: 'usageLimits', reason }] } },
});

const COMPUTE = 'https://www.googleapis.com/compute/v1/projects/ml-prod';
/** The stub gives fewer on a page than it is asked for, as it may. */
const PAGE = 2;

interface Account {
  readonly email: string;
  readonly file: string;
  readonly key: KeyObject;
}

export class GoogleApi {
  readonly asked: Asked[] = [];
  readonly problems: string[] = [];
  /** By place (`zones/us-central1-a`), as aggregated lists have them. */
  readonly instances: Resource[] = [];
  readonly groups: Resource[] = [];
  readonly autoscalers: Resource[] = [];
  readonly commitments: Resource[] = [];
  readonly types: Resource[] = [];
  readonly templates: Resource[] = [];
  readonly operations: Resource[] = [];
  skus: unknown[] = [];
  /** Scopes that do not answer. */
  unreachable: string[] = [];
  /** Zones whose operations may not be listed. */
  withoutOperations: string[] = [];
  /** Permissions that the accounts lack. */
  denied: string[] = [];
  /** What the next operation of a method ends with. */
  readonly ends = new Map<string, { code: string; message: string }>();
  private readonly scripts = new Map<string, Script[]>();

  private constructor(
    private readonly server: http.Server,
    private readonly folder: string,
    readonly accounts: Readonly<Record<Use, Account>>,
  ) {}

  static async start(): Promise<GoogleApi> {
    const folder = mkdtempSync(path.join(tmpdir(), 'bursar-google-'));
    const account = (use: Use): Account => {
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const email = `bursar-${use}@ml-prod.iam.gserviceaccount.com`;
      const file = path.join(folder, `${use}.json`);
      const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const json = {
        type: 'service_account',
        project_id: 'ml-prod',
        private_key_id: use,
        private_key,
        client_email: email,
      };
      writeFileSync(file, JSON.stringify(json));
      return { email, file, key: publicKey };
    };
    const server = http.createServer();
    const api = new GoogleApi(server, folder, { read: account('read'), act: account('act') });
    server.on('request', (request, response) => void api.take(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
    return new Promise((resolve) => {
      this.server.closeAllConnections();
      this.server.close(() => resolve());
    });
  }

  /** The next requests of a method are answered so, one after the other. */
  script(id: string, ...scripts: Script[]): void {
    this.scripts.set(id, [...(this.scripts.get(id) ?? []), ...scripts]);
  }

  of(id: string): Asked[] {
    return this.asked.filter((one) => one.id === id);
  }

  /** How often something was done under a token. */
  applied(token: string): number {
    return this.operations.filter(({ clientOperationId }) => clientOperationId === requestIdOf(token)).length;
  }

  /** What is on its way arrives. */
  settle(): void {
    for (const one of this.instances)
      one['status'] =
        { STOPPING: 'TERMINATED', STAGING: 'RUNNING', SUSPENDING: 'SUSPENDED' }[String(one['status'])] ?? one['status'];
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const call = recognise(request.method ?? '', request.url ?? '', body);
    const use = this.signedBy(request.headers.authorization ?? '');
    if (call === null || use === null) {
      this.problems.push(call === null ? `${request.method} ${request.url} is no method` : 'the token is forged');
      response.writeHead(call === null ? 404 : 401, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    this.problems.push(...call.problems.map((problem) => `${call.id}: ${problem}`));
    const asked = { ...call, body: body === '' ? null : (JSON.parse(body) as unknown), use };
    this.asked.push(asked);
    const script = this.scripts.get(call.id)?.shift();
    if (script === 'cut') return void request.socket.destroy();
    const answer = script === undefined || script === 'drop' ? this.answer(asked) : script;
    if (script === 'drop') return void request.socket.destroy();
    this.send(response, call, answer);
  }

  private send(response: ServerResponse, { id }: Recognised, answer: Exclude<Script, string>): void {
    if (answer.status === 200) this.problems.push(...problemsOfReply(id, answer.body).map((one) => `reply ${one}`));
    response
      .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      .end(JSON.stringify(answer.body));
  }

  /** Whose token it is: a JWT that the account's key signed, with the scopes of its use and no others. */
  private signedBy(authorization: string): Use | null {
    const [head = '', payload = '', signature = ''] = authorization.replace(/^Bearer /, '').split('.');
    for (const [use, { email, key }] of Object.entries(this.accounts) as [Use, Account][]) {
      const signed = createVerify('RSA-SHA256').update(`${head}.${payload}`);
      if (!signed.verify(key, signature, 'base64url')) continue;
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss: string; scope: string };
      return claims.iss === email && claims.scope === SCOPES[use].join(' ') ? use : null;
    }
    return null;
  }

  private answer(asked: Asked): Exclude<Script, string> {
    const [, resource = '', method = ''] =
      /^(?:compute|cloudbilling\.services|cloudresourcemanager)\.(\w+)\.(\w+)$/.exec(asked.id) ?? [];
    const permission = `compute.${resource
      .replace(/^region(?=[IA])/, '')
      .replace(/^I/, 'i')
      .replace(/^A/, 'a')}.${method}`;
    if (this.denied.includes(permission)) return googleError(403, 'forbidden', `${permission} is missing`) as never;
    const read = READS[asked.id];
    if (read !== undefined) return read(this, asked);
    return ok(this.act(asked));
  }

  /** Does a thing once per requestId, and answers with its operation. */
  private act(asked: Asked): Resource {
    const { requestId } = asked.query;
    if (asked.use !== 'act') this.problems.push(`${asked.id} was sent with the credentials for reading`);
    const before = this.operations.find(({ clientOperationId }) => clientOperationId === requestId);
    if (before !== undefined) return before;
    const error = this.ends.get(asked.id);
    if (error === undefined) ACTS[asked.id]?.(this, asked);
    const operation: Resource = {
      name: `operation-${this.operations.length + 1}`,
      status: error === undefined ? 'RUNNING' : 'DONE',
      clientOperationId: requestId,
      ...(error === undefined ? {} : { error: { errors: [error] }, httpErrorStatusCode: 503 }),
    };
    this.operations.push(operation);
    // The request is accepted; that it came to nothing shows later.
    return { ...operation, status: 'PENDING', error: undefined, httpErrorStatusCode: undefined } as unknown as Resource;
  }

  instance({ path: { instance = '', zone = '' } }: Pick<Asked, 'path'>): Resource | undefined {
    return this.instances.find(
      ({ id, name, zone: at }) => (id === instance || name === instance) && String(at).endsWith(`/${zone}`),
    );
  }

  group({ path: { zone, region, instanceGroupManager } }: Pick<Asked, 'path'>): Resource | undefined {
    return this.groups.find(
      (one) => one.name === instanceGroupManager && String(one['zone'] ?? one['region']).endsWith(`/${zone ?? region}`),
    );
  }
}

type Answered = Exclude<Script, string>;
const ok = (body: unknown): Answered => ({ status: 200, body: JSON.parse(JSON.stringify(body)) as unknown });
const found = (one: Resource | undefined): Exclude<Script, string> =>
  one === undefined ? (googleError(404, 'notFound', 'was not found') as Exclude<Script, string>) : ok(one);

/** A page of an aggregated list; every scope that has nothing says so, as Google's do. */
function aggregated(api: GoogleApi, { query }: Asked, list: string, all: readonly Resource[]): Exclude<Script, string> {
  if (api.unreachable.length > 0 && query['returnPartialSuccess'] !== 'true')
    return googleError(503, 'backendError', 'a zone does not answer') as Exclude<Script, string>;
  const scopeOf = (one: Resource): string =>
    String(one['zone'] ?? one['region'])
      .split('/')
      .slice(-2)
      .join('/');
  const reachable = all.filter((one) => !api.unreachable.includes(scopeOf(one)));
  const from = Number(query['pageToken'] ?? 0);
  const page = reachable.slice(from, from + PAGE);
  const scopes = [...new Set(['zones/us-central1-a', 'zones/europe-west4-a', ...page.map(scopeOf)])];
  const items: Record<string, unknown> = Object.fromEntries(
    scopes.map((scope) => {
      const inside = page.filter((one) => scopeOf(one) === scope);
      const warning = {
        code: 'NO_RESULTS_ON_PAGE',
        message: `There are no results for scope '${scope}' on this page.`,
      };
      return [scope, inside.length === 0 ? { warning } : { [list]: inside }];
    }),
  );
  for (const scope of api.unreachable) items[scope] = { warning: { code: 'UNREACHABLE', message: 'no answer' } };
  const next = from + PAGE < reachable.length ? { nextPageToken: String(from + PAGE) } : {};
  return ok({ items, ...next, ...(api.unreachable.length === 0 ? {} : { unreachables: api.unreachable }) });
}

type Read = (api: GoogleApi, asked: Asked) => Exclude<Script, string>;

const both = (name: string): readonly string[] => [
  `compute.${name}`,
  `compute.region${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`,
];
const each = <Value>(ids: readonly string[], value: Value): Record<string, Value> =>
  Object.fromEntries(ids.map((id) => [id, value]));

/** Filters of the forms that Compute Engine documents: `field = value`, in brackets with AND and OR between them. */
const listOperations: Read = (api, { query, path: { zone } }) => {
  if (zone !== undefined && api.withoutOperations.includes(zone)) return googleError(403, 'forbidden') as Answered;
  const groups = (query['filter'] ?? '').split(' AND ').map((text) => [...text.matchAll(/(\w+) = "?([\w.-]+)"?/g)]);
  const fits = (one: Resource): boolean =>
    groups.every((words) => words.some(([, field = '', value]) => String(one[field]) === value));
  return ok({
    items: api.operations.filter(
      (one) => fits(one) && (one['zone'] === undefined || String(one['zone']).endsWith(`/${zone}`)),
    ),
  });
};
const waitForOperation: Read = (api, { path: { operation } }) =>
  found(api.operations.find(({ name }) => name === operation));

const READS: Readonly<Record<string, Read>> = {
  'compute.instances.aggregatedList': (api, asked) => aggregated(api, asked, 'instances', api.instances),
  'compute.instanceGroupManagers.aggregatedList': (api, asked) =>
    aggregated(api, asked, 'instanceGroupManagers', api.groups),
  'compute.regionCommitments.aggregatedList': (api, asked) => aggregated(api, asked, 'commitments', api.commitments),
  'compute.machineTypes.aggregatedList': (api, asked) => {
    const pattern = /^name eq "(.+)"$/.exec(asked.query['filter'] ?? '')?.[1] ?? 'none';
    const fitting = api.types.filter(({ name }) => new RegExp(`^(?:${pattern})$`).test(name));
    return aggregated(
      api,
      asked,
      'machineTypes',
      fitting.map((one) => ({ ...one, zone: `${COMPUTE}/zones/us-central1-a` })),
    );
  },
  'compute.instances.get': (api, asked) => found(api.instance(asked)),
  'compute.machineTypes.get': (api, { path: { machineType } }) =>
    found(api.types.find(({ name }) => name === machineType)),
  ...each(both('instanceGroupManagers.get'), (api: GoogleApi, asked: Asked) => found(api.group(asked))),
  ...each(both('autoscalers.get'), (api: GoogleApi, { path: { autoscaler } }: Asked) =>
    found(api.autoscalers.find(({ name }) => name === autoscaler)),
  ),
  ...each(both('instanceTemplates.get'), (api: GoogleApi, { path: { instanceTemplate } }: Asked) =>
    found(api.templates.find(({ name }) => name === instanceTemplate)),
  ),
  'compute.zoneOperations.list': listOperations,
  'compute.regionOperations.list': listOperations,
  'compute.zoneOperations.wait': waitForOperation,
  'compute.regionOperations.wait': waitForOperation,
  'cloudbilling.services.skus.list': (api, { query }) => {
    const from = Number(query['pageToken'] ?? 0);
    const next = from + 10 < api.skus.length ? { nextPageToken: String(from + 10) } : {};
    return ok({ skus: api.skus.slice(from, from + 10), ...next });
  },
  'cloudresourcemanager.projects.testIamPermissions': (api, { body }) => {
    const { permissions } = body as { permissions: string[] };
    return ok({ permissions: permissions.filter((one) => !api.denied.includes(one)) });
  },
};

type Act = (api: GoogleApi, asked: Asked) => void;
const turn =
  (status: string): Act =>
  (api, asked) => {
    const one = api.instance(asked);
    if (one !== undefined) one['status'] = status;
  };

const ACTS: Readonly<Record<string, Act>> = {
  'compute.instances.stop': turn('STOPPING'),
  'compute.instances.start': turn('STAGING'),
  'compute.instances.resume': turn('STAGING'),
  'compute.instances.delete': (api, asked) => {
    const one = api.instance(asked);
    if (one !== undefined) api.instances.splice(api.instances.indexOf(one), 1);
  },
  'compute.instances.setMachineType': (api, asked) => {
    const one = api.instance(asked);
    const { machineType } = asked.body as { machineType: string };
    if (one !== undefined) one['machineType'] = `${COMPUTE}/${machineType}`;
  },
  ...each(both('instanceGroupManagers.resize'), (api: GoogleApi, asked: Asked) => {
    const one = api.group(asked);
    if (one !== undefined) one['targetSize'] = Number(asked.query['size']);
  }),
  ...each(both('instanceGroupManagers.recreateInstances'), (api: GoogleApi, asked: Asked) => {
    const { instances } = asked.body as { instances: string[] };
    for (const one of api.instances)
      if (instances.some((address) => address.endsWith(`/${one.name}`))) one['id'] = `9${String(one['id'])}`;
  }),
  ...each(both('autoscalers.patch'), (api: GoogleApi, asked: Asked) => {
    const one = api.autoscalers.find(({ name }) => name === asked.query['autoscaler']);
    const { autoscalingPolicy } = asked.body as { autoscalingPolicy: object };
    if (one !== undefined) one['autoscalingPolicy'] = { ...(one['autoscalingPolicy'] as object), ...autoscalingPolicy };
  }),
};
