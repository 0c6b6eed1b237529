/**
 * A small Kubernetes API server in memory, for the real client to talk to: lists in pages, objects with
 * resourceVersions, merge patches, deletions with preconditions, evictions within disruption budgets. What it starts
 * with are the replies beside the provider.
 *
 * It runs no controller: what a controller would do next, a test does by `edit`.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './source.js';
import { WireServer, type WireReply, type WireRequest } from './wire-server.js';

type Json = Record<string, unknown>;

export interface KubernetesObject {
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: Json[];
  };
  spec: Json;
  status?: Json;
}

export const REPLIES = path.join(ROOT, 'src/providers/kubernetes/replies');
export const reply = <T = Json>(name: string): T =>
  JSON.parse(readFileSync(path.join(REPLIES, `${name}.json`), 'utf8')) as T;

const items = (name: string): KubernetesObject[] => reply<{ items: KubernetesObject[] }>(name).items;
const PATH =
  /^\/(?:api|apis\/[a-z0-9.]+)\/v\d(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/(eviction|status))?$/;

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Json =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...(target as Json) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

export class KubernetesApi {
  readonly objects: Record<string, KubernetesObject[]> = {
    nodes: items('nodes'),
    deployments: [...items('deployments'), ...items('deployments-next')],
    statefulsets: items('statefulsets'),
    horizontalpodautoscalers: items('autoscalers'),
    pods: items('pods'),
  };
  /** Names of pods that disruption budgets hold. */
  readonly held = new Set<string>();
  /** Items of a page, whatever limit the client asks for. */
  pageItems = 1000;
  /** Loses the answer to the next write, which takes hold or does not. */
  losing: 'request' | 'answer' | null = null;
  /** Just before the next write: what somebody else does. */
  meanwhile: (() => void) | null = null;
  private version = 10_000;
  private readonly applied = new Map<string, number>();

  private constructor(readonly wire: WireServer) {
    wire.on(
      () => true,
      (request) => this.answer(request),
    );
  }

  static async start(): Promise<KubernetesApi> {
    return new KubernetesApi(await WireServer.start());
  }

  /** How often a write left this token on an object. */
  appliedCount = (token: string): number => this.applied.get(token) ?? 0;

  get writes(): readonly WireRequest[] {
    return this.wire.requests.filter(({ method }) => method !== 'GET');
  }

  one(kind: string, name: string): KubernetesObject {
    const found = this.objects[kind]?.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
    return found;
  }

  /** Changes an object as a controller or a person would. */
  edit(kind: string, name: string, change: (object: KubernetesObject) => void): void {
    const object = this.one(kind, name);
    change(object);
    object.metadata.resourceVersion = String(++this.version);
  }

  private answer(request: WireRequest): WireReply {
    const url = new URL(request.path, 'http://api');
    const [, namespace, kind = '', name, sub] = PATH.exec(url.pathname) ?? [];
    const all = this.objects[kind];
    if (all === undefined) return refusal(404, 'NotFound');
    if (request.method === 'GET')
      return name === undefined
        ? this.list(all, namespace, url.searchParams)
        : this.found(all, namespace, name, (object) => ok(object));
    const change = this.meanwhile;
    this.meanwhile = null;
    change?.();
    const losing = this.losing;
    this.losing = null;
    if (losing === 'request') return { lost: true };
    const answer = this.found(all, namespace, name ?? '', (object) =>
      sub === 'eviction'
        ? this.evict(object, url.searchParams.has('dryRun'))
        : request.method === 'PATCH'
          ? this.patch(kind, object, request)
          : this.remove(kind, object, request),
    );
    return losing === 'answer' ? { ...answer, lost: true } : answer;
  }

  private found(
    all: readonly KubernetesObject[],
    namespace: string | undefined,
    name: string,
    then: (object: KubernetesObject) => WireReply,
  ): WireReply {
    const object = all.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    return object === undefined ? refusal(404, 'NotFound') : then(object);
  }

  private list(all: readonly KubernetesObject[], namespace: string | undefined, query: URLSearchParams): WireReply {
    const node = /^spec\.nodeName=(.+)$/.exec(query.get('fieldSelector') ?? '')?.[1];
    const labels = (query.get('labelSelector') ?? '')
      .split(',')
      .filter((term) => term !== '')
      .map((term) => term.split('=') as [string, string]);
    const chosen = all.filter(
      ({ metadata, spec }) =>
        (namespace === undefined || metadata.namespace === namespace) &&
        (node === undefined || spec['nodeName'] === node) &&
        labels.every(([key, value]) => metadata.labels?.[key] === value),
    );
    const from = Number(query.get('continue') ?? 0);
    const to = from + Math.min(this.pageItems, Number(query.get('limit') ?? Infinity));
    return ok({
      metadata: { resourceVersion: String(this.version), ...(to < chosen.length ? { continue: String(to) } : {}) },
      items: chosen.slice(from, to),
    });
  }

  private patch(kind: string, object: KubernetesObject, request: WireRequest): WireReply {
    if (request.headers['content-type'] !== 'application/merge-patch+json') return refusal(415, 'UnsupportedMediaType');
    const patch = JSON.parse(request.body) as Partial<KubernetesObject>;
    const version = patch.metadata?.resourceVersion;
    // A patch of the status names none.
    if (version !== object.metadata.resourceVersion && !request.path.includes('/status'))
      return { status: 409, headers: JSON_TYPE, body: JSON.stringify(reply('status-conflict')) };
    const next = merged(object, patch) as KubernetesObject;
    next.metadata.resourceVersion = String(++this.version);
    this.objects[kind] = (this.objects[kind] ?? []).map((one) => (one === object ? next : one));
    const token = patch.metadata?.annotations?.['bursar.io/last-token'];
    if (token !== undefined) this.applied.set(token, this.appliedCount(token) + 1);
    return ok(next);
  }

  private remove(kind: string, object: KubernetesObject, request: WireRequest): WireReply {
    const { preconditions } = (request.body === '' ? {} : JSON.parse(request.body)) as {
      preconditions?: { uid?: string; resourceVersion?: string };
    };
    const differs =
      (preconditions?.uid ?? object.metadata.uid) !== object.metadata.uid ||
      (preconditions?.resourceVersion ?? object.metadata.resourceVersion) !== object.metadata.resourceVersion;
    if (differs) return { status: 409, headers: JSON_TYPE, body: JSON.stringify(reply('status-conflict')) };
    this.objects[kind] = (this.objects[kind] ?? []).filter((one) => one !== object);
    return ok(object);
  }

  private evict(pod: KubernetesObject, dryRun: boolean): WireReply {
    if (this.held.has(pod.metadata.name))
      return { status: 429, headers: JSON_TYPE, body: JSON.stringify(reply('status-disruption')) };
    if (!dryRun)
      this.edit('pods', pod.metadata.name, ({ metadata }) => (metadata.deletionTimestamp = '2026-10-20T12:00:30Z'));
    return { ...ok({ kind: 'Status', apiVersion: 'v1', status: 'Success', code: 201 }), status: 201 };
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };
const ok = (body: unknown): WireReply => ({ status: 200, headers: JSON_TYPE, body: JSON.stringify(body) });
export const refusal = (code: number, reason: string, message = reason): WireReply => ({
  status: code,
  headers: JSON_TYPE,
  body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }),
});
