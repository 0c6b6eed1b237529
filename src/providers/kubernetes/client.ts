/**
 * The official client, with a time limit on every request and lists that go on to their end.
 *
 * Knows pages and requests, and nothing of what is in them. The invariant: a list is whole or it fails.
 */
import {
  AppsV1Api,
  AuthorizationV1Api,
  AutoscalingV2Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  PatchStrategy,
  ResourceV1Api,
  ServerConfiguration,
  type KubeConfig,
  type Middleware,
  type V1ListMeta,
  type V1ObjectMeta,
} from '@kubernetes/client-node';
import { invalid } from '../../core/errors.js';
import { failureOf, statusOf, type Asked } from './failures.js';

/** The name under which the cluster keeps what Bursar has written (managedFields). */
export const FIELD_MANAGER = 'bursar';

/** Items of a page; kubectl's own number. */
const PAGE_ITEMS = 500;
/** A list that expires this often while it is read is given up. */
const MOST_RESTARTS = 3;

/** One set of credentials at one API server. */
export interface Cluster {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly autoscaling: AutoscalingV2Api;
  readonly authorization: AuthorizationV1Api;
  readonly resource: ResourceV1Api;
  /** Jobs of any kind, by their group and plural. */
  readonly objects: CustomObjectsApi;
}

export function clusterOf(config: KubeConfig, timeoutMilliseconds: number): Cluster {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw invalid('the kubeconfig names no cluster');
  const limits: Middleware = {
    pre: async (request) => {
      request.setSignal(AbortSignal.timeout(timeoutMilliseconds));
      // Of the forms that the client offers it would take JSON Patch.
      if (String(request.getHttpMethod()) === 'PATCH') request.setHeaderParam('Content-Type', PatchStrategy.MergePatch);
      return request;
    },
    post: async (response) => response,
  };
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(server.replace(/\/+$/, ''), {}),
    authMethods: { default: config },
    promiseMiddleware: [limits],
  });
  return {
    core: new CoreV1Api(configuration),
    apps: new AppsV1Api(configuration),
    autoscaling: new AutoscalingV2Api(configuration),
    authorization: new AuthorizationV1Api(configuration),
    resource: new ResourceV1Api(configuration),
    objects: new CustomObjectsApi(configuration),
  };
}

interface Page<T> {
  readonly items: readonly T[];
  readonly metadata?: V1ListMeta;
}

export interface PageRequest {
  readonly limit: number;
  readonly _continue?: string;
}

/**
 * A list, page by page, each item once. Where its token expires on the way (410 Gone; Kubernetes API Concepts,
 * "Retrieving large results sets in chunks") the list starts again, and what was passed on before is left out.
 * @throws Failure
 */
export async function* pagesOf<T extends { readonly metadata?: V1ObjectMeta }>(
  asked: Asked,
  page: (request: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<readonly T[]> {
  const seen = new Set<string>();
  let token: string | undefined;
  let restarts = 0;
  for (;;) {
    let got: Page<T>;
    try {
      got = await page({ limit: PAGE_ITEMS, ...(token === undefined ? {} : { _continue: token }) });
    } catch (error) {
      if (statusOf(error) !== 410 || restarts >= MOST_RESTARTS) throw failureOf(error, asked);
      restarts += 1;
      token = undefined;
      continue;
    }
    const fresh = got.items.filter(
      ({ metadata }) => metadata?.uid === undefined || (!seen.has(metadata.uid) && seen.add(metadata.uid)),
    );
    if (fresh.length > 0) yield fresh;
    const { _continue: next } = got.metadata ?? {};
    if (next === undefined || next === '') return;
    token = next;
  }
}

/** The whole list at once. */
export async function allOf<T extends { readonly metadata?: V1ObjectMeta }>(
  asked: Asked,
  page: (request: PageRequest) => Promise<Page<T>>,
): Promise<T[]> {
  const all: T[] = [];
  for await (const items of pagesOf(asked, page)) all.push(...items);
  return all;
}
